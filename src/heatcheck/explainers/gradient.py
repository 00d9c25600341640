"""Gradient times input: gradients of the predicted label's probability by the embeddings, times the embeddings.

Jain & Wallace treat the weights as constants when they differentiate, so their gradient contains α_t as a factor. Under
uniform weights it does not, which shows how much of its agreement with attention comes from that factor alone.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.probability import explained_labels, label_log_odds
from heatcheck.explainers.scores import Aim, ExplainAimed, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import NO_EDITS, Edits, Run, Site, Subject, differentiate, heat_sites, uniform_edits

EMBEDDING = Site("embedding")
JAIN_WALLACE = "Jain & Wallace 2019, Algorithm 1"


def _make(*, attention: str, signed: bool) -> ExplainAimed:
    def edits(subject: Subject, batch: Batch) -> Edits:
        if attention == "through":
            return NO_EDITS
        if attention == "held":
            return dict.fromkeys(heat_sites(subject), torch.Tensor.detach)
        return uniform_edits(subject, batch)

    def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
        def score(batch: Batch) -> Float[Tensor, "example token"]:
            label = None
            if attention == "uniform" or aim.label is not None:  # predicted with the model's own weights
                with torch.no_grad():
                    label = explained_labels(subject.run(batch).logits[:, 0], aim.label)
            seen: list[Tensor] = []

            def note(embedded: Tensor) -> Tensor:
                seen.append(embedded.detach())
                return embedded

            odds: list[Tensor] = []

            def target(run: Run) -> Float[Tensor, " example"]:
                odds.append(label_log_odds(run, label, aim.scale))
                return odds[-1]

            edited = {**edits(subject, batch), EMBEDDING: note}
            slope = differentiate(subject, batch, [EMBEDDING], target, edits=edited)
            # dp = p (1 − p) d log-odds, the factor last: of a confident model it is too small for the way back.
            steep = odds[-1].detach().sigmoid() * (-odds[-1].detach()).sigmoid()
            dotted = (slope[EMBEDDING] * seen[0]).double().sum(-1) * steep[:, None]
            return dotted if signed else dotted.abs()

        return explain_tokens(subject, examples, score)

    return explain


gradient = of_probability(
    "gradient",
    "|embedding · gradient|, with the attention weights as constants",
    _make(attention="held", signed=False),
    signed=False,
    paper=JAIN_WALLACE,
)._replace(of_heatmap=True)
gradient_uniform = of_probability(
    "gradient_uniform",
    "|embedding · gradient| under uniform weights, so attention is not a factor in it",
    _make(attention="uniform", signed=False),
    signed=False,
)._replace(of_heatmap=True)
gradient_through = of_probability(
    "gradient_through",
    "|embedding · gradient|, also through the attention weights",
    _make(attention="through", signed=False),
    signed=False,
)
gradient_x_input = of_probability(
    "gradient_x_input",
    "embedding · gradient with its sign, also through the attention weights",
    _make(attention="through", signed=True),
    signed=True,
)

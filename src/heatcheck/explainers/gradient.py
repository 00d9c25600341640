"""Gradients of the predicted label's probability with respect to the embeddings, times the embeddings.

Jain & Wallace hold the weights fixed while they differentiate, so their gradient contains α_t as a factor; under
uniform weights it does not, which shows how much of an agreement with attention is that factor alone.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explain, Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import NO_EDITS, Edits, Run, Site, Subject, differentiate, heat_sites, uniform_edits

EMBEDDING = Site("embedding")
JAIN_WALLACE = "Jain & Wallace 2019, Algorithm 1"


def probability(labels: Int[Tensor, " example"] | None = None) -> Callable[[Run], Float[Tensor, " example"]]:
    """p(label) of the first decision, of the predicted label where none is given.

    In float64: in float32 a confident model's gradient is exactly zero.
    """

    def target(run: Run) -> Float[Tensor, " example"]:
        chosen = run.logits[:, 0].argmax(-1) if labels is None else labels
        p = run.logits[:, 0].double().softmax(-1)
        return p.gather(1, chosen[:, None])[:, 0]

    return target


def _make(*, attention: str, signed: bool) -> Explain:
    def edits(subject: Subject, batch: Batch) -> Edits:
        if attention == "through":
            return NO_EDITS
        if attention == "held":
            return dict.fromkeys(heat_sites(subject), torch.Tensor.detach)
        return uniform_edits(subject, batch)

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        def score(batch: Batch) -> Float[Tensor, "example token"]:
            predicted = None
            if attention == "uniform":  # the label is the model's own, predicted with its own weights
                with torch.no_grad():
                    predicted = subject.run(batch).logits[:, 0].argmax(-1)
            seen: list[Tensor] = []

            def note(embedded: Tensor) -> Tensor:
                seen.append(embedded.detach())
                return embedded

            edited = {**edits(subject, batch), EMBEDDING: note}
            slope = differentiate(subject, batch, [EMBEDDING], probability(predicted), edits=edited)
            dotted = (slope[EMBEDDING] * seen[0]).double().sum(-1)
            return dotted if signed else dotted.abs()

        return explain_tokens(subject, examples, score)

    return explain


gradient = Explainer(
    "gradient",
    "|embedding · gradient|, attention held fixed",
    signed=False,
    explain=_make(attention="held", signed=False),
    paper=JAIN_WALLACE,
)
gradient_uniform = Explainer(
    "gradient_uniform",
    "|embedding · gradient| under uniform weights: no factor of attention in it",
    signed=False,
    explain=_make(attention="uniform", signed=False),
)
gradient_through = Explainer(
    "gradient_through",
    "|embedding · gradient|, through the attention too",
    signed=False,
    explain=_make(attention="through", signed=False),
)
gradient_x_input = Explainer(
    "gradient_x_input",
    "embedding · gradient with its sign, through the attention too",
    signed=True,
    explain=_make(attention="through", signed=True),
)

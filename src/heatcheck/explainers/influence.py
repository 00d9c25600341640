"""How much each word lowers the loss: as a gate on its embedding opens, or by being there at all."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.gradient import EMBEDDING
from heatcheck.explainers.leave_one_out import Gold, Logs, erase_each
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Subject, differentiate


def token_influence(subject: Subject, batch: Batch, *, as_published: bool = False) -> Float[Tensor, "example token"]:
    """−dL/dg_t at g = 1, where g_t multiplies the token's embedding and L is the loss of the right label.

    Where an example has no label, or several, L is the loss of the predicted one. `as_published` turns the sign round,
    as the released code does by negating twice: it then ranks first the words that make the loss worse.
    """
    seen: list[Tensor] = []

    def note(embedded: Tensor) -> Tensor:
        seen.append(embedded.detach())
        return embedded

    def log_probability(run: Run) -> Float[Tensor, " example"]:
        logs = run.logits[:, 0].double().log_softmax(-1)
        return logs.gather(1, _labels(run, batch)[:, None])[:, 0]

    slope = differentiate(subject, batch, [EMBEDDING], log_probability, edits={EMBEDDING: note})
    found = (slope[EMBEDDING] * seen[0]).double().sum(-1)
    return -found if as_published else found


def word_left_out(subject: Subject, examples: Sequence[Example], *, as_published: bool = False) -> WordScores:
    """L(the text without the word) − L(the text), the word deleted and the rest encoded again; L and sign as above."""

    def lowered(whole: Logs, without: Logs, gold: Gold) -> Float[np.ndarray, " gap"]:
        label, row = np.where(gold >= 0, gold, whole.argmax(-1)), np.arange(len(whole))
        found = np.asarray(whole[row, label] - without[row, label])
        return -found if as_published else found

    return labelled_apart(examples, lambda some: erase_each(subject, some, lost=lowered))


def _labels(run: Run, batch: Batch) -> Int[Tensor, " example"]:
    """The right label of the first decision; the predicted one where there is none."""
    predicted = run.logits[:, 0].argmax(-1)
    if batch.gold is None:
        return predicted
    return torch.where(batch.gold[:, 0] >= 0, batch.gold[:, 0], predicted)


def labelled_apart(examples: Sequence[Example], explain: Callable[[Sequence[Example]], WordScores]) -> WordScores:
    """Texts with a label and texts without, each by themselves: a batch in which one has none knows of no label."""
    found: dict[int, np.ndarray | str] = {}
    for known in (True, False):
        places = [place for place, example in enumerate(examples) if (example.label is not None) == known]
        if places:
            found.update(zip(places, explain([examples[place] for place in places]), strict=True))
    return [found[place] for place in range(len(examples))]


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    return labelled_apart(
        examples, lambda some: explain_tokens(subject, some, lambda batch: token_influence(subject, batch))
    )


influence = Explainer(
    "influence",
    "how much the loss of the right label falls as a gate on the word's embedding opens",
    signed=True,
    explain=explain,
    paper="Snell et al. 2021",
)
influence_left_out = Explainer(
    "influence_left_out",
    "how much the loss of the right label rises when the word is deleted",
    signed=True,
    explain=lambda subject, examples, _: word_left_out(subject, examples),
    paper="Snell et al. 2021",
)

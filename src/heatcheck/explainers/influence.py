"""How much each word lowers the loss: by the gradient of a gate on its embedding, or by leaving the word out."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import log_expit
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.gradient import EMBEDDING
from heatcheck.explainers.leave_one_out import Odds, erase_each
from heatcheck.explainers.probability import explained_labels, label_log_odds
from heatcheck.explainers.scores import OWN_ANSWER, Aim, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Subject, differentiate


def token_influence(
    subject: Subject, batch: Batch, *, aim: Aim = OWN_ANSWER, as_published: bool = False
) -> Float[Tensor, "example token"]:
    """−dL/dg_t at g = 1, where g_t multiplies the token's embedding and L is the loss of the correct label.

    If an example has no label, or several, L is the loss of the predicted one. `as_published` reverses the sign, as the
    released code does by negating twice: then the words that make the loss worse rank first. `aim` may name another
    label.
    """
    seen: list[Tensor] = []

    def note(embedded: Tensor) -> Tensor:
        seen.append(embedded.detach())
        return embedded

    odds: list[Tensor] = []

    def target(run: Run) -> Float[Tensor, " example"]:
        odds.append(label_log_odds(run, _labels(run, batch, aim.label), aim.scale))
        return odds[-1]

    slope = differentiate(subject, batch, [EMBEDDING], target, edits={EMBEDDING: note})
    # d ln p = (1 − p) d log-odds, the factor last: of a confident model it is too small for the way back.
    found = (slope[EMBEDDING] * seen[0]).double().sum(-1) * (-odds[-1].detach()).sigmoid()[:, None]
    return -found if as_published else found


def word_left_out(
    subject: Subject, examples: Sequence[Example], *, aim: Aim = OWN_ANSWER, as_published: bool = False
) -> WordScores:
    """L(the text without the word) − L(the text), the word deleted and the rest encoded again; L and sign as above."""

    def lowered(whole: Odds, without: Odds) -> Odds:
        found = np.asarray(log_expit(whole) - log_expit(without))
        return -found if as_published else found

    def score(some: Sequence[Example]) -> WordScores:
        return erase_each(subject, some, aim=aim, lost=lowered, of_gold=True)

    return labelled_apart(examples, score)


def _labels(run: Run, batch: Batch, label: int | None) -> Int[Tensor, " example"]:
    """The named label; else the right label of the first decision, or the predicted one where there is none."""
    predicted = explained_labels(run.logits[:, 0], label)
    if batch.gold is None or label is not None:
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


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        return token_influence(subject, batch, aim=aim)

    return labelled_apart(examples, lambda some: explain_tokens(subject, some, score))


influence = of_probability(
    "influence",
    "how much the correct label's loss falls as a gate on the word's embedding opens",
    explain,
    signed=True,
    paper="Snell et al. 2021",
)
influence_left_out = of_probability(
    "influence_left_out",
    "how much the correct label's loss rises when the word is deleted",
    lambda subject, examples, _, aim: word_left_out(subject, examples, aim=aim),
    signed=True,
    paper="Snell et al. 2021",
)

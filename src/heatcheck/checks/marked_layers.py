"""How a transformer uses marked words: the weight on them in each layer, and what their deletion changes.

The heatmap shown is the last layer's. A model may keep it off the marked words and still use them: earlier layers carry
what these words say to other tokens. So the weight on them is read in every layer, beside two measures that do not
depend on any one layer: rollout, which multiplies all of them, and the answer when the words are deleted.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.checks.marked_words import Marked, Values, marked_tokens
from heatcheck.data import Batch
from heatcheck.engine import Facts, stream
from heatcheck.explainers.layers import row_of
from heatcheck.explainers.leave_one_out import erase_each
from heatcheck.explainers.rollout import roll_out
from heatcheck.models import HasLayers, Run
from heatcheck.training import batches_by_length, imposed, predict

LEFT_OUT = 100  # texts whose words are left out one by one


@dataclass(frozen=True)
class InLayers:
    """One model's predicted labels, and measures per text; `leave_one_out` is of a sample, and nan elsewhere."""

    predicted: Int[np.ndarray, " example"]
    values: dict[str, Values]


@torch.no_grad()
def look_in_layers(
    subject: HasLayers,
    texts: Marked,
    gold: Int[np.ndarray, " example"],
    *,
    impose: Facts | None = None,
    seed: int = 0,
    left_out: int = LEFT_OUT,
) -> InLayers:
    """Measure how a transformer uses the marked words.

    Args:
        gold: the correct labels.
        impose: what the model was trained under, as its recipe says it.
        seed: of the sample of texts for leave-one-out.
        left_out: size of that sample.
    """
    rows: dict[int, dict[str, float]] = {}
    for indices in batches_by_length(texts.examples, 128, subject):
        batch = subject.encode([texts.examples[i] for i in indices])
        run = subject.run(batch, edits=imposed(subject, batch, impose), want=subject.sites)
        listed = {name: of.tolist() for name, of in _weights(subject, run, batch, texts.mark).items()}
        rows |= {index: {name: of[row] for name, of in listed.items()} for row, index in enumerate(indices)}
    values = {name: np.array([rows[row][name] for row in range(len(rows))]) for name in rows[0]}
    predicted = predict(subject, texts.examples, impose=impose)[:, 0].argmax(-1)
    without = predict(subject, texts.without, impose=impose)[:, 0].argmax(-1)
    values["accuracy"] = (predicted == gold).astype(float)
    values["after_deletion"] = (without == gold).astype(float)
    if impose is None:  # a shortened text has no marks, so a mask between groups of words would not fit it
        values["leave_one_out"] = _left_out(subject, texts, seed, left_out)
    return InLayers(predicted, values)


def _weights(subject: HasLayers, run: Run, batch: Batch, mark: str) -> dict[str, Tensor]:
    """The weight on marked tokens in the read-out's row, by layer, and what uniform weights and rollout give.

    `mass` is a mean over heads and `largest` the head with the most; both are of the last layer. `others` is the mean
    weight on marked tokens in the rows of the other words.
    """
    marked = marked_tokens(batch, mark)
    rest = batch.scored & ~marked
    layers = [run.parts[site].double() for site in subject.sites]
    of_heads = _on(run.behind(layers[-1]), marked[:, None])
    averaged = torch.stack([weights.mean(1) for weights in layers], dim=1)  # [example layer query key]
    found = {
        "mass": of_heads.mean(1),
        "largest": of_heads.amax(1),
        "rollout": _on(row_of(roll_out(averaged)[:, -1], run), marked),
        "share": marked.sum(1) / batch.valid.sum(1),
    }
    for number, weights in enumerate(averaged.unbind(1), start=1):
        found[f"mass:{number}"] = _on(row_of(weights, run), marked)
        by_query = _on(weights, marked[:, None])  # [example query]
        found[f"others:{number}"] = (by_query * rest).sum(1) / rest.sum(1)
    return found


def _on(weights: Float[Tensor, "... key"], marked: Bool[Tensor, "... key"]) -> Float[Tensor, "..."]:
    return (weights * marked).sum(-1)


def _left_out(subject: HasLayers, texts: Marked, seed: int, most: int) -> Values:
    """The marked words' share of all words' leave-one-out effects, sizes without sign; nan for texts not sampled."""
    found = np.full(len(texts.examples), np.nan)
    chosen = np.sort(stream(seed, "leave-one-out of marked words").permutation(len(found))[:most])
    sample = [texts.examples[i] for i in chosen]
    for place, example, effect in zip(chosen, sample, erase_each(subject, sample), strict=True):
        if not isinstance(effect, str) and np.nansum(np.abs(effect)) > 0:
            size = np.nan_to_num(np.abs(effect))
            found[place] = size @ np.array(example.marks[texts.mark], dtype=float) / size.sum()
    return found

"""The record of a model's training (training/observing.py), as the local page (`heatcheck serve`) shows it.

A request reads the files it needs and keeps none of them, so memory does not grow with the number of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import check_time, read_json, stream
from heatcheck.errors import BadInput, BrokenFolder, NotSupported
from heatcheck.explainers.tokens import pool
from heatcheck.models import Recipe, Subject, readable_keys
from heatcheck.models.model_folder import CONFIG
from heatcheck.serve.schema import (
    MAX_STEPS,
    MAX_TEXTS,
    MAX_WORDS,
    ObservedText,
    OfWords,
    OverSteps,
    ProbeText,
    Training,
)
from heatcheck.serve.shown_text import labels_of
from heatcheck.training import Observed, observed_steps, observed_texts, read_observed

OPENING = 100  # characters of a text shown in the list
HOW = "`heatcheck train TASK --set observe=20`"


def follow(subject: Subject, folder: Path | str) -> "Followed":
    """The recorded training of a model, read from its folder; a folder of another model is ignored."""
    folder = Path(folder)
    recipe = subject.recipe
    if recipe is None:
        why_not = (
            f"heatcheck did not train this model, so it has no record of the training. {HOW} trains one with a record."
        )
        return Followed(subject, folder, why_not=why_not)
    steps = observed_steps(folder) if _made_by(folder) == recipe.id else []
    if not steps:
        linear = "hf" not in recipe.model and recipe.model.get("decoder") != "merge"
        then = f"{HOW} makes one" if linear else "its logits are not linear in the weights, which a record needs"
        return Followed(subject, folder, why_not=f"this model has no record of its training: {then}.")
    return Followed(subject, folder, steps=tuple(steps))


def _made_by(folder: Path) -> str | None:
    """The id of the recipe in a model's folder."""
    if not (folder / CONFIG).is_file():
        return None
    config = read_json(folder / CONFIG)
    found = config.get("recipe") if isinstance(config, dict) else None
    return Recipe(**found).id if found else None


@dataclass(frozen=True)
class Followed:
    """A recorded training, or the reason why there is none."""

    subject: Subject
    folder: Path
    steps: tuple[int, ...] = ()
    why_not: str = ""

    @cached_property
    def shown(self) -> list[int]:
        """The steps to show: all, or at most MAX_STEPS with the first and the last among them."""
        if self.why_not:
            raise NotSupported(self.why_not)
        places = np.linspace(0, len(self.steps) - 1, min(len(self.steps), MAX_STEPS)).round().astype(int)
        return [self.steps[place] for place in places]

    @cached_property
    def texts(self) -> tuple[Example, ...]:
        """The recorded texts."""
        found = observed_texts(self.folder)
        if tuple(text.id for text in found) != self._last.ids:
            raise BrokenFolder(
                f"the texts in {self.folder} do not match its record: delete the folder and train the model again."
            )
        return found

    @cached_property
    def labels(self) -> list[str]:
        return labels_of(self.subject, self._last.log_probabilities.shape[1])

    @property
    def _last(self) -> Observed:
        return self._read(self.shown[-1])

    def _read(self, step: int) -> Observed:
        found = read_observed(self.folder, step)
        if not isinstance(found, Observed):
            raise BrokenFolder(
                f"{self.folder} holds the record of a sequence-to-sequence model: train this model again."
            )
        return found

    def overview(self) -> Training:
        """Steps, texts, and means over the texts at each step."""
        return self._overview

    @cached_property
    def _overview(self) -> Training:
        last = self._last
        return Training(
            steps=self.shown,
            recorded=len(self.steps),
            texts=[
                ProbeText(id=text.id, opening=text.text[:OPENING], label=self.labels[gold])
                for text, gold in zip(self.texts[:MAX_TEXTS], last.gold.tolist(), strict=False)
            ],
            observed=len(last.ids),
            curves=self._curves(),
        )

    def one(self, name: str) -> ObservedText:
        """One recorded text at each step."""
        steps, last = self.shown, self._last
        if name not in last.ids:
            raise BadInput(f"no recorded text {name[:100]!r}: /api/training lists the recorded texts.")
        place = last.ids.index(name)
        words, word = self._words(self.texts[place])
        found = ObservedText(
            id=name,
            text_pair=self.texts[place].text_pair,
            words=words,
            label=self.labels[last.gold[place]],
            steps=steps,
            right=[],
            said=[],
            of_words={quantity: [] for quantity in last.of_tokens},
            rest={quantity: [] for quantity in last.of_tokens},
            uniform=_of_words(np.full(len(word), 1 / len(word)), word, len(words)),
        )
        for seen in self._each():
            logs, start = seen.log_probabilities[place], int(seen.lengths[:place].sum())
            found.right.append(float(np.exp(logs[seen.gold[place]])))
            found.said.append(self.labels[int(logs.argmax())])
            for quantity, rows in found.of_words.items():
                values = seen.of_tokens[quantity][start : start + len(word)]
                rows.append(_of_words(values, word, len(words)))
                found.rest[quantity].append(float(values[word < 0].sum()))
        return found

    def _words(self, text: Example) -> tuple[list[str], Int[np.ndarray, " token"]]:
        """The words of a text, and the word of each token."""
        words = list(text.words)
        if len(words) > MAX_WORDS:
            raise BadInput(
                f"this text has {len(words):,} words; the page shows at most {MAX_WORDS}. Choose another text."
            )
        batch = self.subject.encode([text])
        return words, batch.word[0][readable_keys(self.subject, batch)[0]].cpu().numpy()

    def _each(self) -> Iterator[Observed]:
        for step in self.shown:
            check_time()
            yield self._read(step)

    def _curves(self) -> list[OverSteps]:
        """Means over the texts: accuracy, evenness of the weights, and their agreement with relevance."""
        found: dict[str, list[tuple[np.ndarray, float]]] = {}
        for seen in self._each():
            commonest = float((seen.gold == np.bincount(seen.gold).argmax()).mean())
            found.setdefault("accuracy", []).append((seen.right, commonest))
            ranked = seen.lengths > 1  # a single word always ranks first
            if "attention" not in seen.of_tokens or not ranked.any():
                continue
            weights, valid = seen.padded("attention")[ranked], seen.valid[ranked]
            found.setdefault("evenness", []).append((stats.evenness(weights, valid), 1.0))
            if "relevance" in seen.of_tokens:
                votes = seen.padded("relevance")[ranked]
                floor = float(stats.top_agreement_floor(votes, valid).mean())
                found.setdefault("agreement", []).append((stats.top_agreement(weights, votes, valid), floor))
        return [_over_steps(name, rows) for name, rows in found.items()]


def _over_steps(name: str, rows: list[tuple[Float[np.ndarray, " example"], float]]) -> OverSteps:
    intervals = [stats.bootstrap_interval(values, generator=stream(0, "page", name)) for values, _ in rows]
    return OverSteps.model_validate(
        {
            "name": name,
            "values": [interval.value for interval in intervals],
            "low": [interval.low if interval.n > 1 else None for interval in intervals],
            "high": [interval.high if interval.n > 1 else None for interval in intervals],
            "baseline": [baseline for _, baseline in rows],
            "n": intervals[0].n,
        }
    )


def _of_words(values: Float[np.ndarray, " token"], word: Int[np.ndarray, " token"], words: int) -> OfWords:
    return [value if np.isfinite(value) else None for value in pool(values, word, words).tolist()]

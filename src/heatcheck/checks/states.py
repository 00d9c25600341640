"""Do a text's states differ from each other, and does each still say which word it stands at?

A weight stands on a state. If all states point one way, other weights give nearly the same mixture (Mohankumar et al.
2020). If a state does not say which word it stands at, its weight says little about that word (Tutek & Šnajder 2020).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.identifiability import distances, ridge_probe
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import NotSupported
from heatcheck.models import FlatClassifier, Site, Subject
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import batches_by_length

EMBEDDINGS, STATES = Site("embedding"), Site("state")
DIRECT, MAPPED = "the state itself", "a linear map of it"
Values = Float[np.ndarray, " example"]


@dataclass(frozen=True)
class StatesSettings:
    """The linear map from states to embeddings, and the bootstrap."""

    ridge: float = 0.01  # of the map, as a share of the states' mean square
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "states", "draws")


class Text(NamedTuple):
    """The words of one text that carry weight: their embeddings, their states, and how alike these are."""

    embeddings: Float[np.ndarray, "token feature"]
    states: Float[np.ndarray, "token size"]
    conicity: float


def measure(case: Case, settings: StatesSettings) -> CheckResult:
    """Measure conicity, how often a state's own word is found, and the sizes of states and embeddings."""
    texts = read_texts(case.subject, case.examples)
    fitted = np.array([stream(case.seed, "states", example.id).random() < 0.5 for example in case.examples])
    several = np.array([len(text.states) > 1 for text in texts])
    values: dict[str, Values] = {
        "conicity": np.where(several, [text.conicity for text in texts], np.nan),
        "size:states": np.array([np.linalg.norm(text.states, axis=1).mean() for text in texts]),
        "size:embeddings": np.array([np.linalg.norm(text.embeddings, axis=1).mean() for text in texts]),
        "chance": np.array([_same(text).mean() if len(text.states) > 1 else np.nan for text in texts]),
        **_own_words(texts, fitted, settings.ridge),
    }
    return CheckResult(
        check="states",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(_measurements(case, settings, values)),
        examples=tuple(example.id for example in case.examples),
        per_example=values,
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
    )


@torch.inference_mode()
def read_texts(subject: Subject, examples: Sequence[Example]) -> list[Text]:
    """Embeddings and states of the words of each text; raises NotSupported for models that are no such classifier."""
    if not isinstance(subject, FlatClassifier):
        raise NotSupported(
            f"states needs a classifier of heatcheck with one attention over words; {subject.id} is none."
        )
    found: dict[int, Text] = {}
    for rows in batches_by_length(examples, 128, subject):
        batch = subject.encode([examples[row] for row in rows])
        parts = subject.run(batch, want=[EMBEDDINGS, STATES]).parts
        alike = stats.conicity(parts[STATES], batch.scored).double().cpu().numpy()
        embedded, states = (parts[site].double().cpu().numpy() for site in (EMBEDDINGS, STATES))
        for place, row in enumerate(rows):
            words = batch.scored[place].cpu().numpy()
            found[row] = Text(embedded[place, words], states[place, words], float(alike[place]))
    return [found[row] for row in range(len(examples))]


def _own_words(texts: Sequence[Text], fitted: np.ndarray, ridge: float) -> dict[str, Values]:
    """The share of each text's words that are found: no embedding of another word of the text is nearer, by cosine.

    The linear map is fitted on half of the texts and tried on the others.
    """
    found: dict[str, Values] = {}
    if texts[0].states.shape[1] == texts[0].embeddings.shape[1]:
        found[f"own_word:{DIRECT}"] = np.array([_found(text, text.states) for text in texts])
    if fitted.any() and (~fitted).any():
        fit = [text for text, ours in zip(texts, fitted, strict=True) if ours]
        probe = ridge_probe(
            np.concatenate([text.states for text in fit]), np.concatenate([text.embeddings for text in fit]), ridge
        )
        found[f"own_word:{MAPPED}"] = np.array(
            [
                np.nan if ours else _found(text, np.column_stack([text.states, np.ones(len(text.states))]) @ probe)
                for text, ours in zip(texts, fitted, strict=True)
            ]
        )
    return found


def _found(text: Text, guess: Float[np.ndarray, "token feature"]) -> float:
    if len(guess) < 2:
        return np.nan
    nearest = distances(guess, text.embeddings, "cosine").argmin(1)
    return float(_same(text)[np.arange(len(guess)), nearest].mean())


def _same(text: Text) -> np.ndarray:
    """Which words of a text are the same word: they have one embedding."""
    return np.asarray((text.embeddings[:, None] == text.embeddings[None]).all(-1))


def _measurements(case: Case, settings: StatesSettings, values: dict[str, Values]) -> Iterator[Measurement]:
    everyone = np.ones(len(case.examples), dtype=bool)
    unrelated = float(np.mean(1 / np.sqrt(case.tokens)))
    chance = values["chance"]
    yield from measured(
        case, "conicity", values["conicity"], everyone, f"{unrelated:.2f}: unrelated vectors", {}, settings.draws
    )
    for name, of_texts in values.items():
        kind, _, way = name.partition(":")
        if kind == "own_word":
            # Half of the texts fitted the map: they were not asked.
            asked = everyone if way == DIRECT else np.isfinite(of_texts)
            baseline = f"{np.nanmean(chance):.2f}: a random word of the text"
            yield from measured(case, "own_word", of_texts, asked, baseline, {"read from": way}, settings.draws)
        elif kind == "size":
            yield from measured(case, "size_of", of_texts, everyone, "the other size", {"of": way}, settings.draws)


states = Check(
    name="states",
    question="Do a text's states differ, and does each still say which word it stands at?",
    paper="Mohankumar et al. 2020; Tutek & Šnajder 2020",
    holds="states",
    baseline="unrelated vectors, and a random word of the text",
    settings=StatesSettings,
    measure=measure,
    cost=lambda case, _: len(case.examples),
    default=False,
)

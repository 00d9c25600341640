"""How does the answer change when a bag-of-words model supplies the weights, or replaces the most attended words?

Weights: heatcheck replaces α by softmax(|log-odds|) and keeps the hidden states. Words: it overwrites the five most
attended words with the five that speak most for the other answer, and the model reads the text from scratch. Baselines:
the same weights shuffled among the tokens; the same words at random places; random words at the same places.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.texts_without_words import descending
from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import (
    log_odds_weights,
    of_first_decision,
    require_words,
    response,
    token_log_odds,
    uniform_weights,
    word_log_odds,
)
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import batches_by_length

WEIGHTS = {  # kind -> baseline
    "log_odds": "the same weights shuffled",
    "uniform": "the log-odds weights shuffled",
    "shuffled": "none: this is the floor",
}
WORDS = {  # which words, at which places -> baseline
    ("opposite", "attended"): "the same words at random places; random words at attended places",
    ("opposite", "random"): "none: this is the floor of the places",
    ("random", "attended"): "none: this is the floor of the words",
}
Values = Float[np.ndarray, " example"]


@dataclass(frozen=True)
class LogOddsSettings:
    """The number of words to overwrite, and of random draws."""

    words: int = 5  # to overwrite, as published; a text must have more
    shuffles: int = 10  # of the log-odds weights
    random_draws: int = 5  # of words, and of places
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "log_odds", "words", "shuffles", "random_draws", "draws")


class Replaced(NamedTuple):
    """A replacement, and the log-probabilities of the answers after it."""

    by: Mapping[str, str]
    baseline: str
    after: Float[np.ndarray, "example draw label"]


def measure(case: Case, settings: LogOddsSettings) -> CheckResult:
    """Measure the JSD from the weights of the bag of words, and the changes under its weights and its words."""
    require_words(case.subject, "log_odds")
    strongest = _strongest(case, settings)
    excluded = _excluded(case)
    rows = np.flatnonzero([example.id not in excluded for example in case.examples])
    if not len(rows):
        raise BadInput("log_odds can use none of the texts: the bag of words knows none of their words.")

    apart, weights = _weights_replaced(case, settings, [case.examples[row] for row in rows])
    words = _words_replaced(case, settings, rows, list(strongest.values()))
    measurements: list[Measurement] = []
    per_example: dict[str, Values] = {}

    def add(name: str, values: Values, by: Mapping[str, str], baseline: str) -> None:
        per_example[":".join([name, *by.values()])] = values
        measurements.extend(measured(case, name, values, np.ones(len(rows), bool), baseline, by, settings.draws))

    for kind, values in apart.items():
        add("jsd", values, {"weights": kind}, WEIGHTS[kind])
    for by, baseline, after in (*weights, *words):
        for logits in ("published", "standardised"):
            add("change", _change(case, rows, after, logits), {**by, "logits": logits}, baseline)
        add("flips", _flips(case, rows, after), by, baseline)
    return CheckResult(
        check="log_odds",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(case.examples[row].id for row in rows),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        facts={"logit_scale": case.logit_scale, "strongest": strongest},
    )


def _excluded(case: Case) -> dict[str, str]:
    """Texts that have only stop words and unknown words: the bag of words has no weights for them."""
    reasons: dict[str, str] = {}
    for indices in batches_by_length(case.examples, 64, case.subject):
        batch = case.subject.encode([case.examples[i] for i in indices])
        known = batch.scored & batch.valid & ~token_log_odds(case.subject, batch)[..., 0].isnan()
        for name, some in zip(batch.ids, known.any(1).tolist(), strict=True):
            if not some:
                reasons[name] = "the bag of words knows none of its words"
    return reasons


def _weights_replaced(
    case: Case, settings: LogOddsSettings, examples: Sequence[Example]
) -> tuple[dict[str, Values], list[Replaced]]:
    """The JSD between the model's own weights and each kind, and the answers under each, with the same states."""
    apart = np.zeros((len(examples), 2 + settings.shuffles))
    after: dict[int, np.ndarray] = {}
    for indices in batches_by_length(examples, 64, case.subject):
        batch = case.subject.encode([examples[i] for i in indices])
        found = response(case.subject, batch)
        imposed = _kinds_of_weights(case, settings, batch)
        own = found.attention[:, 0].double()  # [example head token] of the first decision
        decisions, heads = found.attention.shape[1:3]
        for number, one in enumerate(imposed.unbind(1)):
            each = stats.jensen_shannon_nats(own, one[:, None].expand(-1, heads, -1))
            apart[indices, number] = each.mean(1).cpu().numpy()
        weights = imposed.to(found.attention.dtype)[:, :, None, None].expand(-1, -1, decisions, heads, -1)
        logs = found.logits(weights)[:, :, 0].double().log_softmax(-1)
        after.update(zip(indices, logs.detach().cpu().numpy(), strict=True))
    answers = np.stack([after[place] for place in range(len(examples))])
    columns = {"log_odds": slice(0, 1), "uniform": slice(1, 2), "shuffled": slice(2, None)}
    return (
        {kind: apart[:, of_kind].mean(1) for kind, of_kind in columns.items()},
        [Replaced({"weights": kind}, WEIGHTS[kind], answers[:, of_kind]) for kind, of_kind in columns.items()],
    )


def _kinds_of_weights(case: Case, settings: LogOddsSettings, batch: Batch) -> Float[Tensor, "example draw token"]:
    """The weights of the bag of words, uniform weights, and the first ones shuffled among each text's tokens."""
    bag = log_odds_weights(case.subject, batch)[:, 0, 0].double()
    shuffled = bag[:, None].repeat(1, settings.shuffles, 1)
    for row, name in enumerate(batch.ids):
        places = (batch.scored & batch.valid)[row].nonzero()[:, 0]
        generator = stream(case.seed, "log-odds shuffled", name)
        for number in range(settings.shuffles):
            order = torch.from_numpy(generator.permutation(len(places))).to(places.device)
            shuffled[row, number, places] = bag[row, places[order]]
    return torch.cat([bag[:, None], uniform_weights(batch.scored & batch.valid)[:, 0].double(), shuffled], dim=1)


def _strongest(case: Case, settings: LogOddsSettings) -> dict[str, list[str]]:
    """The words that speak most for each answer, the strongest first; fewer if the penalty left fewer."""
    vocabulary, table = word_log_odds(case.subject)
    with torch.no_grad():
        run = case.subject.run(case.subject.encode(case.examples[:1]))
    odds = of_first_decision(table, run).nan_to_num(0.0).cpu().numpy()
    answers = case.labels if run.logits.shape[1] == 1 else ("no", "yes")
    found = {}
    for answer, name in enumerate(answers):
        order = np.argsort(-odds[:, answer], kind="stable")[: settings.words]
        found[name] = [vocabulary.tokens[number] for number in order if odds[number, answer] > 0]
    return found


def _words_replaced(
    case: Case, settings: LogOddsSettings, rows: Int[np.ndarray, " example"], strongest: Sequence[Sequence[str]]
) -> list[Replaced]:
    """The answers after overwriting; nan for a text with no more words than are overwritten."""
    scores = case.scores("attention")
    other = np.argsort(case.log_probabilities, axis=-1, kind="stable")[:, -2]  # the runner-up answer
    orders = descending(case, scores.values, scores.valid, rows.tolist())  # several where words tie
    repeats = {("opposite", "attended"): len(orders)}
    after = {
        kind: np.full((len(rows), repeats.get(kind, settings.random_draws), case.log_probabilities.shape[1]), np.nan)
        for kind in WORDS
    }
    changed: list[Example] = []
    wanted: list[tuple[tuple[str, str], int, int]] = []  # kind, place among the rows, draw
    for place, row in enumerate(rows):
        example, words = case.examples[row], strongest[other[row]]
        valid = np.flatnonzero(scores.valid[row])
        if len(valid) <= settings.words or not words:
            continue
        attended = [np.array(of_rows[place][: len(words)]) for of_rows in orders]
        for kind, draw, places, put in _plans(case, settings, example, valid, attended, words):
            changed.append(overwrite(example, dict(zip(places.tolist(), put, strict=True))))
            wanted.append((kind, place, draw))
    if changed:
        for (kind, place, draw), logs in zip(wanted, case.answers(changed), strict=True):
            after[kind][place, draw] = logs
    return [Replaced({"words": kind[0], "places": kind[1]}, WORDS[kind], after[kind]) for kind in WORDS]


def _plans(
    case: Case,
    settings: LogOddsSettings,
    example: Example,
    valid: Int[np.ndarray, " word"],
    attended: Sequence[Int[np.ndarray, " item"]],
    words: Sequence[str],
) -> Iterator[tuple[tuple[str, str], int, np.ndarray, Sequence[str]]]:
    """Yield which words go where: kind, draw, places, words; the attended places once for each order of ties."""
    vocabulary, table = word_log_odds(case.subject)
    known = table[:, 0].isfinite().nonzero()[:, 0].tolist()
    generator = stream(case.seed, "words replaced", example.id)
    for draw, places in enumerate(attended):
        yield ("opposite", "attended"), draw, places, words
    for draw in range(settings.random_draws):
        yield ("opposite", "random"), draw, generator.permutation(valid)[: len(words)], words
        drawn = generator.choice(known, size=len(words), replace=len(known) < len(words))
        yield (
            ("random", "attended"),
            draw,
            attended[draw % len(attended)],
            [vocabulary.tokens[number] for number in drawn],
        )


def overwrite(example: Example, put: Mapping[int, str]) -> Example:
    """The text with other words at these places.

    >>> overwrite(Example("a", "not so bad"), {2: "good"}).text
    'not so good'
    """
    words = [put.get(place, word) for place, word in enumerate(example.words)]
    return replace(example, text=" ".join(words), marks={})


def _change(
    case: Case, rows: Int[np.ndarray, " example"], after: Float[np.ndarray, "example draw label"], logits: str
) -> Values:
    """|Δp| of the predicted label, mean over the draws."""
    probabilities = case.standardised if logits == "standardised" else np.exp
    chosen = case.predicted[rows][:, None]
    before = np.take_along_axis(probabilities(case.log_probabilities[rows]), chosen, 1)[:, 0]
    each = [np.take_along_axis(probabilities(after[:, draw]), chosen, 1)[:, 0] for draw in range(after.shape[1])]
    mean: Values = np.abs(np.stack(each) - before).mean(0)
    return mean


def _flips(case: Case, rows: Int[np.ndarray, " example"], after: Float[np.ndarray, "example draw label"]) -> Values:
    """The share of draws with another answer."""
    flipped = np.where(np.isnan(after[..., 0]), np.nan, after.argmax(-1) != case.predicted[rows][:, None])
    share: Values = flipped.mean(1)
    return share


def _cost(case: Case, settings: LogOddsSettings) -> int:
    """Passes for the weights, for attention, and for each overwritten text."""
    return (2 + 1 + 2 * settings.random_draws) * len(case.examples)


log_odds = Check(
    name="log_odds",
    question="What changes when a bag-of-words model supplies the weights, or the attended words?",
    paper="Jain & Wallace's released code, 2019 (a follow-up that is not in the paper)",
    holds="re-encoded",
    baseline="the same weights shuffled; the same words at random places; random words at the same places",
    settings=LogOddsSettings,
    measure=measure,
    cost=_cost,
    default=False,
    of="weights",
)

"""At each layer of a transformer, do the attention weights rank words as masking or gradients do?

Abnar & Zuidema's question. For the token that the answer is read from, heatcheck takes its raw weights at each layer,
their rollout down to the input, and the flow to the input. It compares each ranking with the effect of masking each
word, and with the gradient of the input.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, known_logits, measured
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import REMOVALS, Scores
from heatcheck.explainers.flow import shares_of_flow
from heatcheck.explainers.layers import mean_attention
from heatcheck.explainers.probability import log_odds, probability_lost
from heatcheck.explainers.rollout import roll_out, with_residual
from heatcheck.explainers.tokens import pool
from heatcheck.models import require_layers, whole_model
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import batches_by_length

METHODS = ("raw", "rollout", "flow")
TARGETS = {"blank_out": "the effect of masking the word", "gradient": "|embedding · gradient|"}
GRADIENT = "gradient_through"
BATCH = 32

OfWords = dict[str, Float[np.ndarray, "example layer word"]]
Values = dict[tuple[str, str, int], Float[np.ndarray, " example"]]  # by target, method and layer; 0: no layer


@dataclass(frozen=True)
class LayersSettings:
    """The ways to read a layer that are compared."""

    methods: tuple[str, ...] = METHODS
    logits: str = STANDARDISED  # whose probabilities change; or "published", the model's own
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "layers", "draws")
        known_logits(self, "layers")
        for method in self.methods:
            if method not in METHODS:
                raise UnknownName("value for layers.methods", method, METHODS)


def measure(case: Case, settings: LayersSettings) -> CheckResult:
    """Measure Spearman's ρ over the words of each text, by layer, method and target."""
    layers = len(require_layers(whole_model(case.subject), "layers").sites)
    gradient = case.scores(GRADIENT, settings.logits)
    excluded = case.exclusions({GRADIENT: gradient})
    excluded |= {
        example.id: "it has fewer than three words to rank"
        for example, known in zip(case.examples, gradient.valid, strict=True)
        if example.id not in excluded and known.sum() < 3
    }
    kept = np.array([example.id not in excluded for example in case.examples])
    if not kept.any():
        raise BadInput("no example has three words to rank: choose longer texts.")
    targets = {"blank_out": blanked_out(case, gradient, settings.logits), "gradient": gradient.values}
    read = read_layers(case, settings.methods, gradient.values.shape[1])

    def correlation(one: np.ndarray, other: np.ndarray) -> Float[np.ndarray, " example"]:
        found: Float[np.ndarray, " example"] = stats.spearman(one, other, gradient.valid & kept[:, None]).correlation
        return found

    values: Values = {}
    for target, wanted in targets.items():
        for method, of_layers in read.items():
            for layer in range(layers):
                values[target, method, layer + 1] = correlation(of_layers[:, layer], wanted)
        values[target, "random", 0] = correlation(_random(case, wanted.shape[1]), wanted)
    values["blank_out", "gradient", 0] = correlation(targets["gradient"], targets["blank_out"])
    return CheckResult(
        check="layers",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(_measurements(case, settings, values, kept)),
        examples=tuple(e.id for e, k in zip(case.examples, kept, strict=True) if k),
        per_example={":".join(map(str, of)): of_all[kept] for of, of_all in values.items()},
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        facts={"layers": layers},
    )


def blanked_out(case: Case, scores: Scores, logits: str = STANDARDISED) -> Float[np.ndarray, "example word"]:
    """|Δp| of the predicted label after masking each word."""
    texts: list[Example] = []
    places: list[tuple[int, int]] = []
    for row, example in enumerate(case.examples):
        for word in np.flatnonzero(scores.valid[row]).tolist():
            texts.append(REMOVALS["masking"](example, {word}))
            places.append((row, word))
    found = np.zeros(scores.values.shape)
    if texts:
        row, word = np.array(places).T
        label = case.predicted[row]
        scale = case.scale_of(logits)
        before, after = (log_odds(logs, label, scale) for logs in (case.log_probabilities[row], case.answers(texts)))
        found[row, word] = np.abs(probability_lost(before, after))
    return stats.level_ties(found, scores.valid)


def read_layers(case: Case, methods: tuple[str, ...], words: int) -> OfWords:
    """The read-out token's row at each layer, summed by word."""
    subject = require_layers(whole_model(case.subject), "layers")
    found = {method: np.zeros((len(case.examples), len(subject.sites), words)) for method in methods}
    for indices in batches_by_length(case.examples, BATCH, subject):
        batch = subject.encode([case.examples[i] for i in indices])
        run, attention = mean_attention(subject, batch)
        raw, rolled = attention.cpu().numpy(), roll_out(attention).cpu().numpy()
        capacity = with_residual(attention).cpu().numpy()
        word, valid = batch.word.cpu().numpy(), batch.valid.cpu().numpy()
        for place, row in enumerate(run.row[:, 0].tolist()):
            real = valid[place]
            source = int(real[:row].sum())
            for layer in range(raw.shape[1]):
                rows = {"raw": raw[place, layer, row], "rollout": rolled[place, layer, row]}
                if "flow" in methods:
                    rows["flow"] = np.zeros(len(real))
                    own = capacity[place, : layer + 1][:, real][:, :, real]
                    rows["flow"][real] = shares_of_flow(own, source)
                for method in methods:
                    number = indices[place]
                    pooled = pool(rows[method], word[place], len(case.examples[number].words))
                    found[method][number, layer, : len(pooled)] = np.nan_to_num(pooled)
    return found


def _random(case: Case, words: int) -> Float[np.ndarray, "example word"]:
    return np.stack([stream(case.seed, "layers", "random", e.id).random(words) for e in case.examples])


def _measurements(case: Case, settings: LayersSettings, values: Values, kept: np.ndarray) -> Iterator[Measurement]:
    for (target, method, layer), of_all in values.items():
        by = {"target": target, "method": method, **({"layer": layer} if layer else {})}
        baseline = "none: this is the floor" if method == "random" else "random: a meaningless order"
        yield from measured(case, "spearman", of_all, kept, baseline, by, settings.draws)


layers = Check(
    name="layers",
    question="At each layer, do the weights rank words like masking or gradients do?",
    paper="Abnar & Zuidema 2020",
    holds="re-encoded",
    baseline="random scores, and the agreement of the two targets with each other",
    settings=LayersSettings,
    measure=measure,
    cost=lambda case, _: 3 * len(case.examples) + sum(len(example.words) for example in case.examples),
    default=False,
)

"""Are a transformer head's weights the only ones that give its output, and can tokens be recovered from their states?

A head's output is a weighted sum of values of d_h coordinates. If a text has more than d_h + 1 tokens, other weights
give exactly the same output (stats/null_space.py), and the rest of the model cannot tell them from those shown. This
check respects that weights are not negative; the dimension of the null space alone does not. Everything here is about
the row of the last layer that the answer is read from, which is the row a heatmap shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import tokens
from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import HasLayers, Site, has_layers, readable_keys, require_layers, values_read
from heatcheck.results import CheckResult, Measurement
from heatcheck.stats.span import onto_span
from heatcheck.training import batches_by_length

FLOAT32 = float(np.finfo(np.float32).eps)  # the precision in which models compute their values
METRICS = ("cosine", "euclidean")
OF_EVERY_TEXT = ("dimension", "effective_distance")  # the others need linear programs, so they cover a few texts
PROGRAM = 1.5e-6  # seconds per token of the text, about: .1 ms for 60 tokens


@dataclass(frozen=True)
class IdentifiabilitySettings:
    """The number of linear programs to solve, and the size of the probe."""

    texts: int = 20  # the first in the sample that are long enough; two programs per token and head
    heads: int = 12  # of the last layer, evenly chosen where it has more
    probe_texts: int = 500  # half to fit the probe, half to test it
    ridge: float = 0.01  # of the probe, as a share of the states' mean square
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "identifiability", "texts", "heads", "draws")
        if self.probe_texts < 2:
            raise BadInput(f"identifiability.probe_texts must be at least 2, not {self.probe_texts}.")
        if self.ridge <= 0:
            raise BadInput(f"identifiability.ridge must be above 0, not {self.ridge}.")


class Row(NamedTuple):
    """The read-out of one text: weights and values of the keys that its query sees."""

    weights: Float[np.ndarray, "head token"]
    values: Float[np.ndarray, "head token feature"]
    seen: Bool[np.ndarray, " key"]  # which keys of the batch these are


def measure(case: Case, settings: IdentifiabilitySettings) -> CheckResult:
    """Measure how free the weights are; texts that are too short are left out and counted."""
    subject = require_layers(case.subject, "identifiability")
    rows = read_rows(subject, case.examples)
    dimension = np.array([stats.free_dimensions(row.values, precision=FLOAT32) for row in rows])
    longer = np.asarray(dimension.any(1))
    excluded = {
        example.id: f"it has at most {row.values.shape[2] + 1} tokens, so no other weights give the same head output"
        for example, row, free in zip(case.examples, rows, longer, strict=True)
        if not free
    }
    kept = [at for at, free in enumerate(longer) if free]
    values = {
        "tokens": np.array([float(rows[at].weights.shape[1]) for at in kept]),
        "dimension": dimension[kept].mean(1) if kept else np.zeros(0),
        "effective_distance": np.array([_effective_distance(rows[at]) for at in kept]),
    }
    programs, of_twins = _twins([rows[at] for at in kept], settings)
    values |= of_twins
    measurements = [
        *measured(case, "longer", longer.astype(float), np.ones(len(rows), bool), LONGER, {}, settings.draws),
        *_measurements(case, settings, values),
        *_tokens(case, settings, subject),
    ]
    return CheckResult(
        check="identifiability",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(measurements),
        examples=tuple(case.examples[at].id for at in kept),
        per_example=values,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        facts={"head_width": int(rows[0].values.shape[2]), "programs": programs},
    )


def read_rows(subject: HasLayers, examples: Sequence[Example]) -> list[Row]:
    """The last layer's read-out row of each text, in float64."""
    site = subject.sites[-1]
    values = Site("value", site.where)
    found: dict[int, Row] = {}
    for indices in batches_by_length(examples, 64, subject):
        batch = subject.encode([examples[i] for i in indices])
        with torch.no_grad():
            run = subject.run(batch, want=[site, values])
        one = torch.arange(len(batch), device=run.row.device)
        attention = run.parts[site][one, :, run.row[:, 0]].double().cpu().numpy()
        open_keys = readable_keys(subject, batch)
        of_keys = values_read(subject, run.parts[values]).double().cpu().numpy()
        for place, weights, vectors, seen in zip(indices, attention, of_keys, open_keys.cpu().numpy(), strict=True):
            found[place] = Row(_normal(weights[:, seen]), vectors[:, seen], seen)
    return [found[place] for place in range(len(examples))]


def _normal(weights: Float[np.ndarray, "head token"]) -> Float[np.ndarray, "head token"]:
    """Weights that sum to exactly 1; a softmax in float32 does so only nearly."""
    return np.asarray(weights / weights.sum(1, keepdims=True))


def _effective_distance(row: Row) -> float:
    """‖a − effective a‖ / ‖a‖, mean over heads."""
    rows = row.weights[None, :, None]
    seen = onto_span(rows, row.values[None], np.ones(rows.shape, dtype=bool), precision=FLOAT32).weights[0, :, 0]
    each = np.linalg.norm(row.weights - seen, axis=1) / np.linalg.norm(row.weights, axis=1)
    return float(np.mean(each))


def twins(row: Row, heads: int) -> list[stats.Freedom]:
    """How free the weights of a text are, per head; at most `heads` heads, evenly chosen."""
    chosen = np.unique(np.linspace(0, len(row.weights) - 1, min(heads, len(row.weights))).round().astype(int))
    return [stats.freedom(row.weights[head], row.values[head], precision=FLOAT32) for head in chosen]


def _twins(
    rows: Sequence[Row], settings: IdentifiabilitySettings
) -> tuple[int, dict[str, Float[np.ndarray, " example"]]]:
    """The number of programs solved, and means over heads per text (nan beyond the budget)."""
    names = ("width", "widest", "jsd_low", "jsd_high", "most")
    values = {name: np.full(len(rows), np.nan) for name in names}
    programs = 0
    for at, row in enumerate(rows[: settings.texts]):
        found = twins(row, settings.heads)
        programs += sum(each.programs for each in found)
        values["width"][at] = np.mean([each.width for each in found])
        values["widest"][at] = np.mean([(each.high - each.low).max() for each in found])
        values["jsd_low"][at] = np.mean([each.jsd_low for each in found])
        values["jsd_high"][at] = np.mean([each.jsd_high for each in found])
        values["most"][at] = stats.most_different(row.weights).mean()
    return programs, values


LONGER = "none: it depends on text length and head width"
BASELINES = {
    "dimension": "tokens minus head width minus 1, for values in general position",
    "effective_distance": "0: all of the weights affect the output",
    "width": "0: only one set of weights",
    "widest": "0: only one set of weights",
    "jsd_low": "0: only one set of weights; most: any weights at all",
    "jsd_high": "jsd_low: the value attained",
    "most": "none: the most that any weights could differ",
}


def _measurements(
    case: Case, settings: IdentifiabilitySettings, values: dict[str, Float[np.ndarray, " example"]]
) -> Iterator[Measurement]:
    for name, baseline in BASELINES.items():
        of_texts = values[name]
        # Texts beyond the budget were not asked for, so they do not count as undefined.
        asked = np.arange(len(of_texts)) < (len(of_texts) if name in OF_EVERY_TEXT else settings.texts)
        yield from measured(case, name, of_texts, asked, baseline, {}, settings.draws)


def _tokens(case: Case, settings: IdentifiabilitySettings, subject: HasLayers) -> Iterator[Measurement]:
    """Yield, per layer, how often a linear map of a token's hidden state is nearest to that token's own input."""
    texts = case.tested[: settings.probe_texts]
    fitted = np.array([stream(case.seed, "probe", example.id).random() < 0.5 for example in texts])
    if not (fitted.any() and (~fitted).any()):
        return
    fit, tried = ([e for e, ours in zip(texts, part, strict=True) if ours] for part in (fitted, ~fitted))
    rates, chance = identified(subject, fit, tried, settings.ridge)
    for layer, of_layer in enumerate(rates):
        for metric, rate in of_layer.items():
            by = {"layer": layer + 1, "nearest by": metric}
            beside = "chance: a random token of the text"
            yield from measured(case, "identified", rate, np.isfinite(rate), beside, by, settings.draws)
    yield from measured(case, "chance", chance, np.isfinite(chance), "none: this is the floor", {}, settings.draws)


def identified(
    subject: HasLayers, fit: Sequence[Example], tried: Sequence[Example], ridge: float
) -> tuple[list[dict[str, Float[np.ndarray, " example"]]], Float[np.ndarray, " example"]]:
    """The share of each test text's tokens that are identified, by layer and metric; and the share by guessing.

    A token is identified if no other input of its text is nearer to the probe's guess than its own. An identical input
    (a repeated word, in a model without positions in its inputs) counts as its own.
    """
    learned = [ridge_probe(x, y, ridge) for x, y in _stacked(_states(subject, fit))]
    rates: list[dict[str, list[float]]] = [{metric: [] for metric in METRICS} for _ in learned]
    chance: list[float] = []
    for inputs, layers in _states(subject, tried):
        same = (inputs[:, None] == inputs[None]).all(-1)
        chance.append(float(same.mean()) if len(inputs) > 1 else np.nan)
        for of_layer, probe, states in zip(rates, learned, layers, strict=True):
            guess = np.column_stack([states, np.ones(len(states))]) @ probe
            for metric in METRICS:
                nearest = distances(guess, inputs, metric).argmin(1)
                hits = same[np.arange(len(inputs)), nearest]
                of_layer[metric].append(float(hits.mean()) if len(inputs) > 1 else np.nan)
    return [{m: np.array(v) for m, v in of_layer.items()} for of_layer in rates], np.array(chance)


def _states(
    subject: HasLayers, examples: Sequence[Example]
) -> Iterator[tuple[Float[np.ndarray, "token feature"], list[Float[np.ndarray, "token size"]]]]:
    """Yield, per text, the input of the first block and the output of each, for tokens that belong to words."""
    first = Site("input", subject.blocks[0].where)
    for start in range(0, len(examples), 64):
        batch: Batch = subject.encode(examples[start : start + 64])
        with torch.no_grad():
            parts = subject.run(batch, want=[first, *subject.blocks]).parts
        states = [parts[site].double().cpu().numpy() for site in (first, *subject.blocks)]
        for row, scored in enumerate(batch.scored.cpu().numpy()):
            inputs, *layers = (of_site[row, scored] for of_site in states)
            yield inputs, layers


def _stacked(
    states: Iterator[tuple[np.ndarray, list[np.ndarray]]],
) -> list[tuple[Float[np.ndarray, "token size"], Float[np.ndarray, "token feature"]]]:
    """All tokens of all texts: by layer, states and inputs."""
    inputs, layers = zip(*states, strict=True)
    whole = np.concatenate(inputs)
    return [(np.concatenate(of_layer), whole) for of_layer in zip(*layers, strict=True)]


def ridge_probe(
    states: Float[np.ndarray, "token size"], inputs: Float[np.ndarray, "token feature"], ridge: float
) -> Float[np.ndarray, "column feature"]:
    """The linear map (with an intercept) from states to inputs, by ridge regression."""
    x = np.column_stack([states, np.ones(len(states))])
    gram = x.T @ x
    strength = ridge * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram + strength * np.eye(len(gram)), x.T @ inputs))


def distances(
    guess: Float[np.ndarray, "item feature"], inputs: Float[np.ndarray, "token feature"], metric: str
) -> Float[np.ndarray, "item token"]:
    if metric == "cosine":
        sizes = np.linalg.norm(inputs, axis=1)
        return np.asarray(-(guess @ inputs.T) / np.where(sizes > 0, sizes, 1.0))
    return np.asarray(np.square(inputs).sum(1) - 2 * guess @ inputs.T)  # and what all inputs share: the guess's size


def _programs_take(case: Case, settings: IdentifiabilitySettings) -> float:
    """Seconds for two linear programs per token and head, for texts that are long enough."""
    if not isinstance(case.subject, HasLayers):
        return 0.0  # `measure` refuses such models
    value = Site("value", case.subject.sites[-1].where)
    with torch.no_grad():
        run = case.subject.run(case.subject.encode(case.examples[:1]), want=[value])
    _, heads, _, width = values_read(case.subject, run.parts[value]).shape
    counted = tokens(case)
    longer = [length for length in counted if length > width + 1]
    texts = min(settings.texts, len(longer) * len(case.examples) // len(counted))
    return float(PROGRAM * 2 * min(settings.heads, heads) * texts * np.mean(np.square(longer))) if longer else 0.0


identifiability = Check(
    name="identifiability",
    question="Are a transformer head's weights the only ones that give its output?",
    paper="Brunner et al. 2020; Sun & Marasović 2021 for effective attention",
    holds="states",
    baseline="no freedom at all (short texts), and the largest difference that any weights could have",
    settings=IdentifiabilitySettings,
    measure=measure,
    cost=lambda case, settings: len(case.examples) + min(settings.probe_texts, len(case.tested)),
    beside=_programs_take,
    default=False,
    default_on=has_layers,
    of="weights",
)

"""Is there a twin, a model with other weights and the same decision on every text? A closed form, without training.

If each word type w has one score a_w and one relevance r_w (bias included) in every context, the logits are
Σ_t e^{a_t} r_tk / Σ_t e^{a_t}. Set a'_w = a_w − ln m_w and r'_w = m_w r_w for any m_w > 0: the numerator is the same
for every label and every text, and the positive normaliser changes no decision. m = e^a makes the weights uniform,
m = e^{2a} reverses the heatmap. A token's contribution, α_t r_t, changes only by one factor per text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import log_softmax, logsumexp, softmax

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.gauge_within import WITHIN, find_budgeted, wanted_seeds
from heatcheck.checks.retrained_answers import tempered, total_variation
from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import Readout, of_words, read_out
from heatcheck.models import HasLayers, Subject
from heatcheck.results import CheckResult, Measurement

TWINS = {"uniform": 1.0, "reversed": 2.0}  # ln m = this times a: the twin's scores are 0, or −a
TOLERANCE = 1e-4  # for a score in nats, and relative to the largest relevance; float32 is a hundred times finer


@dataclass(frozen=True)
class GaugeSettings:
    """How far a twin's parameters may be from the model's; without a budget nothing is retrained."""

    budget: float = (
        0.0  # the largest distance of a further twin, in distances of the nearest other seed; 0: no such twin
    )
    seeds: int = 3  # other seeds, with a budget
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "gauge", "draws", "seeds")
        if not 0 <= self.budget < np.inf:
            raise BadInput(f"gauge.budget must be a number, at least 0, not {self.budget}.")


@dataclass(frozen=True)
class Answer:
    """Weights, relevances and answers of a model, or of its twin, per example."""

    weights: Float[np.ndarray, "example token"]
    votes: Float[np.ndarray, "example token label"]  # relevance with the bias
    log_probabilities: Float[np.ndarray, "example label"]

    @classmethod
    def of(
        cls, weights: Float[np.ndarray, "example token"], votes: Float[np.ndarray, "example token label"]
    ) -> "Answer":
        return cls(weights, votes, log_softmax(np.einsum("et,etl->el", weights, votes), axis=-1))

    @property
    def decisions(self) -> Int[np.ndarray, " example"]:
        return np.asarray(self.log_probabilities.argmax(-1))

    def contributions(self, label: Int[np.ndarray, " example"]) -> Float[np.ndarray, "example token"]:
        """The size of each token's contribution to the label's margin, as a share of all contributions."""
        own = np.take_along_axis(self.votes, label[:, None, None], 2)[..., 0]
        rivals = (self.votes.sum(-1) - own) / (self.votes.shape[-1] - 1)
        size = np.abs(self.weights * (own - rivals))
        total = size.sum(1, keepdims=True)
        return np.asarray(size / np.where(total > 0, total, 1.0))


@dataclass(frozen=True)
class Gauged:
    """The model's own answers, and those of its twins by name."""

    own: Answer
    twins: Mapping[str, Answer]
    readout: Readout
    types: int  # word types among the examples


def find_twins(case: Case) -> Gauged:
    """The twins' answers to `case.tested`; raises NotSupported with the reason if there are no twins."""
    if any(example.text_pair is not None for example in case.tested):
        raise NotSupported(
            "a gauge twin is known only for single texts, and these are pairs. "
            "Weights that depend on a question cannot be traded against a word's relevance."
        )
    if case.readout is None:
        raise NotSupported(
            f"a gauge twin needs logits that are linear in the weights, and those of {case.subject.id} are not."
        )
    if case.tested == case.examples:
        return _gauge(case, case.readout, case.examples)
    # The audited sample first: its read-out is known already, and mostly shows whether words depend on context.
    _one_a_type(case, _votes(case, case.readout), *_types(case.readout, case.examples))
    readout = read_out(case.subject, case.tested)
    assert readout is not None, "linear on some texts is linear on all"
    return _gauge(case, readout, case.tested)


def _gauge(case: Case, readout: Readout, examples: Sequence[Example]) -> Gauged:
    """Make tables of scores and relevances by word type, and from these the twins."""
    votes = _votes(case, readout)
    types, words = _types(readout, examples)
    place = types >= 0
    pairs = np.unique(np.stack([types, np.indices(types.shape)[0]], -1)[place], axis=0)  # of a type and a text
    if np.bincount(pairs[:, 0]).max() < 2:
        raise NotSupported("no word occurs in two of these texts, so heatcheck cannot test whether context matters.")
    said = _one_a_type(case, votes, types, words)
    scores = _scores(case, readout.attention[:, 0], types, words)
    own = Answer.of(readout.attention[:, 0], np.where(place[..., None], votes, 0.0))
    twins = {name: _twin(times, scores, said, types) for name, times in TWINS.items()}
    return Gauged(own, twins, readout, len(words))


def _votes(case: Case, readout: Readout) -> Float[np.ndarray, "example token label"]:
    """Relevances that include the bias, which is possible because the weights sum to 1."""
    if readout.bias.shape[1] > 1:
        raise NotSupported(f"{case.subject.id} makes several decisions per text; gauge supports one.")
    return np.asarray(readout.relevance[:, 0] + readout.bias[:, 0, None])


def _twin(
    times: float,
    scores: Float[np.ndarray, " word"],
    said: Float[np.ndarray, "word label"],
    types: Int[np.ndarray, "example token"],
) -> Answer:
    """a' = a − ln m and r' = m r with ln m = times · a, minus a constant that keeps the size of the logits."""
    at = types >= 0
    before, after = (np.where(at, s[types], -np.inf) for s in (scores, (1 - times) * scores))
    constant = np.median(logsumexp(before, axis=1) - logsumexp(after, axis=1))
    louder = np.exp(times * scores - constant)[:, None] * said
    return Answer.of(softmax(after, axis=1), np.where(at[..., None], louder[types], 0.0))


def _types(readout: Readout, examples: Sequence[Example]) -> tuple[Int[np.ndarray, "example token"], list[str]]:
    """The word type of each token, −1 for none, and the types' words.

    If a word has several tokens, each of them is its own type.
    """
    number: dict[tuple[str, int], int] = {}
    types = np.full(readout.word.shape, -1)
    for row, example in enumerate(examples):
        words = example.words
        before: dict[int, int] = {}  # tokens seen of a word
        for token in np.flatnonzero(readout.allowed[row]):
            at = int(readout.word[row, token])
            part = before[at] = before.get(at, -1) + 1
            types[row, token] = number.setdefault((words[at], part), len(number))
    return types, [word for word, _ in number]


def _one_a_type(
    case: Case,
    votes: Float[np.ndarray, "example token label"],
    types: Int[np.ndarray, "example token"],
    words: Sequence[str],
) -> Float[np.ndarray, "word label"]:
    """The relevance of each word type; raises NotSupported if it depends on context."""
    of, said = types[types >= 0], votes[types >= 0]
    mean = np.stack([np.bincount(of, weights=column) for column in said.T], axis=1) / np.bincount(of)[:, None]
    off = np.abs(said - mean[of]).max(1)
    if off.max() > TOLERANCE * np.abs(said).max():
        raise _depends_on_context(case, f"the relevance of {words[of[off.argmax()]]!r}")
    return np.asarray(mean)


def _scores(
    case: Case,
    weights: Float[np.ndarray, "example token"],
    types: Int[np.ndarray, "example token"],
    words: Sequence[str],
) -> Float[np.ndarray, " word"]:
    """A score for each word type, if ln α_t = a_w − c for every token t of type w, with one constant c per text.

    Solved by least squares over all texts at once, because each text gives scores up to its constant. A text that
    shares no word with the rest has an arbitrary constant: every choice is a twin, and the smallest is taken.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    at = types >= 0
    example, of = np.nonzero(at)[0], types[at]
    if not weights[at].all():
        raise NotSupported(f"a weight of {case.subject.id} is 0 in floating point, so its score is unknown.")
    logs = np.log(weights[at])
    n = len(logs)
    columns = np.stack([of, len(words) + example], axis=1).ravel()
    signs = np.tile([1.0, -1.0], n)
    table = csr_array((signs, columns, np.arange(0, 2 * n + 1, 2)), shape=(n, len(words) + len(weights)))
    found = lsqr(table, logs, atol=1e-14, btol=1e-14, conlim=0, iter_lim=10_000)[0]
    off = np.abs(table @ found - logs)
    if off.max() > TOLERANCE * max(1.0, float(np.abs(logs).max())):
        raise _depends_on_context(case, f"the score of {words[of[off.argmax()]]!r}")
    return np.asarray(found[: len(words)])


def _depends_on_context(case: Case, what: str) -> NotSupported:
    return NotSupported(
        f"a gauge twin needs words whose score and relevance do not depend on context. In {case.subject.id}, {what} "
        "depends on the words around it."
    )


def measure(case: Case, settings: GaugeSettings) -> CheckResult:
    """Measure how far each twin's weights and probabilities are, and how many of its decisions are the same."""
    found, budgeted, not_run = find_twins(case), None, {}
    twins = dict(found.twins)
    if settings.budget:
        try:
            budgeted = find_budgeted(case, TWINS, budget=settings.budget, seeds=settings.seeds)
            twins[WITHIN] = answer_of(budgeted.within.twin, case.tested)
        except NotSupported as error:
            not_run["the twin within a budget"] = str(error)
    base = case.standardised(found.own.log_probabilities)
    decided = found.own.decisions
    values: dict[str, Float[np.ndarray, " example"]] = {}
    for name, twin in twins.items():
        values[f"jsd:{name}"] = jensen_shannon(found.own.weights, twin.weights)
        answers = log_softmax(case.logit_scale * twin.log_probabilities, axis=-1)
        values[f"tvd:{name}"] = total_variation(np.exp(answers), base)
        values[f"tvd_tempered:{name}"] = total_variation(tempered(answers, base), base)
        values[f"agreement:{name}"] = (twin.decisions == decided).astype(float)
        values[f"jsd_contributions:{name}"] = jensen_shannon(
            found.own.contributions(decided), twin.contributions(decided)
        )
    return CheckResult(
        check="gauge",
        subject=case.subject.id,
        holds="states",
        measurements=(
            *_measurements(case, settings, values, twins),
            *(() if budgeted is None else budgeted.measurements()),
        ),
        examples=tuple(example.id for example in case.tested),
        per_example=values,
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={
            **({} if budgeted is None else {"share_of_the_way": budgeted.within.share}),
            "logit_scale": case.logit_scale,
            "types": found.types,
            "witness": _witness(case, found, values["jsd:reversed"]),
        },
    )


def jensen_shannon(
    p: Float[np.ndarray, "example token"], q: Float[np.ndarray, "example token"]
) -> Float[np.ndarray, " example"]:
    """The Jensen–Shannon divergence between weights, in nats."""
    one, other = (torch.from_numpy(weights).double() for weights in (p, q))
    return np.asarray(stats.jensen_shannon_nats(one, other).numpy())


def _witness(case: Case, found: Gauged, jsd: Float[np.ndarray, " example"]) -> Facts:
    """The text whose two heatmaps differ most, word by word."""
    row = int(jsd.argmax())
    example = case.tested[row]

    def shown(answer: Answer) -> list[float | None]:
        (each,) = of_words(answer.weights[row : row + 1], found.readout.word[row : row + 1], [example])
        return [float(weight) if np.isfinite(weight) else None for weight in each]

    return {
        "id": example.id,
        "words": list(example.words),
        "own": shown(found.own),
        "twin": shown(found.twins["reversed"]),
        "label": case.labels[found.own.decisions[row]],
    }


def answer_of(twin: Subject, examples: Sequence[Example]) -> Answer:
    """What a twin that is a model of its own answers."""
    readout = read_out(twin, examples)
    assert readout is not None, "a twin is of the kind of its base"
    votes = np.asarray(readout.relevance[:, 0] + readout.bias[:, 0, None])
    return Answer.of(readout.attention[:, 0], np.where((readout.word >= 0)[..., None], votes, 0.0))


def _measurements(
    case: Case, settings: GaugeSettings, values: Mapping[str, np.ndarray], twins: Iterable[str]
) -> Iterator[Measurement]:
    baselines = {
        "jsd": "0: the same weights; ln 2 = .693: no word in common",
        "tvd": "0: the same probabilities",
        "tvd_tempered": "0: the same probabilities after one temperature",
        "agreement": "1 by theory: every decision is the same",
        "jsd_contributions": "0 by theory: each word contributes the same share",
    }
    for twin in twins:
        for name, baseline in baselines.items():
            each = values[f"{name}:{twin}"]
            yield from measured(case, name, each, np.isfinite(each), baseline, {"twin": twin}, settings.draws)


gauge = Check(
    name="gauge",
    question="Is there a twin with other weights and the same decision on every text?",
    paper="heatcheck's own; after Wiegreffe & Pinter 2019, Section 4",
    holds="states",
    baseline="the same decisions and the same contributions, by theory",
    settings=GaugeSettings,
    measure=measure,
    cost=lambda case, _: 0 if isinstance(case.subject, HasLayers) else len(case.tested),  # it is not for those
    plan=lambda case, settings: wanted_seeds(case, settings.seeds) if settings.budget else [],
    of="weights",
)

"""How different can the attention weights be while the answer stays the same?

A large divergence alone says nothing. In every model with a linear read-out, weights on a suitable pair of words give
exactly the same output. How far such a pair is at least from the heatmap depends on the heatmap alone. So the check
reports the divergence beside this floor, beside the same number with shuffled relevances, and beside the largest
divergence of any weights.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import PUBLISHED, STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import searches
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.explainers import Readout, of_readout, require_short_cut, searched
from heatcheck.models import name_of_keys
from heatcheck.results import CheckResult, Measurement

Values = dict[str, Float[np.ndarray, " example"]]


@dataclass(frozen=True)
class CounterfactualSettings:
    """The ε up to which an answer counts as the same. The card uses the first ε, on standardised logits."""

    epsilons: tuple[float, ...] = (0.05, 0.01, 0.001)  # the code's, the paper's, and the authors' later talk's
    search: str = "no"  # "jain2019": also the published search, to see how far short of the optimum it stops
    shuffles: int = 5  # of the relevances, for the null
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "counterfactual", "shuffles", "draws")
        if self.search not in ("no", "jain2019"):
            raise BadInput(f"counterfactual.search must be no or jain2019, not {self.search!r}.")
        if not self.epsilons or not all(0 <= epsilon < 1 for epsilon in self.epsilons):
            raise BadInput(
                f"counterfactual.epsilons must be changes of probability, at least 0 and below 1, not {self.epsilons}."
            )
        if len({f"{epsilon:g}" for epsilon in self.epsilons}) < len(self.epsilons):
            raise BadInput(f"counterfactual.epsilons names a value twice: {self.epsilons}.")


def measure(case: Case, settings: CounterfactualSettings) -> CheckResult:
    """Measure the ε-max JSD for every ε on the model's own probabilities, and for the first on standardised ones."""
    require_short_cut(case.subject)
    excluded = {
        example.id: f"it has only one {name_of_keys(case.subject)}, so there are no other weights"
        for example, n in zip(case.examples, case.tokens, strict=True)
        if n < 2
    }
    kept = np.array([example.id not in excluded for example in case.examples])
    if not kept.any():
        raise BadInput("no example has two words between which weight could move: choose longer texts.")
    weights, allowed = case.weights
    of_heads, _ = case.head_weights
    # A divergence is the mean over heads, so the largest one is the mean of the heads' largest ones.
    most = [stats.most_different(of_head, allowed) for of_head in of_heads.swapaxes(0, 1)]
    values: Values = {"max_attention": case.max_attention, "most": np.asarray(np.mean(most, axis=0))}
    asked = [(PUBLISHED, epsilon) for epsilon in settings.epsilons] + [(STANDARDISED, settings.epsilons[0])]
    method = ""
    every = case.other_weights([(epsilon, case.scale_of(logits)) for logits, epsilon in asked])
    for (logits, epsilon), found in zip(asked, every, strict=True):
        scale, method = case.scale_of(logits), found.method
        at = f"{logits}:{epsilon:g}"
        values[f"jsd:{at}"], values[f"upper:{at}"] = found.jsd[:, 0], found.upper[:, 0]
        values[f"change:{at}"] = found.change[:, 0]
        values.setdefault("support", (found.weights[:, 0] > 1e-6).sum(-1).astype(float))
        if found.method == "exact":  # the floor of two words is a theorem about two labels and a linear read-out
            values["floor"] = stats.two_item_floor(weights, allowed)
        # With more labels a bracket costs several linear programs per example: only for the card's ε.
        if isinstance(case.readout, Readout) and (found.method == "exact" or logits == STANDARDISED):
            values[f"null:{at}"] = _null(case, settings, case.readout, epsilon, scale)
    if settings.search == "jain2019":
        for epsilon, plain in zip(
            settings.epsilons,
            searched(case.subject, case.examples, settings.epsilons, seed=case.seed),
            strict=True,
        ):
            values[f"searched:{PUBLISHED}:{epsilon:g}"] = plain.jsd[:, 0]
    per_example = {name: of_all[kept] for name, of_all in values.items() if np.isfinite(of_all[kept]).any()}
    return CheckResult(
        check="counterfactual",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(_measurements(case, settings, values, kept, asked)),
        examples=tuple(e.id for e, k in zip(case.examples, kept, strict=True) if k),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        facts={"method": method, "logit_scale": case.logit_scale},
    )


def _null(
    case: Case, settings: CounterfactualSettings, readout: Readout, epsilon: float, scale: float
) -> Float[np.ndarray, " example"]:
    """The JSD with the same weights and shuffled relevances: what the shape of the heatmap alone allows."""
    ids = [example.id for example in case.examples]
    labels = readout.bias.shape[-1]
    each = []
    for number in range(settings.shuffles if labels == 2 else 1):
        order = np.tile(np.arange(readout.allowed.shape[1]), (len(ids), 1))
        for row, name in enumerate(ids):
            places = np.flatnonzero(readout.allowed[row])
            order[row, places] = stream(case.seed, "relevance null", number, name).permutation(places)
        moved = np.take_along_axis(readout.relevance, order[:, None, :, None], 2)
        shuffled = replace(readout, relevance=moved)
        each.append(of_readout(shuffled, ids, epsilon=epsilon, scale=scale, seed=case.seed).jsd[:, 0])
    return np.asarray(np.mean(each, axis=0))


def _measurements(
    case: Case, settings: CounterfactualSettings, values: Values, kept: np.ndarray, asked: list[tuple[str, float]]
) -> Iterator[Measurement]:
    draws = settings.draws
    if "floor" in values:
        yield from measured(case, "floor", values["floor"], kept, "none: it depends on the heatmap alone", {}, draws)
    yield from measured(case, "most", values["most"], kept, "none: the most that any weights could differ", {}, draws)
    for logits, epsilon in asked:
        at, by = f"{logits}:{epsilon:g}", {"epsilon": epsilon, "logits": logits}
        beside = "floor; null: shuffled relevances; most: any weights at all"
        yield from measured(case, "jsd", values[f"jsd:{at}"], kept, beside, by, draws)
        for number, label in enumerate(case.labels):
            members = kept & (case.predicted == number)
            yield from measured(case, "jsd", values[f"jsd:{at}"], members, beside, {**by, "class": label}, draws)
        yield from measured(case, "upper", values[f"upper:{at}"], kept, "jsd: the value attained", by, draws)
        if f"null:{at}" in values:
            yield from measured(case, "null", values[f"null:{at}"], kept, "none: this is the null", by, draws)
        if f"searched:{at}" in values:
            gap = values[f"jsd:{at}"] - values[f"searched:{at}"]
            yield from measured(case, "gap", gap, kept, "0: the published search finds the optimum", by, draws)
    at, by = f"{STANDARDISED}:{settings.epsilons[0]:g}", {"epsilon": settings.epsilons[0], "logits": STANDARDISED}
    for name, of, baseline in (
        ("U", "jsd", "U_null: shuffled relevances; 1: any heatmap at all would do"),
        ("U_upper", "upper", "U: the value attained"),
        ("U_null", "null", "none: this is the null"),
    ):
        column = values.get(f"{of}:{at}")
        if column is not None and np.isfinite(column[kept]).all():
            yield Measurement(name, *_share(case, name, column[kept], values["most"][kept], draws), baseline, by)


def _share(case: Case, name: str, found: np.ndarray, most: np.ndarray, draws: int) -> stats.Interval:
    """A ratio of means. Most texts are at the bound and a few far below, so the interval allows for unseen ones."""
    return stats.bounded_share_interval(
        np.clip(found, 0, most),  # but for the last digits no JSD is larger than the largest
        most,
        generator=stream(case.seed, "bootstrap", name),
        draws=draws,
    )


counterfactual = Check(
    name="counterfactual",
    question="How different can the weights be while the answer stays the same?",
    paper="Jain & Wallace 2019, Algorithm 3",
    holds="states",
    baseline="a floor that depends on the heatmap alone, and relevances shuffled among the words",
    settings=CounterfactualSettings,
    measure=measure,
    cost=lambda case, settings: len(case.examples) + searches(case, len(settings.epsilons) + 1),
    of="weights",
)

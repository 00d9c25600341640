"""Which heads of a transformer matter, and does it matter where they look?

Each head is removed in up to five ways, exactly. What a head does on average, and the text whose pattern it borrows,
come from the other half of the examples. Beside the true effects stand their estimates from one gradient, with the
error of these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import THERE_AND_BACK
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.halves import in_halves
from heatcheck.heads.proxy import estimate_each
from heatcheck.heads.proxy_error import ProxyError, compare
from heatcheck.heads.reading import heads_of_layers
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import Answers, Removed, remove_each
from heatcheck.heads.ways import OF_OTHERS, WAYS, require_ways
from heatcheck.heads.where import Gaze, adjusted_p, gaze_shares, heads_that_matter
from heatcheck.models import HasLayers, require_layers, require_one_decision, whole_model
from heatcheck.results import CheckResult, Measurement

Each = Float[np.ndarray, "layer head example"]
UNREAD = "the check read as many examples before it as heads.texts allows"


@dataclass(frozen=True)
class HeadsSettings:
    """How heads are removed, and on how many examples."""

    ways: tuple[str, ...] = tuple(WAYS)
    texts: int = 256  # examples at most
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "heads", "draws")
        if not self.ways:
            raise BadInput(f"heads.ways is empty. Name at least one of: {', '.join(WAYS)}.")
        require_ways(self.ways)
        if self.texts < 2:
            raise BadInput(f"heads.texts must be at least 2, not {self.texts}.")


def measure(case: Case, settings: HeadsSettings) -> CheckResult:
    """Measure what each head's removal does, by way; examples beyond `texts` are left out."""
    subject = require_layers(whole_model(case.subject), "heads")
    require_one_decision(subject, "heads")
    examples, rest = case.examples[: settings.texts], case.examples[settings.texts :]
    removed, estimated, importance = cross_fitted(subject, examples, settings.ways, seed=case.seed)
    everyone = np.ones(len(examples), dtype=bool)
    shares = _shares(case, removed, settings)
    measurements = [
        *measured(case, "head_accuracy", removed.whole.right, everyone, NO_BASELINE, {}, settings.draws),
        *_of_heads(case, removed, settings),
        *_counts(removed, shares),
        *_of_proxies(case, removed, estimated, importance, settings),
        *_of_shares(removed, shares),
    ]
    return CheckResult(
        check="heads",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(example.id for example in examples),
        per_example={
            f"{name}:{way}:{layer}:{head}": values[layer - 1, head - 1]
            for way in settings.ways
            for name, values in (("loss_added", removed.effect(way)), ("answer_moved", removed.without[way].moved))
            for layer, head in _heads(removed)
        },
        excluded={example.id: UNREAD for example in rest},
        settings=asdict(settings),
        seed=case.seed,
        facts={
            "layers": len(removed.sink),
            "heads": sum(1 for _ in _heads(removed)),
            "gold": all(example.label is not None for example in examples),
        },
    )


NO_BASELINE = "none: the model with all its heads"


def cross_fitted(
    subject: HasLayers, examples: Sequence[Example], ways: Sequence[str], *, seed: int
) -> tuple[Removed, dict[str, Each], Each]:
    """Effects of each head on every example, with reference texts from the other half; and their estimates."""
    if not all(example.label is not None for example in examples):
        examples = [example.but(label=None) for example in examples]  # one loss for both halves
    second = in_halves(examples, "heads", seed=seed)
    parts: list[tuple[np.ndarray, Removed, dict[str, Each], Each]] = []
    for half in (False, True):
        places = np.flatnonzero(second == half)
        ours, others = (
            [e for e, of in zip(examples, second, strict=True) if of == which] for which in (half, not half)
        )
        reference = read_reference(subject, others) if set(ways) & set(OF_OTHERS) else None
        estimated = estimate_each(subject, ours, reference, ways, seed=seed)
        removed = remove_each(subject, ours, reference, ways, seed=seed)
        parts.append((places, removed, dict(estimated.effects), estimated.importance))
    order = np.argsort(np.concatenate([places for places, *_ in parts]))

    def join(each: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(each, axis=-1)[..., order]

    def answers(each: Sequence[Answers]) -> Answers:
        return Answers(*(join([one[kind] for one in each]) for kind in range(3)))

    whole = Removed(
        tuple(example.id for example in examples),
        answers([removed.whole for _, removed, _, _ in parts]),
        {way: answers([removed.without[way] for _, removed, _, _ in parts]) for way in ways},
        join([removed.sink for _, removed, _, _ in parts]),
    )
    effects = {way: join([estimated[way] for _, _, estimated, _ in parts]) for way in ways}
    return whole, effects, join([importance for *_, importance in parts])


def _heads(removed: Removed) -> Iterator[tuple[int, int]]:
    """Layers and heads that there are, counted from 1."""
    for layer, head in np.argwhere(~np.isnan(removed.sink).any(-1)):
        yield int(layer) + 1, int(head) + 1


def _of_heads(case: Case, removed: Removed, settings: HeadsSettings) -> Iterator[Measurement]:
    everyone = np.ones(len(removed.ids), dtype=bool)
    for way in settings.ways:
        effects, moved = removed.effect(way), removed.without[way].moved
        matter = heads_that_matter(effects)
        for name, values in (("loss_added", effects), ("answer_moved", moved)):
            baseline = f"{np.nanmean(values):.4f}: the mean head"
            for layer, head in _heads(removed):
                by: dict[str, str | int] = {"way": way, "layer": layer, "head": head}
                if name == "loss_added":
                    by["matters"] = "yes" if matter[layer - 1, head - 1] else "no"
                of_head = values[layer - 1, head - 1]
                yield from measured(case, name, of_head, everyone, baseline, by, settings.draws)
    for layer, head in _heads(removed):
        of_head, here = removed.sink[layer - 1, head - 1], {"layer": layer, "head": head}
        baseline = f"{np.nanmean(removed.sink):.2f}: the mean head"
        yield from measured(case, "sink_mass", of_head, everyone, baseline, here, settings.draws)


def _shares(case: Case, removed: Removed, settings: HeadsSettings) -> list[Gaze] | None:
    if not {"mean", "other_text"} <= set(settings.ways):
        return None
    return gaze_shares(removed, generator=stream(case.seed, "heads", "shares"), draws=settings.draws)


def _counts(removed: Removed, shares: Sequence[Gaze] | None) -> Iterator[Measurement]:
    """How many heads matter by each way, and how many of those of `mean` matter for where they look."""
    heads, n = sum(1 for _ in _heads(removed)), len(removed.ids)
    for way in removed.without:
        effects = removed.effect(way)
        found = float(heads_that_matter(effects).sum())
        helpful = _helpful(effects)
        for name, value in (("heads_that_matter", found), ("heads_that_harm", float(helpful.sum()))):
            yield Measurement(name, value, value, value, n, f"none: of {heads} heads", {"way": way})
    if shares is not None:
        for kind in ("where", "what", "open"):
            value = float(sum(share.says == kind for share in shares))
            baseline = f"none: of {len(shares)} heads that matter"
            yield Measurement("heads_that_matter_for", value, value, value, n, baseline, {"for": kind})


def _helpful(effects: Each) -> Bool[np.ndarray, "layer head"]:
    """Heads whose removal surely makes the loss smaller."""
    with np.errstate(invalid="ignore"):
        return np.asarray((adjusted_p(effects) <= 0.05) & (effects.mean(-1) < 0))


def _of_shares(removed: Removed, shares: Sequence[Gaze] | None) -> Iterator[Measurement]:
    for one in shares or ():
        sink = float(removed.sink[one.layer, one.head].mean())
        baseline = f"0: another text's pattern does as well; {sink:.0%} of its weight is on marks and the first token"
        by = {"layer": one.layer + 1, "head": one.head + 1, "for": one.says}
        value, low, high, n = one.share
        yield Measurement("gaze_share", value, low, high, n, baseline, by)


PROXIES = {
    "spearman": "proxy_spearman",
    "recall": "proxy_recall",
    "signs": "proxy_signs",
    "relative_error": "proxy_error",
}


def _of_proxies(
    case: Case, removed: Removed, estimated: Mapping[str, Each], importance: Each, settings: HeadsSettings
) -> Iterator[Measurement]:
    """The error of the estimates of each way; and of Michel's importance, which only ranks."""
    for way in settings.ways:
        generator = stream(case.seed, "heads", "proxy", way)
        found = compare(estimated[way], removed.effect(way), generator=generator, draws=settings.draws)
        yield from _errors(found, {"way": way, "estimate": "signed"}, list(PROXIES))
    if "zero" in settings.ways:
        generator = stream(case.seed, "heads", "proxy", "importance")
        found = compare(importance, removed.effect("zero"), generator=generator, draws=settings.draws)
        yield from _errors(found, {"way": "zero", "estimate": "importance"}, ["spearman", "recall"])


def _errors(found: ProxyError, by: dict[str, str], names: Sequence[str]) -> Iterator[Measurement]:
    for name in names:
        interval: stats.Interval = found.found[name]
        if not np.isfinite(interval.value):
            continue
        of = {**by, "top": found.top} if name == "recall" else by
        yield Measurement(PROXIES[name], *interval, baseline=f"{found.chance[name]:.2f}: heads permuted", by=of)


def _passes(case: Case, settings: HeadsSettings) -> int:
    """Whole passes: a removal costs those layers that come after it."""
    subject = whole_model(case.subject)
    if not isinstance(subject, HasLayers):
        return 0  # `measure` refuses such models
    heads = heads_of_layers(subject, subject.encode(case.examples[:1]))
    layers = len(heads)
    each = sum(of_layer * (layers - layer) / layers for layer, of_layer in enumerate(heads))
    return round(min(settings.texts, len(case.examples)) * (each * len(settings.ways) + 2 * THERE_AND_BACK))


heads = Check(
    name="heads",
    question="Which heads matter to the answers, and does it matter where they look?",
    paper="Michel et al. 2019; Voita et al. 2019; Kovaleva et al. 2019",
    holds="re-encoded",
    baseline="the mean head; heads permuted for the estimates",
    settings=HeadsSettings,
    measure=measure,
    cost=_passes,
    default=False,
)

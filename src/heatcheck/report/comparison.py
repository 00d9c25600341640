"""Several audits compared: whether their numbers are comparable, and how much the models differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from heatcheck.errors import BadInput
from heatcheck.report.view import in_order, view_of
from heatcheck.report.wording import explainer_name, said
from heatcheck.results import Audit, HeatmapAudits, find_key
from heatcheck.results.comparison import ACCURACY, differences, differing_settings, unlike
from heatcheck.stats import Interval

LAST_LAYER = "last layer, mean over heads"  # the heatmap of an audit that names none
MOST = 6  # readers cannot tell more colours and columns apart


class Differing(NamedTuple):
    """Something in which audits differ."""

    what: str
    values: tuple[str, ...]  # one per model
    matters: bool  # whether it makes numbers not comparable one by one


class Lacking(NamedTuple):
    """Something that not all audits have."""

    what: str
    values: tuple[str, ...]  # one per model: "yes", or why not


class Paired(NamedTuple):
    """A model minus the first one, text by text."""

    check: str
    name: str  # of the value in the result
    what: str
    model: str
    difference: Interval
    common: int  # texts in both audits; `difference.n` of them have the value in both

    @property
    def settled(self) -> bool:
        """Whether the interval excludes zero."""
        return self.difference.low > 0 or self.difference.high < 0


@dataclass(frozen=True)
class Comparison:
    """The comparison of several audits."""

    audits: Mapping[str, Audit]  # by the name of the model
    differing: Sequence[Differing]
    lacking: Sequence[Lacking]
    paired: Sequence[Paired]
    not_paired: Sequence[str]  # sentences: what could not be paired, and why
    heatmaps: HeatmapAudits | None = None  # set if these are heatmaps of one model

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.audits)

    @property
    def comparable(self) -> bool:
        """Whether numbers can be compared one by one."""
        return not any(one.matters for one in self.differing)

    @property
    def statement(self) -> str:
        """Whether numbers can be compared, in words."""
        first = next(iter(self.audits.values()))
        task = first.task.partition("@")[0]
        if self.comparable:
            every = "Both" if len(self.audits) == 2 else f"All {len(self.audits)}"
            return (
                f"{every} were audited on the same {first.n:,} texts of {task} (split {first.split}, seed "
                f"{first.seed}) with the same settings. Their numbers can be compared."
            )
        told = [one.what for one in self.differing if one.matters]
        named = ", ".join(told[:4]) + (f" and {len(told) - 4} more" if len(told) > 4 else "")
        return (
            f"These audits differ in: {named}. Their numbers are not comparable one by one. Compare each with its own "
            "baseline, and do not rank the models by them."
        )


def compare(audits: Mapping[str, Audit] | HeatmapAudits, *, draws: int = 2000) -> Comparison:
    """Compare audits under the given names; the first model is the one that the others are compared with.

    >>> compare({})
    Traceback (most recent call last):
    heatcheck.errors.BadInput: a comparison takes 2 to 6 audits, not 0.
    """
    heatmaps = audits if isinstance(audits, HeatmapAudits) else None
    audits = audits.audits if isinstance(audits, HeatmapAudits) else audits
    if len(audits) < 2 or (heatmaps is None and len(audits) > MOST):
        raise BadInput(f"a comparison takes 2 to {MOST} audits, not {len(audits)}.")
    differing = list(_differing(list(audits.values())))
    paired, not_paired = _all_paired(audits, draws)
    return Comparison(audits, differing, list(_lacking(list(audits.values()))), paired, not_paired, heatmaps)


def _differing(audits: Sequence[Audit]) -> Iterator[Differing]:
    """What differs: data first, then settings, then versions."""
    ids = [frozenset(looked.id for looked in audit.examples) for audit in audits]
    same_data = len({(audit.task, audit.split) for audit in audits}) == 1
    rows: list[tuple[str, list[Any], bool]] = [
        ("task", [audit.task for audit in audits], True),
        ("split", [audit.split for audit in audits], True),
        ("seed", [audit.seed for audit in audits], True),
        ("labels", [list(audit.labels or ()) for audit in audits], True),
        ("number of texts", [audit.n for audit in audits], True),
        # Of one language model, two prompts are two models.
        *((what, [audit.about.get(what) for audit in audits], False) for what in ("prompt", "words for labels")),
        ("heatmap", [audit.heatmap or LAST_LAYER for audit in audits], False),
    ]
    for what, values, matters in rows:
        if unlike(values):
            yield Differing(what, tuple(map(_shown, values)), matters)
    if same_data and len(set(ids)) > 1:
        common = len(frozenset.intersection(*ids))
        yield Differing("which texts", tuple(f"{len(own):,}, {common:,} of them in all" for own in ids), True)
    about = [audit.about for audit in audits]
    same_heatmap = len({audit.explainer for audit in audits}) == 1
    yield from _settings("card", [of.get("card", {}) for of in about])
    for check in in_order(dict.fromkeys(check for audit in audits for check in audit.results)):
        have = [check in audit.results for audit in audits]
        chosen = [of.get("settings", {}).get(check, {}) if has else None for of, has in zip(about, have, strict=True)]
        for one in _settings(check, chosen):
            # That heatmaps of other methods name other methods is no other way to measure.
            named = one.what in (f"{check}.explainer", f"{check}.explainers") and not same_heatmap
            yield one._replace(matters=not named)
    for what in ("heatcheck", "torch"):
        values = [of.get(what) for of in about]
        if unlike(values):
            yield Differing(f"version of {what}", tuple(map(_shown, values)), False)


def _settings(of: str, chosen: Sequence[Mapping[str, Any] | None]) -> Iterator[Differing]:
    """Settings of a check that differ between the audits that ran it."""
    for key in differing_settings([one for one in chosen if one is not None]):
        values = ("not run" if one is None else _shown(one.get(key)) for one in chosen)
        yield Differing(f"{of}.{key}", tuple(values), True)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else said(value)  # a name is copied as it is


def _lacking(audits: Sequence[Audit]) -> Iterator[Lacking]:
    """Checks and heatmaps that some have and others do not."""
    for check in in_order(dict.fromkeys(check for audit in audits for check in audit.results)):
        if any(check not in audit.results for audit in audits):
            values = ("yes" if check in audit.results else audit.not_run.get(check, "not run") for audit in audits)
            yield Lacking(view_of(check).title, tuple(values))
    scored = [dict.fromkeys(name for looked in audit.examples for name in looked.scores) for audit in audits]
    for name in dict.fromkeys(name for names in scored for name in names):
        if any(name not in names for names in scored):
            values = (
                "yes" if name in names else audit.not_run.get(name, "none")
                for audit, names in zip(audits, scored, strict=True)
            )
            yield Lacking(f"heatmaps: {explainer_name(name)}", tuple(values))


def _all_paired(audits: Mapping[str, Audit], draws: int) -> tuple[list[Paired], list[str]]:
    """Each other model minus the first, in the order of a page, and sentences about what cannot be paired."""
    found, refused = differences(audits, lambda check, name: said_of(check, name) is not None, draws=draws)
    first, places = next(iter(audits)), in_order(dict.fromkeys(one.check for one in found if one.check != ACCURACY[0]))
    worded = [(one, words) for one in found if (words := said_of(one.check, one.name)) is not None]
    worded.sort(key=lambda both: [ACCURACY[0], *places].index(both[0].check))
    paired = [Paired(one.check, one.name, words, *one[2:]) for one, words in worded]
    return paired, [
        f"{one.model}: {view_of(one.check).title} has other settings than for {first}."
        if one.check
        else f"{one.model}: its data differs from that of {first}."
        for one in refused
    ]


def said_of(check: str, name: str) -> str | None:
    """The words for a per-text value; None if models are not compared by it.

    >>> said_of("erasure", "effect:attention:deletion"), said_of("erasure", "effect:gradient:deletion")
    ('change of the probability without the words ranked first: attention, deletion', None)
    """
    if (check, name) == ACCURACY:
        return "accuracy"
    of = find_key(name)
    value = next((one for one in view_of(check).compared if of is not None and one.name == of.name), None)
    facts = None if of is None or value is None else value.facts(of.by)
    return None if value is None or facts is None else value.words.format(facts)

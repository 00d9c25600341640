"""The results of a calibration: how often heatcheck's answers were right, and whether that is good enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.special import betaincinv

from heatcheck.auditing.calibration.dial import COVERED, ERRORS, Curve
from heatcheck.auditing.calibration.truth import LINES, Cell, Judged, Truth
from heatcheck.engine import Facts

LEVEL = 0.95  # of the one-sided bound on the share of controls that are judged rightly
MOST_UNCLEAR = 0.10
SAME = 1e-6  # by which numbers on the card of a temperature twin may differ


class Verdict(NamedTuple):
    """One line of one control's card beside what is known of it."""

    cell: Cell
    seed: int
    line: str
    truth: Truth
    state: str
    judged: Judged
    reason: str
    numbers: Sequence[Mapping[str, Any]]
    nuisance: Facts


class Decoy(NamedTuple):
    """A trained decoy: why it is none, if it is none, and what was seen of it."""

    task: str
    seed: int
    rejected: str
    seen: Facts


class Twin(NamedTuple):
    """A control beside the same with larger logits, and how their cards differ."""

    cell: Cell
    seed: int
    factor: float
    states: Sequence[str]  # lines that say another thing
    most: float  # by which a number differs


class Count(NamedTuple):
    """The verdicts of one line."""

    line: str
    right: int
    wrong: int
    unclear: int  # of controls for which the line has an answer
    moot: int
    moot_missed: int  # decided though moot
    not_asserted: int  # of controls for which no answer is known; none of these is a verdict
    controls: int  # that got a decided verdict, at whatever seed
    controls_right: int  # those of them that got no wrong one

    @property
    def decided(self) -> int:
        return self.right + self.wrong

    @property
    def bound(self) -> float:
        """On the share of controls like these that are judged rightly. Seeds of one control are no new controls."""
        return share_at_least(self.controls_right, self.controls)

    @property
    def share_unclear(self) -> float:
        asserted = self.decided + self.unclear
        return self.unclear / asserted if asserted else 0.0


class Criterion(NamedTuple):
    """Something that must hold."""

    name: str
    met: bool
    detail: str


@dataclass(frozen=True)
class Calibration:
    """Every verdict, every curve of the dial, every decoy, and every job that failed."""

    verdicts: tuple[Verdict, ...]
    curves: tuple[Curve, ...]
    changes: tuple[str, ...]  # lines that change their mind more than once along the dial
    decoys: tuple[Decoy, ...]
    failed: Mapping[str, str]
    enough: int
    code: str
    twins: tuple[Twin, ...] = ()

    @property
    def counts(self) -> tuple[Count, ...]:
        """One row per line of the card."""
        kinds: tuple[Judged, ...] = ("right", "wrong", "unclear", "moot", "moot missed", "not asserted")
        found = []
        for line in LINES:
            of_line = [verdict for verdict in self.verdicts if verdict.line == line]
            judged = [verdict.judged for verdict in of_line]
            decided = {verdict.cell for verdict in of_line if verdict.judged in ("right", "wrong")}
            wrong = {verdict.cell for verdict in of_line if verdict.judged == "wrong"}
            counts = [judged.count(kind) for kind in kinds] + [len(decided), len(decided - wrong)]
            found.append(Count(line, *counts))
        return tuple(found)

    @property
    def faults(self) -> tuple[Verdict, ...]:
        """Every verdict that is wrong, unclear where the answer is known, or decided where it cannot be asked."""
        return tuple(v for v in self.verdicts if v.judged in ("wrong", "unclear", "moot missed"))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What is asked of the card, met or not."""
        return (
            *(self._right(count) for count in self.counts),
            *(self._clear(count) for count in self.counts),
            self._moot(),
            *self._twins(),
            *self._dial(),
            Criterion("every control was audited", not self.failed, f"{len(self.failed)} jobs failed"),
        )

    @property
    def passed(self) -> bool:
        return all(criterion.met for criterion in self.criteria)

    def _right(self, count: Count) -> Criterion:
        detail = (
            f"{count.right} of {count.decided} decided verdicts are right. {count.controls_right} of {count.controls} "
            f"controls have no wrong one: with 95% confidence at least {count.bound:.3f} of such controls"
        )
        if not self.enough:
            return Criterion(f"{count.line}: none wrong", count.wrong == 0, detail)
        met = count.decided >= self.enough and count.wrong == 0
        return Criterion(f"{count.line}: {self.enough} decided and none wrong", met, detail)

    def _clear(self, count: Count) -> Criterion:
        detail = f"{count.unclear} of {count.decided + count.unclear} are unclear"
        name = f"{count.line}: at most {MOST_UNCLEAR:.0%} unclear where an answer is known"
        return Criterion(name, count.share_unclear <= MOST_UNCLEAR, detail)

    def _moot(self) -> Criterion:
        missed, moot = (sum(getattr(count, name) for count in self.counts) for name in ("moot_missed", "moot"))
        name = "no line is decided where its question cannot be asked"
        return Criterion(name, missed == 0, f"{moot} of {moot + missed} are left undecided")

    def _twins(self) -> list[Criterion]:
        if not self.twins:
            return []
        off = [f"{twin.cell}: {'; '.join(twin.states)}" for twin in self.twins if twin.states]
        most = max(self.twins, key=lambda twin: twin.most)
        name = f"a twin with logits {most.factor:g} times as large gets the same card, within {SAME:g}"
        detail = "; ".join([f"{len(self.twins)} twins; numbers differ by at most {most.most:.1g} ({most.cell})", *off])
        return [Criterion(name, not off and most.most <= SAME, detail)]

    def _dial(self) -> list[Criterion]:
        found = []
        for name in dict.fromkeys(curve.name for curve in self.curves):
            curves = [curve for curve in self.curves if curve.name == name]
            least = min(curve.covered for curve in curves)
            inversions = [f"seed {curve.seed}: {text}" for curve in curves for text in curve.inversions]
            covered = f"covers at least {least:.0%} of its range over {len(curves)} seeds"
            detail = "; ".join([covered, *inversions])
            title = f"dial: {name} moves one way, within {ERRORS:g} errors, and covers {COVERED:.0%} of its range"
            found.append(Criterion(title, all(curve.good for curve in curves), detail))
        if self.curves:
            detail = "; ".join(self.changes) or "no line changes twice"
            found.append(Criterion("dial: every line changes its answer at most once", not self.changes, detail))
        return found


def share_at_least(right: int, n: int, level: float = LEVEL) -> float:
    """The one-sided Clopper–Pearson bound: were the true share lower, so many right would be rarer than 1 − level.

    >>> round(share_at_least(59, 59), 4), round(share_at_least(58, 59), 4), share_at_least(0, 10)
    (0.9505, 0.9221, 0.0)
    """
    return float(betaincinv(right, n - right + 1, 1 - level)) if right else 0.0

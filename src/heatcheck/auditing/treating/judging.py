"""Did a treatment help? Judged from the numbers of treated and untreated models alone, without running anything.

Three models of each seed are compared on the same examples: the treated one, the untreated one, and the untreated one
with its weights made as sharp as the treated one's (its temperature twin). Sharper weights alone raise some of these
numbers. So a treatment helps only if it beats the twin as well. The intervals and p-values have the spread of seeds and
of examples (stats/two_way.py). Among all cells of a table, false discoveries are controlled (Benjamini–Hochberg).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.auditing.lines import CardSettings
from heatcheck.auditing.treating.numbers import ACCURACY, CONTEXT, HARD, POINTS, ModelNumbers
from heatcheck.results.treatments import Difference, TreatedCell, TreatedRow, Word

LEVEL = 0.05  # share of false discoveries, on average
BETTER = {ACCURACY: 1, POINTS: 1, HARD: -1, CONTEXT: 1}  # −1: the lower the better
KINDS = ("untreated models", "treated models", "temperature twins")
AVOIDS_TWIN = (ACCURACY,)  # sharper weights are no rival explanation of a better accuracy

Crossed = Float[np.ndarray, "draw example"]


class Trio(NamedTuple):
    """Three models of one seed."""

    untreated: ModelNumbers
    treated: ModelNumbers
    twin: ModelNumbers | None  # None: no temperature gives weights as sharp


class Judged(NamedTuple):
    """A treatment, its models, and the lines whose own number its loss trains."""

    name: str
    about: str
    trios: Sequence[Trio]  # one per seed
    not_judged_by: frozenset[str] = frozenset()
    note: str = ""


class _Compared(NamedTuple):
    """A line of one treatment before it is known how many others are tested."""

    before: float
    after: float
    twin: float | None
    change: stats.Tested | None
    beyond: stats.Tested | None
    examples: int
    word: Word | None  # decided already, whatever the p-values
    why: str = ""


def judge(treatments: Sequence[Judged], card: CardSettings | None = None) -> list[TreatedRow]:
    """Judge every treatment by every line and by its accuracy.

    Returns:
        One row per treatment, whose cells have adjusted p-values: at most a share of 5% of the changes is false, on
        average.
    """
    settings = card or CardSettings()
    compared = [{line: _compare(one, line, settings) for line in BETTER} for one in treatments]
    tested = [[_p(cells[line].change, cells[line].word) for line in BETTER] for cells in compared]
    beyond = [[_p(cells[line].beyond, cells[line].word) for line in BETTER] for cells in compared]
    adjusted = [stats.benjamini_hochberg(np.array(p, dtype=float).reshape(-1, len(BETTER))) for p in (tested, beyond)]
    return [
        TreatedRow(
            one.name,
            one.about,
            tuple(
                _cell(line, cells[line], float(adjusted[0][row, column]), float(adjusted[1][row, column]), one)
                for column, line in enumerate(BETTER)
            ),
            _evenness([t.untreated for t in one.trios], [t.treated for t in one.trios]),
            _mean([t.twin.evenness for t in one.trios if t.twin is not None]),
            one.note,
        )
        for row, (one, cells) in enumerate(zip(treatments, compared, strict=True))
    ]


def _p(found: stats.Tested | None, word: Word | None) -> float:
    return np.nan if found is None or word is not None else found.p


def _cell(line: str, found: _Compared, p: float, p_beyond: float, of: Judged) -> TreatedCell:
    change, beyond = _difference(found.change, p), _difference(found.beyond, p_beyond)
    word = found.word
    why = found.why
    if word is None and change is not None:
        word = _word(line, change, beyond)
        if word == "seems better" and beyond is None:
            why = "no temperature makes the untreated weights as sharp, so sharpness may be all there is to it"
    return TreatedCell(
        line,
        word or "cannot be asked",
        found.before,
        found.after,
        found.twin,
        change,
        beyond,
        len(of.trios),
        found.examples,
        why,
    )


def _word(line: str, change: Difference, beyond: Difference | None) -> Word:
    """The verdict, from p-values that are adjusted for the whole table."""
    sign = BETTER[line]
    if not change.p <= LEVEL:
        return "no change seen"
    if sign * change.value < 0:
        return "worse"
    if line in AVOIDS_TWIN or (beyond is not None and beyond.p <= LEVEL and sign * beyond.value > 0):
        return "helps"
    return "seems better"


def _difference(found: stats.Tested | None, p: float) -> Difference | None:
    if found is None:
        return None
    return Difference(found.interval.value, found.interval.low, found.interval.high, p)


def _compare(one: Judged, line: str, card: CardSettings) -> _Compared:
    """The three means of a line and their differences, and what forbids to judge them."""
    untreated, treated = [t.untreated for t in one.trios], [t.treated for t in one.trios]
    twins = [t.twin for t in one.trios if t.twin is not None]
    if not untreated:
        return _unasked("no seed has both models")
    for models in (untreated, treated):
        for model in models:
            if line not in model.lines:
                return _unasked(model.refused.get(line, "its check was not run"))
    with_twins = len(twins) == len(untreated) and all(line in model.lines for model in twins)
    everyone = [untreated, treated, *([twins] if with_twins else [])]
    common = _common([model for models in everyone for model in models], line)
    if not common:
        return _unasked("the models have no example in common")
    values = [_values(models, line, common) for models in everyone]
    if line == CONTEXT:  # a treatment that costs accuracy leaves less to gain: that must not look like a gain
        values = [(above, values[0][1]) for above, _ in values]
    if why := _not_askable(line, values, everyone, card):
        return _unasked(why)
    linear = [stats.linearised_ratio(*each) for each in values]
    change = stats.two_way_test(linear[1] - linear[0])
    beyond = stats.two_way_test(linear[1] - linear[2]) if with_twins and line not in AVOIDS_TWIN else None
    before, after, *twin = (float(each.mean()) for each in linear)
    word: Word | None = None
    why = ""
    if line in one.not_judged_by:
        word, why = "not judged here", "its loss trains this number"
    elif len(untreated) < card.seeds:
        word, why = "too few seeds", f"{len(untreated)} seeds; at least {card.seeds} are needed"
    return _Compared(before, after, twin[0] if twin else None, change, beyond, len(common), word, why)


def _unasked(why: str) -> _Compared:
    return _Compared(np.nan, np.nan, None, None, None, 0, "cannot be asked", why)


def _common(models: Sequence[ModelNumbers], line: str) -> list[str]:
    """The examples that every model has a number for, in the order of the first."""
    every = set.intersection(*(set(model.lines[line].examples) for model in models))
    return [name for name in models[0].lines[line].examples if name in every]


def _values(models: Sequence[ModelNumbers], line: str, common: Sequence[str]) -> tuple[Crossed, Crossed]:
    """Numerators and denominators [seed, example]."""
    above, below = [], []
    for model in models:
        of = model.lines[line]
        place = {name: at for at, name in enumerate(of.examples)}
        rows = [place[name] for name in common]
        above.append(of.above[rows])
        below.append(of.below[rows])
    return np.stack(above), np.stack(below)


def _not_askable(
    line: str,
    values: Sequence[tuple[Crossed, Crossed]],
    everyone: Sequence[Sequence[ModelNumbers]],
    card: CardSettings,
) -> str:
    """Why the card could not ask this of these models, each kind taken together; empty if it could."""
    if line == POINTS:
        for kind, (_, below) in zip(KINDS, values, strict=False):
            if not _least(below) >= card.room:
                return f"in the {kind} no other method finds words that matter more than random words"
    if line == CONTEXT:
        if not min(model.lines[line].carries for model in everyone[0]) >= card.guide_room:
            return "no single word says enough about the label"
        if not _least(values[0][1]) >= card.guide_room:
            return "a bag of words does about as well as the untreated models, so there is no gap to close"
    if line == HARD:
        for kind, models in zip(KINDS, everyone, strict=False):
            if np.mean([model.evenness for model in models]) > card.flat:
                return f"the weights of the {kind} are nearly equal, so shuffles change almost nothing"
    return ""


def _least(values: Crossed) -> float:
    """The lower end of the interval of a mean; of a single seed, that over examples."""
    found = stats.t_interval(values[0]) if len(values) == 1 else stats.two_way_interval(values)
    return found.low


def _evenness(before: Sequence[ModelNumbers], after: Sequence[ModelNumbers]) -> tuple[float, float] | None:
    if not before:
        return None
    return float(np.mean([model.evenness for model in before])), float(np.mean([model.evenness for model in after]))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None

"""The type of a check's view, all that a reader sees of it (title, tables, figures, words); and all views by name."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heatcheck.engine import Plugged
from heatcheck.report.compared_values import Compared
from heatcheck.report.figures.figure import Figure
from heatcheck.report.shared_words import HELD
from heatcheck.report.table import Table
from heatcheck.results import CheckResult, Quantity, register

Maker: TypeAlias = Callable[[CheckResult, Mapping[str, str]], Figure | None]  # the labels predicted, by id
Results: TypeAlias = Mapping[str, CheckResult]  # of one check, by the name of the model
ComparisonMaker: TypeAlias = Callable[[Results, Sequence[str]], Figure | None]  # the names of all models compared


def _no_tables(_: CheckResult) -> list[Table]:
    return []


@dataclass(frozen=True)
class CheckView:
    """What a report, a comparison and a listing show of a check; `CheckView("Its plain name")` is enough.

    Every check also has the table of all its numbers, whatever its view says.
    """

    title: str  # its plain name
    place: int | float = math.inf  # in a report, from what the heatmap shows to what other models show
    reading: str = ""  # how to read its numbers, if they are easily misread
    methods: Mapping[str, str] = field(default_factory=dict)  # what a number can promise, by the fact "method"
    held: str = ""  # what stays the same, if its parts differ in this
    tables: Callable[[CheckResult], Sequence[Table]] = _no_tables  # those without rows are left out
    figures: tuple[Maker, ...] = ()
    quantities: tuple[Quantity, ...] = ()  # what it measures, unless another view has it
    kinds: Mapping[tuple[str, str], str] = field(default_factory=dict)  # words for facts: key and value -> words
    compared: tuple[Compared, ...] = ()  # values per example by which models are compared
    comparison_figures: tuple[ComparisonMaker, ...] = ()

    def readings(self, result: CheckResult) -> list[str]:
        """How to read these numbers, by the method that computed them."""
        by_method = self.methods.get(str(result.facts.get("method", "")), "")
        return [words for words in (self.reading, by_method) if words]

    def what_stays(self, holds: str) -> str:
        """What stays the same while the check changes something, in words."""
        return self.held or HELD[holds]


# By the key of the check. report/checks fills it, and installed packages add to it; what a view measures is registered.
CHECK_VIEWS: Plugged[CheckView] = Plugged(
    "heatcheck.views", CheckView, {}, added=lambda _, view: register(*view.quantities)
)


def view_of(check: str) -> CheckView:
    """The view of a check; one without a view of its own has a title from its key, and no figure.

    >>> view_of("permutation").title, view_of("a_new_one").title
    ('Shuffling the weights', 'A new one')
    """
    return CHECK_VIEWS.get(check) or CheckView(check.replace("_", " ").capitalize())


def in_order(checks: Iterable[str]) -> list[str]:
    """Checks in the order of a report; those without a place come last.

    >>> in_order(["counterfactual", "a_new_one", "agreement"])
    ['agreement', 'counterfactual', 'a_new_one']
    """
    return sorted(checks, key=lambda check: view_of(check).place)

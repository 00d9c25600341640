"""The type of a study's view: what page, terminal and figures say about this study alone, with defaults."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from heatcheck.report.figures.figure import Figure
from heatcheck.report.table import Table
from heatcheck.results import Key, Model, Quantity, Row, StudyResult

Rows: TypeAlias = Mapping[tuple[str, str, str, Key, str, str], Row]  # by task, model, quantity, class and bin

# Words, and the quantities that call for them: any one of these, or none if the words always hold.
Sentence: TypeAlias = tuple[tuple[str, ...], str]

# A maker gives nothing if this run of its study lacks the numbers. Only the studies that name a maker call it.
TableMaker: TypeAlias = Callable[[StudyResult], list[Table]]
FigureMaker: TypeAlias = Callable[[StudyResult], Figure | None]

OUR_NUMBER: Sentence = (
    (),
    "Our number is the mean over seeds with its 95% t interval. With few seeds the interval may pass 0 or 1. A "
    "number in brackets counts the seeds that have a text there, if not all have one.",
)
STATEMENT: Sentence = (
    (),
    "Each statement says whether the published number is inside the interval of one further seed of ours. It also "
    "gives the difference, ours minus theirs.",
)


class Rerun(NamedTuple):
    """Who produced the numbers that stand beside the paper's."""

    word: str  # at the head of a column
    whose: str


AUTHORS = Rerun("rerun", "the authors' rerun")


@dataclass(frozen=True)
class Chapter:
    """One question of the page, with its tables and figures. Without any of them the page leaves it out."""

    name: str  # of the check that asks it, or its own
    tables: tuple[TableMaker, ...] = ()
    figures: tuple[FigureMaker, ...] = ()
    title: str = ""  # empty: the check's
    reading: str = ""  # how to read its numbers; empty: as the check says it


class Line(NamedTuple):
    """One quantity of all models of a task, or a title over some."""

    what: str
    cells: tuple[str, ...]  # none: a title


class ModelsTable(NamedTuple):
    """All models of a task side by side."""

    lines: Sequence[Line] = ()
    note: str = ""  # what to know before reading it


def _nothing(rows: Sequence[Row]) -> str:
    return ""


def _no_lines(models: Sequence[Model], rows: Rows) -> ModelsTable:
    return ModelsTable()


def _no_floor(row: Row, model: Model, rows: Rows) -> Row | None:
    return None


def _no_name(row: Row, labels: Sequence[str]) -> str | None:
    return None


def _no_texts(found: StudyResult) -> tuple[str, str, str] | None:
    return None


@dataclass(frozen=True)
class StudyView:
    """Everything that is shown of one study and not of another. A study without a view has the default one."""

    # At the top of the page
    done: tuple[Sentence, ...] = ()  # what was done
    in_short: Callable[[Sequence[Row]], str] = _nothing  # the results as sentences
    texts: Callable[[StudyResult], tuple[str, str, str] | None] = _no_texts  # data in the header: name, value, note
    settings: Mapping[str, str] = field(default_factory=dict)  # plain names, beside those that many studies share
    unset: Mapping[str, str] = field(default_factory=dict)  # what None means, beside the same
    models: Mapping[str, str] = field(default_factory=dict)  # encoders that this study names, whatever their attention
    retrained: tuple[str, ...] = ()  # quantities of retrained models: each of their seeds counts as one model

    # Published numbers beside ours
    rerun: Rerun = AUTHORS
    about_published: tuple[Sentence, ...] = (OUR_NUMBER, STATEMENT)
    kinds: Mapping[str, Key] = field(default_factory=dict)  # the rows of the summary, in words; the last is always all
    chosen: frozenset[Key] = frozenset()  # values that were chosen, not measured: shown in their shortest form
    floor_of: Callable[[Row, Model, Rows], Row | None] = _no_floor  # the baseline of a published number
    row_name: Callable[[Row, Sequence[str]], str | None] = _no_name  # names that no quantity's words give

    # The rest of the page
    models_table: Callable[[Sequence[Model], Rows], ModelsTable] = _no_lines  # for the models of one task
    about_models: str = ""  # how to read these tables
    chapters: tuple[Chapter, ...] = ()  # none: every number in one table

    # What a terminal shows, in words by quantity; nothing at all: every number
    shown: Mapping[str, str] = field(default_factory=dict)  # if a number was published
    unpublished: Mapping[str, str] = field(default_factory=dict)  # also without one: the questions of the study

    quantities: tuple[Quantity, ...] = ()  # that no other study has

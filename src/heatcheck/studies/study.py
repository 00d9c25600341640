"""What a study declares about its paper: tasks, settings, the work to do, and how results become rows of a table.

A study runs nothing itself: `run_study` (studies/running.py) does that for all of them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from heatcheck.auditing import Plan
from heatcheck.checks.check import MOST
from heatcheck.data import Corpus
from heatcheck.engine import Facts, value_like
from heatcheck.engine.place import JobFunction
from heatcheck.errors import BadInput, UnknownName
from heatcheck.results import CheckResult, Model, Published, Row
from heatcheck.studies.cells import Cell, Extra, Measured, More
from heatcheck.studies.corpora import Source
from heatcheck.studies.rows import read_table

# What settings that several studies have are, and what None means.
VECTORS = "Pretrained word vectors: a GloVe or word2vec text file, or .npz."
NO_VECTORS = "random vectors"
PATIENCE = "Epochs without improvement before training stops; 0 never stops early."
TEXTS, ALL = "Texts per split, for a smoke run.", "all"


class Work(NamedTuple):
    """A job of a study's own, for what is no cell: it writes one folder, which is read back."""

    name: str  # unique within the study, as people see it
    id: str  # its folder under `results`, named by all that decides its content
    function: JobFunction  # defined at the top of a module, so that workers find it
    argument: Facts
    read: Callable[[Path], Any]  # what it left in its folder; `Found.kept` has that by name


Piece: TypeAlias = Cell | Work


class Place(NamedTuple):
    """Where a study runs: its folder, the folder of the corpora, and the device."""

    folder: Path
    data_dir: Path | str | None = None
    device: str = "auto"


@dataclass
class Found:
    """All that a study has so far: its corpora, its results by name, and what failed with the reason."""

    corpora: Mapping[str, Corpus] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)  # where each corpus comes from
    published: Sequence[Published] = ()
    measured: dict[str, Measured] = field(default_factory=dict)  # cells
    kept: dict[str, Any] = field(default_factory=dict)  # what a `Work` left
    failed: dict[str, str] = field(default_factory=dict)


class Gathered(NamedTuple):
    """The results of a study as its page needs them."""

    rows: Sequence[Row]
    models: Sequence[Model]
    tasks: Mapping[str, Facts]
    notes: Sequence[str] = ()  # below the study's own notes
    failed: Mapping[str, str] = MappingProxyType({})  # beside what the runner knows of
    settings: Facts | None = None  # as the page shows them; None: as given, with the tasks that have results


def nothing_more(_: Plan, __: Mapping[str, CheckResult], *___: Extra) -> Facts:
    """For studies whose cells keep the results of their checks alone; workers find it by name."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Study:
    """One paper: a row of `heatcheck studies`.

    `plan` is a generator. It yields pieces of work; when it goes on, `found` has their results. So a study may decide
    what to run next from what it found.
    """

    name: str
    title: str  # of its page
    paper: str
    about: str  # what it measures, in one line
    tasks: tuple[str, ...]
    settings: type  # a frozen dataclass; its defaults are the study's
    quick: Any  # the settings of a smoke run
    version: int  # raised by hand when the results of a cell change
    plan: Callable[[Any, Place, Found], Iterator[Sequence[Piece]]]
    gather: Callable[[Any, Found], Gathered]
    corpora: Callable[[Any], Mapping[str, Source]] = lambda _: {}  # by the names that the study uses
    refuse: Callable[[Any], None] = lambda _: None  # raises for settings that make no sense
    more: More = nothing_more  # what a cell keeps beside its results
    notes: tuple[str, ...] = ()  # what a reader must know before any number
    smoke: str = ""  # the first note of a smoke run
    smoke_if: tuple[str, ...] = ("texts",)  # a run is one if any of these settings is given
    table: Path | None = None  # CSV of the published numbers

    def published(self) -> tuple[Published, ...]:
        """The published numbers."""
        return () if self.table is None else tuple(read_table(self.table))


def setting(default: Any, help: str, *, none: str = "", least: int = 1, file: bool = False) -> Any:  # noqa: A002
    """A field of a study's settings.

    Args:
        help: what it is, in a phrase.
        none: what None means.
        least: the smallest whole number it may be.
        file: whether it names a file.
    """
    return field(default=default, metadata={"help": help, "none": none, "least": least, "file": file})


def change_settings(study: Study, settings: Any, changes: Mapping[str, str]) -> Any:
    """The settings with these values, each read as the kind of its field.

    Raises BadInput for a setting that the study does not have, and for a value of a wrong kind.
    """
    known = {one.name: one for one in fields(study.settings)}
    given = {}
    for key, text in changes.items():
        if key not in known:
            raise UnknownName(f"setting of {study.name}", key, known)
        value = value_like(settings, key, key, text)
        about = known[key].metadata
        if isinstance(value, int) and not isinstance(value, bool) and not about["least"] <= value <= MOST:
            raise BadInput(f"{key} must be a whole number from {about['least']} to {MOST:,}, not {value}.")
        if value == () or value == "":
            raise BadInput(f"{key} must not be empty: give a value, or leave it out.")
        if about["file"] and value is not None:
            if not Path(value).is_file():
                raise BadInput(f"there is no file {value}: {key} must name a GloVe or word2vec text file, or .npz.")
            value = str(Path(value).absolute())
        given[key] = value
    return replace(settings, **given)


def settings_facts(study: Study) -> list[dict[str, Any]]:
    """Every setting: its name, what it is, its default, what None means, and its value in a quick run."""
    return [
        {
            "name": one.name,
            "help": one.metadata["help"],
            "default": one.default,
            "none": one.metadata["none"],
            "quick": getattr(study.quick, one.name),
        }
        for one in fields(study.settings)
        if one.default is not MISSING
    ]


def shown_settings(settings: Any, tasks: Iterable[str], **changes: Any) -> dict[str, Any]:
    """The settings of a run as a page shows them: the tasks that were run, and only the names of files."""
    shown = {**settings.__dict__, "tasks": list(tasks)}
    for one in fields(settings):
        if one.metadata.get("file") and shown[one.name] is not None:
            shown[one.name] = Path(shown[one.name]).name
    return shown | changes


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise for the first name that a study does not have, before anything runs."""
    for name in given:
        if name not in known:
            raise UnknownName(kind, name, known)


def need_seeds(study: str, settings: Any, least: int) -> None:
    """Raise if there are too few seeds to compare."""
    if settings.seeds is not None and settings.seeds < least:
        why = "compares means over seeds: it " if least > 1 else ""
        raise BadInput(f"{study} {why}needs at least {least} seed{'s' if least > 1 else ''}, not {settings.seeds}.")


def given_of(settings: Any, *names: str) -> dict[str, Any]:
    """Those of these settings that are not None, as changes to a preset."""
    values = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}

"""A study with nothing but work to do, for tests of the runner: what it found is handed back as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.studies import Study, run_study
from heatcheck.studies.corpora import Source
from heatcheck.studies.study import Found, Gathered, Piece, Place, setting


@dataclass(frozen=True)
class Settings:
    """As few as a study can have."""

    tasks: tuple[str, ...] = setting((), "Tasks.")
    seeds: int = setting(1, "Seeds.")
    texts: int | None = setting(None, "Texts.")


def found_by(
    rounds: Callable[[Place, Found], Any] | Sequence[Piece],
    folder: Path,
    *,
    corpora: Mapping[str, Source] | None = None,
    **options: Any,
) -> Found:
    """What a study finds that does this work: one round of pieces, or a generator of rounds."""
    seen: list[Found] = []

    def gather(_: Settings, found: Found) -> Gathered:
        seen.append(found)
        return Gathered((), (), {})

    study = Study(
        name="try",
        title="a trial",
        paper="none",
        about="nothing",
        tasks=(),
        settings=Settings,
        quick=Settings(),
        version=1,
        corpora=lambda _: corpora or {},
        plan=lambda _, place, found: iter(rounds(place, found) if callable(rounds) else [rounds]),
        gather=gather,
    )
    run_study(study, Settings(), folder, **options)
    return seen[0]

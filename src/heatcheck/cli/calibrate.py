"""`heatcheck calibrate`: test heatcheck's answers on models whose right answers are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson
from heatcheck.errors import BadInput

if TYPE_CHECKING:
    from heatcheck.auditing.calibration.result import Calibration, Verdict
    from heatcheck.engine import Outcome

# What the columns of the table of verdicts mean.
COLUMNS = {
    "open": "the answer is known, but the card does not decide",
    "controls": "models without a wrong verdict",
    "at least": "their share among such models (one-sided 95% Clopper–Pearson bound)",
    "unasked": "the question cannot be asked, and the card does not decide",
    "unknown": "nobody knows the answer, so no verdict counts",
}


def calibrate(
    seeds: Annotated[int | None, typer.Option(help="Number of seeds per known model.", show_default="13")] = None,
    first_seed: Annotated[int, typer.Option(help="First seed; the others count up from it.")] = 0,
    examples: Annotated[int | None, typer.Option(help="Examples per audit.", show_default="300")] = None,
    workers: Annotated[int, typer.Option(help="Number of parallel processes; 0 runs in this process.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short trial run: one seed, few examples, no decoys.")
    ] = False,
    decoy: Annotated[
        bool,
        typer.Option("--decoy/--no-decoy", help="Train decoys: models that keep their weights off the words they use."),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; finished jobs in it are not run again.",
            show_default="heatcheck-out/calibration",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Test heatcheck itself on models whose right answers are known.

    The exit code is 1 if the verdicts are not good enough.

    \b
    $ heatcheck calibrate --workers 2
    $ heatcheck calibrate --first-seed 100 --json
    $ heatcheck calibrate --quick

    If a run stops early, run the same command again to resume.
    """
    if workers < 0:
        raise BadInput(f"--workers must be 0 or more, not {workers}.")

    from dataclasses import replace

    from heatcheck.auditing.calibration import QUICK, CalibrationSettings
    from heatcheck.auditing.calibration import calibrate as run
    from heatcheck.cli import show
    from heatcheck.engine import write_json
    from heatcheck.training import STORE

    given = {"seeds": seeds, "examples": examples}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    start = QUICK if quick else CalibrationSettings()
    settings = replace(start, first_seed=first_seed, decoys=decoy and start.decoys, **changes)
    folder = out or STORE / "calibration"
    with _bar(shown=not json) as watch:
        found = run(settings, folder, workers=workers, progress=watch)
    facts = _facts(found)
    kept = folder / "calibration.json"
    write_json(kept, facts)
    if json:
        show.as_json({"file": str(kept), **facts})
    else:
        _say(found)
        typer.echo(f"\nall verdicts: {kept}")
    if not found.passed:
        raise typer.Exit(1)


def _say(found: "Calibration") -> None:
    """The counts, every verdict that is not right, the decoys, and whether each criterion is met."""
    from heatcheck.cli import show

    rows = [
        [
            count.line,
            *map(str, (count.right, count.wrong, count.unclear)),
            f"{count.controls_right} of {count.controls}" if count.controls else "",
            f"{count.bound:.3f}" if count.decided else "",
            f"{count.moot} of {count.moot + count.moot_missed}" if count.moot + count.moot_missed else "",
            str(count.not_asserted or ""),
        ]
        for count in found.counts
    ]
    columns = ["line", "right", "wrong", "open", "controls", "at least", "unasked", "unknown"]
    show.table(columns, rows, "The card on models whose answer is known")
    typer.echo("")
    for column, meaning in COLUMNS.items():
        typer.echo(f"{column + ':':<9} {meaning}")
    if found.faults:
        typer.echo("\nVerdicts that are not right:")
    for fault in found.faults:
        typer.echo(f"  {_in_words(fault)}")
    if found.decoys:
        rejected = [decoy for decoy in found.decoys if decoy.rejected]
        typer.echo(f"\nheatcheck trained {len(found.decoys)} decoys and rejected {len(rejected) or 'none'}.")
        for one in rejected:
            typer.echo(f"  {one.task}, seed {one.seed}: {one.rejected}")
    for name, reason in found.failed.items():
        typer.echo(f"failed: {name}: {reason}")
    typer.echo("")
    asked = [["met" if one.met else "NOT MET", one.name, one.detail] for one in found.criteria]
    show.table(["", "criterion", "result"], asked)
    good = (
        "The verdicts are calibrated."
        if found.enough
        else "Nothing is wrong, but a smoke run is too short to calibrate the card."
    )
    typer.echo(f"\n{good if found.passed else 'The verdicts are not calibrated.'}")


def _in_words(fault: "Verdict") -> str:
    """The known answer, what the card says, and its numbers."""
    truths = {"moot": "the question cannot be asked", "not no": "nobody has proved a no"}
    known = f"{fault.line}: {truths.get(fault.truth, f'the true answer is {fault.truth}')}; the card says {fault.state}"
    why = "; ".join(filter(None, [*map(_number, fault.numbers), fault.reason]))
    return f"{fault.cell}, seed {fault.seed}: {known} ({why})"


def _number(facts: Mapping[str, Any]) -> str:
    """One measurement in a few words."""
    of = ", ".join(str(facts["by"][key]) for key in ("operator", "against", "weights", "model") if key in facts["by"])
    ends = ", ".join("?" if facts[end] is None else f"{facts[end]:.2f}" for end in ("low", "high"))
    return f"{facts['name']}{f' ({of})' if of else ''} = {facts['value']:.2f} [{ends}]"


def _facts(found: "Calibration") -> dict[str, Any]:
    """The results as JSON."""
    counts = [{**count._asdict(), "decided": count.decided, "right_at_least": count.bound} for count in found.counts]
    return {
        "passed": found.passed,
        "code": found.code,
        "lines": counts,
        "criteria": [criterion._asdict() for criterion in found.criteria],
        "verdicts": [_verdict_facts(verdict) for verdict in found.verdicts],
        "dial": [
            {
                "statistic": curve.name,
                "seed": curve.seed,
                "covered": curve.covered,
                "inversions": list(curve.inversions),
                "readings": [reading._asdict() for reading in curve.readings],
            }
            for curve in found.curves
        ],
        "decoys": [decoy._asdict() for decoy in found.decoys],
        "twins": [{**twin._asdict(), "cell": list(twin.cell), "states": list(twin.states)} for twin in found.twins],
        "failed": dict(found.failed),
    }


def _verdict_facts(verdict: "Verdict") -> dict[str, Any]:
    cell: Sequence[str] = verdict.cell
    return {**verdict._asdict(), "cell": list(cell), "numbers": list(verdict.numbers)}


@contextmanager
def _bar(*, shown: bool) -> Iterator[Callable[["Outcome", int, int], None]]:
    """A progress bar on standard error: jobs done and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not (shown and console.is_terminal)  # a log file wants no bar
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("calibrating", total=None)
        yield lambda outcome, done, total: progress.update(
            task, description=outcome.job.name, completed=done, total=total
        )

"""The command line: each command parses its options, makes one library call and prints the result.

Nothing heavy is imported here; a command imports what it needs when it runs.
"""

import io
import os
import sys
from collections.abc import Callable

import typer

from heatcheck.cli.audit import audit
from heatcheck.cli.calibrate import calibrate
from heatcheck.cli.compare import compare
from heatcheck.cli.data import data
from heatcheck.cli.demo import demo
from heatcheck.cli.explain import explain
from heatcheck.cli.heads import heads
from heatcheck.cli.listings import checks, explainers
from heatcheck.cli.report import report
from heatcheck.cli.reproduce import Reproduce, reproduce, studies
from heatcheck.cli.serve import serve
from heatcheck.cli.tasks import tasks
from heatcheck.cli.train import train
from heatcheck.cli.treat import treat
from heatcheck.errors import HeatcheckError
from heatcheck.version import __version__

__all__ = ["COMMANDS", "app", "main"]

COMMANDS: dict[str, Callable[..., None] | typer.Typer] = {
    "audit": audit,
    "calibrate": calibrate,
    "checks": checks,
    "compare": compare,
    "data": data,  # a group: `heatcheck data import`
    "demo": demo,
    "explain": explain,
    "explainers": explainers,
    "heads": heads,
    "report": report,
    "reproduce": reproduce,
    "serve": serve,
    "studies": studies,
    "tasks": tasks,
    "train": train,
    "treat": treat,
}
_CLASSES = {"reproduce": Reproduce}  # the others are typer's own

app = typer.Typer(
    help="Can this model's attention heatmap be read as an explanation?",
    epilog="Start with `heatcheck demo`. Every command has --help, and --json for programs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _name, _command in COMMANDS.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name, cls=_CLASSES.get(_name))(_command)


def _say_version(wanted: bool | None) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool | None = typer.Option(
        None, "--version", callback=_say_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line; a user's mistake becomes one line on standard error and exit code 2."""
    # On a busy machine, OpenMP threads that spin while waiting slow down the threads they wait for: a training step
    # took 20 times as long. This must be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show τ still shows the rest
    try:
        app()
    except HeatcheckError as error:
        sys.exit(_complain(str(error), 2))
    except SystemExit as ended:
        if ended.code == 130:  # typer turns ctrl-C into this
            _complain("interrupted. Run the same command again to resume.", 130)
        raise
    except OSError as error:  # a name too long or a full disk: the user can fix it
        sys.exit(_complain(f"{error.strerror or error}: {str(error.filename)[:200]}", 2))


def _complain(sentence: str, code: int) -> int:
    typer.echo(f"heatcheck: {sentence}", err=True)
    return code

"""`heatcheck demo`: train a model on film reviews, audit it and write the report."""

from typing import Any

import typer

from heatcheck.cli.audit import run, write
from heatcheck.cli.options import AsJson, Verbose
from heatcheck.cli.show import CANNOT

REAL, GENERATED = "rotten_tomatoes", "reviews"
CONTROL_TASK = "planted_keyword"
LINES = ("necessary", "points at what matters", "hard to manipulate", "works out of context", "across models")

# The right answers on that task, in the order of the lines. Uniform weights are as accurate there, so attention is not
# needed and has nothing to add outside the model; the proofs are in the docstrings of the models.
KNOWN = {
    "reader": ("no", "yes", "yes", CANNOT, "no"),
    "bystander_right": ("no", "yes", "no", CANNOT, "no"),
    "bystander_wrong": ("no", "no", "no", CANNOT, "no"),
}
CONTROLS = {name: dict(zip(LINES, states, strict=True)) for name, states in KNOWN.items()}


def demo(verbose: Verbose = False, json: AsJson = False) -> None:
    """Train, audit and report on real film reviews, start to finish.

    heatcheck then audits three models whose right answers are known.

    The demo takes a few minutes on a laptop. The real reviews are in heatcheck[data]. If that is not installed, the
    demo uses generated reviews.
    """
    from heatcheck.auditing import plan_audit
    from heatcheck.cli import show
    from heatcheck.data import TASKS, data_folder
    from heatcheck.models import load
    from heatcheck.results import audit_facts
    from heatcheck.training import train

    def look(subject: Any, task: str, examples: int) -> Any:
        return run(plan_audit(subject, task, examples=examples), shown=not json)[0]

    missing = TASKS[REAL].missing(data_folder())
    task = GENERATED if missing else REAL
    if not json:
        if missing:
            typer.echo(f"The real film reviews are not installed, so the demo uses generated ones. For them: {missing}")
        kind = "generated" if missing else "one-sentence"
        typer.echo(f"Training a BiLSTM with attention on {kind} film reviews (under a minute) …\n")
    fit = train(task, progress=not json)
    if not json:
        show.fit_in_words(fit)
        typer.echo("\nAuditing it on 500 test sentences (under a minute) …")
    found = look(fit.subject, task, 500)
    folder = write(found, None)
    if not json:
        show.card(found, verbose=verbose)
        typer.echo(f"\nAuditing three models whose right answers are known, on {CONTROL_TASK} …\n")
    controls = {name: look(load(f"known:{name}@{CONTROL_TASK}"), CONTROL_TASK, 300) for name in CONTROLS}
    report = folder / "report.html"
    if json:
        of_controls = {name: audit_facts(control) for name, control in controls.items()}
        show.as_json({**show.fit_facts(fit), "report": str(report), **audit_facts(found), "controls": of_controls})
        return
    show.controls({name: (control, CONTROLS[name]) for name, control in controls.items()})
    typer.echo(f"\nreport: {report}")
    typer.echo(f'next:   heatcheck explain {fit.folder} "what a waste of time"')
    typer.echo(f"        heatcheck audit {fit.folder} --refit --workers 2   (compares with retrained models)")
    typer.echo("        heatcheck train your.csv --out models/mine; heatcheck audit models/mine --data your.csv")

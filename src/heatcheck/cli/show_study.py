"""A study in the terminal: a progress bar while models train, then each published number beside ours."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from heatcheck.cli import show
from heatcheck.cli.progress import LINES

if TYPE_CHECKING:
    from heatcheck.engine import Outcome
    from heatcheck.results import StudyResult

COMPARED = {
    "inside": "inside the seed interval",
    "outside": "outside",
    "not comparable": "not comparable",
    "one seed": "one seed only",
    "in exact interval": "in our exact interval",
    "not in exact interval": "not in our exact interval",
    "chosen": "chosen among those tried",
}
SHOWN = {
    "score": "F1 or accuracy",
    "tau:attention|gradient": "τ(attention, gradient)",
    "tau:attention|leave_one_out": "τ(attention, leave-one-out)",
    "searched:0.05": "JSD that the search finds, ε = .05",
    "f1:learned": "F1",
    "f1:uniform": "F1, trained with uniform weights",
    "guide_f1:uniform": "F1 of a guide with uniform weights",
    "guide_f1:learned": "F1 of a guide with its own weights",
    "guide_f1:base": "F1 of a guide with the model's weights",
    "guide_f1:adversary": "F1 of a guide with an adversary's weights",
    "best:lambda": "λ of the best far adversary",
    "best:f1": "its F1",
    "best:tvd": "its TVD to the model",
    "best:jsd": "its JSD to the model",
    "accuracy_at:removed": "accuracy, trained without the marked words",
    "accuracy_at:0": "accuracy, honest",
    "mass_at:0": "weight on the marked words, honest",
    "accuracy_at:0.1": "accuracy, λ = 0.1",
    "mass_at:0.1": "weight on the marked words, λ = 0.1",
    "accuracy_at:1": "accuracy, λ = 1",
    "mass_at:1": "weight on the marked words, λ = 1",
    "written_at:0": "words right, honest",
    "links_at:0": "weight on linked words, honest",
    "bleu_at:0": "BLEU-4, honest",
    "written_at:0.1": "words right, λ = 0.1",
    "links_at:0.1": "weight on linked words, λ = 0.1",
    "bleu_at:0.1": "BLEU-4, λ = 0.1",
    "written_at:1": "words right, λ = 1",
    "links_at:1": "weight on linked words, λ = 1",
    "bleu_at:1": "BLEU-4, λ = 1",
    "written_at:uniform": "words right, uniform weights",
    "bleu_at:uniform": "BLEU-4, uniform weights",
    "written_at:none": "words right, no attention",
    "bleu_at:none": "BLEU-4, no attention",
    "gradient:raw:6": "ρ of raw weights with gradients, layer 6",
    "gradient:rollout:6": "ρ of rollout with gradients, layer 6",
    "gradient:flow:3": "ρ of flow with gradients, layer 3",
    "mixing:Attn-W:all": "share of a token from other tokens, by weights",
    "mixing:Attn-N:all": "the same by norms",
    "mixing:AttnRes-N:all": "the same by norms, with the residual",
    "mixing:AttnResLn-N:all": "the same by norms, with the residual and the layer norm",
    "failed:200": "runs that do not copy within 200 steps",
    "aopc:alti:masking": "AOPC of ALTI, words masked",
    "aopc:decompx (signed):masking": "AOPC of DecompX with its sign, words masked",
    "loss": "loss at the end of training",
    "right:test": "accuracy",
}
# Unpublished numbers that the table shows too: the questions of the study.
UNPUBLISHED = {
    "f1:last": "F1, trained with the last state only",
    "accuracy:learned": "accuracy",
    "accuracy:uniform": "accuracy, trained with uniform weights",
    "accuracy:last": "accuracy, trained with the last state only",
    "N:retrained": "share of the gain lost without learned attention (N)",
    "jsd:seeds": "JSD between seeds",
    "tvd:seeds": "TVD between seeds",
    "J_excess": "JSD of an adversary as close as a seed, minus JSD between seeds",
    "trained:learned": "accuracy",
    "trained:uniform": "accuracy, trained with uniform weights",
    "trained:permuted": "accuracy, trained with shuffled weights",
    "trained:last": "accuracy, trained with the last state only",
    "put_in:uniform": "accuracy, uniform weights imposed at test time",
    "put_in:permuted": "accuracy, weights shuffled at test time",
    "evenness": "evenness of the weights (1 is uniform)",
    "censored:attention": "share removed until the flip, by attention",
    "censored:gradient x attention": "the same by gradient × attention",
    "censored:gradient x attention (signed)": "the same by gradient × attention with its sign",
    "censored:random": "the same in random order",
    "accuracy_at:twin": "accuracy, gauge twin",
    "mass_at:twin": "weight on the marked words, gauge twin",
    "blank_out:rollout:6": "ρ of rollout with blanking out, layer 6",
    "blank_out:random": "ρ of random scores with blanking out",
    "area:attention:masking": "area between the curves, attention, words masked",
    "area:rollout:masking": "the same for rollout",
    "area:gradient_rollout:masking": "the same for gradient-weighted rollout",
    "area:random:masking": "the same for random order",
    "longer": "share of texts longer than a head is wide",
    "jsd_low": "JSD of other weights with the same output, at least",
    "jsd_high": "JSD of other weights with the same output, at most",
    "identified:1:cosine": "tokens identified after the first layer, by cosine",
    "auc:polar": "AUC of the attention score, polar and neutral words",
    "auc:polarity": "AUC of |polarity|",
    "mass:polar": "weight on polar words",
    "failed:2000": "runs that do not copy within 2,000 steps",
    "half_by": "steps until half of the runs copy",
    "copied:none:2000": "tokens right without context, 2,000 steps",
    "elimination": "tokens right by elimination alone",
    "eight:bad": "share of draws that copy: eight heads that fail alone",
    "eight:one good": "the same: seven of these and a good one",
    "eight:random": "the same: eight random heads",
    "sign_share:all": "share of the lead over attention that is due to the sign",
}


def study_facts(found: "StudyResult") -> dict[str, Any]:
    """A study as JSON has it."""
    return {
        "study": found.name,
        "rows": [row.facts() for row in found.rows],
        "tasks": dict(found.tasks),
        "failed": dict(found.failed),
        "settings": dict(found.settings),
        "notes": list(found.notes),
    }


def study(found: "StudyResult") -> None:
    """Show the main published numbers beside ours and a few others; the page has the rest."""
    from heatcheck.report.study_wording import AUTHORS, RERUNS

    for facts in found.tasks.values():
        if "stand in for" in (differs := str(facts.get("differs", ""))):
            typer.echo(f"heatcheck: {differs}. The numbers say nothing about that task.", err=True)
    rerun = RERUNS.get(found.name, AUTHORS)
    # If no number of the paper is beside ours, a rerun's may be.
    of_paper = any(row.paper is not None for row in found.rows) or not any(row.rerun is not None for row in found.rows)
    beside = [row for row in found.rows if (row.paper if of_paper else row.rerun) is not None]
    compared = {id(row): row.statement if of_paper else row.rerun_statement for row in beside}
    shown = [
        row
        for row in found.rows
        if (id(row) in compared and row.quantity in SHOWN)
        or (row.quantity in UNPUBLISHED and not row.of_class and not row.bin)
    ]
    rows = [
        [
            f"{row.task} {row.encoder} {row.attention}",
            f"{(SHOWN | UNPUBLISHED)[row.quantity]}{f', {row.of_class}' if row.of_class else ''}",
            f"{_number(row.value)} [{_number(row.low)}, {_number(row.high)}]" if row.seeds > 1 else _number(row.value),
            _number(row.paper),
            _number(row.rerun),
            compared.get(id(row), ""),
        ]
        for row in shown
    ]
    seeds = sorted({row.seeds for row in shown if row.seeds > 1})
    over = f"the mean over {' or '.join(map(str, seeds))} seeds with its 95% interval" if seeds else "one seed"
    title = f"{found.paper}: ours is {over}"
    whose = f"the {'paper' if of_paper else rerun.word}'s number"
    show.table(["model", "quantity, class", "ours", "paper", rerun.word, whose], rows, title)
    said = Counter(COMPARED[row.comparison if of_paper else row.rerun_comparison] for row in beside)
    if said:
        here = sum(id(row) in compared for row in shown)
        typer.echo(f"This shows {here} published numbers; {said.total() - here} more are in table.csv.")
        typer.echo("All published numbers: " + ", ".join(f"{count} {what}" for what, count in said.most_common()) + ".")
    else:
        typer.echo("No published number can be compared with these models.")
    typer.echo(found.notes[0] if found.notes else "")
    for name, reason in found.failed.items():
        typer.echo(f"not run: {name} ({reason})")


def _number(value: float | None) -> str:
    """Two decimals, or as many as a small one needs.

    >>> _number(0.8125), _number(0.000525), _number(None)
    ('0.81', '0.000525', '')
    """
    return "" if value is None else f"{value + 0.0:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


@contextmanager
def models(*, shown: bool) -> Iterator[Callable[["Outcome", int, int], None]]:
    """A progress bar on standard error, one step per model; a line for each failed model."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    hidden = not (shown and console.is_terminal)
    last_line = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("models", total=None)

        def watch(outcome: "Outcome", done: int, total: int) -> None:
            nonlocal last_line
            if shown and hidden and time.monotonic() >= last_line + LINES:
                last_line = time.monotonic()
                console.print(f"heatcheck: {done} of {total} models done", highlight=False)
            progress.update(task, description=outcome.job.name, completed=done, total=total)
            if outcome.state == "failed":
                console.print(f"failed: {outcome.job.name}: {outcome.reason}", markup=False, highlight=False)

        yield watch

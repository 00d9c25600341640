"""How results look in a terminal, and as JSON on standard output."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from heatcheck.auditing import Audit, Plan
    from heatcheck.checks import Measurement
    from heatcheck.training import Fit

STYLE = {"yes": "bold green", "no": "bold red", "unclear": "bold yellow", "not run": "dim"}


def as_json(facts: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(_plain(facts), indent=2, ensure_ascii=False))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A table as wide as the terminal."""
    from rich.table import Table

    drawn = Table(title=title, box=None, pad_edge=False, header_style="bold", title_justify="left")
    for place, column in enumerate(columns):
        drawn.add_column(column, no_wrap=place == 0, overflow="fold")  # names and settings must stay copyable
    for row in rows:
        drawn.add_row(*row)
    _console().print(drawn)


def setting(value: object) -> str:
    """As --set takes it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def fit_facts(fit: "Fit") -> dict[str, Any]:
    """What a program wants to know of a fit."""
    scores = {"test": fit.test.facts(), "logistic_regression": fit.logistic_regression}
    left_out = {"left_out": dict(fit.left_out)}
    return {"folder": str(fit.folder), "id": fit.subject.id, "reused": fit.reused, **scores, **left_out}


def fit_in_words(fit: "Fit") -> None:
    """A model's test scores beside the baselines that make them readable."""
    test, bag = fit.test, fit.logistic_regression

    def of_bag(name: str) -> str:
        return f"{bag[name]:.3f}" if bag.get(name) is not None else ""

    interval = f"[{test.low:.3f}, {test.high:.3f}]"
    rows = [["accuracy", f"{test.accuracy:.3f}", interval, f"{test.majority:.3f}", of_bag("accuracy")]]
    if test.auc == test.auc:
        rows.append(["AUC", f"{test.auc:.3f}", "", "0.500", of_bag("auc")])
        rows.append([f"F1 ({fit.subject.labels[-1]})", f"{test.f1:.3f}", "", "", of_bag("f1")])
    columns = ["", "test", "95% interval", "always the commonest label", "bag of words"]
    table(columns, rows, f"{test.n:,} test examples")
    recipe = fit.subject.recipe
    if recipe and recipe.training["select_split"] == "test":
        typer.echo("The kept epoch is the best on test, as was published: these scores are optimistic.")
    if fit.left_out:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in fit.left_out.items())
        typer.echo(f"Left out of the task: {reasons}.")
    typer.echo(f"{'already there' if fit.reused else 'saved'}: {fit.folder}")


def audit_facts(audit: "Audit") -> dict[str, Any]:
    """What a program wants to know of an audit: the card and every measurement."""
    lines = [{**line._asdict(), "evidence": [m._asdict() for m in line.evidence]} for line in audit.card.lines]
    return {
        "subject": audit.subject,
        "task": audit.task,
        "split": audit.split,
        "n": audit.n,
        "available": audit.available,
        "accuracy": audit.accuracy,
        "logit_scale": audit.card.logit_scale,
        "card": lines,
        "measurements": {name: [m._asdict() for m in found.measurements] for name, found in audit.results.items()},
        "excluded": {name: dict(found.excluded) for name, found in audit.results.items()},
        "not_run": dict(audit.not_run),
    }


def card(audit: "Audit") -> None:
    """The four lines with their evidence, then what agreement found."""
    from rich.table import Table
    from rich.text import Text

    console = _console()
    console.print(f"\nCan the heatmaps of {audit.subject} be read as explanations?")
    console.print(f"{audit.n:,} of {audit.available:,} examples of {audit.task} ({audit.split})\n", style="dim")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for line in audit.card.lines:
        grid.add_row(Text(line.state, STYLE[line.state]), Text.assemble((line.name, "bold"), f": {line.question}"))
        if line.state == "not run":
            grid.add_row("", Text(line.reason, "dim"))
            continue
        grid.add_row("", Text(line.sentence + (f" ({line.reason})" if line.reason else "")))
        for text in [*_evidence(line.evidence), f"held fixed: {line.holds}", f"cannot see {line.cannot_see}"]:
            grid.add_row("", Text(text, "dim"))
    console.print(grid)
    if "agreement" in audit.results:
        _agreement(audit)
    for name, found in audit.results.items():
        if found.excluded:
            console.print(f"{name}: {len(found.examples)} of {audit.n} examples; {len(found.excluded)} left out.")
    for name, reason in audit.not_run.items():
        console.print(f"not run: {name} ({reason})")


def _evidence(measurements: Sequence["Measurement"]) -> Iterator[str]:
    """Each share in a line of its own, what it is made of or read against in one; the report has the rest."""
    for m in measurements:
        if m.name == "K":
            yield f"K by {m.by['operator']} = {_interval(m)}, n = {m.n} ({m.baseline})"
        elif m.name == "q":
            yield f"q, shuffles that keep the answer = {_interval(m)}, n = {m.n} ({m.baseline})"
    effects = [m for m in measurements if m.name == "effect"]
    if effects:
        each = ", ".join(f"{m.by['ranking']} {m.value:.2f}" for m in effects)
        yield f"change of probability, {effects[0].by['operator']} by: {each}"
    found = {m.name: m for m in measurements}
    if "U" in found:
        beside = {"U_upper": "at most", "U_null": "relevances shuffled"}
        if "U_upper" in found and found["U_upper"].value == found["U"].value:
            beside.pop("U_upper")  # it is exact
        against = "".join(f"; {word} {_interval(found[name])}" for name, word in beside.items() if name in found)
        at = f" at ε = {found['U'].by['epsilon']}" if "epsilon" in found["U"].by else ""
        yield f"U, share of the possible difference{at} = {_interval(found['U'])}{against}"
    words = {"floor": "floor of any two words", "most": "most of any weights"}
    sizes = ", ".join(f"{word} {found[name].value:.2f}" for name, word in words.items() if name in found)
    if sizes:
        yield f"JSD in nats: {sizes} (a large JSD alone says nothing)"


def _interval(m: "Measurement") -> str:
    return f"{m.value:.2f} [{m.low:.2f}, {m.high:.2f}]"


def _agreement(audit: "Audit") -> None:
    """τ of attention with its rivals beside its floors; shown, and deciding nothing."""
    found = audit.results["agreement"]
    rows = []
    for measurement in found.measurements:
        if measurement.name != "tau" or "class" in measurement.by or measurement.by["pair"][0] != "attention":
            continue
        rival = measurement.by["pair"][1]
        floors = [m for m in found.measurements if m.name == "tau_mechanical_floor" and m.by["pair"][1] == rival]
        rows.append([rival, _interval(measurement), _interval(floors[0]) if floors else ""])
    typer.echo("")
    title = "Kendall τ of attention with … (shown, decides nothing: part of it is mechanical)"
    table(["", "τ, mean over examples", "mechanical floor: relevances shuffled"], rows, title)
    typer.echo("A τ no higher than its floor says nothing about the words.")


def across(audits: Sequence["Audit"]) -> None:
    """What several models of one kind (seeds) have in common: Student t intervals over them."""
    import numpy as np

    from heatcheck.stats import t_interval

    wanted: dict[str, list[float]] = {}
    for audit in audits:
        for found in audit.results.values():
            for m in found.measurements:
                if (name := _across_models(m)) is not None:
                    wanted.setdefault(name, []).append(m.value)
    rows = []
    for name, values in wanted.items():
        mean = t_interval(np.array(values))
        each = ", ".join(f"{value:.2f}" for value in values)
        rows.append([name, f"{mean.value:.2f}", f"[{mean.low:.2f}, {mean.high:.2f}]", each])
    typer.echo("")
    table(
        ["", "mean", "95% t interval", "each model"],
        rows,
        f"Over {len(audits)} models (τ is of attention with each rival)",
    )


def _across_models(m: "Measurement") -> str | None:
    """What a measurement is called beside those of other models; None for those that are not compared."""
    names = {
        "tau": "τ, {pair}",
        "tau_mechanical_floor": "τ floor, {pair}: {kind}",
        "K": "K, {operator}",
        "delta": "Δ of the output by shuffling",
        "q": "q, shuffles that keep the answer",
        "U": "U, ε = {epsilon}, {logits} logits",
        "U_null": "U, relevances shuffled",
    }
    by = dict(m.by)
    if m.name not in names or by.keys() & {"class", "bin"} or by.get("pair", ["attention"])[0] != "attention":
        return None
    return names[m.name].format(**{**by, "pair": by.get("pair", [""])[-1]})


def controls(audits: Mapping[str, tuple["Audit", Mapping[str, str]]]) -> None:
    """A table each line of the card: the models for which its answer is known, beside that answer.

    `audits` has, by the name of a model, its audit and what is known: the state of a line by the line's name.
    """
    statistic = {"points at what matters": ("K", "K by deletion"), "hard to manipulate": ("q", "q")}
    lines = dict.fromkeys(line for _, known in audits.values() for line in known)
    for line in lines:
        name, title = statistic.get(line, ("", ""))
        rows = []
        for model, (audit, known) in audits.items():
            if line not in known:
                continue
            found = audit.card[line]
            shown = next((_interval(m) for m in found.evidence if m.name == name), "")
            rows.append([model, found.state, known[line], shown])
        table(["model", line, "known to be", title], rows)
        typer.echo("")
    typer.echo("bystander_right does not use its weights, yet they point at the word that matters: here that is a yes.")


def plan(planned: "Plan", *, as_json_too: bool) -> None:
    """What an audit would run, in forward passes of one text."""
    costs = planned.costs()
    if as_json_too:
        as_json({"n": len(planned.case.examples), "split": planned.split, "checks": [cost._asdict() for cost in costs]})
        return
    rows = [[cost.check, f"{cost.passes:,}", f"{cost.seconds:,.0f}", cost.question] for cost in costs]
    n = f"{len(planned.case.examples):,} of {planned.available:,} examples of {planned.corpus.name} ({planned.split})"
    table(["check", "forward passes", "seconds here, about", "question"], rows, n)


@contextmanager
def checking(*, shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error that says which check runs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    hidden = not (shown and console.is_terminal)  # a log file wants no bar
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("checks", total=None)
        yield lambda name, done, total: progress.update(task, description=name, completed=done, total=total)


def heatmaps(found: Mapping[str, Sequence[tuple[str, float | None]]]) -> None:
    """A row a word, a column an explainer: a bar and the number, so that it reads without colours too."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    drawn.add_column("word")
    for name in found:
        drawn.add_column(name)
    largest = {n: max((abs(v) for _, v in scores if v is not None), default=0) or 1 for n, scores in found.items()}
    for rows in zip(*found.values(), strict=True):
        cells = []
        for name, (_, value) in zip(found, rows, strict=True):
            size = 0 if value is None else round(8 * abs(value) / largest[name])
            block = "░" if value is not None and value < 0 else "█"
            cells.append(Text(f"{block * size:8} {'' if value is None else f'{value: .3f}'}"))
        drawn.add_row(rows[0][0], *cells)
    _console().print(drawn)


def _console() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False)  # 'heatcheck[data]' is not markup


def _plain(facts: Any) -> Any:
    """Plain JSON: no number instead of nan or infinity."""
    if isinstance(facts, Mapping):
        return {str(key): _plain(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_plain(value) for value in facts]
    return None if isinstance(facts, float) and not abs(facts) < float("inf") else facts

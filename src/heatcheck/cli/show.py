"""How results look in a terminal, and as JSON on standard output."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from heatcheck.auditing import Plan, PlannedFit
    from heatcheck.data import Corpus
    from heatcheck.engine import Outcome
    from heatcheck.results import Audit, Line, Measurement
    from heatcheck.training import Fit

STYLE = {"yes": "bold green", "no": "bold red", "unclear": "bold yellow", "not run": "dim", "not found": "bold"}
LABELS = 20  # shown with their counts


def as_json(facts: Any) -> None:
    """One JSON document on standard output."""
    from heatcheck.engine import nulled

    typer.echo(json.dumps(nulled(facts), indent=2, ensure_ascii=False))


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


def doubts(corpus: "Corpus") -> None:
    """What looks like a mistake in the labels of the data, on standard error."""
    from heatcheck.data import doubtful_labels

    for remark in doubtful_labels(corpus):
        typer.echo(f"heatcheck: {remark}", err=True)


def fit_facts(fit: "Fit") -> dict[str, Any]:
    """What a program wants to know of a fit."""
    scores = {"test": fit.test.facts(), "logistic_regression": fit.logistic_regression}
    rest = {"left_out": dict(fit.left_out), "epochs": fit.epochs, "kept_epoch": fit.kept_epoch}
    return {"folder": str(fit.folder), "id": fit.subject.id, "reused": fit.reused, **scores, **rest}


def fit_in_words(fit: "Fit", counts: Mapping[str, int] | None = None) -> None:
    """A model's test scores beside the baselines that make them readable, and how many examples each label has."""
    if counts:
        counted = [f"{name} ({count:,})" for name, count in counts.items()]
        more = f", and {len(counted) - LABELS} more" if len(counted) > LABELS else ""
        typer.echo(f"labels: {', '.join(counted[:LABELS])}{more}")
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
    if "not_fitted" in bag:
        typer.echo(f"No bag of words beside it: {str(bag['not_fitted']).rstrip('.')}.")
    if remark := _weak_scores(fit):
        typer.echo(f"heatcheck: {remark}", err=True)
    if fit.kept_epoch is not None:
        typer.echo(f"Epochs: {fit.epochs} ran, and epoch {fit.kept_epoch} was kept.")
    recipe = fit.subject.recipe
    if recipe and recipe.training["select_split"] == "test":
        typer.echo("The kept epoch is the best on test, as was published: these scores are optimistic.")
    if fit.left_out:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in fit.left_out.items())
        typer.echo(f"Left out of the task: {reasons}.")
    typer.echo(f"{'already there' if fit.reused else 'saved'}: {fit.folder}")


def _weak_scores(fit: "Fit") -> str:
    """A warning where there is little to explain: no better than the majority class, or worse than a bag of words."""
    test, bag = fit.test, fit.logistic_regression.get("accuracy")
    found = []
    if not test.low > test.majority:
        found.append(f"is not significantly above the majority class ({test.majority:.3f})")
    if bag is not None and test.accuracy < bag:
        found.append(f"is below a bag of words ({bag:.3f})")
    return f"the test accuracy, {test.accuracy:.3f}, {' and '.join(found)}." if found else ""


def fits_facts(outcomes: Sequence["Outcome"]) -> list[dict[str, Any]]:
    """How each fit ended."""
    return [
        {"id": one.job.id, "name": one.job.name, "state": one.state, "reason": one.reason, "seconds": one.seconds}
        for one in outcomes
    ]


def card(audit: "Audit") -> None:
    """The four lines with their evidence, those about other models and about people apart, then agreement."""
    console = _console()
    console.print(f"\nCan the heatmaps of {audit.subject} be read as explanations?")
    _headline(audit)
    scored = "" if audit.units == "words" else f"; scores are of {audit.units}"
    console.print(f"{audit.n:,} of {audit.available:,} examples of {audit.task} ({audit.split}){scored}", style="dim")
    if audit.training_rows:
        console.print(audit.training_rows)
    console.print("")
    console.print(_lines(audit.card.lines))
    for line in audit.card.apart:
        _apart(line)
    if "agreement" in audit.results:
        _agreement(audit)
    for name, found in audit.results.items():
        if found.excluded:
            counted = len(found.examples) + len(found.excluded)
            console.print(f"{name}: {len(found.examples)} of {counted} examples; {len(found.excluded)} left out.")
    _missing(audit)


def _missing(audit: "Audit") -> None:
    """What was not run and is said nowhere else; a fit that is lacking is named once, not by each check it lacks in."""
    console = _console()
    for fit, reason in audit.not_fitted.items():
        console.print(f"could not be fitted: {fit}: {reason}")
    for check, reason in audit.not_run.items():
        if check != "plausibility":  # its line says so
            console.print(f"not run: {check} ({reason})")
    for check, found in audit.results.items():
        for part, reason in found.not_run.items():
            if part not in audit.not_fitted:
                console.print(f"not run: {check}: {part} ({reason})")


def _headline(audit: "Audit") -> None:
    """The answer, and what follows from it for whoever shows these heatmaps."""
    from heatcheck.results import headline_of

    headline, console = headline_of(audit.card), _console()
    console.print(headline.answer, style="bold")
    for words in headline.may_say:
        console.print(f"You may say: “{words}”")
    for words in headline.do_not_say:
        console.print(f"Do not say: “{words}”")
    console.print("")


def _apart(line: "Line") -> None:
    """A line that stands apart from the card; one quiet row where nothing is known of it."""
    console = _console()
    if line.state == "not run" and not line.evidence:
        console.print(f"\n{line.state}    {line.name} ({line.reason})", style="dim")
        return
    console.print(f"\nApart from these, {line.heading}:\n", style="dim")
    console.print(_lines([line]))


def _lines(lines: Sequence["Line"]) -> "Table":
    """State and question, sentence and reason, evidence."""
    from rich.table import Table
    from rich.text import Text

    from heatcheck.cli.evidence import in_words

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=len("not found"))
    grid.add_column()
    for line in lines:
        grid.add_row(Text(line.state, STYLE[line.state]), Text.assemble((line.name, "bold"), f": {line.question}"))
        if line.state == "not run":
            if line.evidence:
                grid.add_row("", Text(line.sentence))
            reason = line.reason if line.undecided == "cannot be run" else f"what would run it: {line.reason}"
            told = [reason, *in_words(line.evidence)]
        else:
            for text in filter(None, (line.sentence, line.reason)):
                grid.add_row("", Text(text))
            told = [*in_words(line.evidence), f"held fixed: {line.holds}", f"cannot see {line.cannot_see}"]
        for text in told:
            grid.add_row("", Text(text, "dim"))
    return grid


def _agreement(audit: "Audit") -> None:
    """τ of attention with its rivals beside its floors; shown, and deciding nothing."""
    from heatcheck.results.written import in_brief

    found = audit.results["agreement"]
    rows = []
    for measurement in found.measurements:
        if measurement.name != "tau" or "class" in measurement.by or measurement.by["pair"][0] != "attention":
            continue
        rival = measurement.by["pair"][1]
        floors = [m for m in found.measurements if m.name == "tau_mechanical_floor" and m.by["pair"][1] == rival]
        rows.append([rival, in_brief(measurement), in_brief(floors[0]) if floors else ""])
    typer.echo("")
    columns = ["", "τ, mean over examples", "mechanical floor: relevances shuffled"]
    title = "Kendall τ of attention with … (shown, decides nothing)"
    if any(floor for *_, floor in rows):
        table(columns, rows, title)
        typer.echo("A τ no higher than its floor says nothing about the words.")
    else:
        table(columns[:2], [row[:2] for row in rows], title)
    for rival, why in found.facts.get("without_floor", {}).items():
        typer.echo(f"No mechanical floor for {rival}: {why}.")


def across(audits: Sequence["Audit"]) -> None:
    """What several models of one kind (seeds) have in common: Student t intervals over them."""
    from heatcheck.auditing import over_models

    rows = []
    for name, (mean, values) in over_models(audits, _across_models).items():
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
        "P": "P, {explainer} and people",
    }
    by = dict(m.by)
    if m.name not in names or by.keys() & {"class", "bin"} or by.get("pair", ["attention"])[0] != "attention":
        return None
    return names[m.name].format(**{**by, "pair": by.get("pair", [""])[-1]})


def controls(audits: Mapping[str, tuple["Audit", Mapping[str, str]]]) -> None:
    """A table each line of the card: the models for which its answer is known, beside that answer.

    `audits` has, by the name of a model, its audit and what is known: the state of a line by the line's name, or moot.
    """
    from heatcheck.results.written import in_brief

    lines = dict.fromkeys(line for _, known in audits.values() for line in known)
    for name in lines:
        rows = []
        for model, (audit, known) in audits.items():
            if name not in known:
                continue
            line = audit.card[name]
            statistic = f"{line.evidence[0].name} = {in_brief(line.evidence[0])}" if line.evidence else ""
            rows.append([model, "moot" if line.moot else line.state, known[name], statistic])
        table(["model", name, "known to be", "by"], rows)
        typer.echo("")
    typer.echo("moot: there is nothing to ask here, and the card says unclear.")
    typer.echo("bystander_right does not use its weights, yet they point at the word that matters: here that is a yes.")


def plans(planned: Sequence["Plan"], *, workers: int, as_json_too: bool) -> None:
    """What audits would run, in forward passes of one text, and what they would fit first."""
    from heatcheck.auditing import plan_fits

    facts = []
    for one in planned:
        costs = one.costs()
        fits = plan_fits(one, one.seconds_a_pass)
        checked = [cost._asdict() for cost in costs]
        n, fitted = len(one.case.examples), [fit._asdict() for fit in fits]
        rows_of = {"split": one.split, "available": one.available, "left_out": dict(one.rows.left_out)}
        facts.append({"subject": one.name, "n": n, **rows_of, "checks": checked, "fits": fitted})
        if as_json_too:
            continue
        rows = [[cost.check, f"{cost.passes:,}", f"{cost.seconds:,.0f}", cost.question] for cost in costs]
        title = f"{n:,} of {one.available:,} examples of {one.corpus.name} ({one.split})"
        table(["check", "forward passes", "seconds here, about", "question"], rows, title)
        if one.rows.said:
            typer.echo(one.rows.said)
        _fits(fits, workers)
    if as_json_too:
        as_json(facts[0] if len(facts) == 1 else facts)


def _fits(fits: Sequence["PlannedFit"], workers: int) -> None:
    """What would be fitted, and what is there already."""
    if not fits:
        return
    there = sum(fit.done == 1 for fit in fits)
    left = sum((1 - fit.done) * fit.seconds for fit in fits) / max(1, workers)
    rows = [[fit.name, "there" if fit.done == 1 else f"{fit.done:.0%}", f"{fit.seconds:,.0f}"] for fit in fits]
    typer.echo("")
    table(
        ["fit", "done", "seconds here, at most about"], rows, f"{len(fits)} other fits, {there} of them there already"
    )
    typer.echo(f"To fit what is missing takes about {max(1, round(left / 60)):,} min at most.")


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
        drawn.add_row(visible(rows[0][0]), *cells)
    _console().print(drawn)


def visible(word: str) -> str:
    r"""A word whose characters without a width are written out: nobody would see them, and rich trips over some.

    >>> visible("so\u200dgood")
    'so\\u200dgood'
    """
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cf") else char for char in word)


def _console() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False)  # 'heatcheck[data]' is not markup

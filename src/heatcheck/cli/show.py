"""Results as text in a terminal, and as JSON on standard output."""

import json
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

# The report's hues (--yes, --no in report/page.css), told apart by colour-blind readers. They are brighter than on the
# page's white and darker than on its black, because a terminal may have either behind them (contrast over 4 on both).
BLUE, BROWN = "#1f7fbf", "#c85a1a"
STYLE = {"yes": f"bold {BLUE}", "no": f"bold {BROWN}", "unclear": "bold", "not run": "dim", "not found": "bold"}
LABELS = 20  # labels listed with their counts
CANNOT = "cannot be asked"


def as_json(facts: Any) -> None:
    """Print one JSON document."""
    from heatcheck.engine import nulled

    typer.echo(json.dumps(nulled(facts), indent=2, ensure_ascii=False))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table as wide as the terminal."""
    from rich.table import Table

    if title:  # not the table's own, which would wrap at the width of the columns
        _console().print(title, style="italic")
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        drawn.add_column(column, no_wrap=place == 0, overflow="fold")  # names and settings must stay copyable
    for row in rows:
        drawn.add_row(*row)
    _console().print(drawn)


def setting(value: object) -> str:
    """A setting's value as --set takes it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def doubts(corpus: "Corpus") -> None:
    """Warn on standard error about labels that look like mistakes."""
    from heatcheck.data import doubtful_labels

    for remark in doubtful_labels(corpus):
        typer.echo(f"heatcheck: {remark}", err=True)


def fit_facts(fit: "Fit") -> dict[str, Any]:
    """A trained model as JSON."""
    scores = {"test": fit.test.facts(), "logistic_regression": fit.logistic_regression}
    rest = {"left_out": dict(fit.left_out), "epochs": fit.epochs, "kept_epoch": fit.kept_epoch}
    return {"folder": str(fit.folder), "id": fit.subject.id, "reused": fit.reused, **scores, **rest}


def fit_in_words(fit: "Fit", counts: Mapping[str, int] | None = None) -> None:
    """Print a model's test scores beside two baselines, and the number of examples per label."""
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
    columns = ["", "test", "95% interval", "majority class", "bag of words"]
    table(columns, rows, f"{test.n:,} test examples")
    if "not_fitted" in bag:
        typer.echo(f"No bag-of-words baseline: {str(bag['not_fitted']).rstrip('.')}.")
    if remark := _weak_scores(fit):
        typer.echo(f"heatcheck: {remark}", err=True)
    if fit.kept_epoch is not None:
        typer.echo(f"Trained for {fit.epochs} epochs; the model is from epoch {fit.kept_epoch}.")
    recipe = fit.subject.recipe
    if recipe and recipe.training["select_split"] == "test":
        typer.echo("These scores are optimistic: the epoch was chosen on test, as in the paper.")
    if fit.left_out:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in fit.left_out.items())
        typer.echo(f"Rows left out: {reasons}.")
    typer.echo(f"{'already there' if fit.reused else 'saved'}: {fit.folder}")


def _weak_scores(fit: "Fit") -> str:
    """A warning about a weak model: not above the majority class, or below a bag of words."""
    test, bag = fit.test, fit.logistic_regression.get("accuracy")
    found = []
    if not test.low > test.majority:
        found.append(f"is not significantly above the majority class ({test.majority:.3f})")
    if bag is not None and test.accuracy < bag:
        found.append(f"is below a bag of words ({bag:.3f})")
    return f"the test accuracy ({test.accuracy:.3f}) {' and '.join(found)}." if found else ""


def fits_facts(outcomes: Sequence["Outcome"]) -> list[dict[str, Any]]:
    """The outcome of each training run as JSON."""
    return [
        {"id": one.job.id, "name": one.job.name, "state": one.state, "reason": one.reason, "seconds": one.seconds}
        for one in outcomes
    ]


def card(audit: "Audit", *, verbose: bool = False) -> None:
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
    """Print means over several models of one kind (seeds), with Student t intervals."""
    from heatcheck.auditing import over_models

    rows = []
    for name, (mean, values) in over_models(audits, _across_models).items():
        each = ", ".join(f"{value:.2f}" for value in values)
        rows.append([name, f"{mean.value:.2f}", f"[{mean.low:.2f}, {mean.high:.2f}]", each])
    typer.echo("")
    table(
        ["", "mean", "95% t interval", "each model"],
        rows,
        f"Means over {len(audits)} models (τ: agreement of attention with the method named)",
    )


def _across_models(m: "Measurement") -> str | None:
    """The name of a measurement in the table over models; None if it is not in it."""
    names = {
        "tau": "τ, {pair}",
        "tau_mechanical_floor": "τ floor, {pair}: {kind}",
        "K": "K, {operator}",
        "delta": "Δ, change of the output by shuffling",
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
    """Print one table per line of the card: heatcheck's answer for each known model beside the right one.

    Args:
        audits: by model name, its audit and the right answers by line: a state, or CANNOT.
    """
    from heatcheck.results.written import in_brief

    lines = dict.fromkeys(line for _, known in audits.values() for line in known)
    for name in lines:
        rows, asked = [], name
        for model, (audit, known) in audits.items():
            if name not in known:
                continue
            line = audit.card[name]
            asked = f"{line.question} ({line.short})"
            statistic = f"{line.evidence[0].name} = {in_brief(line.evidence[0])}" if line.evidence else ""
            rows.append([model, CANNOT if line.moot else line.state, known[name], statistic])
        table(["model", "heatcheck says", "right answer", "number"], rows, asked)
        typer.echo("")
    typer.echo(f"{CANNOT}: on this task the weights have nothing to add, so the card says unclear.")
    typer.echo(
        "bystander_right ignores its weights, but they point at the word that matters. So the second answer is yes."
    )


def plans(planned: Sequence["Plan"], *, workers: int, as_json_too: bool) -> None:
    """Print the checks that audits would run with their cost, and the models they would train first."""
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
        table(["check", "forward passes", "about seconds", "question"], rows, title)
        if one.rows.said:
            typer.echo(one.rows.said)
        _fits(fits, workers)
    if as_json_too:
        as_json(facts[0] if len(facts) == 1 else facts)


def _fits(fits: Sequence["PlannedFit"], workers: int) -> None:
    """Print the models that would be trained, and those that exist already."""
    if not fits:
        return
    there = sum(fit.done == 1 for fit in fits)
    left = sum((1 - fit.done) * fit.seconds for fit in fits) / max(1, workers)
    rows = [[fit.name, "yes" if fit.done == 1 else f"{fit.done:.0%}", f"{fit.seconds:,.0f}"] for fit in fits]
    typer.echo("")
    table(
        ["model to train", "done", "seconds, at most about"],
        rows,
        f"{len(fits)} models to compare with; {there} exist already",
    )
    typer.echo(f"Training the missing ones takes at most about {max(1, round(left / 60)):,} min.")


def _console() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False)  # otherwise rich reads 'heatcheck[data]' as markup

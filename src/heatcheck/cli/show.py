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
SAID = 2  # sentences that one may say, and that one may not, without --verbose
MEANS = (" means ", ": ")  # between a side of a threshold and the answer that it gives
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
    """A warning: not above the majority class, below a bag of words, or too few test examples for an audit."""
    from heatcheck.auditing import CardSettings

    test, bag = fit.test, fit.logistic_regression.get("accuracy")
    found = []
    if not test.low > test.majority:
        found.append(f"is not significantly above the majority class ({test.majority:.3f})")
    if bag is not None and test.accuracy < bag:
        found.append(f"is below a bag of words ({bag:.3f})")
    weak = f"the test accuracy ({test.accuracy:.3f}) {' and '.join(found)}." if found else ""
    needed = CardSettings().texts
    few = f"{test.n} test examples are too few for an audit, which needs at least {needed}." if test.n < needed else ""
    return " ".join(filter(None, (weak, few)))


def fits_facts(outcomes: Sequence["Outcome"]) -> list[dict[str, Any]]:
    """The outcome of each training run as JSON."""
    return [
        {"id": one.job.id, "name": one.job.name, "state": one.state, "reason": one.reason, "seconds": one.seconds}
        for one in outcomes
    ]


def card(audit: "Audit", *, verbose: bool = False) -> None:
    """The answer, then two rows per line of the card; `verbose`: every number, what it means, and what was not run."""
    console = _console()
    of = f"{audit.subject} ({audit.heatmap})" if audit.heatmap else audit.subject
    console.print(f"Can the heatmaps of {of} be read as explanations?", style="dim")
    if audit.interrupted:
        console.print(audit.interrupted, style="bold")
    _headline(audit, most=None if verbose else SAID)
    console.print(_audited(audit), style="dim")
    if audit.training_rows:
        console.print(audit.training_rows)
    from heatcheck.results import ON_TEXT

    if ON_TEXT in audit.about:
        console.print(f"{ON_TEXT.capitalize()} {audit.about[ON_TEXT]}.")
    if not verbose:
        _in_brief(audit)
        return
    console.print("")
    console.print(_lines(audit.card.in_reading_order))
    for line in audit.card.apart:
        _apart(line)
    if "agreement" in audit.results:
        _agreement(audit)
    for name, found in audit.results.items():
        if found.excluded:
            kept, lost = len(found.examples), len(found.excluded)
            console.print(f"{name}: measured on {kept:,} of {kept + lost:,} examples; {lost:,} left out.")
    _missing(audit)


def _audited(audit: "Audit") -> str:
    """Which examples were audited, and how often the model is right beside the majority class."""
    scored = "" if audit.units == "words" else f"; scores are per {audit.units}"
    right = "" if audit.accuracy is None or audit.accuracy != audit.accuracy else f"; accuracy {audit.accuracy:.2f}"
    if right and audit.commonest is not None:
        right += f", majority class {audit.commonest[1]:.2f}"
    task, _, _ = audit.task.partition("@")
    split = "" if audit.split == "all" else f"{audit.split} "
    return f"{audit.n:,} of {audit.available:,} {split}examples of {task}{right}{scored}"


def _in_brief(audit: "Audit") -> None:
    """At most two rows per line of the card, and one per line that stands apart."""
    console = _console()
    lines = audit.card.in_reading_order
    # One way to say what numbers mean for the whole card: the longer one where it fits everywhere.
    fits = [way for way in MEANS if all(len(_with_number(line, way)) <= console.width for line in lines)]
    means = [*fits, MEANS[-1]][0]
    for line in lines:
        _print_row(line, _first_row(line, means, console.width))
        console.print(f"    {_second_row(line, audit.available, means, console.width)}")
    for line in audit.card.apart:
        if line.undecided != "cannot be run":
            _print_row(line, _only_row(line, console.width))
    if audit.not_fitted:
        runs = "1 training run" if len(audit.not_fitted) == 1 else f"{len(audit.not_fitted)} training runs"
        console.print(f"{runs} failed; --verbose says why.", style="dim")
    from heatcheck.report.advice import treat_next
    from heatcheck.results import headline_of

    headline = headline_of(audit.card)
    more = sum(len(said[SAID:]) for said in (headline.may_say, headline.do_not_say))
    sayings = f" and {more} more saying{'' if more == 1 else 's'}" if more else ""
    # One row, whatever it says: the whole card fits on a screen.
    command = treat_next(audit)
    then = f"{command} may help." if command else "the report has the figures."
    console.print(f"--verbose shows every number{sayings}; {then}", style="dim")


def told_row(line: "Line", width: int) -> str:
    """One row about a line that can no longer change, while the rest of the audit runs."""
    rows = [f"decided so far: {_with_number(line, means)}" for means in MEANS]
    return next((row for row in rows if len(row) <= width), f"decided so far: {_without_number(line)}")


def _print_row(line: "Line", row: str) -> None:
    from rich.text import Text

    text = Text(row)
    text.stylize(STYLE[line.state], 0, len(line.badge))
    _console().print(text)


def _without_number(line: "Line") -> str:
    return f"{line.badge:<3} {line.question}"


def _with_number(line: "Line", means: str) -> str:
    """The answer, the question, and the number with its direction, unless it has none or its number answers nothing."""
    told = _number(line, means)
    return f"{_without_number(line)} {told}" if told and line.undecided != "cannot be asked" else _without_number(line)


def _number(line: "Line", means: str) -> str:
    if line.strip is None:
        return ""
    side, answer = line.strip.rule(line.badge)
    return f"{line.strip.number}; {side}{means}{answer}"


def _first_row(line: "Line", means: str, width: int) -> str:
    row = _with_number(line, means)
    return row if len(row) <= width else _without_number(line)


def _second_row(line: "Line", available: int, means: str, width: int) -> str:
    """Why, in one sentence that fits; or what would run the line, or decide it."""
    from heatcheck.results import TOO_FEW

    if line.undecided == "not run":
        said = [f"Run: {line.reason}"]
    elif line.undecided == "cannot be run":
        said = [line.reason]
    elif line.route == TOO_FEW:
        said = [line.sentence, line.lead]
    else:
        said = [*filter(None, [line.how_many(available)]), line.lead]
    if line.strip is not None and len(_with_number(line, means)) > width:  # the first row had no place for it
        said = [f"{_number(line, means)}. {one}" for one in said] + said
    return next((one for one in said if len(one) <= width - 4), "--verbose says why.")


def _only_row(line: "Line", width: int) -> str:
    """A line that stands apart, with its number or what would run it where they fit."""
    if line.undecided == "not run":
        option = line.reason.replace("heatcheck audit MODEL ", "")
        rows = [f"{_without_number(line)} ({how})" for how in (line.reason, option)]
    else:
        rows = [_with_number(line, means) for means in MEANS]
    return next((row for row in rows if len(row) <= width), _without_number(line))


def _missing(audit: "Audit") -> None:
    """What was not run and is said nowhere else; a training run that failed is named once, not by each check."""
    console = _console()
    for fit, reason in audit.not_fitted.items():
        console.print(f"training failed: {fit}: {reason}")
    for check, reason in audit.not_run.items():
        if check != "plausibility":  # its line says so
            console.print(f"not run: {check} ({reason})")
    for check, found in audit.results.items():
        for part, reason in found.not_run.items():
            if part not in audit.not_fitted:
                console.print(f"not run: {check}: {part} ({reason})")


def _headline(audit: "Audit", most: int | None) -> None:
    """The answer, what follows from it for whoever shows these heatmaps, and what to do next."""
    from heatcheck.results import headline_of

    headline, console = headline_of(audit.card), _console()
    console.print(headline.answer, style="bold")
    for words in headline.may_say[:most]:
        console.print(f"You may say: “{words}”")
    for words in headline.do_not_say[:most]:
        console.print(f"Do not say: “{words}”")
    if headline.instead:
        console.print(headline.instead)
        console.print(f"    {headline.command}")
    if headline.next:
        console.print(headline.next)


def _apart(line: "Line") -> None:
    """A line that stands apart from the card; one quiet row where nothing is known of it."""
    console = _console()
    if line.state == "not run" and not line.evidence:
        console.print(f"\n{line.badge}: {line.question} ({line.reason})", style="dim")
        return
    console.print(f"\nApart from these, {line.heading}:\n", style="dim")
    console.print(_lines([line]))


def _lines(lines: Sequence["Line"]) -> "Table":
    """Badge and question, sentence and reason, then every number in plain words."""
    from rich.table import Table
    from rich.text import Text

    from heatcheck.cli.evidence import in_words

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=len("not run"))
    grid.add_column()
    for line in lines:
        grid.add_row(Text(line.badge, STYLE[line.state]), Text.assemble((line.question, "bold"), f" ({line.name})"))
        if line.state == "not run":
            if line.evidence:
                grid.add_row("", Text(line.sentence))
            reason = line.reason if line.undecided == "cannot be run" else f"to run it: {line.reason}"
            told = [reason, *in_words(line.evidence, line.check)]
        else:
            for text in filter(None, (line.sentence, line.reason)):
                grid.add_row("", Text(text))
            if line.strip is not None:
                grid.add_row("", Text(f"{line.strip.number}; {line.strip.direction}"))
            told = in_words(line.evidence, line.check)
            told += [f"what stays the same: {line.holds}", f"cannot see: {line.cannot_see}"]
        for text in told:
            grid.add_row("", Text(text, "dim"))
    return grid


def _agreement(audit: "Audit") -> None:
    """Kendall τ of the heatmap with other methods, beside what arises mechanically; it decides nothing."""
    from heatcheck.results.written import in_brief

    found = audit.results["agreement"]
    rows = []
    for measurement in found.measurements:
        if measurement.name != "tau" or "class" in measurement.by or measurement.by["pair"][0] != audit.explainer:
            continue
        rival = measurement.by["pair"][1]
        floors = [m for m in found.measurements if m.name == "tau_mechanical_floor" and m.by["pair"][1] == rival]
        rows.append([rival, in_brief(measurement), in_brief(floors[0]) if floors else ""])
    typer.echo("")
    columns = ["", "τ, mean over examples", "with shuffled relevances (mechanical floor)"]
    named = audit.explainer.replace("_", " ")
    typer.echo(f"Agreement with other methods: Kendall τ with {named} (decides nothing)")
    if any(floor for *_, floor in rows):
        table(columns, rows)
        typer.echo("A τ no higher than its floor says nothing about the words.")
    else:
        table(columns[:2], [row[:2] for row in rows])
    typer.echo("1 means the same order of words, 0 an unrelated order, -1 the opposite order.")
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
    """One table per line of the card: what heatcheck says of models whose answer is known, beside that answer.

    `audits` has, by the name of a model, its audit and what is known: the state of a line by the line's name, or that
    the question cannot be asked.
    """
    from heatcheck.results.written import in_brief

    lines = dict.fromkeys(line for _, known in audits.values() for line in known)
    for name in lines:
        rows, question = [], ""
        for model, (audit, known) in audits.items():
            if name not in known:
                continue
            line = audit.card[name]
            question = line.question
            statistic = f"{line.evidence[0].name} = {in_brief(line.evidence[0])}" if line.evidence else ""
            rows.append([model, line.badge, CANNOT if known[name] == "moot" else known[name], statistic])
        typer.echo(f"{question} ({name})")
        table(["model", "heatcheck says", "true answer", "number"], rows)
        typer.echo("")
    typer.echo(f"{CANNOT}: there is nothing to ask on this task, for example because any weights do as well.")
    typer.echo("bystander_right ignores its weights, but they mark the word that matters; so its true answer is yes.")


def plans(planned: Sequence["Plan"], *, workers: int, as_json_too: bool) -> None:
    """Print the checks that audits would run with their cost, and the models they would train first."""
    from heatcheck.auditing import plan_fits, seconds_in_parallel

    facts = []
    for one in planned:
        costs = one.costs()
        fits = plan_fits(one, one.seconds_a_pass)
        checked = [cost._asdict() for cost in costs]
        n, fitted = len(one.case.examples), [_planned_facts(fit) for fit in fits]
        rows_of = {"split": one.split, "available": one.available, "left_out": dict(one.rows.left_out)}
        heatmap = one.case.heatmap
        about = {"subject": one.name} if heatmap.is_default else {"subject": one.name, "heatmap": heatmap.name}
        facts.append({**about, "n": n, **rows_of, "checks": checked, "fits": fitted})
        if as_json_too:
            continue
        rows = [[cost.check, f"{cost.passes:,}", f"{cost.seconds:,.0f}", cost.question] for cost in costs]
        title = f"{n:,} of {one.available:,} examples of {one.corpus.name} ({one.split})"
        title += "" if heatmap.is_default else f"; heatmap: {heatmap.shown}"
        table(["check", "forward passes", "about seconds", "question"], rows, title)
        if one.rows.said:
            typer.echo(one.rows.said)
        alone, shared = sum(cost.seconds for cost in costs), seconds_in_parallel(costs, workers)
        if shared < alone:
            typer.echo(f"With {workers} workers the checks take about {shared:,.0f} s instead of {alone:,.0f} s.")
        _fits(fits, workers)
    if as_json_too:
        as_json(facts[0] if len(facts) == 1 else facts)


def _fits(fits: Sequence["PlannedFit"], workers: int) -> None:
    """Print the models that would be trained with the lines that they can decide, and those that exist already."""
    from heatcheck.auditing import at_most

    if not fits:
        return
    there, most = sum(fit.done == 1 for fit in fits), at_most(fits)
    left = sum((1 - fit.done) * fit.seconds for fit in most) / max(1, workers)
    rows = [
        [
            fit.model,
            "yes" if fit.done == 1 else f"{fit.done:.0%}",
            f"{fit.seconds:,.0f}",
            _can_decide(fit),
        ]
        for fit in fits
    ]
    typer.echo("")
    up_to = "At most " if len(most) < len(fits) else ""
    title = f"{up_to}{len(most)} models to compare with; {there} exist already"
    table(["model to train", "done", "seconds, at most", "can decide"], rows, title)
    searches = {fit.search.number: fit.search for fit in fits if fit.search is not None}
    for one in dict.fromkeys((search.check, search.at_most, search.of) for search in searches.values()):
        check, most_of_it, of = one
        typer.echo(
            f"{check} searches: it trains at most {most_of_it} of these {of} models. Each one decides which is next."
        )
    if any(fit.if_open for fit in fits):
        typer.echo(
            "If open: heatcheck trains these only if they can still change an answer; --all-fits trains them all."
        )
    if not all(fit.lines for fit in fits):
        typer.echo("no line: the report shows these models; they decide nothing.")
    typer.echo(f"Training the missing ones takes at most about {max(1, round(left / 60)):,} min.")


def _planned_facts(fit: "PlannedFit") -> dict[str, Any]:
    """A planned training run as JSON."""
    search = None if fit.search is None else fit.search._asdict()
    return {**fit._asdict(), "search": search}


def _can_decide(fit: "PlannedFit") -> str:
    """The lines of the card that a training run can decide, or the checks that only show it."""
    decides = ", ".join(fit.lines) or f"no line ({', '.join(fit.checks)})"
    decides += ", if open" if fit.if_open else ""
    if fit.search is None:
        return decides
    return f"{decides}; at most {fit.search.at_most} of {fit.search.of}"


def _console() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False)  # otherwise rich reads 'heatcheck[data]' as markup

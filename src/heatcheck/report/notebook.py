"""Audits, answers, checks, studies and heatmaps in a notebook: HTML with its own style and no script."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files

from heatcheck.report.comparison_page import heatmap_table
from heatcheck.report.examples import WEIGHTS
from heatcheck.report.heat import LEVELS, Word, by_size, weighed
from heatcheck.report.measurement_words import counted, grouping, quantity
from heatcheck.report.sections import CardLine, card_line
from heatcheck.report.view import view_of
from heatcheck.report.wording import explainer_name, spaced
from heatcheck.results import Audit, Card, CheckResult, HeatmapAudits, Row, StudyResult, headline_of
from heatcheck.results.written import interval, number

ROWS = 60  # shown of a table; the rest is in the result
COLOUR = re.compile(r"--[\w-]+: #\w+;")

# All rules are under one class, so that the rest of the notebook does not change.
_RULES = files("heatcheck.report").joinpath("notebook.css").read_text()


def _colours() -> tuple[str, str]:
    """The colours of the report's pages, light and dark, as they stand in its style."""
    page = files("heatcheck.report").joinpath("page.css").read_text()
    light, dark = re.findall(r":root[^{]*{([^}]*)}", page)[:2]
    return " ".join(COLOUR.findall(light)), " ".join(COLOUR.findall(dark))


@lru_cache
def _style() -> str:
    """Follow the notebook's theme, or else the system's, light or dark."""
    light, dark = _colours()
    levels = "".join(
        f".heatcheck .w.{hue}{level} {{ background: var(--{hue}{level}); color: var(--i{level}); }}"
        for hue in "hg"
        for level in range(LEVELS + 1)
    )
    # JupyterLab, Visual Studio Code, Colab.
    said_light, said_dark = (
        f'body[data-jp-theme-light="{lit}"] .heatcheck, body.vscode-{name} .heatcheck, html[theme="{name}"] .heatcheck'
        for lit, name in (("true", "light"), ("false", "dark"))
    )
    return (
        f"<style>.heatcheck {{ {light} }} @media (prefers-color-scheme: dark) {{ .heatcheck {{ {dark} }} }} "
        f"{said_light} {{ {light} }} {said_dark} {{ {dark} }}{_RULES}{levels}</style>"
    )


def audit_html(audit: Audit) -> str:
    """An audit: the answer, the card, and where to find the numbers."""
    task = audit.task.partition("@")[0]
    right = "" if audit.accuracy is None else f"accuracy {number(audit.accuracy)}, "
    about = f"{audit.n:,} of {audit.available:,} examples of {task} (split {audit.split}), {right}seed {audit.seed}"
    behind = ", ".join(f"results[{check!r}]" for check in audit.results)
    not_run = "; ".join(f"{spaced(name)}: {why}" for name, why in audit.missing.items())
    return _boxed(
        _answer(audit.card),
        _p(audit.interrupted) if audit.interrupted else "",
        _p(f"{audit.subject}{f' ({audit.heatmap})' if audit.heatmap else ''}: {about}", "soft"),
        _p(audit.training_rows, "soft") if audit.training_rows else "",
        _lines(audit.card),
        _p(f"All numbers: {behind}." if behind else "No check was run.", "soft"),
        _p(f"Not run: {not_run}", "soft") if not_run else "",
    )


def heatmap_audits_html(found: HeatmapAudits) -> str:
    """Audits of several heatmaps: which can be read, and one row per heatmap."""
    shown = heatmap_table(found)
    return _boxed(_p(found.answer, "title"), _p(shown.caption, "soft"), _table(shown.columns, shown.rows, numbers=()))


def card_html(card: Card) -> str:
    """A card: the answer, and one row per line."""
    return _boxed(_answer(card), _lines(card))


def check_html(result: CheckResult) -> str:
    """A check's measurements, each with its interval, its n and its baseline."""
    rows = [
        (
            f"{quantity(m, result.check)}{': ' + about if (about := grouping(m, result.check)) else ''}",
            number(m.value),
            interval(m),
            counted(m),
            m.baseline,
        )
        for m in result.measurements
    ]
    kept, left_out = len(result.examples), len(result.excluded)
    view = view_of(result.check)
    return _boxed(
        _p(view.title, "title"),
        _p(f"{result.subject}; {kept + left_out:,} examples: {kept:,} measured, {left_out:,} left out", "soft"),
        _p(f"What stays the same: {view.what_stays(result.holds)}", "soft"),
        *(_p(words, "soft") for words in view.readings(result)),
        _table(("quantity", "value", "95% interval", "n", "baseline"), rows, numbers=(1, 2, 3)),
        _more(len(rows), "result.measurements"),
    )


def study_html(study: StudyResult) -> str:
    """A study's numbers beside the published ones; those with a published number come first."""
    ordered = sorted(study.rows, key=lambda row: row.paper is None)
    failed = "; ".join(f"{name}: {why}" for name, why in study.failed.items())
    return _boxed(
        _p(study.title, "title"),
        _p(study.paper, "soft"),
        *(_p(note, "soft") for note in study.notes),
        _table(
            ("quantity", "ours", "95% interval", "seeds", "published", "comparison"),
            [_study_row(row) for row in ordered],
            numbers=(1, 2, 3, 4),
        ),
        _more(len(study.rows), "result.rows"),
        _p(f"Failed: {failed}", "soft") if failed else "",
    )


def heatmaps_html(scores: Mapping[str, Sequence[tuple[str, float | None]]]) -> str:
    """One text as shaded words: the prediction, then one row per explainer, in the shades of a report.

    `scores` is what `heatcheck.explain` returns; a plain dict has no prediction to show.
    """
    predicted, target = (getattr(scores, name, None) for name in ("prediction", "target"))
    rows = "".join(_heat_row(name, of_words) for name, of_words in scores.items())
    shares = any(name in WEIGHTS for name in scores)
    others = any(name not in WEIGHTS for name in scores)
    note = (
        ("Blue is weight, printed under each word, on one scale. " if shares else "")
        + ("Grey is the score of another method, scaled to the largest of its row. " if others else "")
        + "− marks a negative score, italics a word without a score."
    )
    return _boxed(
        _p(f"The model predicts {predicted}.", "title") if predicted else "",
        _p(f"The scores explain {target} instead.") if target else "",
        f'<div class="scroll"><table><thead><tr><th scope="col">method</th><th scope="col">words</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>",
        _p(note, "soft"),
    )


def _answer(card: Card) -> str:
    """The headline: the answer, what would decide it, what may be said, and what to show instead."""
    headline = headline_of(card)
    sayings = [f"You may say: “{words}”" for words in headline.may_say]
    sayings += [f"Do not say: “{words}”" for words in headline.do_not_say]
    points = "".join(f"<li>{_safe(words)}</li>" for words in sayings)
    command = f" For new texts: <code>{_safe(headline.command)}</code>" if headline.command else ""
    return "".join(
        (
            _p(headline.answer, "title"),
            _p(headline.next) if headline.next else "",
            f"<ul>{points}</ul>",
            f"<p>{_safe(headline.instead)}{command}</p>" if headline.instead else "",
        )
    )


def _lines(card: Card) -> str:
    four = "".join(_card_row(card_line(line)) for line in card.in_reading_order)
    others = "".join(_card_row(card_line(line)) for line in card.apart)
    said = f"Separate from the card: {', and '.join(line.heading for line in card.apart)}"
    apart = f'<tr><th scope="rowgroup" colspan="3">{said}</th></tr>'
    head = "".join(f'<th scope="col">{name}</th>' for name in ("answer", "question", "number, 95% interval, n"))
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{four}{apart}{others}</tbody></table></div>'
    )


def _card_row(item: CardLine) -> str:
    line, shown = item.line, item.statistic
    sign = f'<span aria-hidden="true">{item.sign}</span>'
    badge = f'<span class="badge {line.state.replace(" ", "-")}">{sign} {line.badge}</span>'
    said = f"<b>{_safe(line.question)}</b>{_p(line.name, 'soft')}{_p(line.sentence)}"
    why = "To run it" if line.state == "not run" and line.undecided != "cannot be run" else "Reason"
    reason = _p(f"{why}: {line.reason}", "soft") if line.reason else ""
    found = ""
    if shown:
        found = f"<b>{shown.value}</b> {shown.interval}<br>{_safe(shown.n)}{_p(shown.quantity, 'soft')}"
    if item.against:
        beside = "".join(
            f"<li>{_safe(other.quantity)}: <b>{other.value}</b> {other.interval}, {_safe(other.n)}</li>"
            for other in item.against
        )
        found += f'<details class="soft"><summary>compared with</summary><ul>{beside}</ul></details>'
    return f"<tr><td>{badge}</td><td>{said}{reason}</td><td>{found}</td></tr>"


def _study_row(row: Row) -> tuple[str, ...]:
    kept = (spaced(row.quantity), row.task, row.encoder, row.attention, row.of_class, row.bin)
    ends = f"[{number(row.low)}, {number(row.high)}]" if math.isfinite(row.low) and math.isfinite(row.high) else "–"
    published = "–" if row.paper is None else number(row.paper)
    return (", ".join(filter(None, kept)), number(row.value), ends, f"{row.seeds}", published, row.statement or "–")


def _heat_row(name: str, of_words: Sequence[tuple[str, float | None]]) -> str:
    words, scores = [word for word, _ in of_words], [score for _, score in of_words]
    of_weights = name in WEIGHTS
    shading = (weighed if of_weights else by_size)(words, scores)
    # A screen reader reads the words with the largest scores, because it cannot read the shading.
    known = [
        (word, score) for word, score in zip(words, scores, strict=True) if score is not None and math.isfinite(score)
    ]
    most = sorted(known, key=lambda pair: -abs(pair[1]))[:3]
    spoken = ", ".join(f"{word} {number(score)}" for word, score in most)
    spans = " ".join(_heat_word(word, score, of_weights) for word, score in zip(shading, scores, strict=True))
    return (
        f'<tr><th scope="row">{_safe(explainer_name(name))}</th><td class="heat">'
        f'<span class="unseen">largest: {_safe(spoken or "no scores")}. The text: {_safe(" ".join(words))}</span>'
        f'<span aria-hidden="true">{spans}</span></td></tr>'
    )


def _heat_word(word: Word, score: float | None, of_weights: bool) -> str:
    """A shaded word; a weight is printed under it."""
    hue = "h" if of_weights else "g"
    kind = " none" if score is None else " minus" if score < 0 else ""
    title = "no score" if score is None else number(score)
    under = f"<small>{word.title}</small>" if of_weights and word.level else ""
    return f'<span class="w {hue}{word.level}{kind}" title="{_safe(title)}">{_safe(word.text)}{under}</span>'


def _table(columns: Sequence[str], rows: Sequence[tuple[str, ...]], *, numbers: Iterable[int]) -> str:
    numeric = set(numbers)

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = [' class="number"' if at in numeric else "" for at in range(len(row))]
        marked = (f"<{tag}{kind}>{_safe(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(cells("td", row) for row in rows[:ROWS])
    return f'<div class="scroll"><table><thead>{cells("th", columns)}</thead><tbody>{body}</tbody></table></div>'


def _more(rows: int, where: str) -> str:
    return _p(f"The first {ROWS} of {rows:,} rows; all are in {where}.", "soft") if rows > ROWS else ""


def _boxed(*parts: str) -> str:
    return f'{_style()}<div class="heatcheck">{"".join(parts)}</div>'


def _p(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{_safe(words)}</p>' if kind else f"<p>{_safe(words)}</p>"


def _safe(words: str) -> str:
    """Escape markup; half an emoji, left by a careless cut, is not UTF-8 and becomes a question mark."""
    return escape(words.encode("utf-8", "replace").decode("utf-8"))

"""What a notebook shows of an audit, its card, a check, a study or a heatmap: HTML with its style inside, no script."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from heatcheck.report.heat import Word, shaded
from heatcheck.report.lexicon import HELD, HELD_BY
from heatcheck.report.sections import CardLine, card_line
from heatcheck.report.wording import counted, explainer_name, grouping, quantity, reading, spaced, title
from heatcheck.results import Audit, Card, CheckResult, Row, StudyResult, headline_of
from heatcheck.results.written import interval, number

ROWS = 60  # of a table: a cell of a notebook is no place for a thousand

_LIGHT = {
    "sheet": "#ffffff", "ink": "#1b1f26", "soft": "#565d69", "hair": "#d9dde3",
    "yes": "#005a8f", "yes-ink": "#ffffff", "no": "#a83f00", "no-ink": "#ffffff",
}  # fmt: skip
_DARK = {
    "sheet": "#181b21", "ink": "#e6e9ee", "soft": "#a4acb9", "hair": "#333943",
    "yes": "#7cc4f4", "yes-ink": "#0b1a26", "no": "#ff9a5c", "no-ink": "#2a1000",
}  # fmt: skip

# One hue from the paper to nearly black, as in the report: it reads the same in greyscale. (shade, ink) of a level.
_LIGHT_HEAT = (
    ("#ffffff", "#10141a"), ("#e2edf7", "#10141a"), ("#c5dcef", "#10141a"), ("#a8cae7", "#10141a"),
    ("#88b4da", "#10141a"), ("#669ccb", "#10141a"), ("#4584bc", "#10141a"), ("#2b6da9", "#ffffff"),
    ("#1f5690", "#ffffff"), ("#143f76", "#ffffff"), ("#08295c", "#ffffff"),
)  # fmt: skip
_DARK_HEAT = (
    ("#181b21", "#ffffff"), ("#1a283a", "#ffffff"), ("#1c3654", "#ffffff"), ("#1d446d", "#ffffff"),
    ("#295888", "#ffffff"), ("#396fa3", "#ffffff"), ("#4986be", "#10141a"), ("#629fd4", "#10141a"),
    ("#8bb9e2", "#10141a"), ("#b5d4ef", "#10141a"), ("#deeefc", "#10141a"),
)  # fmt: skip

# Everything under one class, so that nothing of the notebook around it changes.
_RULES = """
.heatcheck { background: var(--sheet); color: var(--ink); border: 1px solid var(--hair); border-radius: 8px;
  padding: .8rem 1rem; max-width: 60rem; font: 14px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.heatcheck * { background: none; color: inherit; }
.heatcheck p { margin: .25rem 0; }
.heatcheck .title { font-weight: 700; font-size: 1.1em; }
.heatcheck .soft { color: var(--soft); font-size: .9em; }
.heatcheck .scroll { overflow-x: auto; max-width: 100%; }
.heatcheck table { border-collapse: collapse; margin: .5rem 0; font-size: .92em; border: 0; }
.heatcheck th, .heatcheck td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border: 0; border-bottom: 1px solid var(--hair); white-space: normal; min-width: 3.5rem; max-width: 30rem; }
.heatcheck thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
.heatcheck .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.heatcheck ul { margin: .25rem 0; padding-left: 1.2rem; }
.heatcheck summary { cursor: pointer; }
.heatcheck .badge { display: inline-block; padding: 0 .55em; border-radius: 1em; border: 1px solid var(--soft);
  white-space: nowrap; font-weight: 600; font-size: .9em; }
.heatcheck .badge.yes { background: var(--yes); color: var(--yes-ink); border-color: var(--yes); }
.heatcheck .badge.no { background: var(--no); color: var(--no-ink); border-color: var(--no); }
.heatcheck td.heat { line-height: 1.9; max-width: none; }
.heatcheck .w { padding: .1em .25em; border-radius: 3px; }
.heatcheck .w.none { color: var(--soft); font-style: italic; }
.heatcheck .w.minus::before { content: "\\2212"; font-weight: 700; }
.heatcheck .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""


def _colours(named: Mapping[str, str], heat: Sequence[tuple[str, str]]) -> str:
    shades = {f"{part}{at}": colour for at, pair in enumerate(heat) for part, colour in zip("hi", pair, strict=True)}
    return " ".join(f"--{name}: {colour};" for name, colour in {**named, **shades}.items())


def _style() -> str:
    """Dark where the notebook says so, or else where the reader's system does."""
    light, dark = _colours(_LIGHT, _LIGHT_HEAT), _colours(_DARK, _DARK_HEAT)
    levels = "".join(
        f".heatcheck .w.h{level} {{ background: var(--h{level}); color: var(--i{level}); }}"
        for level in range(len(_LIGHT_HEAT))
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
    """The card of an audit, what it means for the heatmaps, and which checks are behind it."""
    task = audit.task.partition("@")[0]
    right = "" if audit.accuracy is None else f"accuracy {number(audit.accuracy)}, "
    about = f"{audit.n:,} of {audit.available:,} texts of {task} (split {audit.split}), {right}seed {audit.seed}"
    behind = ", ".join(f"results[{check!r}]" for check in audit.results)
    not_run = "; ".join(f"{spaced(name)}: {why}" for name, why in audit.missing.items())
    return _boxed(
        _p(audit.subject, "title"),
        _p(about, "soft"),
        _p(audit.training_rows, "soft") if audit.training_rows else "",
        _card(audit.card),
        _p(f"The numbers behind it: {behind}." if behind else "No check was run.", "soft"),
        _p(f"Not run: {not_run}", "soft") if not_run else "",
    )


def card_html(card: Card) -> str:
    """The lines of a card, and what they mean for the heatmaps."""
    return _boxed(_p("The card", "title"), _card(card))


def check_html(result: CheckResult) -> str:
    """A check's measurements: each with its interval, its n and what it is read against."""
    rows = [
        (
            f"{quantity(m, result.check)}{': ' + about if (about := grouping(m)) else ''}",
            number(m.value),
            interval(m),
            counted(m),
            m.baseline,
        )
        for m in result.measurements
    ]
    kept, left_out = len(result.examples), len(result.excluded)
    held = HELD_BY.get(result.check, HELD[result.holds])
    return _boxed(
        _p(title(result.check), "title"),
        _p(f"{result.subject}; {kept + left_out:,} texts in = {kept:,} measured + {left_out:,} left out", "soft"),
        _p(f"Held fixed: {held}", "soft"),
        *(_p(words, "soft") for words in reading(result.check, str(result.facts.get("method", "")))),
        _table(("what", "value", "95% interval", "n", "read against"), rows, numbers=(1, 2, 3)),
        _more(len(rows), "result.measurements"),
    )


def study_html(study: StudyResult) -> str:
    """The numbers of a study beside the published ones; those with a published number first."""
    ordered = sorted(study.rows, key=lambda row: row.paper is None)
    failed = "; ".join(f"{name}: {why}" for name, why in study.failed.items())
    return _boxed(
        _p(study.title, "title"),
        _p(study.paper, "soft"),
        *(_p(note, "soft") for note in study.notes),
        _table(
            ("what", "ours", "95% interval", "seeds", "published", "statement"),
            [_study_row(row) for row in ordered],
            numbers=(1, 2, 3, 4),
        ),
        _more(len(study.rows), "result.rows"),
        _p(f"Could not be run: {failed}", "soft") if failed else "",
    )


def heatmaps_html(scores: Mapping[str, Sequence[tuple[str, float | None]]]) -> str:
    """One text as shaded words, a row an explainer, each scaled to its own largest score."""
    rows = "".join(_heat_row(name, of_words) for name, of_words in scores.items())
    note = "Each row is scaled to its own largest value; − marks a negative score, italics a word without one."
    return _boxed(
        f'<div class="scroll"><table><thead><tr><th scope="col">explainer</th><th scope="col">words</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>",
        _p(note, "soft"),
    )


def _card(card: Card) -> str:
    headline = headline_of(card)
    four = "".join(_card_row(card_line(line)) for line in card.lines)
    others = "".join(_card_row(card_line(line)) for line in card.apart)
    said = f"Apart from the card: {', and '.join(line.heading for line in card.apart)}"
    apart = f'<tr><th scope="rowgroup" colspan="3">{said}</th></tr>'
    sayings = [f"You may say: “{words}”" for words in headline.may_say]
    sayings += [f"Do not say: “{words}”" for words in headline.do_not_say]
    points = "".join(f"<li>{_safe(words)}</li>" for words in sayings)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "line", "statistic, 95% interval, n"))
    return (
        f"<p><b>{_safe(headline.answer)}</b></p><ul>{points}</ul>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{four}{apart}{others}</tbody></table></div>'
    )


def _card_row(item: CardLine) -> str:
    line, shown = item.line, item.statistic
    sign = f'<span aria-hidden="true">{item.sign}</span>'
    badge = f'<span class="badge {line.state.replace(" ", "-")}">{sign} {line.state}</span>'
    said = f"<b>{_safe(line.name)}</b>{_p(line.question, 'soft')}{_p(line.sentence)}"
    why = "What would run it" if line.state == "not run" else "Why"
    reason = _p(f"{why}: {line.reason}", "soft") if line.reason else ""
    found = ""
    if shown:
        found = f"<b>{shown.value}</b> {shown.interval}<br>{_safe(shown.n)}{_p(shown.quantity, 'soft')}"
    if item.against:
        beside = "".join(
            f"<li>{_safe(other.quantity)}: <b>{other.value}</b> {other.interval}, {_safe(other.n)}</li>"
            for other in item.against
        )
        found += f'<details class="soft"><summary>read against</summary><ul>{beside}</ul></details>'
    return f"<tr><td>{badge}</td><td>{said}{reason}</td><td>{found}</td></tr>"


def _study_row(row: Row) -> tuple[str, ...]:
    kept = (spaced(row.quantity), row.task, row.encoder, row.attention, row.of_class, row.bin)
    ends = f"[{number(row.low)}, {number(row.high)}]" if math.isfinite(row.low) and math.isfinite(row.high) else "–"
    published = "–" if row.paper is None else number(row.paper)
    return (", ".join(filter(None, kept)), number(row.value), ends, f"{row.seeds}", published, row.statement or "–")


def _heat_row(name: str, of_words: Sequence[tuple[str, float | None]]) -> str:
    words, scores = [word for word, _ in of_words], [score for _, score in of_words]
    shading = shaded(words, scores)
    # Somebody who cannot see the shading is told the words that have most of it.
    most = sorted(zip(shading, scores, strict=True), key=lambda pair: -pair[0].level)[:3]
    spoken = ", ".join(f"{word.text} {word.title}" for word, score in most if score is not None)
    spans = " ".join(_heat_word(word, score) for word, score in zip(shading, scores, strict=True))
    return (
        f'<tr><th scope="row">{_safe(explainer_name(name))}</th><td class="heat">'
        f'<span class="unseen">largest: {_safe(spoken or "no scores")}. The text: {_safe(" ".join(words))}</span>'
        f'<span aria-hidden="true">{spans}</span></td></tr>'
    )


def _heat_word(word: Word, score: float | None) -> str:
    kind = " none" if score is None else " minus" if score < 0 else ""
    return f'<span class="w h{word.level}{kind}" title="{_safe(word.title)}">{_safe(word.text)}</span>'


def _table(columns: Sequence[str], rows: Sequence[tuple[str, ...]], *, numbers: Iterable[int]) -> str:
    numeric = set(numbers)

    def cells(tag: str, row: Sequence[str]) -> str:
        kinds = [' class="number"' if at in numeric else "" for at in range(len(row))]
        marked = (f"<{tag}{kind}>{_safe(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(cells("td", row) for row in rows[:ROWS])
    return f'<div class="scroll"><table><thead>{cells("th", columns)}</thead><tbody>{body}</tbody></table></div>'


def _more(rows: int, where: str) -> str:
    return _p(f"The first {ROWS} of {rows:,} numbers; all are in {where}.", "soft") if rows > ROWS else ""


def _boxed(*parts: str) -> str:
    return f'{_style()}<div class="heatcheck">{"".join(parts)}</div>'


def _p(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{_safe(words)}</p>' if kind else f"<p>{_safe(words)}</p>"


def _safe(words: str) -> str:
    """Markup as text; half an emoji, which a careless cut leaves, is no UTF-8 and becomes a question mark."""
    return escape(words.encode("utf-8", "replace").decode("utf-8"))

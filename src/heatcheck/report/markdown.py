"""An audit as Markdown for GitHub: the headline, the answer to each question, then one section per check."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from heatcheck.engine import write_whole
from heatcheck.report.advice import advised, treat_next
from heatcheck.report.audited import about, audited
from heatcheck.report.sections import CardLine, Evidence, Section, card_line, sections
from heatcheck.report.table import Table
from heatcheck.report.wording import spaced
from heatcheck.results import Audit, Card, headline_of
from heatcheck.results.written import NOTHING

_IDS = 20  # of texts left out: the tables have all


def write_markdown(audit: Audit, path: Path | str) -> Path:
    """Write the report as one Markdown file, without figures and heatmaps."""
    path = Path(path)
    text = "\n\n".join(_blocks(audit)) + "\n"
    write_whole(path, text.encode("utf-8", "replace"))  # half an emoji, which a careless cut leaves, is no UTF-8
    return path


def escaped(text: object) -> str:
    r"""Words of others as Markdown that shows them as they are, in a paragraph or in a cell of a table.

    Only what would be markup is escaped, so that the source stays readable: a bracket by itself is none.

    >>> print(escaped("a|b <b>x</b> *y* snake_case [1, 2] [z](http://w)"))
    a\|b &lt;b&gt;x&lt;/b&gt; \*y\* snake_case [1, 2] [z\](http&#58;//w)
    """
    words = " ".join(str(text).replace("\\", "\\\\").split())
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    words = re.sub(r"([|*`~$])", r"\\\1", words)
    words = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", words)
    words = re.sub(r"\](?=[(\[:])", r"\\]", words)
    words = words.replace("://", "&#58;//").replace("www.", "www&#46;")  # no address becomes a link
    return re.sub(r"^([#=+-])|^(\d+)([.)])(?=\s|$)", _at_the_start, words)


def table(data: Table) -> str:
    """A table with its caption; columns of numbers stand at the right."""
    return "\n".join(
        (
            f"**{escaped(data.caption)}**",
            "",
            _row(data.columns),
            _row(["---:" if numeric else "---" for numeric in data.numeric or [False] * len(data.columns)], raw=True),
            *(_row(row) for row in data.rows),
        )
    )


def folded(summary: str, inside: str) -> str:
    """What is opened on request."""
    return f"<details>\n<summary>{escaped(summary)}</summary>\n\n{inside}\n\n</details>"


def listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _at_the_start(found: re.Match[str]) -> str:
    """A heading, a list or a line under a heading, if it were left as it is."""
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"


def _row(cells: Sequence[str], *, raw: bool = False) -> str:
    return f"| {' | '.join(cells if raw else map(escaped, cells))} |"


def _blocks(audit: Audit) -> list[str]:
    headline, advice = headline_of(audit.card), advised(audit.card)
    asked = "Can this model’s attention heatmaps be read as explanations?"
    if audit.heatmap:
        asked = f"Can this heatmap of the model be read as an explanation: {escaped(audit.heatmap)}?"
    blocks = [f"# {asked}"]
    blocks += opening(audit.card)
    blocks += [f"**{escaped(audit.interrupted)}**"] if audit.interrupted else []
    blocks.append(listed(f"you may say: “{escaped(words)}”" for words in headline.may_say))
    blocks.append(listed(f"do not say: “{escaped(words)}”" for words in headline.do_not_say))
    if command := treat_next(audit):
        blocks.append(f"What to do next: train it in ways that may help, with `{command}`.")
    if advice:
        blocks += ["Advice:", listed(map(escaped, advice))]
    blocks.append("## What was audited")
    blocks.append(
        listed(
            f"{escaped(name)}: **{escaped(value)}**{f' ({escaped(note)})' if note else ''}"
            for name, value, note in audited(audit)
        )
    )
    blocks += ["## The card", _overview(audit)]
    for line in audit.card.lines:
        blocks += _line(card_line(line))
    blocks.append(
        f"Intervals are 95%. heatcheck multiplied the logits by {audit.card.logit_scale:.3g} before applying any "
        "threshold on probabilities. So a more confident version of the same model gets the same card. There is "
        "no overall score, because the lines answer different questions."
    )
    for line in audit.card.apart:
        blocks += [f"### Apart from the card, {line.heading}", *_line(card_line(line), level=4)]
    for section in sections(audit, []):
        blocks += _section(section)
    return [*blocks, "## About this report", _about(audit)]


def opening(card: Card) -> list[str]:
    """The answer, what would decide it, and what to show instead."""
    headline = headline_of(card)
    command = f" For new texts: `{headline.command}`" if headline.command else ""
    blocks = [f"**{escaped(headline.answer)}**", escaped(headline.next)]
    blocks.append(f"{escaped(headline.instead)}{command}" if headline.instead else "")
    return [block for block in blocks if block]


def _overview(audit: Audit) -> str:
    rows = []
    for line in audit.card.every_line:
        shown = card_line(line)
        number = shown.statistic
        cells = (number.value, number.interval, number.n.removeprefix("n = ")) if number else (NOTHING,) * 3
        rows.append((line.name, f"{shown.sign} {line.badge}", *cells, number.quantity if number else ""))
    return table(Table("In short", ("line", "answer", "statistic", "95% interval", "n", "quantity"), rows))


def _line(item: CardLine, *, level: int = 3) -> list[str]:
    line = item.line
    blocks = [f"{'#' * level} {item.sign} {escaped(line.badge)}: {escaped(line.question)}", f"*{escaped(line.name)}*"]
    blocks.append(escaped(line.sentence))
    if line.reason:
        blocks.append(f"**{'What would run it' if line.state == 'not run' else 'Why'}:** {escaped(line.reason)}")
    if item.statistic:
        blocks.append(table(_evidence([item.statistic, *item.against])))
    aside = {
        "scale": item.statistic.scale if item.statistic else "",
        "what stays the same": item.held if line.state != "not run" else "",
        "cannot see": line.cannot_see,
    }
    if any(aside.values()):
        blocks.append(listed(f"{key}: {escaped(words)}" for key, words in aside.items() if words))
    return blocks


def _evidence(numbers: Sequence[Evidence]) -> Table:
    rows = [(one.quantity, one.value, one.interval, one.n.removeprefix("n = ")) for one in numbers]
    return Table("The statistic, then its baselines", ("quantity", "value", "95% interval", "n"), rows)


def _section(section: Section) -> list[str]:
    blocks = [f"## {escaped(section.title)} ({escaped(section.check)})"]
    if section.question:
        blocks.append(f"*{escaped(section.question)}*")
    blocks += [escaped(words) for words in section.reading]
    facts = {
        "what stays the same": section.held,
        "kind of model": section.family,
        "compared with": section.baseline,
        "examples": section.counted,
        "paper": section.paper,
    }
    blocks.append(listed(f"{key}: {escaped(words)}" for key, words in facts.items() if words))
    if section.not_fitted:
        lost = "; ".join(f"{name} ({why})" for name, why in section.not_fitted)
        blocks.append(f"**Not run:** {escaped(lost)}. The numbers below cover the other parts.")
    blocks += [table(data) for data in section.tables]
    if section.directions:
        blocks.append(folded("What high and low mean", _directions(section)))
    if section.everything.rows:
        every = table(section.everything)
        blocks.append(folded(f"Every number ({len(section.everything.rows)})", every) if section.tables else every)
    if section.excluded:
        left_out = listed(
            f"**{len(ids):,}**: {escaped(reason)} ({escaped(', '.join(ids[:_IDS]))}"
            f"{f' and {len(ids) - _IDS:,} more' if len(ids) > _IDS else ''})"
            for reason, ids in section.excluded
        )
        blocks.append(folded("Left out, and why", left_out))
    settings = listed(f"{escaped(key)}: {escaped(value)}" for key, value in section.settings)
    return [*blocks, folded("Settings", settings)]


def _directions(section: Section) -> str:
    return listed(
        f"**{escaped(one.quantity)}.** High: {escaped(one.high)} Low: {escaped(one.low)}" for one in section.directions
    )


def _about(audit: Audit) -> str:
    facts = [("model", audit.subject), ("task", f"{audit.task}, split {audit.split}")]
    facts += [("labels", ", ".join(audit.labels))] if audit.labels else []
    facts += about(audit)
    facts += [(f"not run: {spaced(name)}", why) for name, why in audit.missing.items()]
    return listed(f"{escaped(key)}: {escaped(value)}" for key, value in facts)

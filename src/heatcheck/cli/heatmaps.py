"""`heatcheck explain` in a terminal: what the numbers mean, then a table with one row per word."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from heatcheck.cli.show import STYLE

if TYPE_CHECKING:
    from heatcheck.explainers import Explainer

Scored = Sequence[tuple[str, float | None]]  # each word with its score

BARS = (8, 4)  # cells of the longest bar: the first with which all methods fit side by side
GAP = "  "
SMALL = 0.01  # methods whose scores are all smaller are shown with an exponent
WEIGHTS = ("attention", "counterfactual")
GRADIENTS = ("gradient", "gradient_through", "gradient_uniform")


class Column(NamedTuple):
    """One method in the table."""

    name: str
    values: Sequence[float | None]
    numbers: Sequence[str]  # all of one width

    def width(self, bar: int) -> int:
        """Cells of the column with bars of this length; a long name may continue after an underscore."""
        return max(self.least(bar), *(cell_len(part) for part in _parts(self.name)))

    def least(self, bar: int) -> int:
        """Cells that the column needs to show every digit."""
        return len(self.numbers[0]) + (bar + 1 if bar else 0)


def legend(methods: Iterable["Explainer"], label: str) -> None:
    """Print what the scores mean and in which direction, one line per kind of method.

    Args:
        label: the label that the scores explain.
    """
    kinds: dict[str, list[str]] = {}
    for method in methods:
        kinds.setdefault(_meaning(method, label), []).append(method.name)
    screen = Console(markup=False, highlight=False)
    for meaning, names in kinds.items():
        screen.print(f"{', '.join(names)}: {meaning}")


def _meaning(method: "Explainer", label: str) -> str:
    if method.name in WEIGHTS:
        return "weights that sum to 1 over all tokens, without a sign. Higher means more weight, not more support."
    if method.name in GRADIENTS:
        return f"sizes without a sign. Higher means the probability of {label} reacts more to the word, up or down."
    if method.name == "random":
        return "random numbers, a baseline without meaning."
    if not method.signed:
        return "sizes without a sign. Higher means the method ranks the word as more important."
    if method.aimed is None:
        return "signed scores. The sign is not for or against a label."
    return f"signed scores. Above 0 (█) the word supports {label}, below 0 (░) it speaks against {label}."


def draw(found: Mapping[str, Scored]) -> None:
    """Print one row per word and one column per method: a bar and a number, so that it reads without colours too.

    Methods that do not fit side by side follow in further tables; digits are never cut.
    """
    screen = Console(markup=False, highlight=False)
    words = [visible(word) for word, _ in next(iter(found.values()))]
    columns = [_column(name, [value for _, value in scores]) for name, scores in found.items()]
    longest = max([cell_len("word"), *map(cell_len, words)])
    room = min(longest, max(screen.width // 3, cell_len("word")))
    for place, (bar, block) in enumerate(_blocks(columns, screen.width - room)):
        if place:
            screen.print("")
        for line in _lines(words, block, room=room, bar=bar, most=screen.width - room - len(GAP)):
            screen.print(line, soft_wrap=True)


def visible(word: str) -> str:
    r"""A word with its zero-width characters written out: nobody would see them, and rich fails on some.

    >>> visible("so\u200dgood")
    'so\\u200dgood'
    """
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cf") else char for char in word)


def _column(name: str, values: Sequence[float | None]) -> Column:
    largest = _largest(values)
    form = ".3f" if largest == 0 or largest >= SMALL else ".1e"
    # Adding 0.0 turns a rounded -0.000 into 0.000.
    numbers = ["–" if value is None else f"{float(f'{value:{form}}') + 0.0: {form}}" for value in values]
    wide = max(map(len, numbers), default=0)
    return Column(name, values, [number.rjust(wide) for number in numbers])


def _largest(values: Sequence[float | None]) -> float:
    return max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)


def _blocks(columns: Sequence[Column], room: int) -> Iterator[tuple[int, list[Column]]]:
    """The tables and their bar lengths: one table if all columns fit, else as many as needed."""
    for bar in BARS:
        if sum(len(GAP) + column.width(bar) for column in columns) <= room:
            yield bar, list(columns)
            return
    block: list[Column] = []
    used = 0
    bar = next((bar for bar in BARS if all(len(GAP) + column.least(bar) <= room for column in columns)), 0)
    for column in columns:
        wide = len(GAP) + column.width(bar)
        if block and used + wide > room:
            yield bar, block
            block, used = [], 0
        block.append(column)
        used += wide
    yield bar, block


def _lines(words: Sequence[str], columns: Sequence[Column], *, room: int, bar: int, most: int) -> Iterator[Text]:
    """The header and the rows of one table; long words and names continue on further lines."""
    widths = [min(column.width(bar), max(most, column.least(bar))) for column in columns]
    names = [_name_lines(column.name, width) for column, width in zip(columns, widths, strict=True)]
    for line in range(max(map(len, names))):
        cells = [name[line] if line < len(name) else "" for name in names]
        yield Text(_row("" if line else "word", cells, room, widths).rstrip(), "bold")
    for place, word in enumerate(words):
        first, *rest = folded(word, room)
        text = Text(_padded(first, room))
        for column, width in zip(columns, widths, strict=True):
            value, number = column.values[place], column.numbers[place]
            share = 0.0 if value is None or not math.isfinite(value) else abs(value) / (_largest(column.values) or 1)
            against = value is not None and value < 0
            text.append(GAP)
            text.append(("░" if against else "█") * round(bar * share), STYLE["no" if against else "yes"])
            text.append(" " * (bar - round(bar * share)) + (" " if bar else "") + number)
            text.append(" " * (width - column.least(bar)))
        text.rstrip()
        yield text
        yield from map(Text, rest)


def _parts(name: str) -> list[str]:
    return [f"{part}_" for part in name.split("_")[:-1]] + name.split("_")[-1:]


def _name_lines(name: str, width: int) -> list[str]:
    """A method's name on as many lines as it needs.

    >>> _name_lines("integrated_gradients", 15)
    ['integrated_', 'gradients']
    """
    lines = [""]
    for part in _parts(name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return [piece for line in lines for piece in folded(line, width)]


def _row(first: str, cells: Sequence[str], room: int, widths: Sequence[int]) -> str:
    return _padded(first, room) + "".join(GAP + _padded(cell, width) for cell, width in zip(cells, widths, strict=True))


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))


def folded(text: str, width: int) -> list[str]:
    """A text cut into lines of at most this many cells.

    >>> folded("leave_one_out", 6)
    ['leave_', 'one_ou', 't']
    """
    lines, used = [""], 0
    for char in text:
        wide = cell_len(char)
        if lines[-1] and used + wide > width:
            lines.append("")
            used = 0
        lines[-1] += char
        used += wide
    return lines

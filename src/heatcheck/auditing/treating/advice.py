"""One sentence of advice from judged treatments."""

from collections.abc import Sequence

from heatcheck.results.treatments import TreatedRow
from heatcheck.results.written import decimals

SAYS = {
    "points": "its highlighted words matter more",
    "hard": "fewer shuffles of its weights keep the answer",
    "context": "its weights tell more outside the model",
}


def advise(rows: Sequence[TreatedRow]) -> str:
    """What to do: take the treatment that helps most lines for the least accuracy, or none."""
    if not rows or all(
        cell.word == "too few seeds" for row in rows for cell in row.cells if cell.word != "cannot be asked"
    ):
        return "Nothing is decided: too few models were trained."
    helping = [row for row in rows if _helped(row) and not _harmed(row)]
    if helping:
        best = max(helping, key=lambda row: (row.cell("accuracy").word != "worse", len(_helped(row)), _accuracy(row)))
        gains = " and ".join(SAYS[line] for line in _helped(best))
        return f"Try {best.name}: {gains}. {_cost(best)}"
    mixed = [row for row in rows if _helped(row)]
    if mixed:
        best = max(mixed, key=lambda row: (len(_helped(row)), _accuracy(row)))
        gains = " and ".join(SAYS[line] for line in _helped(best))
        return f"No treatment helps without harm: with {best.name} {gains}, but another line gets worse."
    if any(cell.word == "seems better" for row in rows for cell in row.cells):
        return "Keep the untreated model: no treatment gains significantly more than sharper weights alone."
    return "Keep the untreated model: none of these treatments made its heatmap significantly easier to read."


def _helped(row: TreatedRow) -> list[str]:
    return [line for line in SAYS if row.cell(line).word == "helps"]


def _harmed(row: TreatedRow) -> list[str]:
    return [line for line in SAYS if row.cell(line).word == "worse"]


def _accuracy(row: TreatedRow) -> float:
    found = row.cell("accuracy").change
    return 0.0 if found is None else found.value


def _cost(row: TreatedRow) -> str:
    found = row.cell("accuracy")
    if found.change is None:
        return "Its accuracy is not known."
    by, low, high = (decimals(100 * end, "+.1f") for end in found.change[:3])
    points = f"{by} points [{low}, {high}]"
    return {
        "worse": f"It costs accuracy: {points}.",
        "helps": f"Its accuracy rises, too: {points}.",
    }.get(found.word, f"Its accuracy changes by {points}, which may be chance.")

"""Audits of several heatmaps of one model, and which of these pictures can be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heatcheck.results.audit import Audit
from heatcheck.results.headline import line_says
from heatcheck.results.line import Line

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, repr=False)
class HeatmapAudits:
    """One audit per heatmap of a model, by the heatmap's name in words."""

    audits: Mapping[str, Audit]

    @property
    def answer(self) -> str:
        """Which of the heatmaps can be read, in a few sentences."""
        kinds: dict[str, list[str]] = {}
        for name, audit in self.audits.items():
            kinds.setdefault(readable_as(audit), []).append(name)
        return answer_of(kinds)

    def __repr__(self) -> str:
        """The answer, and each card in short."""
        first = next(iter(self.audits.values()))
        shorts = [line.short for line in first.card.in_reading_order]
        rows = [
            f"{name}: {', '.join(f'{short} {audit.card[short].badge}' for short in shorts)}"
            for name, audit in self.audits.items()
        ]
        told = "\n".join(rows)
        return f"{self.answer}\n{told}\nMore: .audits[HEATMAP], heatcheck.write_report(found, 'report.html')"


def readable_as(audit: Audit) -> str:
    """What a heatmap can be read as: an `explanation`, a `pointer`, `nothing`; or that this is not `known`."""
    lines: dict[str, Line] = {line.short: line for line in audit.card.every_line}
    points, hard = line_says(lines.get("points")), line_says(lines.get("hard"))
    if points == "yes":
        return "explanation" if hard == "yes" else "pointer"
    return "nothing" if points.startswith("no ") or points == "no" else "unknown"


def answer_of(kinds: Mapping[str, Sequence[str]]) -> str:
    """The answer, from the names of the heatmaps of each kind.

    >>> answer_of({"pointer": ["layer 7, head 3"], "nothing": ["rollout", "norms"]})
    'One of 3 heatmaps can be read as a pointer: layer 7, head 3. In two the highlighted words matter too little.'
    """
    explain, point, fail, open_ = (list(kinds.get(one, ())) for one in ("explanation", "pointer", "nothing", "unknown"))
    total = len(explain) + len(point) + len(fail) + len(open_)
    said = []
    if explain:
        what = "can be read as an explanation, as far as was tested"
        said.append(f"{_count(explain).capitalize()} of {total} heatmaps {what}: {_listed(explain)}.")
        if point:
            said.append(f"{_count(point).capitalize()} can be read only as a pointer: {_listed(point)}.")
    elif point:
        said.append(f"{_count(point).capitalize()} of {total} heatmaps can be read as a pointer: {_listed(point)}.")
    elif fail and not open_:
        return f"None of these {total} heatmaps can be read: their highlighted words matter too little."
    else:
        said.append(f"None of these {total} heatmaps is known to mark words that matter.")
    if fail:
        said.append(f"In {_count(fail)} the highlighted words matter too little.")
    if open_:
        said.append(f"{_count(open_).capitalize()} {'is' if len(open_) == 1 else 'are'} not decided: {_listed(open_)}.")
    return " ".join(said)


def _count(names: Sequence[str]) -> str:
    return _NUMBERS[len(names)] if len(names) < len(_NUMBERS) else str(len(names))


def _listed(names: Sequence[str]) -> str:
    """Names that may hold commas."""
    return "; ".join(names)

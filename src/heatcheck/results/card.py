"""The card: what was found about each thing a heatmap must be to be read as an explanation."""

from dataclasses import dataclass

from heatcheck.errors import UnknownName
from heatcheck.results.line import ACROSS, HARD, NECESSARY, OUT_OF_CONTEXT, PLAUSIBLE, POINTS, Line

# What a line may be called on the command line.
SHORT = {
    "necessary": NECESSARY,
    "points": POINTS,
    "hard": HARD,
    "across": ACROSS,
    "context": OUT_OF_CONTEXT,
    "plausible": PLAUSIBLE,
}


@dataclass(frozen=True, repr=False)
class Card:
    """The four lines; *across models* and *plausible to people* apart; and the factor by which logits were scaled."""

    lines: tuple[Line, ...]
    across: Line
    plausibility: Line
    logit_scale: float

    @property
    def every_line(self) -> tuple[Line, ...]:
        """The four, and then those that stand apart."""
        return (*self.lines, self.across, self.plausibility)

    def __getitem__(self, name: str) -> Line:
        """A line by its name, or in short as `--fail-if` takes it: `card["points"]`."""
        lines = {line.name: line for line in self.every_line}
        wanted = SHORT.get(name, name)
        if wanted not in lines:
            raise UnknownName("line of the card", str(name), {*SHORT, *lines})
        return lines[wanted]

    def __repr__(self) -> str:
        """Each line's state: the evidence is in the lines."""
        return "\n".join(f"{line.state:<8} {line.name}" for line in self.every_line)

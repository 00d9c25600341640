"""The card: the answer to each question that a heatmap must pass to count as an explanation. No overall score."""

from dataclasses import dataclass

from heatcheck.errors import UnknownName
from heatcheck.results.line import Line

# What a reader wants to know first; lines that are new here come after these.
READING_ORDER = ("points", "hard", "necessary", "context")


@dataclass(frozen=True, repr=False)
class Card:
    """The lines, those that stand apart last, and the factor by which logits were scaled."""

    every_line: tuple[Line, ...]
    logit_scale: float

    @property
    def lines(self) -> tuple[Line, ...]:
        """What a heatmap must be to be read as an explanation."""
        return tuple(line for line in self.every_line if line.group == "card")

    @property
    def in_reading_order(self) -> tuple[Line, ...]:
        """The same lines, the most telling first."""
        place = {short: number for number, short in enumerate(READING_ORDER)}
        return tuple(sorted(self.lines, key=lambda line: place.get(line.short, len(place))))

    @property
    def apart(self) -> tuple[Line, ...]:
        """What is asked beside the card: about other models, about people."""
        return tuple(line for line in self.every_line if line.group == "apart")

    def __getitem__(self, name: str) -> Line:
        """A line by its name, or in short as `--fail-if` takes it: `card["points"]`."""
        found = {line.name: line for line in self.every_line} | {line.short: line for line in self.every_line}
        if name not in found or not name:
            raise UnknownName("line of the card", str(name), {known for known in found if known})
        return found[name]

    def __repr__(self) -> str:
        """Each line's state: the evidence is in the lines."""
        return "\n".join(f"{line.state:<8} {line.name}" for line in self.every_line)

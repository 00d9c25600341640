"""Draws an answer's number on a scale with thresholds and baselines: positions in percent, for pages without script."""

from typing import NamedTuple

from heatcheck.results import Line
from heatcheck.results.written import decimals

NEAR_AN_END = 0.18  # of the strip: words that stand so near an end are aligned with it


class DrawnZone(NamedTuple):
    """A zone of the strip."""

    start: float
    width: float
    answer: str
    kind: str  # "yes", "no" or "open": its colour
    at: float  # where its answer is written
    align: str


class DrawnMark(NamedTuple):
    """A baseline under the strip."""

    at: float
    words: str
    align: str  # "start", "middle" or "end"


class DrawnStrip(NamedTuple):
    """Where everything stands, in percent of the strip."""

    zones: list[DrawnZone]
    marks: list[DrawnMark]
    dot: float
    low: float
    high: float
    number: str
    interval: str
    direction: str


def draw_strip(line: Line) -> DrawnStrip | None:
    """The strip of a line; None for one that a proof decided, or that has no number."""
    if line.strip is None:
        return None
    strip, m = line.strip, line.strip.measurement
    zones, start = [], 0.0
    for zone in strip.zones:
        end = strip.place(zone.end)
        kind = zone.answer if zone.answer in ("yes", "no") else "open"
        middle = (start + end) / 2
        at = {"start": start, "middle": middle, "end": end}[_align(middle)]
        zones.append(DrawnZone(_percent(start), _percent(end - start), zone.answer, kind, _percent(at), _align(middle)))
        start = end
    marks = [
        DrawnMark(_percent(strip.place(mark.at)), mark.words, _align(strip.place(mark.at))) for mark in strip.marks
    ]
    low, high = (strip.place(end) for end in (m.low, m.high))
    ends = [decimals(end, ".2f") for end in (m.low, m.high)]
    interval = "" if "–" in ends else f"{ends[0]} to {ends[1]}"
    return DrawnStrip(
        zones,
        marks,
        _percent(strip.place(m.value)),
        _percent(low),
        _percent(high),
        decimals(m.value, ".2f"),
        interval,
        strip.direction,
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)


def _align(place: float) -> str:
    return "start" if place < NEAR_AN_END else "end" if place > 1 - NEAR_AN_END else "middle"

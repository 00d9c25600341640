"""Where everything stands on a strip, in percent."""

import math

import audits
import pytest
from parsed import Page

from heatcheck.report import write_report
from heatcheck.report.strips import draw_strip
from heatcheck.results import Measurement, Strip
from heatcheck.results.strip import Mark, Zone

ZONES = (Zone(0.5, "no"), Zone(1.2, "yes"))
MARKS = (Mark(0.0, "random words"), Mark(1.0, "best other method"))


def strip_of(value, low, high, zones=ZONES, marks=MARKS, start=-0.3):
    return Strip(Measurement("K", value, low, high, 37, "", {}), start, zones, marks)


def drawn(strip):
    return draw_strip(audits.full(checks=()).card["points"]._replace(strip=strip))


@pytest.mark.parametrize(("value", "place"), [(-0.3, 0), (0.45, 0.5), (1.2, 1), (7.0, 1), (-7.0, 0), (math.inf, 1)])
def test_a_number_has_its_place_and_beyond_an_end_that_end(value, place):
    assert strip_of(0, 0, 0).place(value) == pytest.approx(place)


def test_zones_marks_dot_and_interval_are_at_their_percent():
    shown = drawn(strip_of(0.6, 0.3, 0.9))
    assert [(zone.start, zone.width, zone.kind) for zone in shown.zones] == [(0, 53.33, "no"), (53.33, 46.67, "yes")]
    assert [(mark.at, mark.words) for mark in shown.marks] == [(20, "random words"), (86.67, "best other method")]
    assert (shown.low, shown.dot, shown.high) == (40, 60, 80)
    assert (shown.number, shown.interval) == ("0.60", "0.30 to 0.90")
    assert shown.direction == "below 0.5 means no; above means yes"


def test_a_number_outside_the_scale_is_drawn_at_its_end_and_told_as_it_is():
    shown = drawn(strip_of(1.6, 1.0, 5.3))
    assert (shown.low, shown.dot, shown.high) == (86.67, 100, 100)
    assert (shown.number, shown.interval) == ("1.60", "1.00 to 5.30")
    below = drawn(strip_of(-0.5, -0.6, -0.4))
    assert (below.low, below.dot, below.high) == (0, 0, 0)
    assert below.number == "−0.50"


def test_a_zone_that_answers_nothing_has_no_colour():
    shown = drawn(strip_of(0.6, 0.3, 0.9, zones=(Zone(0.5, "yes or mixed"), Zone(1.2, "no"))))
    assert [zone.kind for zone in shown.zones] == ["open", "no"]


def test_words_near_an_end_are_aligned_with_what_they_name():
    marks = (Mark(-0.3, "all the way left"), Mark(0.45, "in the middle"), Mark(1.2, "all the way right"))
    shown = drawn(strip_of(0.6, 0.3, 0.9, marks=marks, zones=(Zone(-0.2, "no"), Zone(1.2, "yes"))))
    assert [(mark.at, mark.align) for mark in shown.marks] == [(0, "start"), (50, "middle"), (100, "end")]
    assert [(zone.at, zone.align) for zone in shown.zones] == [(0, "start"), (53.33, "middle")]


def test_without_an_interval_there_is_a_dot_alone():
    assert drawn(strip_of(0.6, math.nan, math.nan)).interval == ""


def test_a_line_without_a_strip_has_none():
    assert drawn(None) is None


def test_the_page_draws_them_there(tmp_path):
    audit = audits.full(checks=())
    page = Page(write_report(audit, tmp_path / "report.html"))
    for line in audit.card.every_line:
        row, shown = page.line(line.short)[0], draw_strip(line)
        assert ('class="strip"' in row) == (shown is not None)
        if shown is None:
            continue
        for zone in shown.zones:
            assert f'class="zone {zone.kind}" style="left: {zone.start}%; width: {zone.width}%"' in row
            assert f'class="{zone.align}" style="left: {zone.at}%">{zone.answer}</span>' in row
        for mark in shown.marks:
            assert f'class="tick" style="left: {mark.at}%"' in row
            assert f'class="{mark.align}" style="left: {mark.at}%">{mark.words}</span>' in row
        assert f'class="dot" style="left: {shown.dot}%"' in row
        assert f'class="reach" style="left: {shown.low}%; width: {shown.high - shown.low}%"' in row

"""Every number of a section has the meaning of its high and low values beside it, once."""

import audits
import pytest

from heatcheck.report.markdown import escaped, write_markdown
from heatcheck.report.measurement_words import direction, quantity_of
from heatcheck.report.sections import sections


@pytest.fixture(scope="module")
def audit():
    return audits.full()


def test_every_quantity_of_a_section_has_its_direction_once(audit):
    for section in sections(audit, []):
        names = {m.name for m in audit.results[section.check].measurements}
        quantities = {quantity_of(name, section.check) for name in names}
        found = [(one.quantity, one.low, one.high) for one in section.directions]
        assert len(found) == len(set(found)) == len(quantities) > 0
        assert set(found) == {(one.words, one.low, one.high) for one in quantities}


def test_markdown_says_them(audit, tmp_path):
    text = write_markdown(audit, tmp_path / "report.md").read_text(encoding="utf-8")
    k = quantity_of("K", "erasure")
    assert text.count(f"High: {escaped(k.high)} Low: {escaped(k.low)}") == 1


def test_a_direction_fits_a_row():
    assert direction("q", "permutation") == (
        "high: most shuffles of the weights leave the answer nearly as it was; "
        "low: most shuffles of the weights move the answer"
    )
    assert direction("unregistered") == ""

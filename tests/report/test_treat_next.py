"""An audit whose answer is no names `heatcheck treat`, where the model can be trained again."""

from dataclasses import replace

import pytest
from audits import full, with_line

from heatcheck.report.advice import treat_next
from heatcheck.report.markdown import write_markdown
from heatcheck.results import TREATED_BY


def answered(short, state, *, can):
    audit = full(5)
    for line in audit.card.lines:
        if line.short in ("points", "hard"):
            audit = with_line(audit, line._replace(state=state if line.short == short else "yes"))
    about = {name: value for name, value in audit.about.items() if name != TREATED_BY}
    return replace(audit, about={**about, TREATED_BY: "heatcheck treat MODEL"} if can else about)


@pytest.mark.parametrize("short", ["points", "hard"])
def test_a_no_names_the_command(short, tmp_path):
    no = answered(short, "no", can=True)
    assert "heatcheck treat MODEL" in treat_next(no)
    assert treat_next(no) in write_markdown(no, tmp_path / "no.md").read_text()
    assert not treat_next(answered(short, "no", can=False))
    assert not treat_next(answered(short, "yes", can=True))


def test_a_trained_classifier_can_be_treated():
    assert TREATED_BY in full(5).about

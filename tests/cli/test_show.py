"""What a terminal shows of an audit: the evidence of each line, several models together, models of known answer."""

import re
from dataclasses import replace

import pytest

from heatcheck.cli import show
from report import audits


@pytest.fixture
def shown(capsys, monkeypatch):
    """What a function printed on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(function, *arguments):
        function(*arguments)
        return capsys.readouterr().out

    return run


def test_the_card_has_the_evidence_of_both_lines(shown):
    out = shown(show.card, audits.full(30))
    assert "K by deletion = 0.84 [0.77, 0.91], n = 180 (random)" in out
    assert "q, shuffles that keep the answer = 0.62 [0.59, 0.65], n = 180 (random)" in out
    at = "U, share of the possible difference at ε = 0.05 = 0.94 [0.93, 0.95]; relevances shuffled 0.97 [0.96, 0.98]"
    assert at in out
    assert "floor of any two words 0.41, most of any weights 0.68 (a large JSD alone says nothing)" in out


@pytest.mark.parametrize(("upper", "is_said"), [(0.94, False), (0.96, True)])
def test_an_upper_bound_is_said_where_it_is_one(shown, upper, is_said):
    audit = audits.full(3)
    line = audit.card["hard to manipulate"]
    bounded = line._replace(evidence=(*line.evidence, audits.measured("U_upper", upper, half=0.01)))
    lines = tuple(bounded if one is line else one for one in audit.card.lines)
    out = shown(show.card, replace(audit, card=replace(audit.card, lines=lines)))
    assert (f"; at most {upper} [0.95, 0.97]" in out) == ("; at most " in out) == is_said


def test_several_models_share_a_table(shown):
    out = shown(show.across, [audits.full(10), audits.full(20), audits.full(30)])
    for name in (
        "τ, gradient",
        "τ floor, gradient: shuffled relevance",
        "K, deletion",
        "q, shuffles",
        "Δ of the output by shuffling",
    ):
        assert len(re.findall(rf"^{name}.*?  (\d\.\d\d, ){{2}}\d\.\d\d *$", out, flags=re.MULTILINE)) == 1
    assert re.search(
        r"^U, ε = 0.05, standardised logits +0.94 +\[0.94, 0.94\] +0.94, 0.94, 0.94", out, flags=re.MULTILINE
    )
    assert "gradient, leave_one_out" not in out


def test_known_answers_stand_beside_what_was_found(shown):
    """Whichever lines are known; a model without a known answer is not in that line's table."""
    audit = audits.full(3)
    points, hard = "points at what matters", "hard to manipulate"
    out = shown(show.controls, {"reader": (audit, {points: "yes", hard: "yes"}), "shifted": (audit, {hard: "no"})})
    first, second = out.split(f"model    {hard}")
    assert re.findall(r"^(\w+) +(yes|no) +(yes|no) +(\S+)", first, flags=re.MULTILINE) == [
        ("reader", "yes", "yes", "0.84")
    ]
    assert re.findall(r"^(\w+) +(yes|no) +(yes|no) +(\S+)", second, flags=re.MULTILINE) == [
        ("reader", "no", "yes", "0.62"),
        ("shifted", "no", "no", "0.62"),
    ]

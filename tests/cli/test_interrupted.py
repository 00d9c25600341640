"""Ctrl-C ends an audit with what is known: marked, saved apart, and replaced by the complete audit."""

import json
from pathlib import Path

import pytest

from heatcheck.auditing.saving import is_interrupted
from heatcheck.checks import CHECKS
from heatcheck.results import read_audit

AUDIT = ["audit", "known:reader@planted_contrast", "--checks", "permutation,gauge", "--examples", "40"]
SAID = "Interrupted: 1 of 2 checks did not run. Run the same command again to resume."


@pytest.fixture
def interrupt(monkeypatch, tmp_path):
    """Makes a check press Ctrl-C."""
    monkeypatch.chdir(tmp_path)

    def press(name="gauge"):
        def measure(*_):
            raise KeyboardInterrupt

        monkeypatch.setitem(CHECKS, name, CHECKS[name]._replace(measure=measure))

    return press


def test_it_is_marked_wherever_it_is_shown(heatcheck, interrupt):
    interrupt()
    code, out, err = heatcheck(*AUDIT, "--out", "mine", "--format", "html,md", "--fail-if", "hard=no")
    assert code == 130
    assert SAID in " ".join(out.split())
    assert "report: mine-interrupted/report.html" in out
    assert err == "heatcheck: interrupted. Run the same command again to resume.\n", "and no line is judged"
    assert not Path("mine").exists()
    for name in ("report.html", "report.md"):
        page = Path("mine-interrupted", name).read_text(encoding="utf-8")
        assert SAID in page
    html = Path("mine-interrupted", "report.html").read_text(encoding="utf-8")
    assert html.index(SAID) < html.index('<dl class="sayings">'), "on the first screen"
    found = read_audit("mine-interrupted")
    assert found.interrupted == SAID
    assert found.not_run == {"gauge": "heatcheck was interrupted before it ended."}
    assert list(found.results) == ["permutation"]


def test_it_never_takes_the_place_of_a_complete_one_which_takes_its_place(heatcheck, interrupt, monkeypatch, tmp_path):
    """With --out and without, whichever comes first."""
    interrupt()
    for out in ([], ["--out", "mine"]):
        facts = json.loads(heatcheck(*AUDIT, *out, "--json")[1])
        assert facts["interrupted"] == facts["about"]["interrupted"] == SAID
        assert is_interrupted(Path(facts["folder"]))
        assert heatcheck(*AUDIT, *out, "--json")[0] == 130, "again, in the same place"
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    for out in ([], ["--out", "mine"]):
        code, told, _ = heatcheck(*AUDIT, *out, "--json")
        facts = json.loads(told)
        assert (code, facts["interrupted"]) == (0, None)
        whole = Path(facts["folder"])
        assert whole.is_dir()
        assert not whole.with_name(f"{whole.name}-interrupted").exists()
    interrupt()
    assert heatcheck(*AUDIT, "--out", "mine", "--overwrite")[0] == 130
    assert read_audit("mine").interrupted == ""
    assert is_interrupted(Path("mine-interrupted"))


def test_nothing_is_saved_before_a_check_has_ended(heatcheck, interrupt):
    for name in ("gauge", "permutation"):
        interrupt(name)
    code, _, err = heatcheck(*AUDIT)
    assert (code, err) == (130, "heatcheck: interrupted. Run the same command again to resume.\n")
    assert not Path("heatcheck-out").exists()


def test_the_first_of_several_models_is_complete_and_the_third_is_not_begun(heatcheck, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    measure, asked = CHECKS["gauge"].measure, []

    def press_at_the_second(case, settings):
        asked.append(case.subject.id)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return measure(case, settings)

    monkeypatch.setitem(CHECKS, "gauge", CHECKS["gauge"]._replace(measure=press_at_the_second))
    models = [f"known:{name}@planted_contrast" for name in ("reader", "bystander_right", "bystander_wrong")]
    code, out, _ = heatcheck("audit", *models, *AUDIT[2:], "--json")
    assert code == 130
    assert [one["interrupted"] for one in json.loads(out)] == [None, SAID]


def test_a_comparison_says_which_audit_was_interrupted(heatcheck, interrupt):
    assert heatcheck(*AUDIT, "--out", "whole")[0] == 0
    interrupt()
    heatcheck(*AUDIT, "--out", "part")
    out = heatcheck("compare", "whole", "part-interrupted")[1]
    assert "(interrupted)" in out

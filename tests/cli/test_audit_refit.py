"""An audit that fits its model again: planned, made once, gone on with, and what fails is named."""

import json
import re

import pytest

from heatcheck.training import jobs, train

REFIT = ["--refit", "--checks", "necessity", "--set", "necessity.seeds=2", "--set", "necessity.draws=50"]


@pytest.fixture
def model(tmp_path):
    """A tiny model of a tiny file, and the command that audits it."""
    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n % 7}", "label": n % 2} for n in range(400)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    train(
        tmp_path / "mine.jsonl", encoder="average", epochs=2, hidden=4, embedding=4, out=tmp_path / "m", progress=False
    )
    return ["audit", "m", "--data", "mine.jsonl"]


def fits_of(heatcheck, *arguments):
    """How each fit ended, by its name."""
    found = json.loads(heatcheck(*arguments, "--json")[1])
    return {fit["name"]: fit["state"] for fit in found["fits"]}, found


def test_what_is_planned_is_made_once(heatcheck, model, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = heatcheck(*model, *REFIT, "--plan")
    assert code == 0
    assert "5 models to compare with; 0 exist already" in out
    assert re.search(r"uniform weights, seed 1 +0% +\d+ +necessary", out)
    assert re.search(r"takes at most about \d+ min", out)
    assert sorted(tmp_path.rglob("*")) == before
    made, found = fits_of(heatcheck, *model, *REFIT)
    planned = json.loads(heatcheck(*model, *REFIT, "--plan", "--json")[1])["fits"]
    assert {fit["name"] for fit in planned} == made.keys()
    assert set(made.values()) == {"done"}
    assert all(fit["done"] == 1 and fit["seconds"] > 0 for fit in planned)
    again, same = fits_of(heatcheck, *model, *REFIT)
    assert set(again.values()) == {"reused"}
    assert same["card"] == found["card"]
    assert {m["by"].get("fit") for m in found["card"][0]["evidence"]} >= {"retrained", "swapped"}
    assert "at most 2 epochs over" in found["card"][0]["holds"]


def test_the_plan_says_what_each_model_can_decide_and_how_many_a_search_trains(heatcheck, model, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    chosen = ["--refit", "--checks", "adversarial_model,seed_variance", "--set", "adversarial_model.seeds=2"]
    _, out, _ = heatcheck(*model, *chosen, "--plan")
    assert "At most 9 models to compare with; 0 exist already" in out
    assert "adversarial_model searches: it trains at most 3 of these 5 models." in out
    assert out.count("across; at most 3 of 5") == 5
    assert re.search(r"average, seed 4 +0% +\d+ +no line \(seed_variance\)", out)
    assert "no line: the report shows these models; they decide nothing." in out
    found = json.loads(heatcheck(*model, *chosen, "--plan", "--json")[1])["fits"]
    assert sum(fit["sure"] for fit in found) == 7
    assert [fit["search"]["of"] for fit in found if fit["search"]] == [5] * 5
    assert {tuple(fit["lines"]) for fit in found} == {("across",), ()}


def test_an_audit_with_other_fits_is_another_audit(heatcheck, model):
    without = [word for word in REFIT if word != "--refit"]
    folders = {fits_of(heatcheck, *model, *arguments)[1]["folder"] for arguments in (REFIT, without)}
    assert len(folders) == 2


def test_a_fit_that_fails_is_named_and_loses_nothing_else(heatcheck, model, monkeypatch):
    fit_into = jobs.fit_into

    def fails_once(recipe, *arguments, **options):
        if recipe.impose == {"weights": "last"} and recipe.seed == 1:
            raise RuntimeError("the disk is full")
        fit_into(recipe, *arguments, **options)

    monkeypatch.setattr(jobs, "fit_into", fails_once)
    code, out, _ = heatcheck(*model, *REFIT)
    assert code == 0
    out = " ".join(out.split())
    assert out.count("1 training run failed; --verbose says why.") == 1
    assert "not run: necessity" not in out
    made, found = fits_of(heatcheck, *model, *REFIT)
    assert sorted(made.values()) == ["failed", *["reused"] * 4]
    (failed,) = (fit for fit in found["fits"] if fit["state"] == "failed")
    assert failed["reason"] == "RuntimeError: the disk is full"
    assert found["measurements"]["necessity"]


@pytest.mark.parametrize(
    ("conditions", "code", "told"),
    [
        (["across=not run"], 1, "across models is not run"),
        (["points=yes", "works out of context=not run"], 1, "works out of context is not run"),
        (["necessary=no"], 0, ""),
    ],
)
def test_fail_if(heatcheck, tmp_path, conditions, code, told):
    """The report is written and printed first."""
    audit = ["audit", "known:reader@planted_contrast", "--checks", "permutation", "--examples", "30", "--out", "mine"]
    found, out, err = heatcheck(*audit, *(word for one in conditions for word in ("--fail-if", one)))
    assert found == code
    assert (told in err) if told else err == ""
    assert err.count("\n") == code
    assert "report: mine/report.html" in out
    assert (tmp_path / "mine" / "report.html").is_file()


def test_one_bar_for_fits_and_checks(heatcheck, model, monkeypatch):
    """On a terminal, where it says how long it still takes; in a log file there is none."""
    assert heatcheck(*model, *REFIT)[2] == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = heatcheck(*model, *REFIT, "--set", "necessity.seeds=3")[2]
    assert "training: 5 of 8 models done" in err
    assert "under a minute left" in err

"""The page on which the heads of a study form: what it plays is what the study kept."""

import numpy as np
import pytest
from serving import send, serving

import accessible
from heatcheck.errors import BadInput
from heatcheck.results import Model, StudyResult, keep_study
from heatcheck.serve.heads_over_training import read_heads

TEXT = np.array([0, 40, 17, 40, 17])  # · A B A B
BEFORE = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]  # uniform
AFTER = np.eye(5)
AFTER[3], AFTER[4] = np.eye(5)[2], np.eye(5)[3]  # the second A looks at the first B, the second B at the second A


def a_run_that_learned(seeds=2):
    steps = np.array([0, 20, 40])
    rising = np.tile([0.0, 0.1, 0.9], (seeds, 1))
    return Model(
        "two_layers",
        "attention-only transformer",
        "",
        (),
        seeds,
        {
            "steps": steps,
            "loss": 5 - rising,
            "prefix_matching": rising,
            "previous_token": rising / 2,
            "in_context": -rising,
            "best": np.tile([2, 3], (seeds, 1)),
            "played": np.tile([0, 40], (seeds, 1)),
            "maps": np.tile((np.stack([BEFORE, AFTER]) * 255).round().astype(np.uint8), (seeds, 1, 1, 1)),
            "text": TEXT,
            "seed": np.arange(seeds),
            "begin": np.full(seeds, 20),
            "end": np.full(seeds, 40),
            "risen": np.arange(seeds) == 0,
            "met": np.arange(seeds) == 0,
        },
        (),
    )


def kept(folder, *models):
    keep_study(StudyResult("olsson2022", "Induction heads", "", (), models, {}, ()), folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return read_heads(kept(tmp_path_factory.mktemp("study"), a_run_that_learned()))


def test_the_page_is_told_what_the_study_kept(study):
    with serving({}, heads=study) as page:
        assert [run["id"] for run in send(page, "/api/head-runs").json["runs"]] == [
            "two_layers, seed 0",
            "two_layers, seed 1",
        ]
        told = send(page, "/api/head-run", {"run": "two_layers, seed 0"}).json
        other = send(page, "/api/head-run", {"run": "two_layers, seed 1"}).json
        assert send(page, "/").body == send(page, "/heads").body
        unknown = send(page, "/api/head-run", {"run": "three_layers, seed 0"})
    assert (unknown.status, unknown.error) == (
        422,
        "no run 'three_layers, seed 0': GET /api/head-runs lists the runs.",
    )
    assert told["words"] == ["·", "A", "B", "A", "B"]
    assert (told["head"], told["played"], told["window"], told["met"]) == ("2.3", [0, 40], [20, 40], True)
    assert (other["window"], other["met"]) == (None, False)
    assert {curve["name"]: curve["values"] for curve in told["curves"]}["in_context"] == [0, -0.1, -0.9]
    assert told["maps"][1] == AFTER.tolist()


def test_a_study_without_heads_is_refused(tmp_path):
    with pytest.raises(BadInput, match="keeps no heads over training"):
        read_heads(kept(tmp_path, a_run_that_learned()._replace(examples={})))


def test_a_head_is_watched_as_it_forms(browser, study):
    """At the last step the second copy looks at what followed in the first; at the first step it does not."""
    with serving({}, heads=study) as address:
        page = browser.new_page()
        troubles = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        assert "shows a phase change" in page.inner_text("#verdict")
        assert page.inner_text("#step-value") == "step 40 of 40"
        shown = dict.fromkeys(("prefix_matching", "in_context"), "")
        for name in shown:
            shown[name] = page.inner_text(f".curve[data-name={name}] b")
        assert shown == {"prefix_matching": "0.90", "in_context": "\N{MINUS SIGN}0.90"}
        # Outlined are query 3 at key 2 (1.0), and query 4 at key 3 (1.0).
        assert page.locator("#map td.copy").count() == 2
        assert accessible.violations(page) == []
        assert float(page.get_attribute("#map", "data-followed")) == 1
        page.focus("#step")
        page.keyboard.press("Home")
        assert page.inner_text("#step-value") == "step 0 of 40"
        assert page.inner_text(".curve[data-name=prefix_matching] b") == "0.00"
        assert float(page.get_attribute("#map", "data-followed")) == pytest.approx((1 / 4 + 1 / 5) / 2, abs=0.005)
        page.click("#play")
        page.wait_for_function("() => document.getElementById('step-value').textContent === 'step 40 of 40'")
        page.select_option("#run", "two_layers, seed 1")
        page.wait_for_function("() => document.getElementById('verdict').textContent.includes('does not show')")
        page.close()
    assert troubles == []

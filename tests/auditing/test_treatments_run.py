"""`run_treatments` trains, audits and judges; it resumes; its numbers are those of the checks."""

import json

import numpy as np
import pytest

from heatcheck.auditing import CardSettings, audit
from heatcheck.auditing.treating import measure_model, plan_treatments, run_treatments
from heatcheck.auditing.treating.costs import QUICK_SECONDS, affordable, seconds_of
from heatcheck.data.planted import planted
from heatcheck.engine import nulled
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import load_folder
from heatcheck.results.treatments import treatments_facts, treatments_from
from heatcheck.training import plan_recipe

CORPUS = planted("planted_contrast", seed=5, fillers=(6, 9), sizes=(40, 15, 20))
RECIPE = plan_recipe(CORPUS, encoder="average", embedding=8, hidden=8, epochs=1)
SETTINGS = {"erasure.rivals": "gradient_x_input", "erasure.random_orders": 1, "erasure.sizes": "1", "erasure.draws": 10}
SETTINGS |= {"permutation.repeats": 5, "permutation.draws": 10, "guide.draws": 10}


def planned(folder, **choices):
    options = {"treatments": "placebo,top_k", "seeds": 2, "examples": 10, "settings": SETTINGS, **choices}
    return plan_treatments(RECIPE, CORPUS, store=folder, **options)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("fits")


@pytest.fixture(scope="module")
def outcomes(store):
    """The first run, interrupted after its third job, then run again to the end."""
    seen = []

    def stop(outcome, done, total):
        seen.append((outcome.job.id, outcome.state, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_treatments(planned(store), progress=stop)
    again = []
    found = run_treatments(
        planned(store), progress=lambda o, _, of: again.append((o.job.id, o.state, of)), card=CardSettings(seeds=2)
    )
    return seen, again, found


def test_the_same_call_resumes(outcomes):
    seen, again, _ = outcomes
    assert [state for _, state, _ in seen] == ["done"] * 3
    reused = {job for job, state, _ in again if state == "reused"}
    assert reused == {job for job, _, _ in seen}
    assert len(again) == again[0][2] == 6 + 10  # three models of two seeds; these, and two twins each


def test_a_placebo_changes_nothing(outcomes):
    """Its weights are the untreated model's, so each pair of numbers is the same, whatever they are."""
    row = outcomes[2].rows[0]
    assert row.name == "placebo"
    assert {cell.word for cell in row.cells} <= {"no change seen", "cannot be asked"}
    changes = [cell.change for cell in row.cells if cell.change is not None]
    assert changes
    assert all((change.value, change.low, change.high, change.p) == (0, 0, 0, 1) for change in changes)
    assert row.evenness[0] == row.evenness[1]


def test_a_treatment_is_compared_with_a_twin_of_the_same_entropy(outcomes):
    row = outcomes[2].rows[1]
    assert row.name == "top_k"
    assert row.evenness[1] < row.evenness[0]
    assert row.twin_evenness == pytest.approx(row.evenness[1], abs=0.1)
    assert row.cell("accuracy").twin is not None


def test_results_survive_their_file(outcomes):
    found = outcomes[2]
    facts = nulled(treatments_facts(found))
    assert nulled(treatments_facts(treatments_from(json.loads(json.dumps(facts))))) == facts


def test_a_time_limit_ends_with_what_is_there(tmp_path):
    found = run_treatments(planned(tmp_path), seconds=0.0)
    assert all(cell.word == "cannot be asked" for row in found.rows for cell in row.cells)
    assert "too few models" in found.advice


@pytest.mark.usefixtures("outcomes")
def test_the_numbers_are_those_of_the_checks(store):
    subject = load_folder(store / RECIPE.id)
    options = {"examples": 15, "train": CORPUS, "split": "test"}
    settings = {**SETTINGS, "erasure.operators": "deletion"}
    numbers = measure_model(subject, CORPUS, settings=settings, **options)
    results = audit(subject, CORPUS, checks=["erasure", "permutation", "guide"], settings=settings, **options).results
    lines = {name: line for name, line in numbers.lines.items() if name != "context"}
    ratio = {name: line.above.mean() / line.below.mean() for name, line in lines.items()}
    assert ratio["points"] == pytest.approx(results["erasure"].find("K").value)
    assert ratio["hard"] == pytest.approx(results["permutation"].find("q").value)
    assert ratio["accuracy"] == pytest.approx(results["guide"].find("base_accuracy").value)
    guide = results["guide"].per_example
    np.testing.assert_array_equal(numbers.lines["context"].above, guide["right:weighted"] - guide["right:unweighted"])
    np.testing.assert_array_equal(numbers.lines["context"].below, guide["right:base"] - guide["right:unweighted"])
    assert numbers.lines["context"].carries == results["guide"].find("carries").low
    assert numbers.evenness == pytest.approx(results["permutation"].find("evenness").value)


def test_a_plan_says_what_does_not_apply_and_what_is_left_out(tmp_path):
    plan = plan_treatments(RECIPE, CORPUS, store=tmp_path)
    assert "placebo" not in plan.treated
    assert plan.not_applied.keys() >= {"orthogonal"}  # no LSTM
    assert plan.seeds == (0, 1, 2, 3, 4)
    assert len(plan.fits()) == 5 * (1 + len(plan.treated))
    assert len({job.id for job in plan.audits()}) == 5 * (1 + 2 * len(plan.treated))


def test_long_texts_leave_time_for_fewer_treatments():
    names = ["diversity", "entmax", "sparsemax", "masked_words"]
    long = planted("planted_contrast", seed=5, fillers=(80, 90), sizes=(3000, 15, 40))
    recipe = plan_recipe(long)
    few = affordable(recipe, long, names, seeds=5, examples=200)
    assert few == names[: len(few)]
    assert 1 <= len(few) < len(names)
    assert seconds_of(recipe, long, [*few, names[len(few)]], seeds=5, examples=200) > QUICK_SECONDS
    assert affordable(RECIPE, CORPUS, names, seeds=5, examples=200) == names


def test_what_cannot_be_planned_is_said(tmp_path):
    with pytest.raises(UnknownName, match="treatment"):
        planned(tmp_path, treatments="sparse")
    with pytest.raises(BadInput, match="at least one seed"):
        planned(tmp_path, seeds=0)
    with pytest.raises(BadInput, match="none of these treatments applies"):
        planned(tmp_path, treatments="orthogonal")
    other = planted("planted_keyword", seed=5, fillers=(6, 9), sizes=(40, 15, 20))
    with pytest.raises(BadInput, match="--data"):
        plan_treatments(RECIPE, other)

"""Checks run as soon as what they need is there, lines are told once they are final, and Ctrl-C keeps what is known."""

from dataclasses import replace

import numpy as np
import pytest

from heatcheck.auditing import CardSettings, make_card, plan_audit, run_checks, run_plan
from heatcheck.auditing.lines import LINES, judge_lines, judge_necessary, judge_out_of_context
from heatcheck.checks import CHECKS
from heatcheck.checks.check import SPARED
from heatcheck.data import Split, load_task
from heatcheck.training import train
from made_up_lines import erasure, gauge, guide, necessity

# In the order of an audit: what retrains models comes first and last in it.
NAMES = ("adversarial_model", "erasure", "gauge", "guide", "necessity", "permutation", "seed_variance")
SETTINGS = {
    **{f"{name}.seeds": 2 for name in ("adversarial_model", "guide", "necessity", "seed_variance")},
    **{f"{name}.draws": 50 for name in NAMES if name != "gauge"},
    "adversarial_model.epochs": 1,
    "adversarial_model.strengths": "0.001,0.1",
    "guide.epochs": 1,
    "guide.strength": 0.001,
    "erasure.rivals": "leave_one_out",
    "erasure.random_orders": 2,
    "card.seeds": 2,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny model, its corpus, and a store for its retrained models."""
    folder = tmp_path_factory.mktemp("turns")
    corpus = load_task("planted_keyword")
    small = replace(corpus, splits={name: Split(name, corpus[name].examples[:60]) for name in corpus.splits})
    fit = train(small, encoder="lstm", hidden=4, embedding=4, epochs=2, out=folder / "m", progress=False)
    return fit.subject, small, folder / "fits"


def planned(trained, store=None, **options):
    subject, corpus, kept = trained
    options = {"checks": NAMES, "settings": SETTINGS, "examples": 40, "refit": True, "all_fits": True, **options}
    return plan_audit(subject, corpus, store=store or kept, **options)


def rounds(plan):
    """Trains all that the checks want, in rounds."""
    fits = plan.case.fits
    made, wanted = [], list(plan.recipes)
    while wanted:
        fits.make(wanted)
        made += [recipe.id for recipe in wanted]
        wanted = [recipe for recipe in plan.further if recipe.id not in made]


class Events(list):
    """What happened, in order: checks by name, training runs by id, lines."""

    def of(self, kind):
        return [what for one, what in self if one == kind]

    def run(self, plan, **options):
        return run_plan(
            plan,
            watch=lambda name, *_: self.append(("check", name)) if name else None,
            fitted=lambda outcome, *_: self.append(("fit", outcome.job.id)),
            told=lambda line: self.append(("line", line)),
            **options,
        )


@pytest.fixture(scope="module")
def ran(trained):
    """An audit as it is run, what happened meanwhile, and the plan."""
    plan, events = planned(trained), Events()
    return events.run(plan), events, plan


def test_the_audit_is_the_one_of_training_everything_first(trained, ran, tmp_path):
    """Same results in the same order, same card, same examples; in a store of its own."""
    found, _, _ = ran
    plan = planned(trained, tmp_path / "fits")
    rounds(plan)
    results, not_run = run_checks(plan)
    assert list(found.results) == list(results) == [name for name in NAMES if name != "gauge"]
    assert found.not_run == not_run
    assert list(not_run) == ["gauge"], "which a recurrent model refuses"
    for name, one in results.items():
        assert found.results[name].measurements == one.measurements, name
        assert found.results[name].not_run == one.not_run
        for key, values in one.per_example.items():
            np.testing.assert_array_equal(found.results[name].per_example[key], values)
    card = make_card(results, plan.case.logit_scale, plan.card, not_run, available=plan.available)
    assert found.card == card
    assert not found.interrupted


def test_what_needs_no_training_runs_first_and_what_decides_a_line_is_trained_first(ran):
    _, events, plan = ran
    assert events.of("check") == ["erasure", "gauge", "permutation", "seed_variance", "necessity", *NAMES[:1], "guide"]
    happened = [what for _, what in events]
    assert [one for one, _ in events[:3]].count("fit") == 0
    for name in ("necessity", "adversarial_model", "guide", "seed_variance"):
        needed = [r.id for r in plan.recipes_of[name] if r != plan.case.fits.recipe]
        assert max(map(happened.index, needed)) < happened.index(name), "its models are there"
    last = max(happened.index(r.id) for r in plan.recipes_of["necessity"] if r != plan.case.fits.recipe)
    assert "fit" not in [one for one, _ in events[last + 1 : happened.index("necessity")]], (
        "it does not wait for others"
    )
    assert events.of("fit")[-1] in {r.id for r in plan.recipes_of["guide"]}


def test_a_search_goes_on_while_other_models_are_trained(ran):
    """The second strength is trained if the first keeps the answers, before the models of later checks."""
    _, events, plan = ran
    more = [recipe.id for recipe in plan.more_for("adversarial_model")]
    first, second = more
    assert [first in {r.id for r in plan.recipes}, second in {r.id for r in plan.recipes}] == [True, False]
    assert set(more) <= set(events.of("fit"))
    assert len(events.of("fit")) == len(set(events.of("fit")))


def test_each_line_is_told_once_when_it_is_final_and_as_the_card_has_it(ran):
    found, events, _ = ran
    lines = {line.name: line for line in events.of("line")}
    assert len(lines) == len(events.of("line"))
    assert lines == {line.name: line for line in found.card.lines + found.card.apart if line.state != "not run"}
    after = {what.short: events[at - 1][1] for at, (one, what) in enumerate(events) if one == "line"}
    assert after["points"] == "erasure"
    assert after["necessary"] == "necessity"
    assert after["across"] == "adversarial_model"
    assert after["context"] == "guide"


def test_a_line_that_a_check_may_still_change_is_not_final():
    """gauge alone, or a swap that says no, says nothing final while a check that the rule asks for is to come."""

    def judged(results, *missing):
        results = {one.check: one for one in results}
        return {line.short: (line, final) for line, final in judge_lines(results, CardSettings(), missing=missing)}

    line, final = judged([necessity(swap=(-0.02, 0.05)), gauge()])["necessary"]
    assert (line.state, final) == ("no", True)
    for missing in ("gauge", "necessity"):
        line, final = judged([necessity(swap=(-0.02, 0.05))], missing)["necessary"]
        assert (line.state, line.undecided, final) == ("not run", "not run", False)
        assert "necessity" in line.reason
    assert judged([erasure()], "necessity", "gauge")["points"][1], "which it does not ask for"
    assert judged([erasure()])["points"] == judged([erasure()], "necessity")["points"]


def test_a_rule_that_reads_everything_is_final_at_the_end(monkeypatch):
    from heatcheck.auditing.lines import LINES

    seen = []
    rule = LINES["necessary"]._replace(
        name="all", checks=("erasure",), judge=lambda results, _: seen.append(list(results)) or rule.not_run("", "x")
    )
    monkeypatch.setitem(LINES, "all", rule)
    for missing, final in (((), True), (("permutation",), False)):
        found = list(judge_lines({"erasure": erasure()}, CardSettings(), missing=missing))
        assert [one.final for one in found if one.line.name == "all"] == [final]
    assert seen == [["erasure"]] * 2


# Ctrl-C -------------------------------------------------------------------------------------------------------------


def interrupting(monkeypatch, name):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(CHECKS, name, CHECKS[name]._replace(measure=interrupted))


def test_ctrl_c_in_a_check_keeps_those_that_ended(trained, ran, monkeypatch):
    whole, _, _ = ran
    interrupting(monkeypatch, "necessity")
    with pytest.raises(KeyboardInterrupt):
        run_plan(planned(trained))
    found = run_plan(planned(trained), keep_interrupted=True)
    assert found.interrupted == "Interrupted: 3 of 7 checks did not run. Run the same command again to resume."
    assert list(found.results) == ["erasure", "permutation", "seed_variance"]
    gauge, *missing = found.not_run.items()
    assert gauge == ("gauge", whole.not_run["gauge"])
    assert missing == [
        (name, "heatcheck was interrupted before it ended.") for name in ("adversarial_model", "guide", "necessity")
    ]
    assert found.card["points"] == whole.card["points"]
    necessary = found.card["necessary"]
    assert (necessary.state, necessary.undecided) == ("not run", "not run")
    assert necessary.reason == "heatcheck audit MODEL --checks necessity --refit"
    assert "Interrupted: 3 of 7" in repr(found)
    assert {"attention", "leave_one_out"} <= set(found.examples[0].scores), "what was known"


def test_ctrl_c_in_training_keeps_the_models_that_are_trained(trained, monkeypatch, tmp_path):
    from heatcheck.training import jobs

    fit_into, made = jobs.fit_into, []

    def interrupted(recipe, *arguments, **options):
        if len(made) == 2:
            raise KeyboardInterrupt
        fit_into(recipe, *arguments, **options)
        made.append(recipe.id)

    monkeypatch.setattr(jobs, "fit_into", interrupted)
    found = run_plan(planned(trained, tmp_path / "fits"), keep_interrupted=True)
    assert list(found.results) == ["erasure", "permutation", "seed_variance"]
    assert found.interrupted.startswith("Interrupted: 3 of 7 checks did not run.")
    assert found.not_fitted == {}
    monkeypatch.undo()
    states = {}
    again = run_plan(
        planned(trained, tmp_path / "fits", checks=["necessity"], settings={"necessity.seeds": 2}),
        fitted=lambda outcome, *_: states.update({outcome.job.id: outcome.state}),
    )
    assert again.interrupted == ""
    assert {name for name, state in states.items() if state == "reused"} == set(made)


def test_nothing_is_kept_before_a_check_has_found_something(trained, monkeypatch):
    """A refusal is no result."""
    for last in ("permutation", "necessity"):
        interrupting(monkeypatch, last)
        plan = planned(trained, checks=["gauge", last], settings={}, refit=False)
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan, keep_interrupted=True)


# Models that cannot change an answer ---------------------------------------------------------------------------------


def run_with(monkeypatch, trained, store, *, settled):
    """An audit in which the lines of both checks that can do without retrained models are settled, or not."""
    for name in ("necessary", "works out of context"):
        monkeypatch.setitem(LINES, name, LINES[name]._replace(settled=lambda _: settled))
    names = ("gauge", "guide", "necessity", "seed_variance")
    settings = {key: value for key, value in SETTINGS.items() if key.partition(".")[0] in (*names, "card")}
    plan = planned(trained, store, checks=names, settings=settings, all_fits=False)
    events = Events()
    return events.run(plan), events, plan


def test_models_that_cannot_change_a_line_are_not_trained(trained, tmp_path, monkeypatch):
    found, events, plan = run_with(monkeypatch, trained, tmp_path / "fits", settled=True)
    for name in ("guide", "necessity"):
        assert found.results[name].not_run == SPARED
        assert not any(m.by.get("fit") == "retrained" for m in found.results[name].measurements)
    assert set(events.of("fit")) == {recipe.id for recipe in plan.recipes_of["seed_variance"]}
    assert len(events.of("check")) == 4, "each once"


def test_models_that_can_are(trained, tmp_path, monkeypatch):
    found, events, plan = run_with(monkeypatch, trained, tmp_path / "fits", settled=False)
    wanted = {recipe.id for recipe in plan.recipes if recipe != plan.case.fits.recipe}
    assert wanted == set(events.of("fit"))
    assert not found.results["necessity"].not_run
    assert len(events.of("check")) == 4


RETRAINED = [None, (0.0, 0.05), (0.05, 0.2), (0.3, 0.6)]


@pytest.mark.parametrize("swap", [(0.0, 0.05), (0.05, 0.2), (0.3, 0.5)])
@pytest.mark.parametrize("change", [0.0, 0.4])
@pytest.mark.parametrize("equal", [None, 0.9, 1.0])
@pytest.mark.parametrize("texts", [12, 200])
@pytest.mark.parametrize("room", [(-0.1, 0.1), (0.3, 0.4)])
def test_no_retrained_model_changes_a_line_that_is_settled(swap, change, equal, texts, room):
    """Whatever they would lose."""
    twin = None if equal is None else gauge(equal, texts)
    made = [
        judge_necessary(necessity(swap, change, room, texts, retrained=retrained), twin, CardSettings())
        for retrained in RETRAINED
    ]
    if LINES["necessary"].settled(made[0]):
        assert len({(line.state, line.route, line.reason, line.sentence) for line in made}) == 1
    elif texts > 30 and room[0] > 0:
        assert len({line.state for line in made}) > 1, "these can"


@pytest.mark.parametrize("gained", [None, (-0.1, 0.2), (0.3, 0.7), (0.6, 0.9)])
@pytest.mark.parametrize("room", [(0.0, 0.01), (0.2, 0.4)])
def test_no_retrained_guide_changes_a_line_that_is_settled(gained, room):
    made = [
        judge_out_of_context(guide(gained, room, refitted=refitted), CardSettings())
        for refitted in (None, (0.0, 0.1), (0.7, 0.9))
    ]
    same = len({(line.state, line.route, line.reason, line.sentence) for line in made}) == 1
    assert same == LINES["works out of context"].settled(made[0])

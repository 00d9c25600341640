"""Which fits an audit would make, and about how long each takes."""

from dataclasses import replace

import pytest

from heatcheck.auditing import at_most, plan_audit, plan_fits
from heatcheck.data import Split, load_task
from heatcheck.models import load
from heatcheck.training import share_used, train
from heatcheck.training.fit import RECORD


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny model of a kind, and its corpus."""
    corpus = load_task("planted_keyword")
    small = replace(corpus, splits={name: Split(name, corpus[name].examples[:60]) for name in corpus.splits})

    def of(encoder):
        out = tmp_path_factory.mktemp("trained") / encoder
        fit = train(small, encoder=encoder, hidden=4, embedding=4, epochs=2, out=out, progress=False)
        return fit.subject, small

    return of


def planned(trained, checks, **settings):
    subject, corpus = trained
    return plan_audit(subject, corpus, checks=checks, refit=True, settings=settings)


def test_the_subject_is_not_fitted_again(trained):
    """Not even where a guide is of its very kind."""
    plan = planned(trained("average"), ["guide"], **{"guide.seeds": 2})
    own = plan.case.fits.recipe.id
    assert own in {recipe.id for recipe in plan.recipes}
    fits = plan_fits(plan, 0.001)
    assert {fit.id for fit in fits} == {recipe.id for recipe in plan.recipes} - {own}
    assert {fit.done for fit in fits} == {0.0}


def test_the_time_follows_the_epochs_and_the_kind_of_model(trained):
    """Three times the epochs take three times as long; a model without context an eighth of a recurrent one."""
    settings = {"adversarial_model.strengths": "0.1", "adversarial_model.epochs": 6, "guide.seeds": 1}
    found = plan_fits(planned(trained("lstm"), ["adversarial_model", "guide"], **settings), 0.001)
    seconds = {fit.name.removeprefix("planted_keyword: "): fit.seconds for fit in found}
    honest = seconds["lstm, seed 1"]
    assert honest == pytest.approx(4 * 0.001 * 60 * 2)
    assert seconds["lstm, adversary at λ = 0.1, seed 1000"] == pytest.approx(3 * honest)
    assert seconds["average, seed 0"] == pytest.approx(honest / 8)


def test_closed_forms_are_not_fitted():
    assert plan_fits(plan_audit(load("known:reader@planted_keyword"), "planted_keyword", refit=True), 0.001) == []


def test_each_training_run_says_what_it_can_decide(trained):
    """Seeds feed two lines; guides, and other seeds alone, none; a search is at most so many of its models."""
    checks = ["necessity", "adversarial_model", "guide", "seed_variance"]
    settings = {f"{check}.seeds": 3 for check in checks} | {"adversarial_model.starts": "fresh"}
    found = plan_fits(planned(trained("lstm"), checks, **settings), 0.001)
    by_name = {fit.name.removeprefix("planted_keyword: "): fit for fit in found}
    seed = by_name["lstm, seed 1"]
    assert (seed.lines, seed.sure, seed.search) == (("necessary", "across"), True, None)
    assert seed.checks == ("necessity", "adversarial_model", "seed_variance")
    assert by_name["lstm, imitator, seed 1000"].lines == ("across",)
    assert by_name["lstm, last weights, seed 1"].lines == ("necessary",)
    assert by_name["average, seed 0"].lines == ()
    assert by_name["average, seed 0"].checks == ("guide",)
    searched = {fit.name.partition("λ = ")[2].partition(",")[0]: fit for fit in found if fit.search}
    assert list(searched) == ["0.003", "0.0001", "0.001", "0.01", "0.1"]
    assert [fit.sure for fit in searched.values()] == [True, False, False, False, False]
    assert {fit.search[1:4] for fit in searched.values()} == {("adversarial_model", 3, 5)}
    assert searched["0.003"].checks == ("adversarial_model", "guide")
    assert {fit.lines for fit in searched.values()} == {("across",)}
    assert len(at_most(found)) == len(found) - 2
    alone = plan_fits(planned(trained("lstm"), ["seed_variance"], **{"seed_variance.seeds": 2}), 0.001)
    assert [(fit.lines, fit.checks) for fit in alone] == [((), ("seed_variance",))]


def test_every_epoch_counts_where_nothing_is_known(tmp_path):
    assert share_used("a", tmp_path, 20) == 1.0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / RECORD).write_text("{}\n" * 5)
    assert share_used("a", tmp_path, 20) == 0.25
    assert share_used("a", tmp_path, 4) == 1.0

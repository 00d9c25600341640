"""Between seeds: against scipy and by hand on made-up fits, on known answers, and on fits of a planted task."""

import math
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax

from heatcheck import stats
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.permutation import BINS
from heatcheck.checks.retrained_answers import Said
from heatcheck.checks.seed_variance import SeedVarianceSettings, plan
from heatcheck.data import Split, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import load, load_folder
from heatcheck.training import Fits, Recorded, describe, fit_recipe, plan_recipe
from heatcheck.training import stack as fits
from subjects import SUBJECTS

measure = CHECKS["seed_variance"].measure
FEW = SeedVarianceSettings(seeds=3, draws=100)


def overall(result, name):
    """The measurement over all examples."""
    (found,) = [m for m in result.measurements if m.name == name and not m.by]
    return found


def made_up(number, lengths, labels, *, logits=None):
    """A fit with random weights and answers."""
    generator = np.random.default_rng(number)
    drawn = generator.normal(size=(len(lengths), labels)) if logits is None else logits
    return Recorded(
        tuple(f"e{place}" for place in range(len(lengths))),
        log_softmax(drawn, axis=-1)[:, None],
        tuple(generator.dirichlet(np.ones(n), size=(1, 1)).astype(np.float32) for n in lengths),
    )


def case_with(monkeypatch, recorded, labels, not_run=()):
    """A case whose seeds say what was made up."""
    subject, _ = SUBJECTS["lstm"]
    example = SUBJECTS["lstm"][1][0]
    examples = [replace(example, id=name) for name in recorded[0].ids]
    case = Case(subject, examples, labels=labels)
    case.__dict__["own"] = recorded[0]
    # Through sys.modules: as an attribute of the package the name is the check, not its file.
    module = sys.modules[plan.__module__]
    monkeypatch.setattr(module, "honest_seeds", lambda *_: Said(tuple(recorded), dict(not_run)))
    return case


def test_equal_to_scipy_and_to_loops(monkeypatch):
    lengths = [1, 2, 5, 9, 9, 4, 7, 3]
    recorded = [made_up(number, lengths, 3) for number in range(4)]
    case = case_with(monkeypatch, recorded, ("a", "b", "c"))
    result = measure(case, FEW)

    def jsd(s, t):
        return np.array(
            [
                jensenshannon(a[0, 0].astype(float), b[0, 0].astype(float)) ** 2
                for a, b in zip(recorded[s].each, recorded[t].each, strict=True)
            ]
        )

    def tvd(s, t):
        return np.abs(recorded[s].probabilities - recorded[t].probabilities).sum(-1) / 2

    def same(s, t):
        return (recorded[s].predicted == recorded[t].predicted).astype(float)

    others = range(1, 4)
    np.testing.assert_allclose(result.per_example["jsd"], np.median([jsd(0, t) for t in others], axis=0), atol=1e-6)
    np.testing.assert_allclose(result.per_example["tvd"], np.mean([tvd(0, t) for t in others], axis=0), atol=1e-9)
    np.testing.assert_allclose(result.per_example["max_attention"], [one.max() for one in recorded[0].each])
    assert result.find("agreement").value == pytest.approx(np.mean([same(0, t) for t in others]))
    pairs = list(combinations(range(4), 2))
    for name, apart in (("jsd_pairs", jsd), ("tvd_pairs", tvd), ("agreement_pairs", same)):
        found = result.find(name)
        assert found.value == pytest.approx(np.mean([apart(s, t) for s, t in pairs]), abs=1e-6)
        assert found.n == 4
        whole = np.array([[apart(s, t) for t in range(4)] for s in range(4)])
        assert found[1:5] == pytest.approx(stats.pairs_interval(whole), abs=1e-6)
    assert result.per_example["jsd"][0] == 0, "the weight of one word is 1 from every seed"
    assert not any(math.isnan(number) for m in result.measurements for number in (m.value, m.low, m.high))


def test_by_class_and_by_quarter_every_example_counts_once(monkeypatch):
    lengths = [1, 2, 3, 5, 20, 30, 2, 2, 4, 4]
    recorded = [made_up(number, lengths, 2) for number in range(3)]
    case = case_with(monkeypatch, recorded, ("no", "yes"))
    result = measure(case, FEW)
    largest, predicted = recorded[0].weights.max(1), recorded[0].predicted
    for name in ("jsd", "tvd"):
        rows = [m for m in result.measurements if m.name == name]
        assert sum(m.n for m in rows if set(m.by) == {"class"}) == 10
        assert sum(m.n for m in rows if set(m.by) == {"class", "bin"}) == 10
        for m in rows:
            if "bin" in m.by:
                place = BINS.index(m.by["bin"])
                among = (predicted == ("no", "yes").index(m.by["class"])) & (largest >= place / 4)
                among &= (largest < (place + 1) / 4) | (place == 3)
                assert (m.n, m.value) == (among.sum(), pytest.approx(result.per_example[name][among].mean()))
    assert len({m.by["bin"] for m in result.measurements if "bin" in m.by}) > 2
    assert result.examples == recorded[0].ids
    assert not result.excluded


def test_seeds_that_differ_in_confidence_alone_are_no_distance_apart(monkeypatch):
    logits = np.random.default_rng(0).normal(size=(40, 3))
    recorded = [made_up(n, [4] * 40, 3, logits=factor * logits) for n, factor in enumerate((1.0, 3.0, 0.4))]
    result = measure(case_with(monkeypatch, recorded, ("a", "b", "c")), FEW)
    assert result.find("tvd_pairs").value > 0.1
    assert result.find("tvd_pairs_tempered").value < 1e-3
    assert result.find("agreement_pairs").value == result.find("agreement").value == 1


def test_either_of_a_pair_may_be_tempered(monkeypatch):
    """One of two confident seeds is tempered towards the other: the mean does not depend on which comes first."""
    recorded = [made_up(n, [4] * 30, 2) for n in range(3)]
    one = measure(case_with(monkeypatch, recorded, ("no", "yes")), FEW).find("tvd_pairs_tempered")
    other = measure(case_with(monkeypatch, recorded[::-1], ("no", "yes")), FEW).find("tvd_pairs_tempered")
    assert one[1:5] == pytest.approx(other[1:5])
    assert one.value < measure(case_with(monkeypatch, recorded, ("no", "yes")), FEW).find("tvd_pairs").value


# Known answers ---------------------------------------------------------------------------------------------------


def known(name, n=100):
    subject = load(f"known:{name}")
    return Case(subject, load_task(name.split("@")[1])["test"].examples[:n], labels=subject.labels)


def test_known_answers_differ_by_their_jitter_only():
    reader = measure(known("reader@planted_keyword"), SeedVarianceSettings(draws=100))
    assert 0 < overall(reader, "jsd").value < 1e-4
    assert reader.find("agreement").value == 1
    assert reader.find("jsd_pairs").n == 5
    bystander = measure(known("bystander_right@planted_keyword"), SeedVarianceSettings(draws=100))
    assert overall(bystander, "jsd").value > 0
    assert overall(bystander, "tvd").value == pytest.approx(0, abs=1e-6), "weights that are not used move no answer"


def test_without_other_fits_it_has_nothing_to_say():
    subject, examples = SUBJECTS["lstm"]
    case = Case(subject, examples, labels=subject.labels)
    assert CHECKS["seed_variance"].refits
    assert plan(case, FEW) == []
    with pytest.raises(NotSupported, match="add --refit"):
        measure(case, FEW)


def test_refusals():
    with pytest.raises(BadInput, match=r"at least 2 .it includes the audited model"):
        SeedVarianceSettings(seeds=1)
    with pytest.raises(BadInput, match=r"seed_variance\.draws must be at least 1"):
        SeedVarianceSettings(draws=0)


# Fits of a planted task ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny model of seed 1, and a store in which seeds 0 and 2 were planned and 2 failed."""
    whole = load_task("planted_keyword")
    sizes = {"train": 100, "dev": 30, "test": 50}
    corpus = replace(whole, splits={name: Split(name, whole[name].examples[:n]) for name, n in sizes.items()})
    folder = tmp_path_factory.mktemp("fits")
    recipe = plan_recipe(corpus, encoder="average", hidden=8, embedding=8, epochs=3, learning_rate=0.03, seed=1)
    fit_recipe(recipe, corpus, folder / "base")
    subject = load_folder(folder / "base")
    made = Fits(subject, corpus, store=folder / "fits", device="cpu")
    return Case(subject, corpus["test"].examples, labels=corpus.labels, fits=made)


def test_other_seeds_are_planned_and_a_failed_one_is_named(trained, monkeypatch):
    own = trained.fits.recipe
    planned = plan(trained, FEW)
    assert planned == [replace(own, seed=0), replace(own, seed=2)], "the subject itself is not fitted again"
    fit_job = fits.fit_job

    def sometimes(argument, folder, where):
        if argument["recipe"]["seed"] == 2:
            raise RuntimeError("the machine went away")
        fit_job(argument, folder, where)

    monkeypatch.setattr(fits, "fit_job", sometimes)
    states = {outcome.job.name: outcome.state for outcome in trained.fits.make(planned)}
    assert states == {describe(planned[0]): "done", describe(planned[1]): "failed"}
    result = measure(trained, FEW)
    assert list(result.not_run) == [describe(planned[1])]
    assert "the machine went away" in result.not_run[describe(planned[1])]
    other = trained.fits.said(planned[0], trained.tested, "tested")
    apart = [jensenshannon(p, q) ** 2 for p, q in zip(trained.own.weights, other.weights, strict=True)]
    assert overall(result, "jsd").value == pytest.approx(np.mean(apart), abs=1e-6) != 0
    assert result.find("agreement").value == pytest.approx(np.mean(trained.own.predicted == other.predicted))
    assert result.find("jsd_pairs")[2:5] == (-math.inf, math.inf, 2), "one pair says nothing about spread"


def test_where_every_other_seed_failed_it_says_why(trained, tmp_path):
    alone = Fits(trained.subject, trained.fits.corpus, store=tmp_path / "empty", device="cpu")
    case = Case(trained.subject, trained.examples, labels=trained.labels, fits=alone)
    with pytest.raises(NotSupported, match=r"no other seed .* seed 0 was not trained: it was not requested"):
        measure(case, FEW)

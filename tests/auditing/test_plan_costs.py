"""What --plan says against what is done, by a clock that ticks for each token and layer: no machine is ever busy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from heatcheck.auditing import plan_audit
from heatcheck.checks import CHECKS
from heatcheck.data import Corpus, Example, Split
from heatcheck.models import with_labels
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.transformer import NOTHING
from subjects import classifier
from tiny_transformers import WORDS, make

BACK = 3.0  # a pass there and back, in passes there
QUICK = {
    "agreement.draws": 20,
    "erasure.draws": 20,
    "flips.draws": 20,
    "permutation.draws": 20,
    "counterfactual.draws": 20,
    "counterfactual.epsilons": "0.05",
    "necessity.draws": 20,
    "erasure.random_orders": 2,
}


def texts(count, longest):
    """One of `longest` words among shorter ones, in whose batch all are as long."""
    generator = np.random.default_rng(0)
    lengths = [longest, *generator.integers(5, 16, size=count - 1)]
    return tuple(
        Example(f"e{n}", " ".join(generator.choice(WORDS, size=length)), label=n % 2)
        for n, length in enumerate(lengths)
    )


@pytest.fixture(scope="module")
def subject():
    return with_labels(make("bert"), ("no", "yes"))


def corpus(count=10, longest=30):
    return Corpus("some", ("no", "yes"), {"test": Split("test", texts(count, longest))})


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only forward passes take: a millisecond a token and layer, thrice that where gradients are kept."""
    passed = SimpleNamespace(seconds=0.0, tokens=0)

    def ticking(run):
        def ran(self, batch, edits, want, known=NOTHING):
            given = [self._number[s.where] + 1 for s, e in edits.items() if s in self.blocks and torch.is_tensor(e)]
            layers = len(self.sites) - max(given, default=0)
            back = BACK if torch.is_grad_enabled() else 1.0
            passed.seconds += 1e-3 * batch.valid.numel() * layers * back
            return run(self, batch, edits, want, known)

        return ran

    monkeypatch.setattr(Transformer, "_run", ticking(Transformer._run))
    monkeypatch.setattr("heatcheck.auditing.planning.time", SimpleNamespace(perf_counter=lambda: passed.seconds))
    return passed


def test_a_pass_is_that_of_a_text_among_many(subject, clock):
    """Neither as long as the longest text of a batch, nor as slow as a batch that something disturbed."""
    plan = plan_audit(subject, corpus(32), checks=["permutation"])
    tokens = subject.encode(plan.case.examples).valid
    assert tokens.sum() < tokens.numel() / 2, "otherwise there is no padding to take off"
    start, read, calls = clock.seconds, plan._read, []

    def disturbed(examples):
        calls.append(len(examples))
        return read(examples) * (50 if len(calls) == 2 else 1)

    object.__setattr__(plan, "_read", disturbed)
    least, most = (1e-3 * len(subject.sites) * float(of) / len(tokens) for of in (tokens.sum(), tokens.numel()))
    assert plan.seconds_a_pass == pytest.approx((least * most) ** 0.5, rel=0.05), "they are read in two batches"
    assert calls[0] == 32, "texts are read together"
    assert clock.seconds > start


@pytest.mark.parametrize("check", ["agreement", "counterfactual", "erasure", "flips", "necessity", "permutation"])
def test_what_is_planned_for_a_transformer_is_what_is_done(subject, check, clock):
    settings = {key: value for key, value in QUICK.items() if key.startswith(check)}
    plan = plan_audit(subject, corpus(), checks=[check], settings=settings)
    (planned,) = plan.costs()
    start = clock.seconds
    CHECKS[check].measure(plan.case, plan.checks[check])
    done = clock.seconds - start
    assert 1 / 3 < planned.seconds / done < 3, (planned.seconds, done)


def test_checks_that_share_scores_are_planned_so(subject, clock):
    """Leave-one-out and gradients are made for the first check that ranks by them."""
    names = ["agreement", "erasure", "flips"]
    settings = {key: value for key, value in QUICK.items() if key.partition(".")[0] in names}
    plan = plan_audit(subject, corpus(), checks=names, settings=settings)
    planned = {one.check: one.seconds for one in plan.costs()}
    for name in names:
        start = clock.seconds
        CHECKS[name].measure(plan.case, plan.checks[name])
        done = clock.seconds - start
        assert 1 / 3 < planned[name] / done < 3, (name, planned[name], done)
    alone = {name: plan_audit(subject, corpus(), checks=[name], settings={}).costs()[0].passes for name in names}
    together = {one.check: one.passes for one in plan.costs()}
    assert together["agreement"] == alone["agreement"]
    assert together["flips"] < alone["flips"]


def test_what_is_not_for_transformers_costs_them_nothing(subject):
    plan = plan_audit(subject, corpus(), checks=["gauge", "guide"])
    assert [one.passes for one in plan.costs()] == [0, 0]


def test_a_linear_read_out_tries_other_weights_for_nothing():
    plan = plan_audit(classifier(texts(8, 12)), corpus(8, 12), checks=["permutation", "counterfactual", "necessity"])
    assert [one.passes for one in plan.costs()] == [8, 8, 16]


def test_linear_programs_take_seconds_beside_passes(subject):
    """As many as there are: two a token and head of texts longer than a head, for the largest and least weight."""
    from heatcheck.checks.identifiability import PROGRAM

    few = corpus(3, 12)
    plan = plan_audit(subject, few, checks=["identifiability"], settings={"identifiability.draws": 20})
    check, chosen = CHECKS["identifiability"], plan.checks["identifiability"]
    length = float(subject.encode(plan.case.examples).valid.sum(1).float().mean())
    programs = check.measure(plan.case, chosen).facts["programs"]
    assert 0.5 < check.beside(plan.case, chosen) / (PROGRAM * length * programs) < 2
    assert plan.costs()[0].seconds > check.beside(plan.case, chosen)
    assert check.beside(plan_audit(classifier(texts(3, 12)), few, checks=["permutation"]).case, chosen) == 0


def test_seconds_beside_passes_are_added(monkeypatch):
    plan = plan_audit(classifier(texts(8, 12)), corpus(8, 12), checks=["permutation"])
    before = plan.costs()[0]
    monkeypatch.setitem(CHECKS, "permutation", CHECKS["permutation"]._replace(beside=lambda *_: 100.0))
    after = plan.costs()[0]
    assert (after.passes, after.seconds - before.seconds) == (before.passes, pytest.approx(100.0))

"""Every check on transformers: right, or refused in one sentence."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from transformers import BertConfig

import tiny_transformers
from heatcheck import stats
from heatcheck.auditing import choose_settings
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.permutation import shuffled_logits
from heatcheck.engine import seed_of
from heatcheck.errors import NotSupported
from heatcheck.explainers import stand_ins
from heatcheck.explainers.counterfactual import searched
from heatcheck.explainers.search import BETTER, BRIEF
from heatcheck.models import load, response
from tiny_transformers import EXAMPLES, make, tiny

MARKED = tuple(replace(e, marks={"rationale": tuple(n == 1 for n in range(len(e.words)))}) for e in EXAMPLES)
REFUSED = {
    "adversarial_model": "compares with retrained models",
    "deception": "compares with retrained models",
    "dynamics": "compares with retrained models",
    "seed_variance": "compares with retrained models",
    "gauge": "a gauge twin needs logits that are linear in the weights",
    "guide": "guide reads words with their weights alone",
    "log_odds": "carries no log-odds",
    "mechanism": "needs a causal language model",
    "states": "needs a classifier of heatcheck",
}


def case_of(family, **options):
    subject = tiny(family)
    return Case(subject, MARKED, labels=subject.labels, **options)


def quick(check):
    settings = CHECKS[check].settings()
    if check == "perturbation":  # all explainers: test_perturbation.py
        settings = replace(settings, explainers=("attention", "rollout"))
    fewer = {"draws": 20, "shares": (0.2, 0.5), "epsilons": (0.05,)}
    return replace(settings, **{key: value for key, value in fewer.items() if hasattr(settings, key)})


@pytest.mark.parametrize("check", sorted(CHECKS))
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_each_runs_or_says_why_not(family, check):
    case = case_of(family)
    if check in REFUSED:
        with pytest.raises(NotSupported, match=REFUSED[check]):
            CHECKS[check].measure(case, quick(check))
        return
    found = CHECKS[check].measure(case, quick(check))
    assert len(found.examples) + len(found.excluded) == len(case.examples)
    assert found.settings == asdict(quick(check)), "what was asked for, and nothing that was found"
    assert all(np.isfinite(m.value) for m in found.measurements)
    assert all(len(values) == len(found.examples) for values in found.per_example.values())


@pytest.mark.parametrize(("family", "large"), [("bert", True), ("gpt2", False)])
def test_the_guide_names_the_weight_on_marks_only_where_it_is_large(family, large):
    """GPT-2's tokenizer here adds nothing to a text: all of the weight is on words."""
    case = case_of(family)
    on_words = case.scores("attention").values.sum(1)  # 0 where there is no word
    assert ((1 - on_words).mean() > 0.25) == large
    with pytest.raises(NotSupported, match="The tokens it weighs have already read the whole text") as refused:
        CHECKS["guide"].measure(case, quick("guide"))
    said = f"{(1 - on_words).mean():.0%} of its weight is on tokens that belong to no word"
    assert (said in str(refused.value)) == large
    assert ("no word" in str(refused.value)) == large


def test_those_about_transformers_run_unasked_on_transformers_only():
    new = {"identifiability", "perturbation"}
    assert new <= choose_settings(None, {}, subject=tiny("bert")).keys()
    assert not new & choose_settings(None, {}, subject=load("known:reader@planted_keyword")).keys()
    assert choose_settings(["erasure"], {}, subject=tiny("bert")).keys() == {"erasure", "card"}


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_weights_are_means_over_heads_and_marks_carry_some(family):
    case = case_of(family)
    weights, allowed = case.weights
    of_heads, _ = case.head_weights
    batch = case.subject.encode(case.examples)
    run = case.subject.run(batch, want=[case.subject.sites[-1]])
    own = run.parts[case.subject.sites[-1]][torch.arange(3), :, run.row[:, 0]].detach().numpy()
    np.testing.assert_allclose(of_heads[:, :, : own.shape[2]], own, atol=1e-6)
    np.testing.assert_allclose(weights, of_heads.mean(1))
    np.testing.assert_array_equal(allowed, batch.valid.numpy())
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_shuffles_are_dealt_head_by_head_and_decided_by_the_whole_model(family):
    case = case_of(family)
    found = shuffled_logits(case, 3)
    subject, site = case.subject, case.subject.sites[-1]
    for row, example in enumerate(case.examples):
        batch = subject.encode([example])
        seed = np.array([seed_of(0, "permutation", example.id)], dtype=np.uint64)
        with torch.no_grad():
            run = subject.run(batch, want=[site])
            own = run.parts[site]
            for draw in range(3):
                edited = own.clone()
                for head in range(4):
                    weights = own[:, head, run.row[0, 0]].double().numpy()
                    dealt = stats.shuffled_weights(weights, batch.valid.numpy(), seed + np.uint64(head), 3)[0, draw]
                    assert sorted(dealt) == pytest.approx(sorted(weights[0]))
                    edited[0, head, run.row[0, 0]] = torch.from_numpy(dealt)
                whole = subject.run(batch, edits={site: edited}).logits[0, 0]
                np.testing.assert_allclose(found[row, draw], whole, atol=1e-5)
    assert np.ptp(found, axis=1).max() > 1e-3, "heads and draws differ"


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_other_weights_keep_the_answer_and_no_share_passes_one(family):
    case = case_of(family)
    found = CHECKS["counterfactual"].measure(case, quick("counterfactual"))
    assert found.facts["method"] == "search"
    assert found.excluded == {}
    assert 0.3 < found.find("U").value <= 1 + 1e-6
    for at in ("published:0.05", "standardised:0.05"):
        assert (found.per_example[f"change:{at}"] <= 0.05).all()
        assert (found.per_example[f"jsd:{at}"] <= found.per_example["most"] + 1e-6).all()
    heads, allowed = case.head_weights
    most = [stats.most_different(one[None], allowed[1:2])[0] for one in heads[1]]
    assert found.per_example["most"][1] == pytest.approx(np.mean(most))


def test_the_brief_search_finds_as_much():
    """As much as the long one, to a twentieth, and the same alone as in a batch."""
    subject, texts = tiny("bert"), EXAMPLES[:1]
    long, brief = (searched(subject, texts, [0.01], settings=settings)[0].jsd for settings in (BETTER, BRIEF))
    assert (brief >= 0.95 * long).all()
    assert BRIEF.steps * BRIEF.starts < 0.2 * BETTER.steps * BETTER.starts
    assert stand_ins(subject, texts[:1], epsilon=0.01).jsd[0] == pytest.approx(brief[0], abs=0.02)


def test_a_response_of_one_layer(monkeypatch):
    """The last block is the first: its input is held, not the output of one before."""
    shallow = {**tiny_transformers._SAME, "num_hidden_layers": 1}
    monkeypatch.setitem(tiny_transformers.CONFIGS, "shallow", lambda: BertConfig(**shallow))
    subject = make("shallow")
    batch = subject.encode(EXAMPLES)
    found = response(subject, batch)
    even = (found.allowed / found.allowed.sum(1, keepdim=True))[:, None, None, None].expand(-1, 1, 1, 4, -1).float()
    with torch.no_grad():
        run = subject.run(batch, want=[subject.sites[-1]])
        imposed = run.parts[subject.sites[-1]].clone()
        imposed[:, :, 0] = even[:, 0, 0]
        whole = subject.run(batch, edits={subject.sites[-1]: imposed}).logits
        torch.testing.assert_close(found.logits(even)[:, 0], whole, atol=1e-5, rtol=1e-5)

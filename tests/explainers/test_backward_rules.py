"""AttnLRP, GIM and relevance rollout: what their rules keep, closed forms of each rule, and arrangements."""

import numpy as np
import pytest
import torch
from torch import nn

from heatcheck.errors import NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.explainers.attnlrp import attnlrp, attnlrp_parts
from heatcheck.explainers.decompx import logit_parts
from heatcheck.explainers.gim import gim, gim_parts
from heatcheck.explainers.gradient_rollout import relevance_row, weigh_by_gradient
from heatcheck.explainers.logit_parts import logit_of
from heatcheck.explainers.relevance_rollout import relevance_rollout, relevances, weigh_by_relevance
from heatcheck.models import Site, differentiate, load
from heatcheck.models.hf import backward
from heatcheck.models.hf.backward import ATTNLRP, GIM, RELEVANCE, Own, following
from rearranged import ARRANGED, check_arrangements, lively
from tiny_families import FAMILIES, family, shared
from tiny_transformers import EXAMPLES, make

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # on importing GPT-BigCode
ADDED_TO_SCORES = ("bloom", "mpnet", "mpt")  # biases by position, which take a part of the scores' relevance
NEW = (attnlrp, gim, relevance_rollout)


def without_biases(subject):
    with torch.no_grad():
        for name, parameter in subject.network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return subject


def start(subject):
    return Site("input", subject.blocks[0].where)


def slope_at_start(subject, batch):
    place = start(subject)
    return differentiate(subject, batch, [place], lambda run: logit_of(subject, run, 0))[place]


# AttnLRP


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ADDED_TO_SCORES])
def test_attnlrp_keeps_relevance_but_at_each_softmax(kind):
    """Without biases: Σ tokens + Σ over layers of (relevance of weights − relevance of scores) = logit."""
    subject = without_biases(family(kind))
    batch = subject.encode(EXAMPLES)
    parts = attnlrp_parts(subject, batch)
    scores = [Site("score", site.where) for site in subject.sites]
    runs = []

    def logit(run):
        runs.append(run)
        return logit_of(subject, run, None)

    with following(subject, ATTNLRP):
        slopes = differentiate(subject, batch, [*subject.sites, *scores], logit)
    torch.testing.assert_close(runs[0].logits, subject.run(batch).logits, rtol=0, atol=0)
    relevant = {site: (torch.where(slope == 0, 0.0, runs[0].parts[site]) * slope) for site, slope in slopes.items()}
    kept = {site: found.sum((1, 2, 3)) for site, found in relevant.items()}
    # Scores are a product: the gradient that passes there is one half, and what reaches queries and keys is two.
    lost = sum(kept[site] - 2 * kept[score] for site, score in zip(subject.sites, scores, strict=True))
    torch.testing.assert_close(parts.tokens.sum(1) + lost, parts.logit, rtol=1e-5, atol=1e-5)
    assert (lost / parts.logit).abs().max() > 0.01  # the softmax does take part
    assert (parts.tokens[~batch.valid] == 0).all()


def test_attnlrp_with_constant_weights_is_half_of_each_attention():
    """Where all scores are 0, softmax has nothing to hand on, and the values' way is halved: R = e·g by hand."""
    subject = without_biases(make("bert", labels=3))
    with torch.no_grad():
        for block in subject.network.bert.encoder.layer:
            block.attention.self.query.weight.zero_()
            block.attention.self.key.weight.zero_()
    batch = subject.encode(EXAMPLES[:1])
    plain, halves = logit_parts(subject, batch), attnlrp_parts(subject, batch)
    values = [Site("value", site.where) for site in subject.sites]
    with following(subject, backward.LINEAR):
        whole = differentiate(subject, batch, values, lambda run: logit_of(subject, run, None))
    with following(subject, ATTNLRP):
        half = differentiate(subject, batch, values, lambda run: logit_of(subject, run, None))
    torch.testing.assert_close(half[values[-1]], whole[values[-1]] / 2)
    torch.testing.assert_close(plain.rest, torch.zeros(1, dtype=torch.double), rtol=0, atol=1e-5)
    assert halves.rest.abs() > 1e-3 * halves.logit.abs()


# GIM


def test_gim_is_the_plain_gradient_where_there_is_nothing_to_change(monkeypatch):
    """At temperature 1, without halves and with the norms' own gradient, the rules are the chain rule."""
    monkeypatch.setattr(backward, "TEMPERATURE", 1.0)
    monkeypatch.setattr(backward, "share", lambda inputs, _: inputs)
    rules = {kind: rule for kind, rule in GIM.items() if kind not in ("norm", "score norm")}
    for subject in map(shared, ("bert", "llama")):
        batch = subject.encode(EXAMPLES)
        plain = slope_at_start(subject, batch)
        with following(subject, rules):
            torch.testing.assert_close(slope_at_start(subject, batch), plain, rtol=1e-5, atol=1e-6)


def test_gim_softmax_by_hand():
    """Scores (0, 2 ln 3), gradient (1, 0): s at temperature 2 is (¼, ¾), s (g − Σ s g) = ±3/16, and half of it."""
    scores = torch.tensor([0.0, 2 * np.log(3)], dtype=torch.double, requires_grad=True)

    def attention(given):
        return given.softmax(-1)

    weights = backward.tempered(Own(nn.Identity(), attention), scores)
    torch.testing.assert_close(weights, torch.tensor([0.1, 0.9]).double())
    weights.backward(torch.tensor([1.0, 0.0]).double())
    torch.testing.assert_close(scores.grad, torch.tensor([3 / 32, -3 / 32]).double())


def test_gim_halves_values_and_quarters_queries_and_keys():
    subject = shared("llama")
    batch = subject.encode(EXAMPLES)
    last = subject.sites[-1].where
    sites = [Site("query", last), Site("value", last)]
    frozen = {"norm": backward.constant_scale}

    def target(run):
        return logit_of(subject, run, 0)

    with following(subject, {**frozen, "product": backward.halved}):
        whole = differentiate(subject, batch, sites, target)
    warm = {**GIM, "attention": backward.half_to_scores}
    with following(subject, warm):
        part = differentiate(subject, batch, sites, target)
    torch.testing.assert_close(part[sites[1]], whole[sites[1]] / 2)
    torch.testing.assert_close(part[sites[0]], whole[sites[0]] / 4)
    assert not torch.allclose(gim_parts(subject, batch).tokens, attnlrp_parts(subject, batch).tokens, rtol=0.1)


# Relevance rollout


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ADDED_TO_SCORES])
def test_relevance_is_kept_in_each_text_from_the_logit_to_the_embeddings(kind, monkeypatch):
    """1 at the logit, and 1 at the embeddings less what outputs without a positive input have lost on the way."""
    subject = shared(kind)
    batch = subject.encode(EXAMPLES)
    own, lost = backward._Positive, {}

    class Watched:
        @staticmethod
        def apply(inputs, value, weight):
            out = own.apply(inputs, value, weight)
            added = inputs.clamp(min=0) @ weight.clamp(min=0).T + inputs.clamp(max=0) @ weight.clamp(max=0).T

            def note(slope):
                lost[out.data_ptr()] = torch.where(added > 0, 0, slope * value).reshape(3, -1).sum(1)

            out.register_hook(note)
            return out

    monkeypatch.setattr(backward, "_Positive", Watched)
    place = start(subject)
    run, found = relevances(subject, batch, [place, *subject.sites])
    assert torch.equal(run.logits, subject.run(batch).logits)
    lost.pop(run.parts[place].data_ptr(), None)  # ALBERT's and ELECTRA's projection of embeddings comes before
    gone = sum(lost.values())
    torch.testing.assert_close(found[place].sum((1, 2)) + gone, torch.ones(3).double(), rtol=0, atol=1e-5)
    assert gone.abs().median() < 1e-5  # most texts lose nothing
    assert (found[place][~batch.valid] == 0).all()
    assert all(found[site].abs().max() > 1e-3 for site in subject.sites)


def test_positive_parts_by_hand():
    """x = (1, −2), W = (3, 1; −1, −4; −1, 1): (3, 0), (0, 8) and nothing add positively, of outputs 1, 7 and −3."""
    linear = nn.Linear(2, 3, bias=False)
    inputs = torch.tensor([[1.0, -2.0]], requires_grad=True)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[3.0, 1.0], [-1.0, -4.0], [-1.0, 1.0]]))
    out = backward.positive_parts(Own(linear, linear.forward), inputs)
    assert out.tolist() == [[1.0, 7.0, -3.0]]
    out.backward(torch.tensor([[5.0, 2.0, 11.0]]))  # relevances 5, 14, and −33, which is lost
    torch.testing.assert_close(inputs * inputs.grad, torch.tensor([[5.0, 14.0]]))


def test_a_sum_by_hand_each_text_by_itself():
    """Parts 3 and −1 of relevance 2 become 3/2 and 1/2; parts 1 and 1 stay. The texts do not touch."""
    one = torch.tensor([[[3.0]], [[1.0]]], requires_grad=True)
    other = torch.tensor([[[-1.0]], [[1.0]]], requires_grad=True)

    def block(states):
        return states + other

    total = backward.sums_by_size(Own(nn.Identity(), block), one)
    total.backward(torch.ones(2, 1, 1))
    assert total.flatten().tolist() == [2.0, 2.0]
    torch.testing.assert_close((one * one.grad).flatten(), torch.tensor([1.5, 1.0]))
    torch.testing.assert_close((other * other.grad).flatten(), torch.tensor([0.5, 1.0]))


def test_every_sum_of_a_block_is_met(monkeypatch):
    """Two residuals per block, however a family writes them; the parallel ones add three."""
    own, met = backward._Added, []

    class Counted:
        @staticmethod
        def apply(one, other, total, examples):
            met.append(examples)
            return own.apply(one, other, total, examples)

    monkeypatch.setattr(backward, "_Added", Counted)
    for kind in FAMILIES:
        subject = shared(kind)
        met.clear()
        with following(subject, RELEVANCE):
            leaf = {start(subject): lambda states: states.detach().requires_grad_()}
            subject.run(subject.encode(EXAMPLES[:2]), edits=leaf)
        assert met == [2] * 4, kind


def test_relevance_rollout_against_its_formula():
    """Ā = mean_h (∂y/∂A ⊙ Rel)⁺, and the read-out's row of Π (I + Ā) − I, matrix by matrix."""
    subject = lively("gpt2")
    batch = subject.encode(EXAMPLES)
    _, found = relevances(subject, batch, subject.sites)
    slopes = differentiate(subject, batch, subject.sites, lambda run: logit_of(subject, run, None))
    product = torch.eye(batch.valid.shape[1]).expand(3, -1, -1)
    for site in subject.sites:
        weighed = (slopes[site] * found[site]).clamp(min=0).mean(1)
        product = product + weighed @ product
    rows = subject.rows(batch)
    wanted = product[torch.arange(3), rows]
    wanted[torch.arange(3), rows] -= 1
    run, weighted = weigh_by_relevance(subject, batch)
    torch.testing.assert_close(relevance_row(weighted, run).float(), wanted, rtol=1e-4, atol=1e-6)
    _, by_weights = weigh_by_gradient(subject, batch)
    assert not torch.allclose(weighted, by_weights, rtol=0.1, atol=1e-4)


def test_relevance_does_not_depend_on_the_size_of_logits():
    subject = lively("bert")
    batch = subject.encode(EXAMPLES)
    _, before = relevances(subject, batch, subject.sites)
    with torch.no_grad():
        subject.network.classifier.weight.mul_(3)
        subject.network.classifier.bias.mul_(3)
    _, after = relevances(subject, batch, subject.sites)
    for site in subject.sites:
        torch.testing.assert_close(before[site], after[site], rtol=1e-4, atol=1e-7)


# All


@pytest.mark.parametrize("explainer", NEW, ids=lambda one: one.name)
@pytest.mark.parametrize("kind", ARRANGED)
def test_arrangements_do_not_matter(kind, explainer):
    check_arrangements(explainer, kind, varied=1e-4)


@pytest.mark.parametrize("explainer", NEW, ids=lambda one: one.name)
def test_signs_labels_and_refusals(explainer):
    assert EXPLAINERS[explainer.name] is explainer
    assert explainer.paper
    subject = lively("roberta")
    found = np.concatenate(explainer.explain(subject, EXAMPLES, 0))
    assert explainer.signed == (found.min() < 0) == (explainer is not relevance_rollout)
    labels = [explain_one(subject, EXAMPLES, explainer.name, label=label).values for label in range(3)]
    assert all(np.abs(labels[0] - other).max() > 1e-3 * np.abs(other).max() for other in labels[1:])
    with pytest.raises(NotSupported, match=rf"{explainer.name} needs every layer of a transformer, and .* is not one"):
        explainer.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)


def test_one_output_is_explained_whichever_way_it_decides():
    """The logits are (0, z): both labels have a logit that is not constant, one the other's with the sign changed."""
    subject = lively("bert", labels=1)
    batch = subject.encode(EXAMPLES)
    for parts in (attnlrp_parts, gim_parts):
        torch.testing.assert_close(parts(subject, batch, 0).tokens, -parts(subject, batch, 1).tokens)
    _, found = relevances(subject, batch, subject.sites, 0)
    assert all(of.abs().max() > 0 for of in found.values())

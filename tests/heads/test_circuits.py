"""Induction circuits of a model whose circuit is known, and what must not change the numbers of any model."""

import numpy as np
import pytest
import torch

from heatcheck.errors import BadInput, NotSupported
from heatcheck.heads.circuits.behaviour import COPYING, MEASURES, OTHER, PREFIX, PREVIOUS, behave
from heatcheck.heads.circuits.direct import direct_effects
from heatcheck.heads.circuits.matching import prefix_matching
from heatcheck.heads.circuits.removal import cost_of
from heatcheck.heads.circuits.survey import find_circuits
from heatcheck.heads.circuits.texts import as_examples, draw_repeats
from heatcheck.heads.circuits.wiring import copying_of_heads, feeds, strongest
from heatcheck.heads.looking import Place
from heatcheck.models import Site, load
from heatcheck.models.hf.next_token import NextToken
from known_circuits import found_circuits
from tiny_language_models import network, tokenizer

ALL = [Place(layer, 1) for layer in (1, 2, 3)]


@pytest.fixture(scope="module")
def known():
    return load("known:induction_lm")


def test_texts_are_repeats_without_the_ends_of_the_vocabulary(known):
    texts = draw_repeats(known, 5, "look")
    assert {len(text) for text in texts} == {101}
    for text in texts:
        assert text[0] == 0
        assert text[1:26] * 4 == text[1:]
        assert len(set(text[1:26])) == 25
        assert not {1, 2, 30, 31} & set(text), "4% of 31 tokens, rounded up, at either end"
    assert draw_repeats(known, 5, "look") == texts
    assert draw_repeats(known, 5, "removal") != texts
    assert draw_repeats(known, 2, "look") == texts[:2]
    with pytest.raises(NotSupported, match="knows 27 tokens"):
        draw_repeats(known, 1, "look", length=28)


def test_behaviour_of_the_known_heads(known):
    found = behave(known, draw_repeats(known, 4, "look"), 25)
    looked = found.looked
    assert looked.of(PREFIX).value.tolist() == pytest.approx([0, 1, 1], abs=1e-3)
    assert looked.of(PREVIOUS).value.tolist() == pytest.approx([1, 0, 0], abs=1e-3)
    assert looked.of(COPYING).value[1] == pytest.approx(1.0)
    assert looked.of(OTHER).value[1] == pytest.approx(-1.0), "what it raises is no other token"
    assert np.isnan(looked.of(COPYING).value[[0, 2]]).all(), "they write no answer"
    assert found.with_role("induction") == [Place(2, 1), Place(3, 1)]
    assert found.with_role("previous token") == [Place(1, 1)]
    assert [found.loss_of_copy(copy).mean() > 1 for copy in (1, 2, 3, 4)] == [True, False, False, False]
    assert found.in_context.mean() < -3


def test_only_the_map_tells_a_bystander_from_the_induction_head(known):
    found = find_circuits(known, texts=2, draws=2)
    assert found.why_no_removal == "more than half of the heads are induction heads"
    assert found.repeated is None
    assert found.direct_of(Place(2, 1)).value == pytest.approx(10.0)
    assert found.direct_of(Place(3, 1)).value == 0.0
    assert (found.fed_by[0].reader, found.fed_by[0].writer) == (Place(2, 1), Place(1, 1))
    assert found.fed_by[0].times_random == pytest.approx((225 / 32) ** 0.5, rel=0.05)
    assert found.copying.z[1] > 10
    assert {one.into for one in found.links if one.times_random > 0.1} == {"key"}
    assert {(one.reader.layer, one.writer.layer) for one in found.links} == {(2, 1), (3, 1), (3, 2)}


def test_removing_the_induction_head_costs_on_repeats_and_not_elsewhere():
    steps = []
    found = found_circuits(tell=steps.append)
    assert found.induction == [Place(2, 1)]
    assert steps[-1] == "removing heads on ordinary texts"
    cost = found.repeated
    assert cost.of_chosen().low > 3
    # The others are the previous-token head, which costs as much, and the idle one, which costs nothing.
    assert set(np.round(cost.random.mean(1))) == {0.0, 3.0}
    assert cost.random_at_least == (cost.random.mean(1) >= cost.chosen.mean()).sum()
    assert cost.difference().value == pytest.approx(cost.of_chosen().value - cost.of_random().value)
    facts = found.facts()
    assert facts["removal"]["repeated"]["difference"]["value"] > 0
    assert abs(facts["removal"]["ordinary"]["induction"]["value"]) < 1
    assert facts["roles"]["induction"] == ["2.1"]
    assert facts["heads"][0]["copying"] is None


def test_costs_of_each_known_head(known):
    texts = draw_repeats(known, 3, "removal") + draw_repeats(known, 3, "reference")
    reader, examples = as_examples(known, texts, "r")
    costs = {place: cost_of(reader, [place], ALL, examples[:3], examples[3:], draws=2) for place in ALL}
    assert costs[Place(3, 1)].chosen.tolist() == [0, 0, 0]
    assert costs[Place(1, 1)].chosen.min() > 3
    assert costs[Place(2, 1)].chosen.min() > 3
    assert costs[Place(2, 1)].whole.max() < 0.1, "the first copy does not count"
    with pytest.raises(BadInput, match="2 of 3 heads cannot be compared"):
        cost_of(reader, ALL[:2], ALL, examples[:3], examples[3:])
    with pytest.raises(BadInput, match="2 texts and 2 random sets"):
        find_circuits(known, texts=1)


def lm(kind="llama", change=lambda _net: None):
    net = network(kind)
    with torch.no_grad():
        change(net)
    return NextToken(net, tokenizer(), name="tiny")


def numbers(subject):
    """All that is said of its heads."""
    texts = draw_repeats(subject, 3, "look", length=8)
    batch = subject.encode_ids(texts, bos=False)
    looked = behave(subject, texts, 8).looked
    links = feeds(subject, [Place(len(subject.sites), 2)])
    ids = batch.inputs["input_ids"]
    direct = direct_effects(subject, batch, ids[:, 0] + 30, ids[:, 1], ids[:, 2])
    return (
        np.concatenate([looked.mean(name) for name in MEASURES]),
        np.array([link.times_random for link in links]),
        copying_of_heads(subject).scores,
        direct.effects / abs(direct.effects).sum(1, keepdims=True),
    )


def rescaled(net):
    for layer in net.model.layers:
        layer.self_attn.v_proj.weight.mul_(3)
        layer.self_attn.o_proj.weight.div_(3)


def turned(net):
    """Another basis of the states, which a norm without gains does not notice."""
    plain(net)
    turn = torch.linalg.qr(torch.randn(32, 32, generator=torch.Generator().manual_seed(0)).double())[0].float()
    for table in (net.model.embed_tokens, net.lm_head):
        table.weight.copy_(table.weight @ turn)
    for layer in net.model.layers:
        for read in (*(getattr(layer.self_attn, f"{x}_proj") for x in "qkv"), layer.mlp.gate_proj, layer.mlp.up_proj):
            read.weight.copy_(read.weight @ turn)
        for write in (layer.self_attn.o_proj, layer.mlp.down_proj):
            write.weight.copy_(turn.T @ write.weight)


def plain(net):
    for name, parameter in net.named_parameters():
        if "norm" in name:
            parameter.fill_(1.0)


@pytest.mark.parametrize(("start", "change"), [(lambda _net: None, rescaled), (plain, turned)])
def test_what_must_not_matter_does_not(start, change):
    for own, changed in zip(numbers(lm(change=start)), numbers(lm(change=change)), strict=True):
        assert np.allclose(own, changed, atol=1e-5, equal_nan=True)
        assert abs(own).max() > 0.01


def test_heads_in_another_order_have_the_same_numbers():
    def swapped(net):
        """Heads 1 and 2 of the second layer share their keys; they change places."""
        own = net.model.layers[1].self_attn
        order = torch.cat([torch.arange(8, 16), torch.arange(8), torch.arange(16, 32)])
        own.q_proj.weight.copy_(own.q_proj.weight[order])
        own.o_proj.weight.copy_(own.o_proj.weight[:, order])

    order = [0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11]
    own, changed = lm(), lm(change=swapped)
    texts = draw_repeats(own, 3, "look", length=8)
    looks = [behave(subject, texts, 8).looked for subject in (own, changed)]
    for name in MEASURES:
        assert np.allclose(looks[0].mean(name), looks[1].mean(name)[order], atol=1e-5)
    assert np.allclose(copying_of_heads(own).scores, copying_of_heads(changed).scores[order], atol=1e-5)
    asked = [(own, 1), (changed, 2), (own, 2)]
    read = [[one.composition for one in feeds(one, [Place(2, head)], into=["query"])] for one, head in asked]
    assert read[0] == pytest.approx(read[1], abs=1e-5)
    assert read[0] != pytest.approx(read[2], abs=1e-3)
    best = [strongest(feeds(subject, [Place(3, 1)]))[0] for subject in (own, changed)]
    assert best[0].times_random == pytest.approx(best[1].times_random, abs=1e-5)


@torch.no_grad()
def test_sums_made_at_the_tap_are_those_of_whole_maps():
    subject = lm()
    texts = draw_repeats(subject, 5, "look", length=8)
    found = behave(subject, texts, 8).looked
    batch = subject.encode_ids(texts, bos=False)
    parts = subject.run(batch, want=subject.sites).parts
    whole = torch.cat([prefix_matching(parts[site], batch.inputs["input_ids"]).mean(0) for site in subject.sites])
    assert found.mean(PREFIX) == pytest.approx(whole.numpy(), abs=1e-6)
    unembedding, ids = subject.ends().unembedding, batch.inputs["input_ids"]
    values = subject.run(batch, want=[Site("value", site.where) for site in subject.sites]).parts
    raising = unembedding[ids] - unembedding.mean(0)
    for layer, site in enumerate(subject.sites):
        for head in range(4):
            said = values[Site("value", site.where)][:, head] @ subject.factors(layer).output[head]
            moved = parts[site][:, head, 9:, 1:].sum(1) * (said * raising).sum(-1)[:, 1:]  # BOS is no token of the text
            expected = float(moved.sum() / moved.abs().sum())
            assert found.mean(COPYING)[4 * layer + head] == pytest.approx(expected, abs=1e-4)
    halves = [behave(subject, some, 8).looked.sums for some in (texts[:2], texts[2:])]
    assert np.allclose(np.concatenate(halves), found.sums, atol=1e-5)

"""`heatcheck.wrap` on modules as users write them: nothing in heatcheck knows any of them."""

import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

import heatcheck as hc
from heatcheck.checks import CHECKS
from heatcheck.checks.case import Case
from heatcheck.data import Example
from heatcheck.data.vocabulary import build_vocabulary
from heatcheck.errors import BadInput, HeatcheckError, NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.explainers.search import BETTER
from heatcheck.models import Responds, Site, Subject, differentiate, response, token_weights, uniform_edits

TEXTS = ("the film was not very good", "bad movie", "a great film so fine", "dull bad film", "not a bad movie at all")
EXAMPLES = tuple(Example(f"t{n}", text, label=n % 2) for n, text in enumerate(TEXTS))
VOCABULARY = build_vocabulary(TEXTS)
SIZE = len(VOCABULARY)


class MultiHead(nn.Module):
    """nn.MultiheadAttention twice, decided from the first token."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SIZE, 8)
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.out = nn.Linear(8, 2)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x, x, x, need_weights=False)[0]
        return self.out(x[:, 0])


class DotProduct(nn.Module):
    """F.scaled_dot_product_attention, causal, decided from the last token; the answer in an object."""

    class Answer:
        def __init__(self, logits):
            self.logits = logits

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(SIZE, 12), nn.Embedding(50, 12)
        self.qkv, self.out = nn.Linear(12, 36), nn.Linear(12, 3)

    def forward(self, ids):
        x = self.embed(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        q, k, v = (part.unflatten(2, (3, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        x = x + functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.Answer(self.out(x[:, -1]))


class Scorer(nn.Module):
    """Hands its weights out as [example key 1]; what they weigh is another's business. No softmax of torch's."""

    def __init__(self):
        super().__init__()
        self.hidden, self.vector = nn.Linear(12, 6), nn.Linear(6, 1, bias=False)

    def forward(self, states):
        exponentials = self.vector(torch.tanh(self.hidden(states))).exp()
        return exponentials / exponentials.sum(1, keepdim=True)


class Additive(nn.Module):
    """A recurrent classifier with additive attention that returns its weights too; one output, a sigmoid's."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SIZE, 8)
        self.encoder = nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.attention, self.out = Scorer(), nn.Linear(12, 1)

    def forward(self, ids):
        states, _ = self.encoder(self.embed(ids))
        weights = self.attention(states)
        return self.out((weights * states).sum(1)), weights


class Encoder(nn.Module):
    """nn.TransformerEncoder, whose layers take a fused path in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SIZE, 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(8, 2)

    def forward(self, ids, padding=None):
        return self.out(self.encoder(self.embed(ids), src_key_padding_mask=padding)[:, 0])


class Merged(nn.Module):
    """Softmax of its own over [example*head query key], for the mean over all tokens."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(SIZE, 8), nn.Linear(8, 2)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, ids):
        x = self.embed(ids)
        apart = x.unflatten(2, (2, 4)).transpose(1, 2).flatten(0, 1)
        weights = self.softmax(apart @ apart.transpose(1, 2) / math.sqrt(4))
        mixed = (weights @ apart).unflatten(0, (len(ids), 2)).transpose(1, 2).flatten(2)
        return self.out(mixed.mean(1))


KINDS = {
    "multi_head": (MultiHead, {}),
    "dot_product": (DotProduct, {}),
    "additive": (Additive, {}),
    "encoder": (Encoder, {}),
    "encoder_masked": (Encoder, {"mask": "padding"}),
    "merged": (Merged, {"row": "first"}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def made(kind, seed=0, **more):
    build, options = KINDS[kind]
    torch.manual_seed(seed)
    module = build()
    with torch.no_grad():  # weights as they come are nearly uniform
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(2.0)
    return hc.wrap(module, VOCABULARY, **{**options, **more})


@cache
def shared(kind):
    """The same subject for tests that leave it as it is."""
    return made(kind)


def plain(subject, text):
    """What the user's own call gives."""
    ids = torch.tensor([VOCABULARY.look_up(text)[0]])
    with torch.no_grad():
        found = subject.module(ids)
    found = found[0] if isinstance(found, tuple) else getattr(found, "logits", found)
    return functional.pad(found, (1, 0)) if found.shape[1] == 1 else found


def close(one, other, tolerance=1e-5):
    return torch.allclose(one, other, atol=tolerance, rtol=tolerance)


@each_kind
def test_unedited_it_is_the_plain_module(kind):
    subject = shared(kind)
    assert isinstance(subject, Subject)
    assert isinstance(subject, Responds)
    with torch.no_grad():
        logits = subject.run(subject.encode(EXAMPLES)).logits
    assert close(logits[:, 0], torch.cat([plain(subject, text) for text in TEXTS]))
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in subject.module.modules())


@each_kind
def test_own_weights_imposed_reproduce_the_logits(kind):
    subject = shared(kind)
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        own = subject.run(batch).logits
        assert close(run.logits, own)
        for site in subject.sites:
            weights = run.parts[site]
            assert weights.shape[0] == len(batch)
            assert weights.shape[3] == batch.valid.shape[1]
            row = weights[torch.arange(len(batch)), :, run.row[:, 0]]
            assert close(row.sum(-1), torch.ones_like(row[..., 0]))
            assert (row.masked_fill(batch.valid[:, None], 0.0) == 0).all()
            assert close(subject.run(batch, edits={site: weights}).logits, own)
            assert close(subject.run(batch, edits={site: lambda own: own.clone()}).logits, own)
            rolled = subject.run(batch, edits={site: lambda own: own.flip(-1)}, want=[site])
            assert close(rolled.parts[site], weights.flip(-1))
        assert not close(subject.run(batch, edits=uniform_edits(subject, batch)).logits, own, 1e-3)


@each_kind
def test_alone_is_as_in_a_batch_in_any_order(kind):
    subject = shared(kind)
    site = subject.sites[-1]
    wanted = [site, Site("embedding")]
    together = subject.run(subject.encode(EXAMPLES[::-1]), edits={site: lambda own: own**2}, want=wanted)
    for row, example in enumerate(EXAMPLES[::-1]):
        batch = subject.encode([example])
        n = batch.valid.shape[1]
        alone = subject.run(batch, edits={site: lambda own: own**2}, want=wanted)
        assert close(alone.logits[0], together.logits[row])
        assert close(alone.parts[wanted[1]][0], together.parts[wanted[1]][row, :n])
        theirs = together.parts[site][row][..., :n]
        assert close(alone.parts[site][0], theirs[:, : alone.parts[site].shape[2]])


@each_kind
def test_gradients_at_weights_and_embeddings_are_differences(kind):
    subject = made(kind)
    subject.module.double()
    for part in (subject.sites[-1], Site("embedding")):
        batch = subject.encode(EXAMPLES)  # of several lengths
        slope = differentiate(subject, batch, [part], lambda run: run.logits[:, 0, 1])[part]
        own = subject.run(batch, want=[part]).parts[part].detach()
        way = torch.randn(own.shape, generator=torch.Generator().manual_seed(1)) * (own != 0)
        with torch.no_grad():
            up, down = (subject.run(batch, edits={part: own + step * way}).logits[:, 0, 1] for step in (1e-5, -1e-5))
        assert close((slope * way).flatten(1).sum(1), (up - down) / 2e-5)
        assert slope.abs().max() > 0


@each_kind
def test_the_short_cut_is_the_whole_pass(kind):
    subject = shared(kind)
    batch = subject.encode(EXAMPLES)
    found = response(subject, batch)
    site = subject.sites[-1]
    run = subject.run(batch, want=[site])
    assert close(found.logits(found.attention[:, None])[:, 0], run.logits)
    drawn = torch.rand(len(batch), 3, *found.attention.shape[1:], generator=torch.Generator().manual_seed(0))
    drawn = drawn * found.allowed[:, None, None, None]
    drawn = drawn / drawn.sum(-1, keepdim=True)
    one = torch.arange(len(batch))
    for _ in range(2):  # the second time from memory
        logits = found.logits(drawn)
        for draw in range(3):
            edited = run.parts[site].detach().clone()
            edited[one, :, run.row[:, 0]] = drawn[:, draw, 0]
            assert close(logits[:, draw], subject.run(batch, edits={site: edited}).logits)


class Ops(TorchDispatchMode):
    """Everything that torch really computes."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_the_short_cut_reads_the_text_once():
    subject = shared("dot_product")
    found = response(subject, subject.encode(EXAMPLES[:1]))
    weights = found.attention[:, None].clone().requires_grad_()
    found.logits(weights)
    with Ops() as whole:
        subject.run(subject.encode(EXAMPLES[:1]))
    with Ops() as again:
        logits = found.logits(weights)
    assert "aten.embedding.default" in whole.names
    assert "aten.embedding.default" not in again.names
    (slope,) = torch.autograd.grad(logits[0, 0, 0, 1], [weights])
    assert slope.abs().max() > 0


def test_linear_read_outs_are_known_by_what_they_do():
    found = response(*with_batch("additive"))
    assert found.relevance is not None
    subject, batch = with_batch("additive")
    states, _ = subject.module.encoder(subject.module.embed(batch.inputs["tokens"][:1]))
    votes = states @ subject.module.out.weight[0]
    assert close(found.relevance[0, 0, :, 1], votes[0])
    assert close(found.bias[0, 0], torch.tensor([0.0, subject.module.out.bias.item()]))
    assert response(*with_batch("multi_head")).relevance is None

    class Bent(Additive):
        def forward(self, ids):
            return torch.tanh(super().forward(ids)[0])

    torch.manual_seed(0)
    bent = hc.wrap(Bent(), VOCABULARY)
    assert response(bent, bent.encode(EXAMPLES)).relevance is None


def with_batch(kind):
    subject = shared(kind)
    return subject, subject.encode(EXAMPLES)


def test_a_module_that_writes_over_its_states_has_no_memory():
    class Writes(Additive):
        def forward(self, ids):
            states, _ = self.encoder(self.embed(ids))
            weights = self.attention(states)
            states.mul_(weights * 3)  # in place, after the weights
            return self.out(states.sum(1))

    torch.manual_seed(0)
    subject = hc.wrap(Writes(), VOCABULARY)
    batch = subject.encode(EXAMPLES)
    found = response(subject, batch)
    with torch.no_grad():
        for _ in range(3):
            assert close(found.logits(found.attention[:, None])[:, 0], subject.run(batch).logits)


def test_layers_of_an_encoder_are_sites_in_order_and_states_can_be_put_in():
    subject = shared("encoder")
    assert [site.where for site in subject.sites] == ["encoder.layers.0.self_attn", "encoder.layers.1.self_attn"]
    assert subject.settings.row == 0
    batch = subject.encode(EXAMPLES[:1])
    state, given = Site("state", "encoder.layers.0"), Site("input", "encoder.layers.1")
    run = subject.run(batch, want=[state, given])
    assert torch.equal(run.parts[state], run.parts[given])
    again = subject.run(batch, edits={state: run.parts[state] * 2}, want=[given])
    assert torch.equal(again.parts[given], 2 * run.parts[state])
    assert not close(again.logits, run.logits)
    with pytest.raises(BadInput, match=r"has no module 'encoder\.layers\.7'"):
        subject.run(batch, want=[Site("state", "encoder.layers.7")])


def test_what_a_module_is_given_by_keyword_is_its_input():
    class ByKeyword(Additive):
        def forward(self, ids):
            states, _ = self.encoder(self.embed(input=ids))
            weights = self.attention(states=states)
            return self.out((weights * states).sum(1)), weights

    torch.manual_seed(0)
    subject = hc.wrap(ByKeyword(), VOCABULARY)
    assert subject.settings.embedding == "embed"
    batch = subject.encode(EXAMPLES[:1])
    given, site = Site("input", "attention"), subject.sites[-1]
    run = subject.run(batch, want=[given, site])
    assert run.parts[given].shape == (1, 6, 12)
    even = subject.run(batch, edits={given: lambda own: 0 * own}, want=[site]).parts[site]
    assert close(even, torch.full_like(even, 1 / 6))


@pytest.mark.parametrize("kind", ["multi_head", "dot_product", "encoder", "merged"])
def test_scores_are_what_weights_are_made_of(kind):
    """Texts of one length: between texts that are run apart there are zeros, which no softmax gives."""
    subject = shared(kind)
    batch = subject.encode(EXAMPLES[:1])
    weights, scores = subject.sites[-1], Site("score", subject.sites[-1].where)
    with torch.no_grad():
        run = subject.run(batch, want=[weights, scores])
        even = subject.run(batch, edits={scores: lambda own: 0 * own.clamp(min=0)}, want=[weights]).parts[weights]
    assert close(run.parts[scores].softmax(-1), run.parts[weights])
    assert close(even, torch.full_like(even, 1 / even.shape[3]))


def test_weights_are_those_that_torch_hands_out():
    subject = shared("multi_head")
    batch = subject.encode(EXAMPLES[:1])
    site = subject.sites[0]
    weights = subject.run(batch, want=[site]).parts[site]
    x = subject.module.embed(batch.inputs["tokens"])
    _, shown = subject.module.layers[0](x, x, x, average_attn_weights=False)
    assert close(weights, shown)


def test_four_threads_with_different_edits_do_not_meet():
    subject = shared("multi_head")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[-1]

    def edited(power):
        with torch.no_grad():
            return subject.run(batch, edits={site: lambda own: own**power}).logits

    alone = [edited(power) for power in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(edited, list(range(4)) * 6))
    for number, logits in enumerate(together):
        assert torch.equal(logits, alone[number % 4])
    assert not any(part._forward_hooks for part in subject.module.modules())


def test_the_row_behind_the_decision_is_found_or_asked_for():
    assert shared("multi_head").settings.row == 0
    assert shared("dot_product").settings.row == -1
    assert made("dot_product", row="first").settings.row == 0
    with pytest.raises(BadInput, match=r"depends on 5 of 5 queries at .*Say row='mean' if it pools"):
        made("merged", row=None)
    third = made("multi_head", output=lambda out: out)
    assert third.settings.row == 0


def test_which_mask_it_is_is_found_out():
    assert shared("encoder_masked").settings.mask[1](torch.tensor([True, False])).tolist() == [False, True]

    class Deaf(Encoder):
        def forward(self, ids, padding=None):
            return super().forward(ids) + 0 * padding.sum()

    with pytest.raises(
        BadInput, match=r"Deaf gives a padded text another answer .*-inf before the softmax. Or leave mask out"
    ):
        hc.wrap(Deaf(), VOCABULARY, mask="padding")


@pytest.mark.parametrize(
    ("axes", "shape"),
    [
        ("example key", (2, 5)),
        ("example key 1", (2, 5, 1)),
        ("example query key", (2, 3, 5)),
        ("example query key 1", (2, 3, 5, 1)),
        ("example head query key", (2, 4, 3, 5)),
        ("example key query", (2, 5, 3)),
        ("example*head query key", (8, 3, 5)),
        ("head*example 1 key", (8, 1, 5)),
    ],
)
def test_axes_there_and_back(axes, shape):
    from heatcheck.models.own_module.weight_axes import Axes

    own = torch.arange(math.prod(shape)).float().reshape(shape)
    there = Axes.parse(axes).shown(own, 2)
    assert there.shape[0] == 2
    assert there.shape[3] == 5
    assert torch.equal(Axes.parse(axes).hidden(there.clone(), own), own)
    if axes == "head*example 1 key":
        assert torch.equal(there[1, 2, 0], own[5, 0])
    if axes == "example*head query key":
        assert torch.equal(there[1, 2], own[6])


def test_what_is_said_wrongly_gets_one_sentence():
    with pytest.raises(BadInput, match="cannot have the axes 'example word'"):
        made("additive", attention={"attention": "example word"})
    with pytest.raises(
        BadInput, match=r"has no module 'attn'. Attention weights were found at: 'attention' .output: example key 1"
    ):
        made("additive", attention="attn")
    with pytest.raises(BadInput, match="saw no attention weights in 'out'"):
        made("additive", attention="out")
    with pytest.raises(BadInput, match="has 2 labels, but 3 names were given"):
        made("additive", labels=("a", "b", "c"))
    with pytest.raises(NotSupported, match=r"heatcheck needs logits \[example label\]"):
        made("multi_head", output=lambda out: out[:, None, None])
    with pytest.raises(BadInput, match="returns probabilities, not logits"):
        made("multi_head", output=lambda out: out.softmax(-1))
    with pytest.raises(BadInput, match="failed on a batch of token ids"):
        hc.wrap(nn.Linear(3, 2), VOCABULARY)
    with pytest.raises(NotSupported, match="saw no attention weights in Sequential"):
        hc.wrap(nn.Sequential(nn.Embedding(SIZE, 4), nn.Flatten(0, 1), nn.Linear(4, 2)), VOCABULARY)
    assert "attention" in repr(made("additive", attention={"attention": "example key 1"}))


def test_heads_before_examples_are_not_taken_for_examples_before_heads():
    class HeadsFirst(Merged):
        def forward(self, ids):
            x = self.embed(ids)
            apart = torch.cat(x.chunk(2, -1))  # [head*example token feature]
            weights = self.softmax(apart @ apart.transpose(1, 2))
            return self.out(torch.cat((weights @ apart).chunk(2), -1)[:, 0])

    torch.manual_seed(0)
    module = HeadsFirst()
    with pytest.raises(BadInput, match=r"other weights at 'softmax' alone than in a batch.*head\*example"):
        hc.wrap(module, VOCABULARY)
    subject = hc.wrap(module, VOCABULARY, attention={"softmax": "head*example query key"})
    batch = subject.encode(EXAMPLES)
    run = subject.run(batch, want=subject.sites)
    assert run.parts[subject.sites[0]].shape[1] == 2
    assert close(subject.run(batch, edits=dict(run.parts)).logits, run.logits)


def test_a_copy_of_the_weights_is_no_attention():
    class Inner(Scorer):
        def forward(self, states):
            weights = super().forward(states)
            return (weights * states).sum(1), weights[..., 0]

    class Copies(Additive):
        def __init__(self):
            super().__init__()
            self.attention = Inner()

        def forward(self, ids):
            states, _ = self.encoder(self.embed(ids))
            context, _ = self.attention(states)
            return self.out(context)

    with pytest.raises(NotSupported, match="returns a copy of its weights"):
        hc.wrap(Copies(), VOCABULARY)


def test_several_kinds_of_weights_must_be_chosen_from():
    class Both(MultiHead):
        def __init__(self):
            super().__init__()
            self.pool = nn.Linear(8, 1)

        def forward(self, ids):
            x = self.embed(ids)
            for layer in self.layers:
                x = x + layer(x, x, x)[0]
            return self.out((self.pool(x).softmax(1) * x).sum(1))

    with pytest.raises(BadInput, match=r"several kinds of weights.*'layers.0'.*'layers.1'.*example key 1"):
        hc.wrap(Both(), VOCABULARY)
    everything = hc.wrap(Both(), VOCABULARY, attention=["layers.0", "layers.1", ""])
    assert [site.where for site in everything.sites][-1] == ""
    assert hc.wrap(Both(), VOCABULARY, attention=["layers"], row="first").sites[-1].where == "layers.1"


def test_tokenizers_of_every_kind():
    from tiny_transformers import tiny

    def pieces(text):
        return [(3, -1)] + [(4 + len(word) % 5, n) for n, word in enumerate(text.split(" ")) for _ in word[:2]]

    subject = shared("additive")
    module = subject.module
    batch = hc.wrap(module, pieces).encode(EXAMPLES[:2])
    assert batch.word[1].tolist()[:5] == [-1, 0, 0, 1, 1]
    assert batch.valid.sum(1).tolist() == [13, 5]
    with pytest.raises(BadInput, match="gives 1 ids for 6 words"):
        hc.wrap(module, lambda _: [4]).encode(EXAMPLES[:1])
    with pytest.raises(BadInput, match="names word 9, but the text has 6 words"):
        hc.wrap(module, lambda _: [(4, 9)]).encode(EXAMPLES[:1])
    with pytest.raises(NotSupported, match="second text"):
        subject.encode([Example("a", "good", "bad")])
    tokenizer = tiny("bert").tokenizer
    of_pieces = hc.wrap(module, tokenizer, sample=TEXTS[:2])
    batch = of_pieces.encode(EXAMPLES[:2])
    assert batch.inputs["tokens"].shape == batch.valid.shape
    assert batch.word[0, 0] == -1


def in_a_sentence(ask):
    """The refusal, if there is one, and what came back, if it was not refused."""
    try:
        return None, ask()
    except HeatcheckError as error:
        if len(str(error).splitlines()) > 1:
            raise
        return error, None


@pytest.mark.parametrize("kind", ["multi_head", "additive"])
@pytest.mark.parametrize("name", sorted(EXPLAINERS))
def test_every_explainer_runs_or_says_why_not(kind, name, monkeypatch):
    monkeypatch.setattr(import_module("heatcheck.explainers.counterfactual"), "BETTER", replace(BETTER, steps=5))
    refused, found = in_a_sentence(lambda: explain_one(shared(kind), EXAMPLES[:3], name))
    if name in ("attention", "gradient", "leave_one_out", "counterfactual", "integrated_gradients"):
        assert refused is None
    if found is None:
        assert isinstance(refused, NotSupported)
    else:
        assert np.isfinite(found.values).all()
        assert found.valid.any(1).all()


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_every_check_runs_or_says_why_not(name):
    check = CHECKS[name]
    case = Case(shared("additive"), EXAMPLES[:3], labels=("0", "1"))
    settings = check.settings(explainers=("attention",)) if name == "perturbation" else check.settings()
    refused, result = in_a_sentence(lambda: check.measure(case, settings))
    if name in ("permutation", "counterfactual", "agreement", "erasure", "flips"):
        assert refused is None
    if result is not None:
        assert result.measurements
        assert all(np.isfinite(m.value) for m in result.measurements)


def test_attention_is_the_heatmap():
    subject = shared("additive")
    batch = subject.encode(EXAMPLES)
    run = subject.run(batch, want=subject.sites)
    _, shown = subject.module(batch.inputs["tokens"][1:2, :2])
    assert close(token_weights(subject, run)[1, :2], shown[0, :, 0])
    assert run.logits.shape == (len(EXAMPLES), 1, 2)
    assert (run.logits[..., 0] == 0).all()


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "own_module.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert "softmax: example key 1" in capsys.readouterr().out
    assert (tmp_path / "report.html").is_file()


# What cannot be followed is no advice -----------------------------------------------------------------------------


def test_a_wrapped_module_is_not_told_to_be_retrained():
    """It has no recipe: neither its card nor a check that compares with other fits may send its owner to --refit."""
    subject = shared("additive")
    data = ([example.text for example in EXAMPLES], [subject.labels[0]] * len(EXAMPLES))
    settings = {"necessity.draws": 50, "necessity.shuffles": 2}
    found = hc.audit(subject, data, checks=["necessity"], settings=settings)
    why = f"{subject.id} has no training recipe, so heatcheck cannot retrain it."
    assert {line.reason for line in found.card.every_line if "retrain" in line.reason} == {why}
    assert found.card["across"].reason == why
    assert not [line for line in found.card.every_line if "--refit" in line.reason]
    with pytest.raises(BadInput, match=r"no training recipe, so heatcheck cannot retrain it: leave it out\."):
        hc.audit(subject, data, checks=["seed_variance"])

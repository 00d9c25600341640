"""The heatmap of one layer or head as a model of its own: the same answers, other weights, and what they do."""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import ModernBertConfig, ModernBertForSequenceClassification

from every_family import subject_of
from heatcheck.checks.heatmap import find_heatmap
from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput
from heatcheck.explainers import explain_one
from heatcheck.explainers.counterfactual import searched
from heatcheck.explainers.search import BRIEF, SHORT
from heatcheck.models import (
    HasLayers,
    Site,
    has_layers,
    load,
    readable_keys,
    rows_of,
    uniform_everywhere,
    view_of,
    whole_model,
    wrap,
)
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.prompted import Prompted
from heatcheck.training import predict, record
from tiny_language_models import LABELS, PROMPT, network, tokenizer
from tiny_transformers import EXAMPLES, SIZE, WORDS, make, tiny
from tiny_transformers import tokenizer as of_words

TEXTS = list(EXAMPLES)


def drawn(view, batch, seed=0):
    """Random weights over the keys that may carry some, two sets of them."""
    found = view.response(batch)
    generator = torch.Generator().manual_seed(seed)
    shape = (len(batch), 2, *found.attention.shape[1:])
    scores = torch.rand(shape, generator=generator).mul(4).masked_fill(~found.allowed[:, None, None, None], -torch.inf)
    return found, scores.softmax(-1)


def by_hand(subject, batch, layer, head, weights, rows):
    """Logits of a whole pass in which one row of one layer is written over."""

    def edit(own):
        changed = own.clone()
        for example, row in enumerate(rows):
            for number in range(own.shape[1]) if head is None else [head]:
                changed[example, number, row] = weights[example, number if head is None else 0]
        return changed

    return subject.run(batch, edits={subject.sites[layer]: edit}).logits


@pytest.mark.parametrize("family", ["albert", "bert", "gpt2", "llama", "modernbert"])
@pytest.mark.parametrize(("layer", "head"), [(1, None), (2, 3), (3, None), (3, 2)])
def test_other_weights_do_what_a_whole_pass_with_them_does(family, layer, head):
    subject = tiny(family)
    view, batch = view_of(subject, layer, head, TEXTS), subject.encode(TEXTS)
    found, weights = drawn(view, batch)
    plain = subject.run(batch, want=[subject.sites[layer - 1]])
    own = plain.parts[subject.sites[layer - 1]]
    rows = plain.row[:, 0].tolist()
    for example, row in enumerate(rows):
        heads = own[example, :, row] if head is None else own[example, head - 1 : head, row]
        torch.testing.assert_close(found.attention[example, 0], heads)
    assert torch.allclose(found.logits(found.attention[:, None])[:, 0], plain.logits, atol=1e-5)
    moved = found.logits(weights)
    for draw in range(2):
        at = None if head is None else head - 1
        wanted = by_hand(subject, batch, layer - 1, at, weights[:, draw, 0], rows)
        torch.testing.assert_close(moved[:, draw], wanted, atol=1e-5, rtol=1e-4)
    assert (moved - plain.logits[:, None]).abs().max() > 1e-5, "weights that change nothing would prove nothing"


def test_the_keys_are_those_of_the_layer():
    """The first layer sees six neighbours, the last sees all."""
    config = ModernBertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=SIZE,
        max_position_embeddings=64,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
        local_attention=6,
        layer_types=["sliding_attention", "full_attention"],
    )
    subject = Transformer(ModernBertForSequenceClassification(config).eval(), of_words(marks=True), name="local")
    batch = subject.encode(TEXTS)
    counted = []
    for layer in (1, 2):
        view = view_of(subject, layer, None, TEXTS)
        weights = subject.run(batch, want=subject.sites).parts[subject.sites[layer - 1]]
        seen = (weights[:, :, 0] > 0).any(1)
        assert readable_keys(view, batch).equal(seen)
        assert view.response(batch).allowed.equal(seen)
        counted.append(int(seen.sum()))
    assert counted[0] < counted[1]


def test_a_text_has_the_same_heatmap_alone_and_in_a_batch():
    subject = tiny("bert")
    view = view_of(subject, 2, 1, TEXTS)
    together = explain_one(view, TEXTS, "attention")
    for row, example in enumerate(TEXTS):
        alone = explain_one(view, [example], "attention")
        np.testing.assert_allclose(together.values[row][together.valid[row]], alone.values[0], atol=1e-6)


def test_the_mean_over_the_heads_is_the_layer():
    subject = tiny("bert")
    whole = explain_one(view_of(subject, 2, None, TEXTS), TEXTS, "attention").values
    heads = [explain_one(view_of(subject, 2, head, TEXTS), TEXTS, "attention").values for head in (1, 2, 3, 4)]
    np.testing.assert_allclose(np.mean(heads, axis=0), whole, atol=1e-6)
    assert np.abs(heads[0] - heads[1]).max() > 1e-3


def test_the_last_layer_is_the_models_own_heatmap():
    subject = tiny("bert")
    view, batch = view_of(subject, 3, None, TEXTS), subject.encode(TEXTS)
    found, weights = drawn(view, batch)
    torch.testing.assert_close(found.logits(weights), subject.response(batch).logits(weights))
    own = explain_one(subject, TEXTS, "attention").values
    np.testing.assert_allclose(explain_one(view, TEXTS, "attention").values, own, atol=1e-7)


def test_edits_stay_within_the_heatmap():
    """Uniform weights in one row leave the others, and those of the layers before, as they are."""
    subject = tiny("bert")
    view, batch = view_of(subject, 2, 1, TEXTS), subject.encode(TEXTS)
    site, full = view.sites[0], subject.sites[1]
    even = torch.full_like(view.run(batch, want=[site]).parts[site], 0.25)
    edited = view.run(batch, edits={site: even}, want=[site, full, subject.sites[0]])
    plain = subject.run(batch, want=subject.sites)
    torch.testing.assert_close(edited.parts[site], even)
    torch.testing.assert_close(edited.parts[subject.sites[0]], plain.parts[subject.sites[0]])
    torch.testing.assert_close(edited.parts[full][:, 1:], plain.parts[full][:, 1:])
    torch.testing.assert_close(edited.parts[full][:, :, 1:], plain.parts[full][:, :, 1:])
    seen = []
    view.run(batch, edits={site: lambda own: seen.append(own.shape) or own})
    assert seen == [even.shape], "a function sees the heatmap alone"
    doubled = view.run(batch, edits={full: lambda own: own * 0, site: lambda own: own + 1}, want=[full])
    assert doubled.parts[full].sum() == even.numel(), "an edit of the whole layer comes first"


def test_a_view_is_pickled_for_other_processes():
    import pickle

    subject = make("bert")  # transformers leaves hooks on one that was asked for all weights, as others' tests do
    view, batch = view_of(subject, 1, 2, TEXTS), subject.encode(TEXTS)
    again = pickle.loads(pickle.dumps(view))
    torch.testing.assert_close(again.response(batch).attention, view.response(batch).attention)


def test_answers_and_other_explainers_are_the_whole_models():
    subject = tiny("bert")
    view = view_of(subject, 1, 2, TEXTS)
    assert whole_model(view) is subject
    assert isinstance(view, HasLayers)
    assert view.id == subject.id
    np.testing.assert_array_equal(predict(view, TEXTS), predict(subject, TEXTS))
    for name in ("rollout", "leave_one_out", "norms"):
        np.testing.assert_array_equal(
            explain_one(view, TEXTS, name).values, explain_one(subject, TEXTS, name).values, name
        )
    uniform = record(view, TEXTS, impose={"weights": "uniform", "sites": "all"})
    edits = uniform_everywhere(subject, subject.encode(TEXTS[:1]))
    logits = subject.run(subject.encode(TEXTS[:1]), edits=edits).logits
    np.testing.assert_allclose(uniform.log_probabilities[0], logits.log_softmax(-1)[0].detach().numpy(), atol=1e-5)


def test_a_language_model_moves_weights_within_the_text_only():
    subject = Prompted(network(), tokenizer(), name="tiny-lm", prompt=PROMPT, labels=LABELS)
    batch = subject.encode(TEXTS)
    for layer, head in ((1, None), (2, 4), (3, 1)):
        view = view_of(subject, layer, head, TEXTS)
        found, weights = drawn(view, batch)
        assert found.allowed.equal(batch.scored)
        torch.testing.assert_close(found.attention.sum(-1), torch.ones(found.attention.shape[:-1]))
        plain = subject.run(batch, want=[subject.sites[layer - 1]])
        torch.testing.assert_close(found.logits(found.attention[:, None])[:, 0], plain.logits, atol=1e-4, rtol=1e-4)
        own = plain.parts[subject.sites[layer - 1]]
        rows = plain.row[:, 0].tolist()
        heads = range(own.shape[1]) if head is None else [head - 1]
        full = torch.stack(
            [
                torch.stack(
                    [
                        torch.where(
                            batch.scored[e],
                            weights[e, 0, 0, n] * (own[e, h, row] * batch.scored[e]).sum(),
                            own[e, h, row],
                        )
                        for n, h in enumerate(heads)
                    ]
                )
                for e, row in enumerate(rows)
            ]
        )
        wanted = by_hand(subject, batch, layer - 1, None if head is None else head - 1, full, rows)
        torch.testing.assert_close(found.logits(weights)[:, 0], wanted, atol=1e-4, rtol=1e-4)


def test_a_transformer_that_pools_puts_other_weights_into_every_row():
    subject = subject_of("modernbert", classifier_pooling="mean")
    view, batch = view_of(subject, 1, None, TEXTS), subject.encode(TEXTS)
    found, weights = drawn(view, batch)
    first = subject.sites[0]
    own = subject.run(batch, want=[first]).parts[first]
    valid = batch.valid.float()
    mean = torch.einsum("eq,ehqk->ehk", valid / valid.sum(1, keepdim=True), own)
    torch.testing.assert_close(found.attention[:, 0], mean)
    put = torch.where(batch.valid[:, None, :, None], weights[:, 0, 0][:, :, None], own)
    wanted = subject.run(batch, edits={first: put}).logits
    torch.testing.assert_close(found.logits(weights)[:, 0], wanted, atol=1e-5, rtol=1e-4)
    assert "mean of their rows" in rows_of(view)
    assert not has_layers(view)


def test_weights_beside_a_sink_sum_to_one_and_keep_their_mass():
    subject = subject_of("gpt_oss")
    view, batch = view_of(subject, 1, 2, TEXTS), subject.encode(TEXTS)
    found = view.response(batch)
    plain = subject.run(batch, want=[subject.sites[0]])
    torch.testing.assert_close(found.attention.sum(-1), torch.ones(len(batch), 1, 1))
    assert (plain.behind(plain.parts[subject.sites[0]])[:, 1].sum(-1) < 0.99).any()
    torch.testing.assert_close(found.logits(found.attention[:, None])[:, 0], plain.logits, atol=1e-5, rtol=1e-4)


def test_layers_of_an_encoder_and_a_decoder_are_not_one_stack():
    with pytest.raises(
        BadInput, match=r"no heatmap of one head here: .* has an encoder and a decoder\. Use last_layer\."
    ):
        view_of(subject_of("bart"), 1, 1, TEXTS)


class Stack(nn.Module):
    """Two encoder layers whose mean is read."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(24, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 2)

    def forward(self, ids):
        return self.head(self.encoder(self.table(ids)).mean(1))


def test_a_users_own_module_that_reads_all_rows():
    """The heatmap of a layer is the mean of its rows, and other weights go into each of them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Stack().eval()
    places = ["encoder.layers.0.self_attn", "encoder.layers.1.self_attn"]
    subject = wrap(module, of_words(marks=False), attention=places, labels=["no", "yes"], row="mean")
    view, batch = view_of(subject, 1, None, TEXTS), subject.encode(TEXTS)
    found, weights = drawn(view, batch)
    first = subject.sites[0]
    own = subject.run(batch, want=[first]).parts[first]
    valid = batch.valid.float()
    mean = torch.einsum("eq,ehqk->ehk", valid / valid.sum(1, keepdim=True), own)
    torch.testing.assert_close(found.attention[:, 0], mean)
    put = torch.where(batch.valid[:, None, :, None], weights[:, 0, 0][:, :, None], own)
    wanted = subject.run(batch, edits={first: put}).logits
    torch.testing.assert_close(found.logits(weights)[:, 0], wanted, atol=1e-5, rtol=1e-4)


def test_the_known_lookup_is_linear_in_the_weights_of_its_first_layer():
    subject = load("known:two_layers@planted_lookup")
    texts = list(load_task("planted_lookup")["test"].examples[:4])
    view, batch = view_of(subject, 1, None, texts), subject.encode(texts)
    found, weights = drawn(view, batch)
    assert found.relevance is not None
    said = torch.einsum("ednht,eqtl->ednl", weights.double(), found.relevance) + found.bias[:, None]
    first = Site("attention", "first")
    wanted = subject.run(batch, edits={first: lambda own: weights[:, 1, 0][:, :, None].to(own).expand_as(own)}).logits
    torch.testing.assert_close(said[:, 1], wanted, atol=1e-6, rtol=1e-6)


def test_a_short_search_finds_nearly_as_much():
    generator = np.random.default_rng(0)
    texts = [Example(str(n), " ".join(generator.choice(WORDS, size=int(generator.integers(4, 12))))) for n in range(12)]
    view = view_of(tiny("qwen3"), 2, 2, texts)
    long, short = (searched(view, texts, [0.05], scale=10.0, settings=how)[0].jsd.mean() for how in (BRIEF, SHORT))
    assert long > 0.5
    assert 0.9 * long <= short <= long + 0.02


@pytest.mark.parametrize(
    ("subject", "layer", "head", "said"),
    [
        ("bert", 4, None, "tiny-bert has no layer 4: its layers are 1 to 3."),
        ("bert", 0, 1, "tiny-bert has no layer 0: its layers are 1 to 3."),
        ("bert", 2, 5, "layer 2 of tiny-bert has no head 5: its heads are 1 to 4."),
        ("reader@planted_contrast", 1, None, "has no layers to choose from, so it has no heatmap of one layer."),
    ],
)
def test_there_is_no_such_heatmap(subject, layer, head, said):
    model = load(f"known:{subject}") if "@" in subject else tiny(subject)
    texts = list(load_task("planted_contrast")["test"].examples[:1]) if "@" in subject else TEXTS
    with pytest.raises(BadInput, match=said):
        view_of(model, layer, head, texts)


def test_a_heatmap_that_learns_from_other_examples_is_tried_on_more_than_one():
    assert find_heatmap("attention_that_matters").on(tiny("bert"), EXAMPLES) is tiny("bert")

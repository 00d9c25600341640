"""Hugging Face classifiers as subjects: what is read is what eager attention used, and what is put in is used."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models import Run, Site, differentiate, load, response
from heatcheck.models.contract.edits import ByGroup, only_head, zero
from heatcheck.models.hf import Transformer
from tiny_transformers import CONFIGS, DECODERS, EXAMPLES, make, tiny

FAMILIES = sorted(CONFIGS)
THREE = ("bert", "gpt2", "llama")


def eager(subject: Transformer) -> SimpleNamespace:
    """What transformers itself says of the same texts, with eager attention."""
    batch = subject.encode(EXAMPLES)
    subject.network.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return subject.network(**batch.inputs, output_attentions=True)
    finally:
        subject.network.set_attn_implementation("heatcheck")


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_weights_are_eager_attentions_to_the_bit(family: str) -> None:
    subject = tiny(family)
    own = eager(subject)
    with torch.no_grad():
        run = subject.run(subject.encode(EXAMPLES), want=subject.sites)
    assert torch.equal(run.logits[:, 0], own.logits)
    assert len(subject.sites) == len(own.attentions) == 3
    for site, weights in zip(subject.sites, own.attentions, strict=True):
        assert torch.equal(run.parts[site], weights)


@pytest.mark.parametrize("family", FAMILIES)
def test_its_own_weights_put_in_change_nothing_and_uniform_ones_do(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        same = subject.run(batch, edits={site: run.parts[site].clone() for site in subject.sites})
        middle = subject.sites[1]
        seen = run.parts[middle] > 0
        even = (seen / seen.sum(-1, keepdim=True)).to(run.logits.dtype)
        other = subject.run(batch, edits={middle: even}, want=subject.sites)
    assert torch.allclose(same.logits, run.logits, atol=1e-5)
    assert not torch.allclose(other.logits, run.logits, atol=1e-5)
    assert torch.equal(other.parts[subject.sites[0]], run.parts[subject.sites[0]])  # below nothing changes
    assert not torch.equal(other.parts[subject.sites[2]], run.parts[subject.sites[2]])  # above it does


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_attended_to_that_should_not_be(family: str) -> None:
    """Without its mask under the same name, a model would see padding and, where it should not, the future."""
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    run = subject.run(batch, want=subject.sites)
    assert not batch.valid.all()
    for site in subject.sites:
        weights = run.parts[site]
        padding = ~batch.valid[:, None, None].expand_as(weights)
        read = batch.valid[:, None, :, None].expand_as(weights)
        assert weights[padding & read].abs().max() == 0
        if family in DECODERS:
            assert torch.triu(weights[2], 1).abs().max() == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_what_an_attention_is_made_of(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    where = subject.sites[1].where
    score, value, context = (Site(part, where) for part in ("score", "value", "context"))
    with torch.no_grad():
        run = subject.run(batch, want=[subject.sites[1], score, value, context])
    weights = run.parts[subject.sites[1]]
    read = batch.valid[:, None].expand(weights.shape[:3])
    assert torch.allclose(run.parts[score].softmax(-1)[read], weights[read], atol=1e-6)
    assert torch.allclose(weights @ run.parts[value], run.parts[context], atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pass_may_begin_at_any_block(family: str) -> None:
    """What a block gives, given back, gives the same answer, and neither it nor a block before it is computed."""
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.blocks)
        for number, place in enumerate(subject.blocks):
            again = subject.run(batch, edits={place: run.parts[place]})
            assert torch.allclose(again.logits, run.logits, atol=1e-6)
            above = subject.sites[number + 1 :]
            assert subject.run(batch, edits={place: run.parts[place]}, want=above).parts.keys() == set(above)
            for below in subject.sites[: number + 1]:
                with pytest.raises(BadInput, match="has no site"):
                    subject.run(batch, edits={place: run.parts[place]}, want=[below])
        moved = subject.run(batch, edits={subject.blocks[1]: run.parts[subject.blocks[1]].flip(0)})
    assert not torch.allclose(moved.logits, run.logits, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_row_that_is_read_matters_in_the_last_layer(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    slopes = differentiate(subject, batch, subject.sites, lambda run: run.logits[:, 0].amax(-1))
    last = slopes[subject.sites[-1]].clone()
    rows = torch.arange(len(batch)), slice(None), subject.rows(batch)
    assert last[rows].abs().max() > 0
    last[rows] = 0
    assert last.abs().max() == 0
    assert all(slopes[site].abs().max() > 0 for site in subject.sites)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_response_is_the_whole_pass_with_other_weights_in_that_row(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    found = response(subject, batch)
    own = found.attention[:, None]
    even = (found.allowed / found.allowed.sum(1, keepdim=True))[:, None, None, None].expand_as(own).float()
    with torch.no_grad():
        logits = found.logits(torch.cat([own, even], dim=1))
        run = subject.run(batch, want=[subject.sites[-1]])
        imposed = run.parts[subject.sites[-1]].clone()
        imposed[torch.arange(3), :, subject.rows(batch)] = even[:, 0, 0]
        whole = subject.run(batch, edits={subject.sites[-1]: imposed}).logits
    assert torch.allclose(logits[:, 0], run.logits, atol=1e-5)
    assert torch.allclose(logits[:, 1], whole, atol=1e-5)
    assert not torch.allclose(logits[:, 1], run.logits, atol=1e-5)


@pytest.mark.parametrize("family", THREE)
@pytest.mark.parametrize("explainer", ["attention", "gradient", "gradient_x_input", "leave_one_out"])
def test_scores_do_not_depend_on_padding_or_the_order_of_a_batch(family: str, explainer: str) -> None:
    subject = tiny(family)
    together = explain_one(subject, EXAMPLES, explainer)
    for row, example in enumerate(EXAMPLES):
        alone = explain_one(subject, [example], explainer)
        n = len(example.words)
        assert together.values[row, :n] == pytest.approx(alone.values[0, :n], abs=1e-5)
        assert together.valid[row].sum() == n
    turned = explain_one(subject, EXAMPLES[::-1], explainer)
    assert turned.values[::-1] == pytest.approx(together.values, abs=1e-5)


def test_a_head_can_be_shut_and_a_value_emptied() -> None:
    subject = tiny("llama")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[0]

    def shut(context: torch.Tensor) -> torch.Tensor:
        gates = torch.ones(context.shape[1])
        gates[2] = 0
        return context * gates[:, None, None]

    def empty(values: torch.Tensor) -> torch.Tensor:
        changed = values.clone()
        changed[:, 2] = 0
        return changed

    with torch.no_grad():
        by_context = subject.run(batch, edits={Site("context", site.where): shut})
        by_value = subject.run(batch, edits={Site("value", site.where): empty})  # one head of two that share values
    assert torch.allclose(by_context.logits, by_value.logits, atol=1e-6)
    assert not torch.allclose(by_context.logits, subject.run(batch).logits, atol=1e-4)


def test_scores_can_be_edited() -> None:
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[1]
    run = subject.run(batch, edits={Site("score", site.where): lambda own: 0 * own}, want=[site])
    assert torch.allclose(run.parts[site], torch.full_like(run.parts[site], 1 / batch.valid.shape[1]))


def test_keys_are_edited_for_all_heads_that_share_them() -> None:
    bert, llama = tiny("bert"), tiny("llama")
    at = Site("key", bert.sites[0].where)
    batch = bert.encode(EXAMPLES)
    moved = bert.run(batch, edits={at: lambda keys: -keys}).logits
    assert not torch.allclose(moved, bert.run(batch).logits)
    shared = Site("key", llama.sites[0].where)
    batch = llama.encode(EXAMPLES)
    own = llama.run(batch, want=[shared])
    assert own.parts[shared].shape[1] == 4
    with pytest.raises(NotSupported, match="several heads share the"):
        llama.run(batch, edits={shared: only_head(0, zero)})
    turned = llama.run(batch, edits={shared: torch.neg}, want=[shared])
    assert not torch.allclose(turned.logits, own.logits)
    assert torch.equal(turned.parts[shared], -own.parts[shared])
    grouped = -own.parts[shared][:, ::2]  # heads 0 and 1 are a group, 2 and 3 the other
    for edit in (grouped, ByGroup(torch.neg), ByGroup(grouped)):
        again = llama.run(batch, edits={shared: edit}, want=[shared])
        assert torch.equal(again.logits, turned.logits)
        assert torch.equal(again.parts[shared], turned.parts[shared])
    with pytest.raises(BadInput, match="a group's have shape"):
        llama.run(batch, edits={shared: ByGroup(own.parts[shared])})


def test_values_are_edited_by_head_or_by_group() -> None:
    llama = tiny("llama")
    batch = llama.encode(EXAMPLES)
    at = Site("value", llama.sites[0].where)
    emptied = llama.run(batch, edits={at: zero}).logits
    assert torch.equal(llama.run(batch, edits={at: ByGroup(zero)}).logits, emptied)
    both = llama.run(batch, edits={at: lambda own: only_head(3, zero)(only_head(2, zero)(own))}, want=[at])
    group = llama.run(batch, edits={at: ByGroup(only_head(1, zero))}, want=[at])
    assert torch.equal(both.parts[at], group.parts[at])
    assert torch.equal(both.logits, group.logits)
    assert not torch.allclose(both.logits, llama.run(batch).logits)


def test_any_modules_state_can_be_read_and_patched() -> None:
    subject = make("bert")
    batch = subject.encode(EXAMPLES)
    norm = "bert.encoder.layer.1.output.LayerNorm"
    run = subject.run(batch, want=[Site("state", norm), Site("input", norm), subject.blocks[1]])
    assert torch.equal(run.parts[Site("state", norm)], run.parts[subject.blocks[1]])
    layer = subject.network.get_submodule(norm)
    assert torch.equal(layer(run.parts[Site("input", norm)]), run.parts[Site("state", norm)])
    patched = subject.run(batch, edits={Site("state", norm): lambda own: own.flip(0)}).logits
    assert not torch.allclose(patched, run.logits)
    with pytest.raises(BadInput, match=r"has no module 'bert\.nowhere'"):
        subject.run(batch, want=[Site("state", "bert.nowhere")])


@pytest.mark.parametrize("family", ["albert", "bert", "llama"])
def test_an_attentions_own_state_and_input_are_sites(family: str) -> None:
    """An attention makes weights and gives a state: one use, not two. Llama calls its attention by keyword."""
    subject = make(family)
    batch = subject.encode(EXAMPLES)
    site = subject.sites[1]  # of ALBERT, the second use of one module
    state, given = Site("state", site.where), Site("input", site.where)
    with torch.no_grad():
        run = subject.run(batch, want=[site, state, given])
        again = subject.run(batch, edits={given: run.parts[given].clone()}, want=[state])
        moved = subject.run(batch, edits={given: lambda own: own.flip(0)}).logits
    assert run.parts[given].shape == run.parts[state].shape == (3, batch.valid.shape[1], 32)
    assert torch.equal(again.parts[state], run.parts[state])
    assert torch.equal(run.logits, tiny(family).run(batch).logits)
    assert not torch.allclose(moved, run.logits, atol=1e-4)


def test_a_site_that_never_fires_is_an_error() -> None:
    subject = tiny("bert")
    with pytest.raises(BadInput, match=r"has no site attention:bert\.elsewhere"):
        subject.run(subject.encode(EXAMPLES), want=[Site("attention", "bert.elsewhere")])


def test_four_threads_with_different_edits_do_not_meet() -> None:
    subject = make("bert")
    batch = subject.encode(EXAMPLES)
    edits = [{}] + [{site: lambda own: own.flip(-1)} for site in subject.sites]
    with torch.no_grad():
        alone = [subject.run(batch, edits=edit, want=subject.sites) for edit in edits]
        wrong: list[int] = []
        start = threading.Barrier(4)

        def work(number: int) -> None:
            start.wait()
            for _ in range(25):
                with torch.no_grad():
                    run = subject.run(batch, edits=edits[number], want=subject.sites)
                same = torch.equal(run.logits, alone[number].logits)
                if not same or any(not torch.equal(run.parts[s], alone[number].parts[s]) for s in subject.sites):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert len({tuple(run.logits.flatten().tolist()) for run in alone}) == 4


def test_words_marks_and_masks() -> None:
    subject = tiny("bert")
    batch = subject.encode([Example("a", "good  bad", text_pair="the film", marks={"rationale": (False, False, True)})])
    assert batch.word.tolist() == [[-1, 0, 2, -1, -1, -1, -1]]  # the word between two spaces is empty
    assert batch.marks["rationale"].tolist() == [[False, False, True, False, False, False, False]]
    masked = subject.encode([Example("a", "good bad film", masked=(1,))])
    assert masked.inputs["input_ids"][0, 2] == subject.tokenizer.mask_token_id
    assert masked.word.tolist() == [[-1, 0, 1, 2, -1]]
    with pytest.raises(BadInput, match="some examples of a batch have a second text"):
        subject.encode([Example("a", "good", text_pair="film"), Example("b", "bad")])
    with pytest.raises(BadInput, match="example e: its text has no token"):
        subject.encode([Example("e", "")])


def test_pieces_with_their_space_belong_to_the_word_they_end_in() -> None:
    """Byte-level tokenizers write the space before a word into its first piece."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    found = Tokenizer(models.BPE(vocab={piece: n for n, piece in enumerate(["<|end|>", *alphabet])}, merges=[]))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    found.decoder = decoders.ByteLevel()
    own = make("gpt2")
    own.tokenizer = PreTrainedTokenizerFast(tokenizer_object=found, eos_token="<|end|>", pad_token="<|end|>")
    own.tokenizer.padding_side = "right"
    own._known_ids = None  # the network is not asked about these ids
    batch = own.encode([Example("a", "é ab c")])
    assert batch.word.tolist() == [[0, 0, 1, 1, 1, 2, 2]]


def test_a_text_that_is_too_long_is_cut_and_its_last_words_get_no_score() -> None:
    subject = tiny("bert")
    scores = explain_one(subject, [Example("a", " ".join(["good", "film"] * 50))], "attention")
    assert scores.valid[0].sum() == 62
    assert scores.valid[0, :62].all()


def test_several_labels_and_lone_outputs() -> None:
    assert tiny("bert").labels == ("LABEL_0", "LABEL_1")
    lone = make("bert", labels=1)
    run = lone.run(lone.encode(EXAMPLES))
    assert run.logits.shape == (3, 1, 2)
    assert (run.logits[..., 0] == 0).all()
    several = make("bert", labels=3)
    several.several = True
    batch = several.encode([Example("a", "good film", label=(0, 2))])
    assert several.run(batch).logits.shape == (1, 3, 2)
    assert batch.gold is not None
    assert batch.gold.tolist() == [[1, 0, 1]]


def test_by_name(tmp_path: Path) -> None:
    subject = make("bert")
    subject.network.save_pretrained(tmp_path)
    subject.tokenizer.save_pretrained(tmp_path)
    again = load(f"hf:{tmp_path}")
    batch = again.encode(EXAMPLES)
    with torch.no_grad():
        assert torch.equal(again.run(batch).logits, subject.run(batch).logits)
    with pytest.raises(BadInput, match=r"no folder .*nowhere with a Hugging Face model"):
        load(f"hf:{tmp_path}/nowhere")
    bare: nn.Module = subject.network.bert
    bare.save_pretrained(tmp_path / "bare")
    subject.tokenizer.save_pretrained(tmp_path / "bare")
    with pytest.raises(BadInput, match=r"not trained to classify.*heatcheck train TASK --model hf:"):
        load(f"hf:{tmp_path}/bare")


@pytest.mark.parametrize("family", THREE)
def test_the_gradient_of_a_gate_is_what_its_head_gives_times_the_gradient_there(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    place = Site("context", subject.sites[1].where)

    def answer(run: Run) -> torch.Tensor:
        return run.logits[:, 0, 1]

    gates = torch.ones(len(batch), 4, requires_grad=True)
    gated = subject.run(batch, edits={place: lambda heads: heads * gates[:, :, None, None]})
    (of_gates,) = torch.autograd.grad(answer(gated).sum(), gates)
    given = subject.run(batch, want=[place]).parts[place]
    slope = differentiate(subject, batch, [place], answer)[place]
    assert torch.allclose(of_gates, (given * slope).sum((-2, -1)), atol=1e-5)
    assert of_gates.abs().max() > 1e-4


@pytest.mark.parametrize("family", THREE)
def test_all_states_patched_are_the_clean_text_and_none_the_corrupted_one(family: str) -> None:
    subject = tiny(family)
    clean = subject.encode([Example("a", "the film was not very good")])
    corrupt = subject.encode([Example("a", "a movie is but so dull")])
    place = subject.blocks[1]
    with torch.no_grad():
        states = subject.run(clean, want=[place]).parts[place]
        own = subject.run(corrupt, want=[place]).parts[place]

        def restored(chosen: list[int]) -> torch.Tensor:
            def patch(state: torch.Tensor) -> torch.Tensor:
                changed = state.clone()
                changed[:, chosen] = states[:, chosen]
                return changed

            return subject.run(corrupt, edits={place: patch}).logits

        tokens = list(range(own.shape[1]))
        assert torch.allclose(restored(tokens), subject.run(clean).logits, atol=1e-6)
        assert torch.equal(restored([]), subject.run(corrupt).logits)
        some = restored(tokens[: len(tokens) // 2 + 1])
    assert not torch.allclose(some, subject.run(clean).logits, atol=1e-4)

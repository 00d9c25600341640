"""Every family of Hugging Face is read as it decides, or refused by name in a sentence: never a heatmap beside it."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import heatcheck as hc
from any_family import make as network
from every_family import BEGIN, END, PAGE, PASSES, REFUSED, check, main, subject_of, try_family
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models import Site, differentiate, response
from heatcheck.models.contract.view import view_of
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.trial import MEAN, Reads
from tiny_transformers import EXAMPLES, tokenizer

# 42 of those that every_family.py tries: at least one of each way of computing attention and of reading the answer.
REGISTRY = """albert bert biogpt camembert ctrl deepseek_v3 distilbert electra ernie esm eurobert gemma2 gpt2 gpt_neox
gpt_oss layoutlm llama mistral mixtral mobilebert modernbert opt phi3 qwen3_moe roberta smollm3 stablelm"""
MET = """big_bird bloom deberta deberta-v2 falcon gpt_neo gptj mpnet mpt openai-gpt rembert roformer squeezebert xlm
xlnet"""
SAMPLE = (*REGISTRY.split(), *MET.split())
TWO_SIDES = ("bart", "mvp", "t5")
CAUSAL = ("bloom", "gpt_neo", "granite", "roberta")
MIXES = "layers has no attention"


@pytest.mark.parametrize("family", SAMPLE)
def test_a_family_is_read_as_it_decides(family: str) -> None:
    assert try_family(family).status == PASSES, try_family(family)


def test_there_are_42_of_them() -> None:
    assert len(set(SAMPLE)) == 42


@pytest.mark.parametrize("family", TWO_SIDES)
def test_of_an_encoder_and_a_decoder_the_last_view_of_the_encoder_is_shown(family: str) -> None:
    subject = subject_of(family)
    check(subject, lambda: network(family, eager=True))
    assert re.search("encoder_attn|EncDecAttention", subject.sites[-1].where)
    with pytest.raises(NotSupported, match=r"rollout needs one stack of layers: .* an encoder and a decoder\."):
        explain_one(subject, EXAMPLES, "rollout")
    with pytest.raises(NotSupported, match="has an encoder and a decoder"):
        explain_one(subject, EXAMPLES, "norms")


@pytest.mark.parametrize("family", CAUSAL)
def test_a_language_model_is_read_as_it_decides(family: str) -> None:
    assert try_family(family, causal=True).status == PASSES, try_family(family, causal=True)


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("canine", "does not use its last attention"),
        ("convbert", "carries information from token to token outside its attention"),
        ("diffllama", "has 2 attention maps in one layer"),
        ("fnet", "makes no attention weights"),
        ("funnel", "does not attend to the tokens of a text in the end"),
        ("jamba", MIXES),
        ("longformer", "cannot be read: LongformerSelfAttention does not multiply its attention weights"),
        ("minimax", MIXES),
        ("nystromformer", "carries information from token to token outside its attention"),
        ("perceiver", "does not attend to the tokens of a text in the end"),
        ("qwen3_next", MIXES),
        ("t5gemma2", "does not attend to the tokens of a text in the end"),
        ("yoso", "makes no attention weights"),
        ("zamba2", MIXES),
    ],
)
def test_a_family_whose_heatmap_would_not_be_what_decides_is_refused(family: str, reason: str) -> None:
    with pytest.raises(NotSupported, match=rf"^tiny \({family}\) .*{reason}.*\.$") as refused:
        subject_of(family)
    assert "\n" not in str(refused.value)


def test_one_map_for_two_streams_is_one() -> None:
    """LiLT weighs its text and its layout by the same map, computed twice: an edit of it holds for both."""
    subject = subject_of("lilt")
    check(subject, lambda: network("lilt", eager=True))
    batch, first = subject.encode(EXAMPLES), subject.sites[0]
    assert len(subject.sites) == 2
    layer = subject.network.get_submodule(first.where)
    given: list[torch.Tensor] = []
    hook = layer.register_forward_hook(lambda _, __, found: given.extend(found[:2]))
    with torch.no_grad():
        subject.run(batch, edits={first: torch.zeros_like})
    hook.remove()
    assert [float(stream.abs().max()) for stream in given[:2]] == [0, 0]


def test_attention_that_is_more_than_weights_times_values_is_refused() -> None:
    """granite_swa scales what a token reads by a sink that its weights do not show."""
    assert try_family("granite_swa", causal=True).said.startswith("scales what its attention reads by something other")


def test_a_model_without_attention_is_refused_by_name_wherever_it_is_named(tmp_path: Path) -> None:
    network("fnet").save_pretrained(tmp_path)
    tokenizer(marks=True).save_pretrained(tmp_path)
    name = f"hf:{tmp_path}"
    for use in (
        hc.load,
        lambda it: hc.explain(it, "good film"),
        lambda it: hc.audit(it, (["good", "bad"], ["0", "1"])),
    ):
        with pytest.raises(NotSupported, match=r"\(fnet\) makes no attention weights"):
            use(name)


@pytest.mark.parametrize("family", ["bloom", "deberta-v2", "xlnet", "mvp"])
def test_the_parts_of_an_attention_that_is_met(family: str) -> None:
    """Contexts are weights times values; what is edited is what the network goes on with."""
    subject = subject_of(family)
    batch = subject.encode(EXAMPLES)
    where = subject.sites[0].where
    parts = {part: Site(part, where) for part in ("score", "attention", "value", "context")}
    with torch.no_grad():
        run = subject.run(batch, want=list(parts.values()))
        score, weights, value, context = (run.parts[site] for site in parts.values())
        assert torch.allclose(score.softmax(-1), weights, atol=1e-6)
        assert torch.allclose(weights @ value, context, atol=1e-5)
        for part, own in zip(parts, (score, weights, value, context), strict=True):
            same = subject.run(batch, edits={parts[part]: own.clone()})
            assert torch.allclose(same.logits, run.logits, atol=1e-5)
        twice = subject.run(batch, edits={parts["value"]: 2 * value}, want=[parts["context"]])
        assert torch.allclose(twice.parts[parts["context"]], 2 * context, atol=1e-5)
        assert torch.allclose(twice.logits, subject.run(batch, edits={parts["context"]: 2 * context}).logits, atol=1e-5)
        assert not torch.allclose(twice.logits, run.logits, atol=1e-4)
        flat = subject.run(
            batch, edits={parts["score"]: torch.where(score > -9000, 0.0, score)}, want=[parts["attention"]]
        )
        assert (flat.parts[parts["attention"]][0, 0, 0].unique() > 0).sum() == 1
    with pytest.raises(NotSupported, match=rf"does not see the query at {where}"):
        subject.run(batch, want=[Site("query", where)])


def test_the_row_that_is_read_is_found_out() -> None:
    subject = subject_of("eurobert", classifier_pooling="bos")
    assert subject.rows(subject.encode(EXAMPLES)).tolist() == [0, 0, 0]
    subject = subject_of("ctrl")
    batch = subject.encode(EXAMPLES)
    assert subject.rows(batch).tolist() == (batch.valid.sum(1) - 1).tolist()
    embedding = Site("embedding")  # CTRL scales it in place afterwards
    looked_up = subject.network.get_input_embeddings()(batch.inputs["input_ids"]).detach().requires_grad_()
    assert torch.equal(subject.run(batch, want=[embedding]).parts[embedding], looked_up)
    assert torch.equal(subject.run(batch, edits={embedding: looked_up}).logits, subject.run(batch).logits)


@pytest.mark.parametrize(
    ("pick", "reads"),
    [
        (lambda ids: torch.full_like(ids[:, 0], 2), Reads("start", 2)),
        (lambda ids: (ids != 0).sum(1) - 2, Reads("end", -2)),
        (lambda ids: (ids == 3).long().argmax(1), Reads("end", -1)),
    ],
)
def test_an_answer_can_be_read_from_any_token(pick: Any, reads: Reads) -> None:
    made = network("bert")
    seen: list[torch.Tensor] = []
    made.register_forward_pre_hook(lambda _, __, named: seen.append(named["input_ids"]), with_kwargs=True)
    pooler = made.bert.pooler.forward

    def read(states: torch.Tensor) -> torch.Tensor:
        at = pick(seen[-1]) if seen[-1].shape[:1] == states.shape[:1] else None
        return pooler(states[torch.arange(len(states)), at][:, None])

    made.bert.pooler.forward = read
    subject = Transformer(made, tokenizer(marks=True), name="mine")
    assert subject.reads == reads
    batch = subject.encode(EXAMPLES)
    assert torch.equal(subject.rows(batch), pick(batch.inputs["input_ids"]))
    last = subject.sites[-1]
    rows = differentiate(subject, batch, [last], lambda run: run.logits[:, 0, 1])[last].abs().amax((1, 3)) > 0
    assert torch.equal(rows.long().argmax(1), subject.rows(batch))
    assert (rows.sum(1) == 1).all()


@pytest.mark.parametrize("family", ["eurobert", "modernbert"])
def test_a_head_that_pools_by_the_mean_has_the_mean_of_the_rows_as_its_heatmap(family: str) -> None:
    pooling = {"modernbert": "mean", "eurobert": "late"}[family]
    subject = subject_of(family, classifier_pooling=pooling)
    check(subject, lambda: network(family, eager=True, classifier_pooling=pooling))
    assert subject.reads == MEAN
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites[-1:])
    own = run.parts[subject.sites[-1]].mean(1)
    size = int(batch.valid[0].sum())
    scores = explain_one(subject, EXAMPLES, "attention").values[0]
    by_hand = own[0, :size, 1 : size - 1].mean(0)  # without [CLS] and [SEP]
    assert torch.allclose(torch.as_tensor(scores[: size - 2]), by_hand.double(), atol=1e-6)
    assert explain_one(subject, EXAMPLES, "rollout").values.any(1).all()
    with pytest.raises(NotSupported, match="reads its answer from all tokens"):
        explain_one(subject, EXAMPLES, "effective_attention")


def test_weights_beside_a_sink_keep_their_mass() -> None:
    subject = subject_of("gpt_oss")
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites[-1:])
        own = run.behind(run.parts[subject.sites[-1]])
        assert own.sum(-1).max() < 0.9999
        found = response(subject, batch)
        assert torch.allclose(found.attention.sum(-1), torch.ones(3, 1, 2))
        turned = found.attention.flip(-1)
        weights = run.parts[subject.sites[-1]].clone()
        rows = torch.arange(3), slice(None), subject.rows(batch)
        weights[rows] = turned[:, 0] * own.sum(-1, keepdim=True)
        expected = subject.run(batch, edits={subject.sites[-1]: weights}).logits
        assert torch.allclose(found.logits(turned[:, None])[:, 0], expected, atol=1e-5)


@pytest.mark.parametrize("family", ["xlnet", "t5gemma"])
def test_the_last_token_of_a_padded_text_is_read_too(family: str) -> None:
    """transformers reads another place there: what a text gives alone, it should give beside a longer one."""
    subject, plain = subject_of(family), network(family)
    with torch.no_grad():
        together = subject.run(subject.encode(EXAMPLES)).logits[:, 0]
        for number, example in enumerate(EXAMPLES):
            ids = tokenizer(marks=True)(example.text, return_tensors="pt")
            assert torch.allclose(plain(input_ids=ids["input_ids"]).logits[0], together[number], atol=1e-5)


@pytest.mark.parametrize("family", ["t5", "bart", "xlnet"])
def test_an_embedding_that_is_edited_is_edited_wherever_it_is_read(family: str) -> None:
    """A decoder that reads the text again: what is done to a word is done to it there too."""
    subject, other = subject_of(family), network(family)
    batch = subject.encode(EXAMPLES[:1])
    word, embedding = int(batch.inputs["input_ids"][0, 2]), Site("embedding")

    def double(own: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.arange(own.shape[1])[None, :, None] == 2, 2 * own, own)

    with torch.no_grad():
        for path, table in other.named_parameters():
            if re.search("shared|embed_tokens|word_embedding", path):
                table[word] *= 2
        expected = other(**batch.inputs).logits
        found = subject.run(batch, edits={embedding: double}).logits[:, 0]
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, subject.run(batch).logits[:, 0], atol=1e-3)


@pytest.mark.parametrize("layer", [0, 1])
def test_what_is_carried_from_token_to_token_beside_attention_is_noticed(layer: int) -> None:
    made = network("eurobert", classifier_pooling="bos")

    def smear(_: nn.Module, __: object, found: torch.Tensor) -> torch.Tensor:
        return found + 0.1 * found.roll(1, 1)

    made.model.layers[layer].mlp.register_forward_hook(smear)
    with pytest.raises(NotSupported, match=r"mine \(eurobert\) carries information from token to token outside"):
        Transformer(made, tokenizer(marks=True), name="mine")


def test_a_network_that_cannot_read_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match="the tokenizer gives the id 9, but the network knows 4 ids"):
        subject_of("eurobert", vocab_size=4)


@pytest.mark.parametrize("family", ["xlm", "squeezebert", "eurobert", "gpt_oss", "deberta-v2"])
def test_a_layer_can_be_shown_where_blocks_are_odd(family: str) -> None:
    """Other weights in the second of three layers, by a view of it and by a whole pass."""
    subject = subject_of(family, **{"n_layers" if family == "xlm" else "num_hidden_layers": 3})
    batch, first = subject.encode(EXAMPLES), subject.sites[1]
    found = response(view_of(subject, 2, None, EXAMPLES), batch)
    with torch.no_grad():
        run = subject.run(batch, want=[first])
        own = run.parts[first]
        turned = found.attention[:, None].roll(1, -1) * found.allowed[:, None, None, None]
        weights = own.clone()
        rows = run.readers(own.shape[2]).bool()[:, None, :, None]
        mass = own.sum(-1, keepdim=True) if run.pooled is None else torch.ones_like(own[..., :1])
        weights = torch.where(rows, turned[:, 0, 0, :, None] * mass, weights)
        expected = subject.run(batch, edits={first: weights}).logits
    assert torch.allclose(found.logits(turned)[:, 0], expected, atol=1e-5)
    assert not torch.allclose(expected, run.logits, atol=1e-4)


def test_layers_of_an_encoder_and_a_decoder_have_no_numbers() -> None:
    with pytest.raises(BadInput, match=r"no heatmap of one layer here: .* has an encoder and a decoder\."):
        view_of(subject_of("bart"), 1, None, EXAMPLES)


def test_the_command_prints_a_line_per_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bert", "fnet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"bert +passes +first token", lines[0])
    assert re.match(r"fnet +refused +makes no attention weights", lines[1])
    assert lines[2] == f"2 families: 1 {PASSES}, 1 {REFUSED}, 0 not made here, 0 error"


def test_an_error_is_an_error_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("every_family._even", lambda own: own)
    assert main(["bert"]) == 1


def test_the_page_has_the_table() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert "The answer is read from: first token.\n\n```text\nalbert, bert, " in table
    assert "| fnet | refused | makes no attention weights" in table
    assert "| error |" not in table
    passed, tried = map(int, re.findall(r"\*\*Classifiers\*\*: (\d+) of (\d+) pass", table)[0])
    assert passed >= 107
    assert f"{tried} families that classify texts: on tiny random networks {passed} pass" in _one_line(PAGE)


def _one_line(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())

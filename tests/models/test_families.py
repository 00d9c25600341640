"""Every family of Hugging Face is read as it decides, or refused by name in a sentence: never a heatmap beside it."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers import AutoModelForSequenceClassification

import heatcheck as hc
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models import Site, differentiate, response
from heatcheck.models.hf import Transformer
from tiny_transformers import EXAMPLES, SIZE, tokenizer

MARKS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": SIZE,
    "max_position_embeddings": 64,
    **MARKS,
}
ONE_EXPERT = {"num_local_experts": 1, "num_experts": 1, "num_experts_per_tok": 1}
TWO_SIDES: dict[str, Any] = {  # as BART says it, and as T5 does
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "d_kv": 8,
    "d_ff": 16,
    "num_layers": 1,
    "num_heads": 2,
    "vocab_size": SIZE,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 0,
    **MARKS,
}
GEMMA = {**SIZES, "head_dim": 8, "layer_types": ["sliding_attention", "full_attention"]}
VISION = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bart": ("BartConfig", TWO_SIDES),
    "bigbird_pegasus": ("BigBirdPegasusConfig", TWO_SIDES),
    "mbart": ("MBartConfig", TWO_SIDES),
    "mt5": ("MT5Config", TWO_SIDES),
    "mvp": ("MvpConfig", TWO_SIDES),
    "plbart": ("PLBartConfig", TWO_SIDES),
    "t5": ("T5Config", TWO_SIDES),
    "t5gemma": ("T5GemmaConfig", {"encoder": GEMMA, "decoder": GEMMA}),
    "t5gemma2": ("T5Gemma2Config", {"encoder": {"text_config": GEMMA, "vision_config": VISION}, "decoder": GEMMA}),
    "umt5": ("UMT5Config", TWO_SIDES),
    "canine": ("CanineConfig", {**SIZES, "num_hash_buckets": 16}),
    "ctrl": ("CTRLConfig", {"n_embd": 16, "n_layer": 2, "n_head": 2, "dff": 16, "vocab_size": SIZE, **MARKS}),
    "diffllama": ("DiffLlamaConfig", SIZES),
    "eurobert": ("EuroBertConfig", SIZES),
    "gpt_oss": ("GptOssConfig", {**SIZES, **ONE_EXPERT, "head_dim": 8}),
    "jamba": (
        "JambaConfig",
        {**SIZES, **ONE_EXPERT, "mamba_dt_rank": 2, "mamba_d_state": 2, "attn_layer_period": 2, "attn_layer_offset": 1},
    ),
    "minimax": ("MiniMaxConfig", {**SIZES, **ONE_EXPERT, "layer_types": ["linear_attention", "full_attention"]}),
    "modernbert-decoder": ("ModernBertDecoderConfig", SIZES),
    "qwen3_next": (
        "Qwen3NextConfig",
        {**SIZES, **ONE_EXPERT, "layer_types": ["linear_attention", "full_attention"], "moe_intermediate_size": 16}
        | {"linear_num_value_heads": 2, "linear_num_key_heads": 2, "shared_expert_intermediate_size": 16},
    ),
    "roformer": ("RoFormerConfig", {**SIZES, "embedding_size": 16}),
    "zamba2": (
        "Zamba2Config",
        {**SIZES, "n_mamba_heads": 2, "mamba_d_state": 4, "layers_block_type": ["linear_attention", "hybrid"]},
    ),
}


def network(family: str, **other: Any) -> Any:
    name, sizes = CONFIGS[family]
    config = getattr(transformers, name)(**{**sizes, **other})
    config.num_labels = 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4.0)
    return made


def of(family: str, **other: Any) -> Transformer:
    return Transformer(network(family, **other), tokenizer(marks=True), name="mine")


TWO = ("bart", "bigbird_pegasus", "mbart", "mt5", "mvp", "plbart", "t5", "t5gemma", "t5gemma2", "umt5")
MIXES = "of its 2 layers has no attention"


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        *((family, "has an encoder and a decoder") for family in TWO),
        ("canine", "does not compute its attention through transformers' registry"),
        ("eurobert", r"reads its answer from all tokens \(classifier_pooling='late'\)"),
        ("jamba", MIXES),
        ("minimax", MIXES),
        ("qwen3_next", MIXES),
        ("zamba2", MIXES),
        ("diffllama", "has 2 attention maps in one layer"),
        ("gpt_oss", r"weights of a token sum to 0\.\d\d, not to 1"),
    ],
)
def test_a_family_whose_heatmap_would_not_be_what_decides_is_refused(family: str, reason: str) -> None:
    with pytest.raises(NotSupported, match=rf"^mine \({family}\) .*{reason}.*\.$") as refused:
        of(family)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("family", "other", "last"),
    [
        ("ctrl", {}, True),
        ("modernbert-decoder", {}, True),
        ("eurobert", {"classifier_pooling": "bos"}, False),
    ],
)
def test_the_row_that_is_read_is_found_out(family: str, other: dict[str, Any], last: bool) -> None:
    subject = of(family, **other)
    batch = subject.encode(EXAMPLES)
    assert subject.rows(batch).tolist() == ((batch.valid.sum(1) - 1).tolist() if last else [0, 0, 0])
    slopes = differentiate(subject, batch, subject.sites, lambda run: run.logits[:, 0].amax(-1))
    of_last = slopes[subject.sites[-1]].clone()
    rows = torch.arange(len(batch)), slice(None), subject.rows(batch)
    assert of_last[rows].abs().max() > 0
    of_last[rows] = 0
    assert of_last.abs().max() == 0
    found = response(subject, batch)
    with torch.no_grad():
        assert torch.allclose(found.logits(found.attention[:, None])[:, 0], subject.run(batch).logits, atol=1e-5)
    assert explain_one(subject, EXAMPLES, "gradient").values.any(1).all()
    embedding = Site("embedding")  # CTRL scales it in place afterwards
    looked_up = subject.network.get_input_embeddings()(batch.inputs["input_ids"]).detach().requires_grad_()
    assert torch.equal(subject.run(batch, want=[embedding]).parts[embedding], looked_up)
    assert torch.equal(subject.run(batch, edits={embedding: looked_up}).logits, subject.run(batch).logits)


def test_what_is_refused_is_refused_wherever_it_is_named(tmp_path: Path) -> None:
    network("diffllama").save_pretrained(tmp_path)
    tokenizer(marks=True).save_pretrained(tmp_path)
    name = f"hf:{tmp_path}"
    for use in (
        hc.load,
        lambda it: hc.explain(it, "good film"),
        lambda it: hc.audit(it, (["good", "bad"], ["0", "1"])),
    ):
        with pytest.raises(NotSupported, match=r"\(diffllama\) has 2 attention maps in one layer"):
            use(name)


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
        of("eurobert", vocab_size=4)


def test_wrap_reads_a_family_outside_the_registry() -> None:
    """RoFormer gives an nn.Embedding the size of the text instead of ids."""
    subject = hc.wrap(network("roformer"), tokenizer(marks=True), mask="attention_mask")
    assert subject.settings.embedding == "roformer.embeddings.word_embeddings"
    assert explain_one(subject, EXAMPLES, "gradient").values.any(1).all()


def test_wrap_refuses_weights_that_the_answer_does_not_depend_on() -> None:
    """CANINE computes more characters than the answer is read from."""
    with pytest.raises(NotSupported, match="does not depend on the weights at"):
        hc.wrap(network("canine"), tokenizer(marks=True))

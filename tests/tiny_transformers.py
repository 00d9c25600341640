"""Tiny random Hugging Face classifiers of every family that is promised, with a tokenizer of a few words."""

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AlbertConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    RobertaConfig,
)

from heatcheck.data import Example
from heatcheck.models.hf import Transformer

WORDS = [
    "good",
    "bad",
    "film",
    "the",
    "a",
    "not",
    "movie",
    "was",
    "is",
    "very",
    "ok",
    "fine",
    "dull",
    "great",
    "but",
    "so",
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZE = len(SPECIAL) + len(WORDS)
EXAMPLES = (
    Example("a", "the film was not very good", label=0),
    Example("b", "bad movie", label=0),
    Example("c", "a very great film is ok fine but so dull", label=1),
)
# Of many lengths, none of which is one of EXAMPLES.
OTHERS = tuple(
    Example(f"o{n}", " ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(1, 3 + n)), label=n % 2) for n in range(9)
)
_SAME: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": SIZE,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
_GROUPED = {**_SAME, "num_key_value_heads": 2}
_MARKS = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
CONFIGS: dict[str, Any] = {
    "albert": lambda: AlbertConfig(**_SAME, embedding_size=16),
    "bert": lambda: BertConfig(**_SAME),
    "distilbert": lambda: DistilBertConfig(
        dim=32, n_layers=3, n_heads=4, hidden_dim=48, vocab_size=SIZE, max_position_embeddings=64
    ),
    "electra": lambda: ElectraConfig(**_SAME, embedding_size=16),
    "gpt2": lambda: GPT2Config(
        n_embd=32, n_layer=3, n_head=4, vocab_size=SIZE, n_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=1
    ),
    "llama": lambda: LlamaConfig(**_GROUPED),
    "modernbert": lambda: ModernBertConfig(**_SAME, **_MARKS),
    "qwen2": lambda: Qwen2Config(**_GROUPED),
    "qwen3": lambda: Qwen3Config(**_GROUPED, head_dim=8),
    "roberta": lambda: RobertaConfig(**_SAME),
}
DECODERS = ("gpt2", "llama", "qwen2", "qwen3")


def tokenizer(*, marks: bool) -> PreTrainedTokenizerFast:
    """Words at spaces; with marks, [CLS] before and [SEP] after each text."""
    found = Tokenizer(models.WordLevel({word: n for n, word in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    if marks:
        found.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        named |= {"cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=found, **named)


def make(family: str, *, labels: int = 2, seed: int = 0, sharp: float = 4.0) -> Transformer:
    """A fresh one. Weights that start small leave attention uniform: `sharp` multiplies them."""
    config = CONFIGS[family]()
    config.num_labels = labels
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(sharp)
    return Transformer(network, tokenizer(marks=family not in DECODERS), name=f"tiny-{family}")


@cache
def tiny(family: str) -> Transformer:
    """One that tests share: nobody changes it."""
    return make(family)

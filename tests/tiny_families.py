"""A tiny random model of every family whose blocks heatcheck knows: a classifier, or a language model with a prompt."""

from functools import cache
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForSequenceClassification

import tiny_language_models
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.prompted import Prompted
from tiny_transformers import SIZE, tokenizer

MARKS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "vocab_size": SIZE,
    "max_position_embeddings": 64,
    **MARKS,
}
WIDE = {"head_dim": 8, "num_key_value_heads": 1}
PADDED = {"pad_token_id": 0, "max_position_embeddings": 80}  # positions count from the padding's id
SPECIAL = {"cls_token_id": 2, "sep_token_id": 3}
FAMILIES: dict[str, dict[str, Any]] = {  # what each wants beside SIZES
    "albert": {"embedding_size": 8},
    "arcee": WIDE,
    "bert": {},
    "biogpt": {},
    "bloom": {},
    "camembert": PADDED,
    "cohere": WIDE,
    "cohere2": WIDE,
    "ctrl": {"n_embd": 16, "n_layer": 2, "n_head": 2, "dff": 24},
    "data2vec-text": PADDED,
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    "electra": {"embedding_size": 8},
    "ernie": {},
    "ernie4_5": WIDE,
    "eurobert": {"classifier_pooling": "bos", "num_key_value_heads": 1},
    "exaone4": {**WIDE, "sliding_window": 64},
    "falcon": {"multi_query": True},
    "gemma": WIDE,
    "gemma2": {**WIDE, "attention_bias": True},
    "gemma3_text": {**WIDE, "attn_logit_softcapping": 2.0},
    "glm": {**WIDE, "partial_rotary_factor": 0.5},
    "glm4": {**WIDE, "partial_rotary_factor": 0.5},
    "gpt2": {},
    "gpt_bigcode": {},
    "gpt_neo": {"num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]]},
    "gpt_neox": {},
    "gptj": {"rotary_dim": 4, "n_inner": 24},
    "granite": {**WIDE, "residual_multiplier": 0.3, "logits_scaling": 2.0},
    "gte": {},
    "helium": WIDE,
    "hunyuan_v1_dense": WIDE,
    "jina_embeddings_v3": {},
    "layoutlm": {},
    "llama": {"num_key_value_heads": 1},
    "markuplm": {"max_depth": 2},
    "megatron-bert": {},
    "ministral": WIDE,
    "ministral3": WIDE,
    "mistral": {"num_key_value_heads": 1, "sliding_window": 64},
    "modernbert": SPECIAL,
    "modernbert-decoder": SPECIAL,
    "mpnet": PADDED,
    "mpt": {"expansion_ratio": 2},
    "nemotron": {"num_key_value_heads": 1},
    "nomic_bert": {},
    "olmo": {"num_key_value_heads": 1},
    "olmo2": {"num_key_value_heads": 1, "attention_bias": True},
    "olmo3": {"num_key_value_heads": 1},
    "openai-gpt": {},
    "opt": {"ffn_dim": 24, "word_embed_proj_dim": 16},
    "persimmon": {},
    "phi": {"num_key_value_heads": 1, "qk_layernorm": True},
    "phi3": {"num_key_value_heads": 1},
    "qwen2": {"num_key_value_heads": 1},
    "qwen3": WIDE,
    "rembert": {"input_embedding_size": 8, "output_embedding_size": 8},
    "roberta": PADDED,
    "roberta-prelayernorm": PADDED,
    "seed_oss": WIDE,
    "smollm3": {"num_key_value_heads": 1},
    "stablelm": {"num_key_value_heads": 1},
    "starcoder2": {"num_key_value_heads": 1},
    "tapas": {},
    "xlm-roberta": PADDED,
    "xlm-roberta-xl": PADDED,
}
LANGUAGE_MODELS = ("cohere", "cohere2", "ernie4_5", "granite")  # have no classifier in transformers


def family(kind: str, *, language: bool = False, **other: Any) -> Transformer:
    """A fresh one, with biases and gains that nobody can forget unnoticed; in double precision."""
    language = language or kind in LANGUAGE_MODELS
    sizes = {**SIZES, **FAMILIES[kind], **other}
    if language:
        sizes["vocab_size"] = len(tiny_language_models.tokenizer())
    config = CONFIG_MAPPING[kind](**sizes)
    config.num_labels = 3
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        auto = AutoModelForCausalLM if language else AutoModelForSequenceClassification
        network = auto.from_config(config, dtype=torch.double).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(0.25 / parameter.std())
                else:
                    parameter.add_(0.3 * torch.randn_like(parameter))
    if not language:
        return Transformer(network, tokenizer(marks=True), name=f"tiny-{kind}")
    prompt, labels = tiny_language_models.PROMPT, tiny_language_models.LABELS
    return Prompted(network, tiny_language_models.tokenizer(), name=f"tiny-{kind}", prompt=prompt, labels=labels)


@cache
def shared(kind: str) -> Transformer:
    """One that tests share: nobody changes it."""
    return family(kind)

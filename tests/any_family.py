"""A tiny random network of any family of transformers, made from the names of the sizes in its config."""

import warnings
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
)

from tiny_transformers import SIZE

CLASSIFIERS = tuple(sorted(MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES))
LANGUAGE_MODELS = tuple(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))
WIDTH, HEADS, LAYERS = 16, 2, 2
_NAMES: tuple[tuple[int, str], ...] = (
    (
        WIDTH,
        "hidden_size intermediate_size d_model d_ff d_inner dim hidden_dim emb_dim n_embd n_inner dff "
        "encoder_ffn_dim decoder_ffn_dim ffn_dim embedding_size moe_intermediate_size "
        "shared_expert_intermediate_size word_embed_proj_dim pooler_hidden_size attention_hidden_size "
        "rotary_dim_all d_latents intermediate_size_mlp expert_ffn_hidden_size num_hash_buckets "
        "true_hidden_size bottleneck_size shared_intermediate_size mlp_hidden_size "
        "moe_shared_expert_intermediate_size prefix_dense_intermediate_size dense_intermediate_size "
        "ffn_hidden_size hidden_size_per_layer_input entity_emb_size pronunciation_embed_dim shape_embed_dim "
        "dim_model dim_ff zaya_mlp_expansion router_hidden_size",
    ),
    (
        HEADS,
        "num_attention_heads num_key_value_heads n_head n_heads num_heads encoder_attention_heads "
        "decoder_attention_heads num_kv_heads num_decoder_attention_heads num_encoder_attention_heads "
        "num_cross_attention_heads num_self_attention_heads n_mamba_heads mamba_n_heads linear_num_key_heads "
        "linear_num_value_heads mamba_num_heads swa_num_attention_heads swa_num_key_value_heads "
        "num_global_key_value_heads",
    ),
    (
        LAYERS,
        "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers "
        "num_encoder_layers num_local_experts num_experts num_experts_per_tok n_routed_experts top_k moe_topk "
        "moe_num_experts num_experts_per_token moe_top_k",
    ),
    (
        1,
        "n_shared_experts num_shared_experts first_k_dense_replace n_group topk_group "
        "num_self_attends_per_block num_blocks moe_k num_nextn_predict_layers expert_group_num topk_groups",
    ),
    (
        8,
        "head_dim d_kv d_head kv_channels qk_nope_head_dim v_head_dim attention_head_dim kv_lora_rank "
        "q_lora_rank linear_key_head_dim linear_value_head_dim mamba_head_dim mamba_d_head mamba_d_state "
        "ssm_state_size state_size num_latents dim_head swa_head_dim swa_v_head_dim index_head_dim "
        "global_head_dim",
    ),
    (
        4,
        "qk_rope_head_dim rotary_dim mamba_dt_rank index_n_heads",
    ),
    (
        SIZE,
        "vocab_size n_token entity_vocab_size vocab_size_per_layer_input pronunciation_vocab_size shape_vocab_size",
    ),
    (
        64,
        "max_position_embeddings n_positions n_ctx max_seq_len seq_length sliding_window keep_window_size",
    ),
    (
        0,
        "pad_token_id decoder_start_token_id",
    ),
    (
        2,
        "bos_token_id cls_token_id",
    ),
    (
        3,
        "eos_token_id sep_token_id",
    ),
)
SIZES = {name: value for value, names in _NAMES for name in names.split()}


def tiny_config(family: str, **other: Any) -> Any:
    """The family's config with all its sizes small."""
    kind = CONFIG_MAPPING[family]
    return kind(**{**_small(kind), **_OF_FAMILY.get(family, {}), **other})


def _small(kind: Any) -> dict[str, Any]:
    whole = kind()
    known = {*whole.to_dict(), *whole.attribute_map}
    alias = whole.attribute_map
    found = {alias.get(name, name): value for name, value in SIZES.items() if name in known}
    for name in getattr(kind, "sub_configs", {}):
        inner = getattr(whole, name, None)
        if inner is not None:
            found[name] = _small(type(inner))
            if hasattr(inner, "model_type"):
                found[name]["model_type"] = inner.model_type
    return found


def _small_text(family: str) -> dict[str, Any]:
    return {**_small(CONFIG_MAPPING[family])["text_config"]}


_MIXED = ["linear_attention", "full_attention"]
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_OF_FAMILY: dict[str, dict[str, Any]] = {
    "axk1": {"head_dim": 4},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _ROPE, "sliding_attention": _ROPE}},
    "codegen": {"n_head": 4, "rotary_dim": 4},
    "longcat_flash": {"head_dim": 4},
    "youtu": {"head_dim": 4},
    "bailing_hybrid": {"layer_types": _MIXED},
    "kimi_linear": {"layer_types": _MIXED},
    "qwen3_5_moe_text": {"layer_types": _MIXED},
    "qwen4_exp_text": {"layer_types": _MIXED},
    "granitemoehybrid": {"mamba_n_heads": 4, "mamba_d_head": 8, "layer_types": _MIXED},
    "bamba": {"mamba_n_heads": 4, "mamba_d_head": 8, "attn_layer_indices": [1]},
    "falcon_h1": {"mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_ssm": 32},
    "mamba2": {"num_heads": 4, "head_dim": 8, "n_groups": 1},
    "nemotron_h": {"n_groups": 1},
    "zaya": {"num_experts_per_tok": 1},
    "deepseek_v3": {"head_dim": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "layoutlmv3": {"coordinate_size": 2, "shape_size": 4, "visual_embed": False},
    "lilt": {"hidden_size": 24},
    "mobilebert": {"intra_bottleneck_size": 16},
    "qwen3_5": {"text_config": {**_small_text("qwen3_5"), "layer_types": _MIXED}},
    "qwen3_5_text": {"layer_types": _MIXED},
    "qwen3_next": {"layer_types": _MIXED},
    "reformer": {"axial_pos_embds": False, "is_decoder": False},
    "t5": {"decoder_start_token_id": 0},
    "mt5": {"decoder_start_token_id": 0},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 3, "attention_hidden_size": 32, "attention_head_dim": 16}
    | {"layers_block_type": ["linear_attention", "hybrid", "hybrid"]},
    "zamba2": {
        "attention_hidden_size": 32,
        "attention_head_dim": 16,
        "layers_block_type": ["linear_attention", "hybrid"],
    },
}


_SPREADS = {"mobilebert": 0.2}  # without norms
SPREAD = 0.35  # standard deviation of every matrix: those that start small leave attention uniform


def make(family: str, *, causal: bool = False, seed: int = 0, eager: bool = False, **other: Any) -> Any:
    """A fresh network, with attention of its own choice or eager from the start."""
    config = tiny_config(family, **other)
    config.num_labels = 2
    if causal:
        config.is_decoder = config.causal = True
    kind: Any = AutoModelForCausalLM if causal else AutoModelForSequenceClassification
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # DeBERTa's file calls torch.jit.script
        torch.manual_seed(seed)
        how = {"attn_implementation": "eager"} if eager else {}
        network = kind.from_config(config, dtype=torch.float32, **how).eval()
    with torch.no_grad():
        noise = torch.Generator().manual_seed(seed)
        for parameter in network.parameters():
            if parameter.dim() == 1 and parameter.is_floating_point():
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=noise))
            if parameter.dim() > 1 and float(spread := parameter.std()) > 0:
                parameter.mul_(_SPREADS.get(family, SPREAD) / spread)
    return network

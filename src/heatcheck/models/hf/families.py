"""Where the parts of a transformer block are, one row per model family; an unknown family is refused, never guessed."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

# How a module is not linear. `tanh` is a module that calls torch.tanh itself, `product` what follows a gate,
# `score norm` a norm of queries or keys. `attention` is where the softmax is, `projection` what its contexts go into.
Bend: TypeAlias = Literal["attention", "projection", "norm", "score norm", "activation", "product", "tanh"]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Family(NamedTuple):
    """Paths within a block; `after` are paths within the network, of what bends between the last block and the logits.

    Whether a norm centres (LayerNorm) or not (RMSNorm), whether its gain is w or 1 + w (Gemma), and which way round a
    projection is stored (GPT-2's Conv1D the other way), the modules say themselves.
    """

    attention: str
    projection: str  # of the heads' contexts, back to states
    norms: tuple[str, ...]  # of the attention, of the MLP, and any others that states go through; some may be absent
    normed_first: bool  # norms stand before what they norm (GPT-2, Llama), or after it with the residual (BERT)
    activation: str
    gated: str | None = None  # what takes in activation · gate, where the MLP has one
    after: Mapping[str, Bend] = NOTHING
    branch: str | None = None  # the one of `norms` that the attention's output goes through before the residual
    of_scores: tuple[str, ...] = ()  # norms of queries and keys, where the config asks for them
    times: str | None = None  # the config's name for a factor on what a block adds to the residual
    only: Mapping[str, Any] = NOTHING  # what the config must say for this row to be right


def _like_bert(**after: Bend) -> Family:
    return Family(
        "attention.self",
        "attention.output.dense",
        ("attention.output.LayerNorm", "output.LayerNorm"),
        normed_first=False,
        activation="intermediate.intermediate_act_fn",
        after={path.replace("__", "."): bend for path, bend in after.items()},
    )


_LIKE_GPT2 = Family(
    "attn",
    "attn.c_proj",
    ("ln_1", "ln_2"),
    normed_first=True,
    activation="mlp.act",
    after={"transformer.ln_f": "norm"},
)
_LIKE_LLAMA = Family(
    "self_attn",
    "self_attn.o_proj",
    ("input_layernorm", "post_attention_layernorm"),
    normed_first=True,
    activation="mlp.act_fn",
    gated="mlp.down_proj",
    after={"model.norm": "norm"},
)
_OF_SCORES = ("self_attn.q_norm", "self_attn.k_norm")
_BOTH_SIDES = _LIKE_LLAMA._replace(  # norms before and after each half of a block
    norms=(
        "input_layernorm",
        "pre_feedforward_layernorm",
        "post_attention_layernorm",
        "post_feedforward_layernorm",
    ),
    branch="post_attention_layernorm",
    after={"model.norm": "norm", "": "tanh"},  # a language model's logits are capped
)
_NORMED_BRANCHES = _LIKE_LLAMA._replace(
    norms=("post_attention_layernorm", "post_feedforward_layernorm"),
    branch="post_attention_layernorm",
    of_scores=_OF_SCORES,
)
_IN_PARALLEL = _LIKE_LLAMA._replace(norms=("input_layernorm",))  # one norm for both halves
_LIKE_OPT = Family(
    "self_attn",
    "self_attn.out_proj",
    ("self_attn_layer_norm", "final_layer_norm"),
    normed_first=True,
    activation="activation_fn",
)
_LIKE_NOMIC = Family(
    "self_attn",
    "self_attn.o_proj",
    ("post_attention_layernorm", "post_mlp_layernorm"),
    normed_first=False,
    activation="mlp.act_fn",
    gated="mlp.down_proj",
)
_LIKE_MODERNBERT = Family(
    "attn",
    "attn.Wo",
    ("attn_norm", "mlp_norm"),  # the first block's attention has none
    normed_first=True,
    activation="mlp.act",
    gated="mlp.Wo",
    after={"model.final_norm": "norm", "head.act": "activation", "head.norm": "norm"},
)

FAMILIES: dict[str, Family] = {
    "albert": Family(
        "attention",
        "attention.dense",
        ("attention.LayerNorm", "full_layer_layer_norm"),
        normed_first=False,
        activation="activation",
        after={"albert.pooler_activation": "activation"},
    ),
    "arcee": _LIKE_LLAMA._replace(gated=None),
    "bert": _like_bert(bert__pooler__activation="activation"),
    "biogpt": _LIKE_OPT._replace(after={"biogpt.layer_norm": "norm"}),
    "bloom": Family(
        "self_attention",
        "self_attention.dense",
        ("input_layernorm", "post_attention_layernorm"),
        normed_first=True,
        activation="mlp.gelu_impl",
        after={"transformer.ln_f": "norm"},
        only={"apply_residual_connection_post_layernorm": False},
    ),
    "camembert": _like_bert(classifier="tanh"),
    "cohere": _IN_PARALLEL._replace(only={"use_qk_norm": False}),
    "cohere2": _IN_PARALLEL,
    "ctrl": Family(
        "multi_head_attention",
        "multi_head_attention.dense",
        ("layernorm1", "layernorm2"),
        normed_first=True,
        activation="ffn.1",
        after={"transformer.layernorm": "norm"},
    ),
    "data2vec-text": _like_bert(classifier="tanh"),
    "distilbert": Family(
        "attention",
        "attention.out_lin",
        ("sa_layer_norm", "output_layer_norm"),
        normed_first=False,
        activation="ffn.activation",  # its head's ReLU has a slope of 0 or 1 already
    ),
    "electra": _like_bert(classifier__activation="activation"),
    "ernie": _like_bert(ernie__pooler__activation="activation"),
    "ernie4_5": _LIKE_LLAMA,
    "eurobert": _LIKE_LLAMA._replace(after={"model.norm": "norm", "activation": "activation"}),
    "exaone4": _NORMED_BRANCHES,
    "falcon": Family(
        "self_attention",
        "self_attention.dense",
        ("input_layernorm", "post_attention_layernorm"),
        normed_first=True,
        activation="mlp.act",
        after={"transformer.ln_f": "norm"},
        only={"new_decoder_architecture": False},
    ),
    "gemma": _LIKE_LLAMA,
    "gemma2": _BOTH_SIDES,
    "gemma3_text": _BOTH_SIDES._replace(of_scores=_OF_SCORES),
    "glm": _LIKE_LLAMA._replace(activation="mlp.activation_fn"),
    "glm4": _LIKE_LLAMA._replace(
        norms=("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"),
        activation="mlp.activation_fn",
        branch="post_self_attn_layernorm",
    ),
    "gpt2": _LIKE_GPT2,
    "gpt_bigcode": _LIKE_GPT2,
    "gpt_neo": _LIKE_GPT2._replace(attention="attn.attention", projection="attn.attention.out_proj"),
    "gpt_neox": Family(
        "attention",
        "attention.dense",
        ("input_layernorm", "post_attention_layernorm"),
        normed_first=True,
        activation="mlp.act",
        after={"gpt_neox.final_layer_norm": "norm"},
    ),
    "gptj": _LIKE_GPT2._replace(projection="attn.out_proj", norms=("ln_1",)),
    "granite": _LIKE_LLAMA._replace(times="residual_multiplier"),
    "gte": _LIKE_NOMIC._replace(after={"gte.pooler.activation": "activation"}),
    "helium": _LIKE_LLAMA,
    "hunyuan_v1_dense": _LIKE_LLAMA._replace(of_scores=("self_attn.query_layernorm", "self_attn.key_layernorm")),
    "jina_embeddings_v3": _LIKE_NOMIC._replace(
        activation="mlp.activation_fn", gated=None, after={"classifier": "tanh"}
    ),
    "layoutlm": _like_bert(layoutlm__pooler__activation="activation"),
    "llama": _LIKE_LLAMA,
    "markuplm": _like_bert(markuplm__pooler__activation="activation"),
    "megatron-bert": _like_bert(bert__encoder__ln="norm", bert__pooler__activation="activation")._replace(
        norms=("attention.ln", "ln"), normed_first=True
    ),
    "ministral": _LIKE_LLAMA,
    "ministral3": _LIKE_LLAMA,
    "mistral": _LIKE_LLAMA,
    "modernbert": _LIKE_MODERNBERT,
    "modernbert-decoder": _LIKE_MODERNBERT,
    "mpnet": _like_bert(classifier="tanh")._replace(
        attention="attention.attn",
        projection="attention.attn.o",
        norms=("attention.LayerNorm", "output.LayerNorm"),
    ),
    "mpt": _LIKE_GPT2._replace(
        projection="attn.out_proj",
        norms=("norm_1", "norm_2"),
        activation="ffn.act",
        after={"transformer.norm_f": "norm"},
    ),
    "nemotron": _LIKE_LLAMA._replace(gated=None),
    "nomic_bert": _LIKE_NOMIC._replace(after={"nomic_bert.pooler.activation": "activation"}),
    "olmo": _LIKE_LLAMA._replace(only={"clip_qkv": None}),
    "olmo2": _NORMED_BRANCHES,
    "olmo3": _NORMED_BRANCHES,
    "openai-gpt": _LIKE_GPT2._replace(normed_first=False, after=NOTHING),
    "opt": _LIKE_OPT._replace(
        after={"model.decoder.final_layer_norm": "norm"},
        only={"do_layer_norm_before": True, "_remove_final_layer_norm": False},
    ),
    "persimmon": _LIKE_LLAMA._replace(
        projection="self_attn.dense",
        activation="mlp.act",
        gated=None,
        of_scores=("self_attn.q_layernorm", "self_attn.k_layernorm"),
        after={"model.final_layernorm": "norm"},
    ),
    "phi": _IN_PARALLEL._replace(
        projection="self_attn.dense",
        activation="mlp.activation_fn",
        gated=None,
        of_scores=("self_attn.q_layernorm", "self_attn.k_layernorm"),
        after={"model.final_layernorm": "norm"},
    ),
    "phi3": _LIKE_LLAMA._replace(activation="mlp.activation_fn"),
    "qwen2": _LIKE_LLAMA,
    "qwen3": _LIKE_LLAMA._replace(of_scores=_OF_SCORES),
    "rembert": _like_bert(rembert__pooler__activation="activation"),
    "roberta": _like_bert(classifier="tanh"),
    "roberta-prelayernorm": _like_bert(classifier="tanh", roberta_prelayernorm__LayerNorm="norm")._replace(
        norms=("attention.LayerNorm", "intermediate.LayerNorm"), normed_first=True
    ),
    "seed_oss": _LIKE_LLAMA,
    "smollm3": _LIKE_LLAMA,
    "stablelm": _LIKE_LLAMA._replace(only={"qk_layernorm": False}),
    "starcoder2": _LIKE_LLAMA._replace(activation="mlp.act", gated=None),
    "tapas": _like_bert(tapas__pooler__activation="activation"),
    "xlm-roberta": _like_bert(classifier="tanh"),
    "xlm-roberta-xl": _like_bert(classifier="tanh", roberta__encoder__LayerNorm="norm")._replace(
        norms=("attention.self_attn_layer_norm", "LayerNorm"), normed_first=True
    ),
}

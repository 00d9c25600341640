"""The tables of studies of transformers: captions, and columns by quantity."""

from collections.abc import Mapping

from heatcheck.report.wording import spaced

Columns = tuple[tuple[str, Mapping[str, str]], ...]

DEEPEST = 12  # layers that a table has columns for
_WAYS = {"raw": "raw weights", "rollout": "rollout", "flow": "flow"}
_TARGETS = {"blank_out": "blanking out", "gradient": "gradients"}
RANKINGS = (
    "attention",
    "effective_attention",
    "rollout",
    "flow",
    "gradient_rollout",
    "norms",
    "norm_rollout",
    "globenc",
    "alti",
    "decompx",
    "contribution_weights",
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "leave_one_out",
    "shapley_sampling",
    "lime",
    "random",
)
_SIGNED = (
    "decompx",
    "contribution_weights",
    "effective_attention",
    "gradient_x_input",
    "integrated_gradients",
    "leave_one_out",
    "shapley_sampling",
    "lime",
)
_VARIANTS = ("Attn-W", "Attn-N", "AttnRes-W", "AttnRes-N", "AttnResLn-N")
_SPECIAL = {"weight on special tokens": "weight", "norm from special tokens": "norm"}


def _by_layer(prefix: str) -> dict[str, str]:
    return {f"{prefix}:{layer}": f"layer {layer}" for layer in range(1, DEEPEST + 1)}


LAYERS: Columns = (
    *(
        (
            f"{way.capitalize()} and {against}: Spearman ρ over the words of a text",
            {**_by_layer(f"{target}:{method}"), f"{target}:random": "random scores"},
        )
        for target, against in _TARGETS.items()
        for method, way in _WAYS.items()
    ),
    ("Agreement of the two targets", {"blank_out:gradient": "gradients, blanking out", "accuracy": "accuracy"}),
)
MIXING: Columns = (
    (
        "Share of a token that comes from other tokens, over all layers",
        {**{f"mixing:{v}:all": v for v in _VARIANTS}, "accuracy": "accuracy"},
    ),
    *((f"{v} by layer", _by_layer(f"mixing:{v}")) for v in _VARIANTS),
    (
        "Share of special tokens over all layers: of the weights, and of the norms",
        {f"special:{kind}:all": words for kind, words in _SPECIAL.items()},
    ),
    *((f"The {words} of special tokens by layer", _by_layer(f"special:{kind}")) for kind, words in _SPECIAL.items()),
)
PERTURBATION: Columns = tuple(
    (
        f"{caption}, words removed by {operator}",
        {f"{quantity}:{name}:{operator}": spaced(name) for name in RANKINGS}
        if not signed
        else {f"{quantity}:{name} (signed):{operator}": spaced(name) for name in _SIGNED},
    )
    for signed, caption, quantity in (
        (False, "Area between the curves, rankings by size", "area"),
        (True, "Area between the curves, rankings with a sign", "area"),
        (False, "Probability lost, most relevant words first (AOPC), rankings by size", "aopc"),
        (True, "Probability lost, most relevant words first (AOPC), rankings with a sign", "aopc"),
    )
    for operator in ("masking", "deletion")
)
IDENTIFIABILITY: Columns = (
    (
        "Other weights of the read-out with exactly the same output",
        {
            "longer": "texts longer than a head is wide",
            "dimension": "dimension of the null space",
            "effective_distance": "distance of effective attention from attention",
            "width": "range of a weight",
            "jsd_low": "JSD attained",
            "jsd_high": "JSD at most",
            "most": "largest JSD of any weights",
            "accuracy": "accuracy",
        },
    ),
    *(
        (
            f"Share of tokens identified by their hidden states, nearest by {metric}",
            {**{f"identified:{n}:{metric}": f"layer {n}" for n in range(1, DEEPEST + 1)}, "chance": "by chance"},
        )
        for metric in ("cosine", "euclidean")
    ),
)

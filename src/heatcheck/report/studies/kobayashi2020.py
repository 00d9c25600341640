"""Page and figures for Kobayashi et al. 2020: how much of a token comes from others, by weights and by norms."""

from heatcheck.report.study_columns import Columns, by_layer, in_columns
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView

_VARIANTS = ("Attn-W", "Attn-N", "AttnRes-W", "AttnRes-N", "AttnResLn-N")
_SPECIAL = {"weight on special tokens": "weight", "norm from special tokens": "norm"}

TABLES = in_columns(
    Columns(
        "Share of a token that comes from other tokens, over all layers",
        {**{f"mixing:{v}:all": v for v in _VARIANTS}, "accuracy": "accuracy"},
    ),
    *(Columns(f"{v} by layer", by_layer(f"mixing:{v}")) for v in _VARIANTS),
    Columns(
        "Share of special tokens over all layers: of the weights, and of the norms",
        {f"special:{kind}:all": words for kind, words in _SPECIAL.items()},
    ),
    *(
        Columns(f"The {words} of special tokens by layer", by_layer(f"special:{kind}"))
        for kind, words in _SPECIAL.items()
    ),
)
QUANTITIES = (
    study_quantity("mixing", "share of a token that comes from other tokens", "tokens mix much", "tokens mix little"),
    study_quantity(
        "special", "share of special tokens", "much goes to special tokens", "little goes to special tokens"
    ),
)
VIEW = StudyView(
    chapters=(Chapter("mixing", (TABLES,)),),
    shown={
        "mixing:Attn-W:all": "share of a token from other tokens, by weights",
        "mixing:Attn-N:all": "the same by norms",
        "mixing:AttnRes-N:all": "the same by norms, with the residual",
        "mixing:AttnResLn-N:all": "the same by norms, with the residual and the layer norm",
    },
    quantities=QUANTITIES,
)

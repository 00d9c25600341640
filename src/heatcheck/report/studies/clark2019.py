"""Page for Clark et al. 2019: where heads look, by layer."""

from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_heads import tables_by_layer
from heatcheck.report.study_view import Chapter, StudyView

TABLES = in_columns(
    *tables_by_layer(("special_tokens", "previous_token", "next_token", "punctuation_mass", "entropy_nats")),
    Columns(
        "Share of heads above the paper's thresholds",
        {
            "heads_above:special_tokens": "special tokens above 0.6",
            "heads_above:previous_token": "token before above 0.5",
            "heads_above:next_token": "token after above 0.5",
        },
    ),
)
VIEW = StudyView(
    chapters=(Chapter("roles", (TABLES,)),),
    shown={},
    unpublished={
        "heads_mean:special_tokens:all": "weight on special tokens, mean over heads",
        "heads_above:previous_token": "share of heads that look at the token before",
    },
)

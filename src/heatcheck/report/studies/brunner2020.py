"""Page and figures for Brunner et al. 2020: other weights with the same output, and tokens found by their states."""

from heatcheck.report.study_columns import DEEPEST, Columns, in_columns
from heatcheck.report.study_quantities import FAR, study_quantity
from heatcheck.report.study_view import Chapter, StudyView

TABLES = in_columns(
    Columns(
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
        Columns(
            f"Share of tokens identified by their hidden states, nearest by {metric}",
            {**{f"identified:{n}:{metric}": f"layer {n}" for n in range(1, DEEPEST + 1)}, "chance": "by chance"},
        )
        for metric in ("cosine", "euclidean")
    ),
)
QUANTITIES = (
    study_quantity(
        "longer",
        "share of texts longer than a head is wide",
        "many texts can have other weights",
        "most texts have unique weights",
    ),
    study_quantity("dimension", "dimension of the null space", "weights can move in many ways", "weights cannot move"),
    study_quantity("effective_distance", "effective attention from attention", *FAR),
    study_quantity("width", "range of a weight", "a weight can vary much", "a weight is nearly determined"),
    study_quantity("widest", "largest range of a weight", "a weight can vary much", "a weight is nearly determined"),
    study_quantity("jsd_low", "JSD of other weights with the same output, at least", *FAR),
    study_quantity("jsd_high", "JSD of other weights with the same output, at most", *FAR),
    study_quantity(
        "identified", "tokens identified by their hidden states", "states still identify the tokens", "they do not"
    ),
    study_quantity("chance", "the same by chance", "a measured value can exceed it little", "it can exceed it much"),
)
VIEW = StudyView(
    chapters=(Chapter("identifiability", (TABLES,)),),
    unpublished={
        "longer": "share of texts longer than a head is wide",
        "jsd_low": "JSD of other weights with the same output, at least",
        "jsd_high": "JSD of other weights with the same output, at most",
        "identified:1:cosine": "tokens identified after the first layer, by cosine",
    },
    quantities=QUANTITIES,
)

"""Page and figures for Abnar & Zuidema 2020: raw weights, rollout and flow beside gradients and blanking, by layer."""

from heatcheck.report.study_columns import Columns, by_layer, in_columns
from heatcheck.report.study_quantities import ALIKE, study_quantity
from heatcheck.report.study_view import Chapter, StudyView

_WAYS = {"raw": "raw weights", "rollout": "rollout", "flow": "flow"}
_TARGETS = {"blank_out": "blanking out", "gradient": "gradients"}

TABLES = in_columns(
    *(
        Columns(
            f"{way.capitalize()} and {against}: Spearman ρ over the words of a text",
            {**by_layer(f"{target}:{method}"), f"{target}:random": "random scores"},
        )
        for target, against in _TARGETS.items()
        for method, way in _WAYS.items()
    ),
    Columns("Agreement of the two targets", {"blank_out:gradient": "gradients, blanking out", "accuracy": "accuracy"}),
)
QUANTITIES = (
    study_quantity("blank_out", "ρ with blanking out", *ALIKE),
    study_quantity("gradient", "ρ with gradients", *ALIKE),
)
VIEW = StudyView(
    chapters=(Chapter("layers", (TABLES,)),),
    shown={
        "gradient:raw:6": "ρ of raw weights with gradients, layer 6",
        "gradient:rollout:6": "ρ of rollout with gradients, layer 6",
        "gradient:flow:3": "ρ of flow with gradients, layer 3",
    },
    unpublished={
        "blank_out:rollout:6": "ρ of rollout with blanking out, layer 6",
        "blank_out:random": "ρ of random scores with blanking out",
    },
    quantities=QUANTITIES,
)

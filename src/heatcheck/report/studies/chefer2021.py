"""Page and figures for Chefer et al. 2021: words removed by every ranking, most and least relevant first."""

from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.wording import spaced

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

TABLES = in_columns(
    *(
        Columns(
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
)
OFTEN = ("the answer depends on the words ranked first", "it hardly depends on them")
QUANTITIES = (
    study_quantity("aopc", "probability lost, most relevant words first", *OFTEN),
    study_quantity(
        "aopc_least",
        "probability lost, least relevant words first",
        "words ranked last matter too",
        "words ranked last do not matter",
    ),
    study_quantity("area", "area between the curves", *OFTEN),
    study_quantity("above_random", "area above that of random orders", *OFTEN),
    study_quantity("rank", "rank among the rankings", "others do better", "it is among the best"),
)
VIEW = StudyView(
    chapters=(Chapter("perturbation", (TABLES,)),),
    shown={
        "aopc:alti:masking": "AOPC of ALTI, words masked",
        "aopc:decompx (signed):masking": "AOPC of DecompX with its sign, words masked",
    },
    unpublished={
        "area:attention:masking": "area between the curves, attention, words masked",
        "area:rollout:masking": "the same for rollout",
        "area:gradient_rollout:masking": "the same for gradient-weighted rollout",
        "area:random:masking": "the same for random order",
    },
    quantities=QUANTITIES,
)

"""Page and figures for Chefer et al. 2021: words removed by every ranking, most and least relevant first."""

from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order, theirs, with_interval
from heatcheck.report.table import Table
from heatcheck.report.wording import ranking_title
from heatcheck.results import Model, Row, StudyResult
from heatcheck.results.written import NOTHING, number

SIGNED = " (signed)"  # ends the name of a ranking that knows the sign


def rankings(found: StudyResult) -> list[Table]:
    """One row per ranking, the best first, for each model and way of removing words; with a sign and without apart."""
    made = []
    for model in models_in_order(found):
        of_model = [row for row in found.rows if (row.task, row.encoder) == (model.task, model.encoder)]
        for operator in dict.fromkeys(str(row.by["operator"]) for row in of_model if "operator" in row.by):
            rows = [row for row in of_model if row.by.get("operator") == operator]
            made += [_table(model, operator, rows, signed=signed) for signed in (False, True)]
    return [table for table in made if table.rows]


def _table(model: Model, operator: str, rows: list[Row], *, signed: bool) -> Table:
    named = {
        (row.name, str(row.by["ranking"])): row
        for row in rows
        if str(row.by["ranking"]).endswith(SIGNED) == signed and row.by.get("among") in (None, _league(signed))
    }
    areas = sorted((row for (name, _), row in named.items() if name == "area"), key=lambda row: -row.value)
    body = []
    for area in areas:
        ranking = str(area.by["ranking"])
        aopc, rank = named.get(("aopc", ranking)), named.get(("rank", ranking))
        body.append(
            (
                ranking_title(ranking.removesuffix(SIGNED)),
                with_interval(area),
                NOTHING if aopc is None else number(aopc.value),
                NOTHING if aopc is None else theirs(aopc, aopc.paper),
                NOTHING if rank is None else f"{rank.value:.1f}",
            )
        )
    league = "with a sign" if signed else "by size"
    caption = f"Rankings {league}, {model.task}, words removed by {operator}; area: 0 is random, higher is better"
    return Table(caption, ("ranking", "area between the curves", "AOPC", "AOPC, paper", "mean rank"), body)


def _league(signed: bool) -> str:
    return "with sign" if signed else "by size"


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
    chapters=(Chapter("perturbation", (rankings,)),),
    shown={
        "aopc:alti:masking": "AOPC of ALTI, words masked",
        "aopc:decompx (signed):masking": "AOPC of DecompX with its sign, words masked",
    },
    unpublished={
        "area:attention:masking": "area between the curves, attention, words masked",
        "area:rollout:masking": "the same for rollout",
        "area:gradient_rollout:masking": "the same for gradient-weighted rollout",
        "area:relevance_rollout:masking": "the same for relevance rollout",
        "area:random:masking": "the same for random order",
    },
    quantities=QUANTITIES,
)

"""Page for Clark et al. 2019: where heads look, by layer."""

from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_heads import tables_by_layer
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order, theirs, with_interval
from heatcheck.report.table import Table
from heatcheck.results import StudyResult
from heatcheck.results.written import NOTHING, number

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
BASELINES = {
    "offset": "best offset",
    "twin": "offset twin",
    "untrained": "untrained",
    "other tree": "other tree",
}


def syntax(found: StudyResult) -> list[Table]:
    """One row per relation: the best head beside its baselines and the paper's."""
    made = []
    for model in models_in_order(found):
        rows = {
            (str(row.by["relation"]), str(row.by["of"])): row
            for row in found.rows
            if row.task == model.task and row.name == "syntactic"
        }
        scores = sorted((row for (_, of), row in rows.items() if of == "head"), key=lambda row: -row.value)
        body = []
        for score in scores:
            relation = str(score.by["relation"])
            beside = [rows.get((relation, of)) for of in BASELINES]
            offset = rows.get((relation, "offset"))
            paper = [NOTHING if row is None else theirs(row, row.paper) for row in (score, offset)]
            cells = [NOTHING if row is None else number(row.value) for row in beside]
            body.append((relation, with_interval(score), *cells, *paper, str(score.seeds)))
        columns = ("relation", "best head", *BASELINES.values(), "paper, head", "paper, offset", "seeds")
        caption = f"Share of arcs that the best head finds, {model.task}: chosen on train, scored on test"
        made.append(Table(caption, columns, body, dense=True))
    return [table for table in made if table.rows]


VIEW = StudyView(
    settings={"sentences": "treebank sentences per part"},
    chapters=(
        Chapter("roles", (TABLES,)),
        Chapter(
            "syntax",
            (syntax,),
            title="Heads that find syntactic relations",
            reading="The score is the share of a relation's arcs that the head finds; 1 is all. A head that is no "
            "better than the best fixed distance, than its own mean weights by distance, or than untrained heads shows "
            "no syntax. Published numbers are of other data and relations.",
        ),
    ),
    shown={},
    quantities=(
        study_quantity(
            "syntactic",
            "share of arcs found, {}",
            "the arcs are found",
            "the arcs are missed",
        ),
        study_quantity(
            "syntactic_heads",
            "number of heads with a syntactic role",
            "many heads find a relation beyond all baselines",
            "few heads find a relation beyond all baselines",
        ),
    ),
    unpublished={
        "syntactic_heads": "heads with a syntactic role",
        "heads_mean:special_tokens:all": "weight on special tokens, mean over heads",
        "heads_above:previous_token": "share of heads that look at the token before",
    },
)

"""A study's numbers as tables with one row per task, each published number in the column after ours."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.study_copy import tables_of_copy
from heatcheck.report.study_deception import tables_of_deception
from heatcheck.report.study_flips import FLIPS
from heatcheck.report.study_layers import IDENTIFIABILITY, LAYERS, MIXING, PERTURBATION
from heatcheck.report.study_scales import SCALES
from heatcheck.report.study_tasks import tables_of_tasks
from heatcheck.report.study_wording import model_name, ours, theirs
from heatcheck.report.study_writing import tables_of_writing
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult
from heatcheck.results.written import NOTHING

_WEIGHTS = {"learned": "learned weights", "uniform": "uniform weights", "last": "last state only"}
_GUIDES = {"uniform": "uniform", "learned": "learned", "base": "the base model’s", "adversary": "an adversary’s"}

# check -> caption and columns (quantity -> title) of its tables; a task needs the first quantity to have a row
TABLES: dict[str, tuple[tuple[str, Mapping[str, str]], ...]] = {
    "necessity": (
        ("Table 2: F1 with learned attention and without", {f"f1:{w}": words for w, words in _WEIGHTS.items()}),
        (
            "Accuracy, and N: the share of the gain over the majority class that is lost without learned attention",
            {"prior": "majority class"}
            | {f"accuracy:{w}": words for w, words in _WEIGHTS.items()}
            | {"N:retrained": "N, retrained"},
        ),
        (
            "Does the base model use its weights? Accuracy with other weights imposed, and N",
            {
                "swapped:own": "its own",
                "swapped:uniform": "uniform",
                "swapped:permuted": "shuffled",
                "swapped:random": "random",
                "N:swap": "N, uniform weights imposed",
            },
        ),
    ),
    "seed_variance": (
        (
            "The base model and its other seeds",
            {"jsd:seeds": "JSD of the weights", "tvd:seeds": "TVD of the answers", "agreement:seeds": "same decision"},
        ),
        (
            "All pairs of seeds",
            {"jsd:pairs": "JSD of the weights", "tvd:pairs": "TVD of the answers", "agreement:pairs": "same decision"},
        ),
    ),
    "adversarial_model": (
        (
            "Table 4: the adversary with the best F1 among those with a mean JSD above 0.4 (λ in the published unit)",
            {"best:lambda": "λ", "best:f1": "F1", "best:tvd": "TVD", "best:jsd": "JSD"},
        ),
        (
            "How different the weights of a model can be that answers as closely as an honest seed (JSD in nats)",
            {
                "J_seed": "honest seeds",
                "J_star": "the farthest, J*",
                "J_excess": "difference of the two",
                "reach": "JSD at the seeds’ TVD",
                "jsd:imitator": "an imitator (λ = 0)",
            },
        ),
        (
            "How close the answers are (TVD after fitting one temperature; 0 means the same probabilities)",
            {
                "tvd_tempered:imitator": "an imitator (λ = 0)",
                "tvd_tempered:pairs": "two honest seeds",
                "best:tvd_tempered": "the adversary of Table 4",
                "cost": "J* minus the imitator",
            },
        ),
    ),
    "flips": FLIPS,
    "identifiability": IDENTIFIABILITY,
    "layers": LAYERS,
    "mixing": MIXING,
    "perturbation": PERTURBATION,
    "scale": SCALES,
    "guide": (
        (
            "Table 3: F1 of a model without context under another model’s weights",
            {f"guide_f1:{weights}": words for weights, words in _GUIDES.items()},
        ),
        (
            "Accuracy of the log-odds guide, which is not trained, and G, the share of the headroom that it gains",
            {
                "log_odds_guide:own": "the base model’s weights",
                "log_odds_guide:uniform": "uniform weights",
                "swapped:own": "the base model itself",
                "G:log_odds": "G, log-odds guide",
                "G:refitted": "G, retrained guide",
            },
        ),
    ),
}


def tables_of_study(found: StudyResult, models: Sequence[Model]) -> dict[str, list[Table]]:
    """The tables of each check that has numbers here."""
    rows = {
        (row.task, row.encoder, row.attention, row.quantity): row
        for row in found.rows
        if not row.of_class and not row.bin
    }
    told: dict[str, list[Table]] = {}
    for check, wanted in TABLES.items():
        tables = [_table(caption, columns, rows, models) for caption, columns in wanted]
        told[check] = [table for table in tables if table.rows]
    told["necessity"] = [*tables_of_tasks(found, models), *told["necessity"]]
    told["deception"] = [*tables_of_deception(found, models), *tables_of_writing(found, models)]
    told |= tables_of_copy(found)
    return {check: tables for check, tables in told.items() if tables}


def _table(
    caption: str, columns: Mapping[str, str], rows: Mapping[tuple[str, str, str, str], Row], models: Sequence[Model]
) -> Table:
    """One table; empty columns are dropped."""
    first = next(iter(columns))
    found = {_named(model, models): _of_model(model, columns, rows) for model in models}
    found = {task: cells for task, cells in found.items() if first in cells}
    used = [quantity for quantity in columns if any(quantity in cells for cells in found.values())]
    beside = {quantity for cells in found.values() for quantity, row in cells.items() if row.paper is not None}
    heads: list[str] = []
    for quantity in used:
        heads += [columns[quantity], *(["paper"] if quantity in beside else [])]
    body = []
    for task, cells in found.items():
        line = [task]
        for quantity in used:
            row = cells.get(quantity)
            line.append(NOTHING if row is None else ours(row))
            if quantity in beside:
                line.append(NOTHING if row is None else theirs(row, row.paper))
        body.append((*line, str(max(row.seeds for row in cells.values()))))
    return Table(caption, ("task", *heads, "seeds"), body, dense=True)


def _named(model: Model, models: Sequence[Model]) -> str:
    """The task of a model, and its kind if the task has several."""
    alone = sum(other.task == model.task for other in models) == 1
    return model.task if alone else f"{model.task}, {model_name(model.encoder, model.attention)}"


def _of_model(model: Model, columns: Iterable[str], rows: Mapping[tuple[str, str, str, str], Row]) -> dict[str, Row]:
    place = (model.task, model.encoder, model.attention)
    return {quantity: rows[*place, quantity] for quantity in columns if (*place, quantity) in rows}

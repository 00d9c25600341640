"""What a reader sees of the check `adversarial_model`: other models with nearly the same answers and other weights."""

import math
from collections.abc import Mapping

from heatcheck.report.cells import named, with_interval
from heatcheck.report.figures.figure import WIDTH, Figure, declare
from heatcheck.report.figures.frontier import kinds_in, panel, starts_in
from heatcheck.report.frontier import candidates, farthest, mean_of_seeds
from heatcheck.report.measurement_words import counted, quantity
from heatcheck.report.model_names import name_of
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import NOTHING, interval, number


def adversarial_model_tables(result: CheckResult) -> list[Table]:
    """The summary of the frontier, and every model on it."""
    star = farthest(result)
    columns = {
        "jsd": "JSD",
        "tvd": "TVD",
        "tvd_tempered": "TVD, one temperature",
        "agreement": "same decision",
        "accuracy": "accuracy",
    }
    summed = named(result.measurements, "J_excess", "J_star", "J_seed", "cost", "reach")
    return [
        Table(
            "Summary: how different the weights of a model can be whose answers are as close as an honest seed's",
            ("quantity", "value", "95% interval", "n"),
            [(quantity(m, result.check), number(m.value), interval(m), counted(m)) for m in summed],
        ),
        Table(
            "Every other model compared with the audited one: JSD of the weights (nats), TVD of the answers",
            ("model", *columns.values(), "n"),
            [
                (
                    name_of(one.by) + (" (J*)" if star and one.by == star.by else ""),
                    *(
                        NOTHING
                        if name not in one.found
                        else with_interval(one.found[name])
                        if name in ("jsd", "tvd")
                        else number(one.found[name].value)
                        for name in columns
                    ),
                    counted(next(iter(one.found.values()))),
                )
                for one in candidates(result)
            ],
            dense=True,
        ),
    ]


def tvd_by_jsd(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Every model, with a ring around the most different one that passes for an honest seed."""
    points = [one.point for one in candidates(result)]
    star = farthest(result)
    kinds = kinds_in(points)
    if not kinds:
        return None
    drawn = panel(points, kinds, starts_in(points), ring=star.point if star else None, width=WIDTH - 60, height=380)
    seeds = [mean_of_seeds(points, name) for name in ("jsd", "tvd")]
    caption = (
        "Each mark is a model: further right its weights differ more from the audited model's, further up its answers "
        "do. Lines join trained adversaries in the order of λ. "
    )
    if all(map(math.isfinite, seeds)):
        caption += (
            f"The dashed lines are the means of the honest seeds (JSD {number(seeds[0])}, TVD {number(seeds[1])}). "
            "A model to the right of one and below the other has closer answers than an honest seed and a more "
            "different heatmap. "
        )
    if star:
        caption += (
            "The ring marks the most different model that passes for an honest seed, by its decisions and its TVD "
            f"after one temperature for all texts. It is {name_of(star.by)}, with JSD "
            f"{number(star.found['jsd'].value)}. "
        )
    return declare("adversarial-model-frontier", result.check, caption.strip(), drawn)


_QUANTITIES = (
    Quantity(
        "jsd",
        "mean JSD from the audited model's weights",
        high="The weights differ a lot from the audited model's.",
        low="The weights nearly equal the audited model's.",
        unit="nats",
        check="adversarial_model",
    ),
    Quantity(
        "J_star",
        "mean JSD of the most different model whose answers are as close as an honest seed's (J*)",
        high="Some model answers as closely as another seed, with very different weights.",
        low="No such model was found with very different weights.",
        unit="nats",
    ),
    Quantity(
        "J_seed",
        "mean JSD of honest seeds",
        high="Honest seeds already have very different weights.",
        low="Honest seeds have nearly the same weights.",
        unit="nats",
        counts="seeds",
    ),
    Quantity(
        "J_excess",
        "J* minus the mean JSD of honest seeds",
        high="Some model answers as closely as another seed, with weights that differ more than a seed's.",
        low="No such model was found whose weights differ more than a seed's.",
        unit="nats",
        counts="seeds",
    ),
    Quantity(
        "cost",
        "TVD of the model of J* minus that of an imitator, which learned only the answers",
        high="The most different model answers less like the audited model than an imitator does.",
        low="The most different model answers as much like the audited model as an imitator does.",
        unit="probability",
    ),
    Quantity(
        "reach",
        "JSD that adversaries reach at the TVD of honest seeds",
        high="With answers as close as a seed's, adversaries reach very different weights.",
        low="With answers as close as a seed's, adversaries reach only similar weights.",
        unit="nats",
    ),
)

VIEW = CheckView(
    "Models trained to give the same answers with other weights",
    place=120,
    reading="An adversary is a whole model, trained to give the audited model's answers with other "
    "weights; λ sets how much other weights count. Models at the lower right give the same answers with very different "
    "heatmaps. Honest seeds show how close the answers of two ordinary models are. Adversarial weights for single "
    "texts do not form a model, so they do not count here. A search that finds no such model proves nothing: one may "
    "still exist.",
    tables=adversarial_model_tables,
    figures=(tvd_by_jsd,),
    quantities=_QUANTITIES,
)

"""What a reader sees of the check `gauge`: models with the same decisions, other weights and the same contributions."""

from heatcheck.report.cells import with_interval
from heatcheck.report.measurement_words import counted
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.report.wording import said
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import NOTHING, number


def gauge_tables(result: CheckResult) -> list[Table]:
    """The distances of each twin's weights, contributions and answers."""
    columns = {
        "agreement": "same decision",
        "jsd": "JSD, weights",
        "jsd_contributions": "JSD, contributions",
        "tvd": "TVD",
        "tvd_tempered": "TVD, one temperature",
    }
    rows = []
    for twin in dict.fromkeys(str(m.by["twin"]) for m in result.measurements if "twin" in m.by):
        of_twin = {m.name: m for m in result.measurements if m.by.get("twin") == twin and "part" not in m.by}
        cells = (with_interval(of_twin[name]) if name in of_twin else NOTHING for name in columns)
        rows.append((said(twin), *cells, counted(next(iter(of_twin.values())))))
    title = "Each twin compared with the audited model: the same decisions, other weights, the same contributions"
    return [Table(title, ("twin", *columns.values(), "n"), rows), *_distances(result)]


def _distances(result: CheckResult) -> list[Table]:
    """How far each twin's parameters are from the model's, and each other seed's; nothing without a budget."""
    parts = {
        "parameters": "all parameters",
        "words": "scores and votes of words",
        "embedding": "embeddings",
        "attention": "attention",
        "decoder": "decoder",
    }
    found: dict[str, dict[str, str]] = {}
    for m in result.measurements:
        if m.name == "parameter_distance":
            name = said(str(m.by["twin"])) if "twin" in m.by else f"another seed ({m.by['seed']})"
            found.setdefault(name, {})[str(m.by["part"])] = number(m.value)
    if not found:
        return []
    rows = [(name, *(cells.get(part, NOTHING) for part in parts)) for name, cells in found.items()]
    title = "Distance from the audited model's parameters; 1 is the nearest other seed's distance"
    return [Table(title, ("model", *parts.values()), rows)]


_QUANTITIES = (
    Quantity(
        "jsd",
        "mean JSD from the audited model's weights",
        high="The twin's weights differ a lot from the audited model's.",
        low="The twin's weights nearly equal the audited model's.",
        unit="nats",
        check="gauge",
    ),
    Quantity(
        "jsd_contributions",
        "JSD of the contributions (weight × relevance)",
        high="Words contribute other shares in the twin than in the audited model.",
        low="Words contribute the same shares in the twin as in the audited model.",
        unit="nats",
    ),
    Quantity(
        "parameter_distance",
        "distance of the parameters, in distances of the nearest other seed",
        high="The twin's parameters are farther away than another seed's.",
        low="The twin's parameters are closer than any other seed's.",
    ),
)

VIEW = CheckView(
    "A twin with the same decisions and another heatmap",
    place=90,
    reading="This model reads each word by itself. Then a word's weight can be traded against its relevance: "
    "lower one, raise the other, and every decision on every text stays the same. So the model has twins "
    "of its own kind, known without any training. One twin has uniform weights, another has the heatmap "
    "reversed. The contribution, weight times relevance, cannot be traded away: its heatmap is the same "
    "in all twins.",
    held="every decision; the weight of each word and its relevance change together",
    tables=gauge_tables,
    quantities=_QUANTITIES,
)

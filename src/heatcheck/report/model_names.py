"""Names of the models compared with the audited one: adversaries, other seeds, twins with the same decisions."""

from heatcheck.engine import Facts
from heatcheck.report.shared_words import MODELS

# The keys of a `by` that distinguish such models; the name of a model includes them.
KEYS = ("model", "strength", "start", "trains", "restart", "seed", "epsilon", "twin")

STARTS = {
    ("fresh", "all"): "from a fresh start",
    ("parent", "all"): "from the audited model",
    ("parent", "attention"): "from the audited model, training only the attention",
    ("fresh", "attention"): "from fresh attention on the audited model",
}


def kind_of(point: Facts) -> str:
    """The name of a kind of model in a legend.

    >>> kind_of({"model": "seed", "seed": 3}), kind_of({"model": "reversed"})
    ('honest seed', 'another known model')
    """
    return MODELS.get(str(point["model"]), "another known model")


def start_of(point: Facts) -> str:
    """The start of an adversary, and the trained part; "" for any other model."""
    if point["model"] != "adversary":
        return ""
    return STARTS.get((str(point.get("start", "fresh")), str(point.get("trains", "all"))), "another start")


def name_of(point: Facts) -> str:
    """The name of one model.

    >>> name_of({"model": "seed", "seed": 3}), name_of({"model": "gauge", "twin": "reversed"})
    ('honest seed 3', 'gauge twin: reversed')
    >>> name_of({"model": "adversary", "strength": 0.001, "start": "parent", "trains": "all", "restart": 1})
    'adversary, λ = 0.001, from the audited model, restart 1'
    """
    model = str(point["model"])
    if model == "adversary":
        restart = f"restart {point['restart']}" if point.get("restart") else ""
        return ", ".join(filter(None, ["adversary", short_name(point), start_of(point), restart]))
    words = MODELS.get(model, f"another model: {model.replace('_', ' ')}")
    if model == "seed":
        return f"{words} {point.get('seed', '')}".rstrip()
    return f"{words}: {short_name(point)}" if short_name(point) else words


def short_name(point: Facts) -> str:
    """The label beside the mark of a model, or "".

    >>> short_name({"model": "adversary", "strength": 0.001}), short_name({"model": "instance", "epsilon": 0.05})
    ('λ = 0.001', 'ε = 0.05')
    """
    if "strength" in point:
        return f"λ = {point['strength']:g}"
    if "epsilon" in point:
        return f"ε = {point['epsilon']:g}"
    return str(point["twin"]).replace("_", " ") if "twin" in point else ""

"""What other models of the audited one are called: adversaries, seeds, twins."""

from heatcheck.engine import Facts
from heatcheck.report.lexicon import MODELS

# What tells one such model from another: the keys of a `by` that its name says.
KEYS = ("model", "strength", "start", "trains", "restart", "seed", "epsilon", "twin")

STARTS = {
    ("fresh", "all"): "from a fresh start",
    ("parent", "all"): "from the audited model",
    ("parent", "attention"): "from the audited model, its scorer only",
    ("fresh", "attention"): "a fresh scorer on the audited model",
}


def kind_of(point: Facts) -> str:
    """What a legend calls such a model.

    >>> kind_of({"model": "seed", "seed": 3}), kind_of({"model": "reversed"})
    ('honest seed', 'another known model')
    """
    return MODELS.get(str(point["model"]), "another known model")


def start_of(point: Facts) -> str:
    """How an adversary began and what was trained of it; "" for any other model."""
    if point["model"] != "adversary":
        return ""
    return STARTS.get((str(point.get("start", "fresh")), str(point.get("trains", "all"))), "another start")


def name_of(point: Facts) -> str:
    """One model in words.

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
    """What stands beside the mark of a model, if anything must.

    >>> short_name({"model": "adversary", "strength": 0.001}), short_name({"model": "instance", "epsilon": 0.05})
    ('λ = 0.001', 'ε = 0.05')
    """
    if "strength" in point:
        return f"λ = {point['strength']:g}"
    if "epsilon" in point:
        return f"ε = {point['epsilon']:g}"
    return str(point["twin"]).replace("_", " ") if "twin" in point else ""

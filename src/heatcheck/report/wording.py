"""Plain words: how names, numbers and states of the card are said to somebody who has not read the papers."""

import math
from collections.abc import Mapping, Sequence

from heatcheck.auditing import Line, State
from heatcheck.checks import Measurement

MINUS, NOTHING = "\N{MINUS SIGN}", "\N{EN DASH}"

# A sign for every word, so that a badge says the same without its colour.
SIGNS: dict[State, str] = {"yes": "✓", "no": "✕", "unclear": "?", "not run": "○"}

TITLES = {"agreement": "Agreement with rival explanations", "erasure": "Removing the highlighted words"}

HELD = {
    "states": "what the model computed from each text stays as it was; only the attention weights change",
    "re-encoded": "the trained model; every changed text is read afresh",
    "retrained": "the recipe; the model itself is trained again",
}

QUANTITIES = {
    "tau": "mean Kendall τ",
    "tau_mechanical_floor": "τ that arises mechanically",
    "significant_share": "share of texts with a significant τ",
    "top_k_overlap": "overlap of the top words",
    "K": "effect beyond random removal, as a share of the best rival's (K)",
    "K_signed": "the same against the best rival that knows the sign",
    "effect": "mean change of the probability",
    "room": "best rival minus random",
}

# What a decided line of the card asks of somebody who shows heatmaps.
ADVICE: dict[tuple[str, State], str] = {
    ("necessary", "yes"): "The task needs learned attention here: the weights carry part of the solution.",
    ("necessary", "no"): "Attention could be left out at next to no cost, so the weights need not carry the reasons: "
    "do not argue from the mere presence of attention.",
    ("points at what matters", "yes"): "You may say that highlighted words are, on average, words the answer "
    "depends on.",
    ("points at what matters", "no"): "Do not present the highlighted words as the words the answer depends on: "
    "other explanations find words that matter more.",
    ("hard to manipulate", "yes"): "A very different heatmap would have changed the answer: the one shown is not "
    "one of many that would do.",
    ("hard to manipulate", "no"): "Many different heatmaps give the same answer: do not read one of them as the "
    "reason.",
    ("works out of context", "yes"): "The weights pick out telling words even outside this model: they say something "
    "about the text itself.",
    ("works out of context", "no"): "The weights do not help outside this model: do not reuse them as a list of "
    "important words.",
}


_PLAIN_KEYS = {"operator", "ranking", "kind", "correction"}  # their values say what they are


def number(value: float) -> str:
    """
    >>> number(-0.0314), number(12.0), number(float("nan"))
    ('−0.031', '12.0', '–')
    """
    if not math.isfinite(value):
        return NOTHING
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return text.replace("-", MINUS) if float(text.replace(",", "")) else text.lstrip("-")


def interval(measurement: Measurement) -> str:
    """
    >>> interval(Measurement("K", 0.5, 0.4, 0.6, 10, "random", {}))
    '[0.400, 0.600]'
    """
    if not (math.isfinite(measurement.low) and math.isfinite(measurement.high)):
        return NOTHING
    return f"[{number(measurement.low)}, {number(measurement.high)}]"


def spaced(name: str) -> str:
    """
    >>> spaced("leave_one_out")
    'leave one out'
    """
    return name.replace("_", " ")


def said(value: object) -> str:
    """A setting or the value of a `by`, as text.

    >>> said(["attention", "leave_one_out"]), said({"top": [1, 2]}), said(None)
    ('attention, leave one out', 'top: 1, 2', '–')
    """
    if isinstance(value, str):
        return spaced(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{said(key)}: {said(item)}" for key, item in value.items())
    if isinstance(value, Sequence):
        return ", ".join(said(item) for item in value)
    return NOTHING if value is None else str(value)


def pair_of(measurement: Measurement) -> tuple[str, ...]:
    """The two explainers that a measurement compares, or ()."""
    return tuple(str(name) for name in measurement.by.get("pair", ()))


def grouping(measurement: Measurement, *, pair: bool = True) -> str:
    """What a measurement is about: 'attention and gradient, class positive'."""
    parts = []
    for key, value in measurement.by.items():
        if key == "pair" and not pair:
            continue
        if (key, value) == ("correction", "none"):
            parts.append("uncorrected")
        elif key == "pair":
            parts.append(" and ".join(spaced(name) for name in pair_of(measurement)))
        else:
            parts.append(said(value) if key in _PLAIN_KEYS else f"{spaced(key)} {said(value)}")
    return ", ".join(parts)


def quantity(measurement: Measurement) -> str:
    """What is measured, in words."""
    return QUANTITIES.get(measurement.name, spaced(measurement.name))


def title(check: str) -> str:
    return TITLES.get(check, spaced(check).capitalize())


def meaning(lines: Sequence[Line]) -> tuple[str, list[str]]:
    """What the card asks of somebody who shows these heatmaps: one sentence, then one for each decided line."""
    decided = [line for line in lines if line.state in ("yes", "no")]
    against = sum(line.state == "no" for line in decided)
    if not decided:
        lead = (
            "Nothing is decided yet. Until it is, show these heatmaps as pictures of the weights, not as reasons "
            "for a prediction."
        )
    elif against == 0:
        lead = "Nothing found here speaks against reading these heatmaps as explanations."
        if len(decided) < len(lines):
            lead = (
                "Too little is decided to read these heatmaps as explanations: nothing speaks against it so far, but "
                f"only {len(decided)} of {len(lines)} lines could be decided."
            )
    elif against == len(decided):
        lead = f"Do not read these heatmaps as explanations: every line that could be decided says no ({_of(lines)})."
    else:
        lead = (
            "These heatmaps can be read as explanations for some purposes and not for others: "
            f"{len(decided) - against} yes and {against} no, {_of(lines)}."
        )
    return lead, [ADVICE.get((line.name, line.state), line.sentence) for line in decided]


def _of(lines: Sequence[Line]) -> str:
    decided = sum(line.state in ("yes", "no") for line in lines)
    return f"{decided} of {len(lines)} lines decided"

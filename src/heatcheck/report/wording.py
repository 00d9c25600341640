"""Plain words: how names, numbers and states of the card are said to somebody who has not read the papers."""

import math
from collections.abc import Iterable, Mapping, Sequence

from heatcheck.auditing import Line, State
from heatcheck.checks import Measurement

MINUS, NOTHING = "\N{MINUS SIGN}", "\N{EN DASH}"

# A sign for every word, so that a badge says the same without its colour.
SIGNS: dict[State, str] = {"yes": "✓", "no": "✕", "unclear": "?", "not run": "○"}

# In the order of the page: from what the heatmap shows to what could be shown instead.
TITLES = {
    "agreement": "Agreement with rival explanations",
    "erasure": "Removing the highlighted words",
    "permutation": "Shuffling the weights",
    "counterfactual": "Different weights, same answer",
    "log_odds": "Weights and words of a bag of words",
}

HELD = {
    "states": "what the model computed from each text stays as it was; only the attention weights change",
    "re-encoded": "the trained model; every changed text is read afresh",
    "retrained": "the recipe; the model itself is trained again",
}

QUANTITIES = {
    "tau": "mean Kendall τ",
    "tau_mechanical_floor": "τ that arises mechanically",
    "significant_share": "share of texts with a significant τ",
    "tau_above_uniform": "mean Kendall τ over the words above uniform weight",
    "tau_difference": "mean difference of two Kendall τ",
    "top_k_overlap": "overlap of the top words",
    "top_k_distance": "distance of the top words (0 is the same order)",
    "K": "effect beyond random removal, as a share of the best rival's (K)",
    "K_signed": "K against the best rival that knows the sign",
    "effect": "mean change of the probability",
    "room": "best rival minus random",
    "delta": "median change of the output when weights are shuffled",
    "q": "share of shuffles that keep the answer (q)",
    "flips": "share of shuffles that change the decision",
    "evenness": "evenness of the weights (1 is uniform)",
    "jsd": "largest JSD at which the answer stays",
    "upper": "upper bound on that JSD",
    "floor": "JSD that every model reaches (floor)",
    "most": "JSD of the most different weights, whatever the answer",
    "null": "the same JSD with the relevances shuffled",
    "U": "share of the possible difference that keeps the answer (U)",
    "U_upper": "upper bound on U",
    "U_null": "U with the relevances shuffled",
    "gap": "JSD that the published search misses",
}

# The same names mean other things where a bag of words lends its weights and words.
OF_CHECK = {
    ("log_odds", "jsd"): "JSD of the weights from these",
    ("log_odds", "change"): "mean change of the probability",
    ("log_odds", "flips"): "share of texts whose decision changes",
}

# How to read a check's numbers, where they are easily misread.
READING = {
    "permutation": "The weights are dealt out anew among the words of a text while everything else in the model stays. "
    "An answer that hardly moves did not depend on which word had which weight. Flat weights cannot move anything, so "
    "look at the texts with a large weight.",
    "counterfactual": "A large JSD alone says nothing. In every model that reads its states out linearly, a heatmap on "
    "two words only (with more than two labels: on as many words as there are labels) gives exactly the same answer, "
    "so there are always other weights that give it. Read the JSD against what the same weights give when the "
    "relevances are shuffled among the words: where it is no smaller than this null, the shape of the weights explains "
    "all of it. With two labels there is also a floor that every such model reaches. What does tell models apart needs "
    "no search: the share q of plain shuffles that keep the answer.",
}

# What the counterfactual check can promise, by how it was computed.
METHODS = {
    "exact": "The JSD shown is the largest there is: no search can find more.",
    "bracket": "With more than two labels the largest JSD is bracketed: weights that reach the JSD shown were found, "
    "and none can pass the upper bound.",
    "search": "This model's read-out is not linear, so the JSD shown is only what a search found: there may be more, "
    "and a search that finds little proves nothing.",
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
    ("hard to manipulate", "yes"): "Inside this model a very different heatmap would have changed the answer: the one "
    "shown is not one of many that would do.",
    (
        "hard to manipulate",
        "no",
    ): "Most shuffles of the weights leave the answer as it was: do not read the one that is shown as the reason.",
    ("works out of context", "yes"): "The weights pick out telling words even outside this model: they say something "
    "about the text itself.",
    ("works out of context", "no"): "The weights do not help outside this model: do not reuse them as a list of "
    "important words.",
}


_PLAIN_KEYS = {"operator", "ranking", "kind", "correction"}  # their values say what they are

LOGITS = {"published": "logits as they are", "standardised": "standardised logits"}

_SAID_KEYS = {
    "epsilon": "ε = {}",
    "bin": "largest weight {}",
    "of": "τ({})",
    "minus": "minus τ({})",
    "weights": "{} weights",
    "words": "{} words",
    "places": "{} places",
}


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


def explainer_name(name: str) -> str:
    """What the row of a heatmap is called.

    >>> explainer_name("leave_one_out"), explainer_name("counterfactual")
    ('leave one out', 'weights that give the same answer')
    """
    return "weights that give the same answer" if name == "counterfactual" else spaced(name)


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
        elif key == "logits":
            parts.append(LOGITS.get(str(value), said(value)))
        elif key in _SAID_KEYS:
            parts.append(_SAID_KEYS[key].format(said(value)))
        else:
            parts.append(said(value) if key in _PLAIN_KEYS else f"{spaced(key)} {said(value)}")
    return ", ".join(parts).replace(", minus ", " minus ")


def quantity(measurement: Measurement, check: str = "") -> str:
    """What is measured, in words."""
    of_check = OF_CHECK.get((check, measurement.name))
    return of_check or QUANTITIES.get(measurement.name, spaced(measurement.name))


def in_order(checks: Iterable[str]) -> list[str]:
    """Checks as a page has them; one that is new here comes last.

    >>> in_order(["counterfactual", "a_new_one", "agreement"])
    ['agreement', 'counterfactual', 'a_new_one']
    """
    return sorted(checks, key=lambda check: list(TITLES).index(check) if check in TITLES else len(TITLES))


def title(check: str) -> str:
    return TITLES.get(check, spaced(check).capitalize())


def reading(check: str, method: str) -> list[str]:
    """What keeps somebody from misreading a check's numbers."""
    return [words for words in (READING.get(check), METHODS.get(method)) if words]


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

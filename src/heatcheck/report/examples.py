"""Data for a report's example browser: words and scores as compact JSON, ready for the page's script."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from heatcheck.report.counterfactual_places import is_beside, places
from heatcheck.report.packed import packed
from heatcheck.report.wording import explainer_name
from heatcheck.results import ATTENTION, Audit, AuditedExample

WEIGHTS = ("attention", "counterfactual", "shuffled")  # rows of weights, which share one scale; others have their own
SHOWN_FIRST = ("attention", "counterfactual", "leave_one_out", "gradient")

# How texts can be ordered by what the checks found of each: key in the page's data -> what the list of orders says.
ORDERS = {
    "j": "most manipulable: very different weights, same answer",
    "k": "most shuffles of the weights keep the answer",
    "d": "shuffling the weights moves the output most",
    "v": "weights differ most between seeds",
}


class Browser(NamedTuple):
    """What the page's script gets, as JSON, and what the template says about it."""

    json: str
    explainers: tuple[str, ...]
    shown: tuple[str, ...]  # ticked at first
    rival: str | None  # attention is compared with this one for sorting
    orders: dict[str, str]  # by what the checks found of each text; those that found something
    included: int
    total: int


def browse(audit: Audit, room: int) -> Browser:
    """As many examples as fit in `room` bytes; one that is too large is passed over."""
    heat = audit.explainer
    explainers = explainer_order({name for looked in audit.examples for name in looked.scores}, heat)
    found = _found_of_texts(audit)
    kept, size = [], 0
    for looked in audit.examples:
        row = json_for_script(_row(looked, explainers) | found.get(looked.id, {}))
        cost = len(row.encode("utf-8", "replace")) + 1
        if size + cost <= room:
            kept.append(row)
            size += cost
    shown = tuple(name for name in (heat, *SHOWN_FIRST) if name in explainers) or explainers[:3]
    head = json_for_script(
        {
            "explainers": explainers,
            "names": list(map(explainer_name, explainers)),
            "weights": [name for name in explainers if name in WEIGHTS],
            "digits": list(map(digits_of, explainers)),
            "unseen": not_shown(audit) if heat == ATTENTION else "",
            "rival": audit.rival,
            "heat": heat,
        }
    )
    data = f'{head[:-1]},"examples":[{",".join(kept)}]}}'
    known = {key for of_text in found.values() for key in of_text}
    orders = {key: words for key, words in ORDERS.items() if key in known}
    return Browser(data, explainers, shown, audit.rival, orders, len(kept), len(audit.examples))


def digits_of(explainer: str) -> int:
    """Significant digits of the scores in the page: weights are printed and added up, others give a shade."""
    return 3 if explainer in WEIGHTS else 2


def not_shown(audit: Audit) -> str:
    """Where the weight is that lies on no word of a text."""
    return "the prompt and special tokens" if "prompt" in audit.about else "special tokens"


def explainer_order(names: Iterable[str], heat: str = ATTENTION) -> tuple[str, ...]:
    """The heatmap first, then its usual rivals, random last."""
    first = tuple(dict.fromkeys((heat, *SHOWN_FIRST)))
    return tuple(
        sorted(names, key=lambda name: (first.index(name) if name in first else 9, name == "random", name)),
    )


def json_for_script(value: object) -> str:
    """JSON that is safe between script tags: no tag can end it or begin in it.

    >>> json_for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _row(looked: AuditedExample, explainers: Sequence[str]) -> dict[str, Any]:
    """One example with one-letter keys: there are thousands, and every byte is paid for in each."""
    row: dict[str, Any] = {
        "i": looked.id,
        "w": looked.words,
        **({} if looked.predicted is None else {"p": looked.predicted, "q": _three_digits(looked.probability)}),
        "s": [packed(looked.scores.get(name, ()), digits_of(name)) for name in explainers],
    }
    if looked.gold is not None:
        row["g"] = looked.gold
    if looked.text_pair is not None:
        row["b"] = looked.text_pair
    if looked.rationale is not None:
        row["r"] = [place for place, inside in enumerate(looked.rationale) if inside]
    if looked.tau is not None:
        row["t"] = round(looked.tau, 3)
    return row


def _found_of_texts(audit: Audit) -> Mapping[str, dict[str, float | int]]:
    """What checks found of each text, by id, with one-letter keys."""
    wanted = {("permutation", "k"): "q", ("permutation", "d"): "delta", ("seed_variance", "v"): "jsd"}
    if (weights := audit.results.get("counterfactual")) and (searched := places(weights)):
        names = {"j": searched[0].name("jsd"), "c": searched[0].name("change"), "m": "most"}
        names |= {"f": "floor"} if is_beside(weights, "floor") else {}
        wanted |= {("counterfactual", key): name for key, name in names.items()}
    found: dict[str, dict[str, float | int]] = {}
    for (check, key), name in wanted.items():
        result = audit.results.get(check)
        values = result.per_example.get(name) if result else None
        if result is None or values is None:
            continue
        for example, value in zip(result.examples, values.tolist(), strict=True):
            if (short := _three_digits(value)) is not None:
                found.setdefault(example, {})[key] = short
    return found


def _three_digits(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded.is_integer() else rounded  # 0 instead of 0.0: most scores of most words are

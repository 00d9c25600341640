"""The name of a measured number: its quantity and the facts that tell variants apart; also as one text, for tables.

A row of a study has a `name` and `by`, as a measurement has. Tables, published numbers and the names of kept arrays
have one text in their place, `trained:uniform`; `parse_key` and `key_text` are the one way there and back.
"""

from typing import NamedTuple, TypeAlias

from heatcheck.engine import Facts
from heatcheck.errors import BadInput

Value: TypeAlias = str | int | float | tuple[str, ...]

# What tells the kinds of a quantity apart, in the order of its text; the ways of a quantity that has several.
AXES: dict[str, tuple[tuple[str, ...], ...]] = {
    # of one text
    "tau": (("pair",),),
    "p": (("pair",),),
    "top_k_overlap": (("pair",),),
    "tau_above_uniform": (("pair",),),
    "difference": (("free",), ("pairs",)),
    "floor": ((), ("pair",)),
    "effect": (("ranking", "operator"),),
    "auprc": (("ranking",),),
    "jsd": ((), ("epsilon",), ("between",), ("logits", "epsilon")),
    "upper": (("epsilon",), ("logits", "epsilon")),
    "null": ((), ("epsilon",), ("logits", "epsilon")),
    "searched": (("epsilon",), ("logits", "epsilon")),
    "change": (("weights",), ("logits", "epsilon")),
    # jain2019
    "significant": (("pair",),),
    "room": (("operator",),),
    "K": (("operator",),),
    # wiegreffe2019 and vashishth2019
    "f1": (("weights",),),
    "accuracy": ((), ("weights",), ("fit", "weights")),
    "swapped": (("weights",),),
    "N": (("against",),),
    "headroom": (("against",),),
    "tvd": ((), ("between",)),
    "tvd_tempered": (("between",),),
    "agreement": (("between",), ("trained",)),
    "guide_f1": (("weights",),),
    "guide_accuracy": (("weights",),),
    "log_odds_guide": (("weights",),),
    "G": (("guide",),),
    "best": (("of",),),
    "put_in": (("weights",),),
    "lost_put_in": (("weights",),),
    "trained": (("weights",),),
    "lost_trained": (("weights",),),
    "bleu_put_in": (("weights",),),
    "bleu_trained": (("weights",),),
    # serrano2019
    "fraction": (("ranking",), ("over", "ranking")),
    "median": (("over", "ranking"),),
    "censored": (("ranking",),),
    "never": (("ranking",),),
    "mass": (("words",), ("ranking",)),
    "survival": (("removed", "ranking"),),
    "head_to_head": (("outcome", "ranking"),),
    "gap": (("over",),),
    "sign_share": (("over",),),
    "single": (("sampler", "cell"),),
    "delta_js": (("sampler",), ("sampler", "bin")),
    "delta_js_negative": (("sampler",), ("sampler", "bin")),
    "pair": (("compared", "cell"),),
    "pair_difference": (("compared",),),
    # pruthi2020, both halves and the transformer
    "row_mass": (("trained", "layer"),),
    "others_mass": (("trained", "layer"),),
    "neighbours_share": (("distance",),),
    "neighbours": (("distance",), ("trained", "distance")),
    **dict.fromkeys(
        (
            "accuracy_at",
            "mass_at",
            "accuracy_lost",
            "mass_removed",
            "after_deletion",
            "deletion_loss",
            "norm_embedding",
            "norm_state",
            "contribution",
            "rest_states",
            "rest_embeddings",
            "written_at",
            "written_uniform_at",
            "links_at",
            "bleu_at",
            "misaligned_at",
            "misaligned_by_hand_at",
            "beside_at",
            "largest_at",
            "rollout_at",
            "left_out_at",
        ),
        (("trained",),),
    ),
    # snell2021
    "failed": (("steps",),),
    "bad": (("steps",),),
    "copied": (("weights", "steps"),),
    "aligned": (("steps",),),
    "alone": (("heads",),),
    "eight": (("heads",),),
    # sun2020
    "auc": (("words",),),
    "right": (("split",),),
    "mean_a": (("words",),),
    "mean_s": (("words",),),
    # transformers
    "blank_out": (("method",), ("method", "layer")),
    "gradient": (("method",), ("method", "layer")),
    "identified": (("layer", "nearest by"),),
    "mixing": (("variant", "layer"),),
    "special": (("variant", "layer"),),
    "aopc": (("ranking", "operator"),),
    "aopc_least": (("ranking", "operator"),),
    "area": (("ranking", "operator"),),
    "above_random": (("ranking", "operator"),),
    "rank": (("ranking", "operator", "among"),),
    # studies of heads
    "heads_mean": (("measure", "layer"),),
    "heads_above": (("measure",),),
    "pattern_share": (("pattern",),),
    "syntactic": (("relation", "of"),),
    "heads_found": (("kind",),),
    "heads_matter": (("way",),),
    "matter_for": (("for",),),
    "gradient_ranks": (("estimate",),),
    "pruned": (("order", "share"),),
    **dict.fromkeys(("pruning_area", "free_share", "interaction"), (("order",),)),
    "one_left": (("layer",),),
    **dict.fromkeys(("kept", "gated"), (("gates", "penalty"),)),
    "as_many": (("order", "gates", "penalty"),),
    "with_role": (("role",),),
    **dict.fromkeys(("kept_with_role", "role_gain"), (("role", "gates", "penalty"),)),
}
# Facts that a table has another column for: they are in no text.
BESIDE = frozenset({"scale", "epoch"})

_WHOLE, _NUMBERS = ("steps", "distance"), ("epsilon", "removed")
_NUMBERS_OR_WORDS = ("layer", "trained")  # "all" layers; trained at a λ, or without the marked words
_ONLY = {  # where two ways of a quantity have as many parts
    "between": ("seeds", "pairs", "imitator"),
    "free": ("uniform", "last"),
    "words": ("polar", "positive", "negative", "neutral", "chance", "start", "polarity"),
}


def register_axes(name: str, *ways: tuple[str, ...]) -> None:
    """Say which facts tell the kinds of a quantity apart, in the order of its text; several ways if it has several.

    A study from another package calls this for its own quantities, so that its published numbers can be read.

    >>> register_axes("failed", ("weights",))
    Traceback (most recent call last):
    heatcheck.errors.BadInput: the quantity 'failed' has other facts already (steps): choose another name.
    """
    if AXES.get(name, ways) != ways:
        known = "; ".join(", ".join(way) for way in AXES[name])
        raise BadInput(f"the quantity {name!r} has other facts already ({known}): choose another name.")
    AXES[name] = ways


class Key(NamedTuple):
    """A quantity and the facts that tell its kinds apart, sorted: the same facts are the same key of a dict."""

    name: str
    items: tuple[tuple[str, Value], ...] = ()

    @property
    def by(self) -> dict[str, Value]:
        return dict(self.items)

    @property
    def text(self) -> str:
        return key_text(self.name, self.by)


def key(name: str, /, **by: Value) -> Key:
    """
    >>> key("trained", weights="uniform").text
    'trained:uniform'
    """
    return Key(name, tuple(sorted(by.items())))


def key_text(name: str, by: Facts) -> str:
    """As tables have it; `parse_key` reads it again.

    >>> key_text("copied", {"steps": 200, "weights": "none"}), key_text("tau", {"pair": ("attention", "gradient")})
    ('copied:none:200', 'tau:attention|gradient')
    >>> key_text("mean_a", {"words": "polar", "scale": 10.0, "epoch": 2})
    'mean_a:polar'
    """
    told = {axis: value for axis, value in by.items() if axis not in BESIDE}
    if name not in AXES:  # without kinds, or of a package that is not installed here: it can be shown all the same
        return ":".join([name, *(value_text(told[axis]) for axis in sorted(told))])
    for axes in AXES.get(name, ((),)):
        if set(axes) == told.keys():
            return ":".join([name, *(_written(axis, told[axis]) for axis in axes)])
    raise BadInput(f"no table has a text for {name!r} by {', '.join(told)}: name these facts with register_axes.")


def parse_key(text: str) -> Key:
    """What `key_text` wrote.

    >>> parse_key("copied:none:200").by, parse_key("mass_at:twin").by, parse_key("mass_at:0.1").by
    ({'steps': 200, 'weights': 'none'}, {'trained': 'twin'}, {'trained': 0.1})
    >>> parse_key("tau:attention|file:mine.jsonl").by
    {'pair': ('attention', 'file:mine.jsonl')}
    """
    found = find_key(text)
    if found is None:
        raise BadInput(f"{text!r} names no quantity that is known with these parts: name them with register_axes.")
    return found


def find_key(text: str) -> Key | None:
    """The same; None for a text that is not one of these."""
    name, colon, rest = text.partition(":")
    parts = rest.count(":") + 1 if colon else 0
    ways = AXES.get(name, ((),))
    # Where no way has as many parts, a colon belongs to the first: explainers may be called "file:mine.jsonl".
    for axes in (*(way for way in ways if len(way) == parts), *(way for way in ways if 0 < len(way) < parts)):
        values = rest.rsplit(":", len(axes) - 1) if axes else []
        read = {axis: _read(axis, value) for axis, value in zip(axes, values, strict=True)}
        known = {axis: value for axis, value in read.items() if value is not None}
        if len(known) == len(axes):
            return key(name, **known)
    return None


def value_text(value: object) -> str:
    """
    >>> value_text(0.1), value_text(2000), value_text(("attention", "gradient")), value_text(0.0)
    ('0.1', '2000', 'attention|gradient', '0')
    """
    if isinstance(value, float):
        return f"{value:g}"
    return "|".join(value) if isinstance(value, tuple) else str(value)


def _written(axis: str, value: object) -> str:
    return str(value) if axis == "removed" else value_text(value)  # tables have said 1.0 there, and go on to


def _read(axis: str, text: str) -> Value | None:
    """None where a fact of this kind has no such value."""
    if axis in _ONLY:
        return text if text in _ONLY[axis] else None
    if axis == "pair":
        first, bar, second = text.partition("|")
        return (first, second) if bar else None
    if axis in _WHOLE or axis == "layer":
        whole = text.isdecimal()
        return int(text) if whole else text if axis in _NUMBERS_OR_WORDS else None
    if axis in _NUMBERS or axis == "trained":
        try:
            return float(text)
        except ValueError:
            return text if axis in _NUMBERS_OR_WORDS else None
    return text

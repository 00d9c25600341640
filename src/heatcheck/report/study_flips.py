"""The tables of a study of flips, and its summary."""

from collections.abc import Iterable, Mapping

import numpy as np

from heatcheck.report.figures.survival import ranking_name
from heatcheck.results import Row

_PRODUCT, _SIGNED = "gradient x attention", "gradient x attention (signed)"
RANKINGS = ("attention", _PRODUCT, _SIGNED, "gradient", "gradient (signed)", "attention ascending", "random")

_DIFFERENCES = ("Δα 0.0–0.2", "Δα 0.2–0.4", "Δα 0.4–0.6", "Δα 0.6–0.8", "Δα 0.8–1.0")


def _by_ranking(prefix: str, rankings: Iterable[str] = RANKINGS) -> dict[str, str]:
    return {f"{prefix}:{name}": ranking_name(name) for name in rankings}


# caption and columns (quantity -> title) of each table; the first says what the study is about
FLIPS: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "How much of the lead of signed gradients over attention is the sign (share removed, never = 1)",
        {
            "sign_share:all": "share that is sign",
            "gap:all": "attention minus signed",
            **_by_ranking("censored", ("attention", _PRODUCT, _SIGNED, "random")),
        },
    ),
    (
        "The same over the texts that flip under every ranking",
        {
            "common": "share of texts",
            "sign_share:common": "share that is sign",
            **_by_ranking("fraction:common"),
        },
    ),
    ("Mean share removed, over the texts that flip under each ranking, as in the paper", _by_ranking("fraction:own")),
    ("Median share removed, over the same texts", _by_ranking("median:own")),
    ("Share of texts that never flip", {"default": "decided as without any weight", **_by_ranking("never")}),
    (
        "Which single removal flips the decision: the heaviest weight, or a random other",
        {
            "single:correct:both": "both",
            "single:correct:top only": "only the heaviest",
            "single:correct:random only": "only the random one",
            "single:correct:neither": "neither",
        },
    ),
    (
        "The same with the published sampler",
        {
            "single:as published:both": "both",
            "single:as published:top only": "only the heaviest",
            "single:as published:random only": "only the random one",
            "single:as published:neither": "neither",
            "same_place": "the random one is the heaviest itself",
        },
    ),
    (
        "How much more the output changes without the heaviest weight than without a random other (JSD, nats)",
        {
            "delta_js:correct": "all",
            **{f"delta_js:correct:{name}": name for name in _DIFFERENCES},
            "delta_js_negative:correct": "share of draws below 0",
        },
    ),
    (
        "The models",
        {
            "texts measured": "texts measured",
            "tokens": "words or sentences per text",
            "accuracy": "accuracy",
            "commonest": "majority class",
            "evenness": "evenness",
        },
    ),
)


def flips_in_short(rows: Iterable[Row]) -> str:
    """How much of the published gap is the sign, as a sentence; "" for other studies."""
    rows = list(rows)
    shares = [row.value for row in rows if row.quantity == "sign_share:all"]
    kinds = sum(row.quantity == "gap:all" for row in rows)
    if not shares:
        return ""
    without = kinds - len(shares)
    mostly = "" if np.median(shares) > 0.5 else "not "
    return (
        f"Most of the lead of signed gradients over attention is {mostly}due to their sign. The sign makes up "
        f"{np.median(shares):.0%} of the lead of signed gradient × attention, in the median of {len(shares)} "
        f"kind{'s' * (len(shares) > 1)} of models ({min(shares):.0%} to {max(shares):.0%})"
        f"{f'; {without} more have no such lead' if without else ''}. An attention heatmap shows no sign."
    )

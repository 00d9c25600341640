"""Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT": do heads' maps fall into a few classes?"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key
from heatcheck.studies.of_heads import layer_means, pattern_shares
from heatcheck.studies.of_transformers import study_of

PATTERNS = ("vertical", "diagonal", "vertical + diagonal", "block", "mixed")
NOTES = (
    "The paper labelled 400 maps of BERT by hand and trained a small network on them. We have neither the labels nor "
    "the network: classes come from two features of each map, with written thresholds. So shares of classes are not "
    "comparable as numbers; that a few classes hold most heads is.",
    "The class `block` is for pairs of texts. These tasks have single texts, so it is always 0 here.",
    "What disabling heads does is measured by `heatcheck heads`, on the same models. FrameNet's links are not run.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Shares of the classes, and their features by layer."""
    yield from pattern_shares(found, PATTERNS)
    yield from layer_means(found, ("column_mass", "diagonal_mass"))


kovaleva2019 = study_of(
    "kovaleva2019",
    "roles",
    numbers,
    title="Dark secrets of BERT, reproduced",
    paper="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT (arXiv 1908.08593)",
    about="the classes of heads' maps: vertical, diagonal, both, mixed",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
)

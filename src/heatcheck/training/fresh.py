"""FRESH as a change of a recipe: a second model that reads only what was extracted for it (Jain et al. 2020)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from heatcheck.data import Corpus
from heatcheck.engine import Facts, value_like
from heatcheck.errors import NotSupported
from heatcheck.models import Extraction, Recipe
from heatcheck.models.contract.extraction import BY_MODEL, CHOSEN, HUMAN, MARK, RANDOM, TOP

SETTINGS: Facts = MappingProxyType({"by": "attention", "share": 0.2, "how": TOP, "reads": CHOSEN})


def read_a_rationale(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Recipe:
    """The recipe of the second model; the untreated model of the first recipe chooses the words, if a model does."""
    by = str(settings["by"])
    if by == HUMAN and not any(MARK in example.marks for example in corpus["train"]):
        raise NotSupported(f"nobody marked words as {MARK!r} in the training texts of {corpus.name}.")
    share = value_like(Extraction(RANDOM), "share", "share", settings["share"])
    parent = recipe.id if by in BY_MODEL else None
    extraction = Extraction(by, share, str(settings["how"]), str(settings["reads"]), parent, recipe.seed)
    return replace(recipe, extract=extraction.facts())

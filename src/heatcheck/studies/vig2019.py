"""Vig & Belinkov 2019, "Analyzing the Structure of Attention": distance, variability and entropy of heads, by layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from heatcheck.checks.roles import REPORTED
from heatcheck.results import CheckResult, Key
from heatcheck.studies.of_heads import layer_means, read_language_model
from heatcheck.studies.of_transformers import QUICK, study_of
from heatcheck.studies.of_transformers import Settings as Shared
from heatcheck.studies.study import Found, Place, Work, setting

MEASURES = ("attention_distance", "variability", "entropy_nats", "sink")
NOTES = (
    "The paper reads GPT-2 small, a decoder, on Wikipedia. Ours are a fine-tuned encoder and, with "
    "`--set language_model=hf:NAME`, a decoder on the same texts. So numbers are not comparable. The claims are: "
    "distance grows with depth, heads differ in how much they depend on the text, and heads that look near have low "
    "entropy.",
    "The language model is one model: its intervals are over texts, those of the encoder over seeds.",
    "Distances are without the first and special tokens, as in the paper. In an encoder they are |i − j|.",
    "The paper's share of weight on dependency arcs needs a treebank; `heatcheck heads MODEL --treebank 1000` scores "
    "arcs against four baselines instead.",
)


@dataclass(frozen=True)
class Settings(Shared):
    """What to run."""

    language_model: str | None = setting(None, "Language model to look at too, as hf:NAME.", none="none")


def works(settings: Settings, place: Place, found: Found) -> Sequence[Work]:
    """The language model, if one is named."""
    measures = {name: REPORTED[name] for name in MEASURES}
    return read_language_model(settings, place, found, measures, "vig2019")


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Means by layer."""
    yield from layer_means(found, MEASURES)


vig2019 = study_of(
    "vig2019",
    "roles",
    numbers,
    title="The structure of attention, reproduced",
    paper="Vig & Belinkov 2019, Analyzing the Structure of Attention (arXiv 1906.04284)",
    about="distance, variability and entropy of heads, by layer",
    notes=NOTES,
    settings=Settings,
    quick=Settings(**{one.name: getattr(QUICK, one.name) for one in fields(QUICK)}),
    works=works,
    table=Path(__file__).with_suffix(".csv"),
)

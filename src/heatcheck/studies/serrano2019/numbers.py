"""The numbers of the study serrano2019, over the seeds of each kind of model."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Key, Measurement, Model, Row, key
from heatcheck.studies.cells import Measured
from heatcheck.studies.corpora import Source, stands_in
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import Gathered

# task -> the data set of the paper that it stands for, and what differs
TASKS: dict[str, tuple[str, str]] = {
    "imdb_small": ("IMDB", "two labels instead of ten ratings, and far fewer reviews"),
    "imdb_ratings": ("IMDB", "eight ratings (no 5 and no 6) instead of ten, and far fewer reviews"),
    "ag_news_topics": ("none", "not in the paper; most texts have one sentence, so a HAN has nothing to remove"),
    "sst": ("none", "not in the paper; one sentence per text, so flat models only"),
    "eraser_movies": ("none", "not in the paper; long reviews, few of them"),
}

# What a measurement's name becomes, and the facts that tell its kinds apart.
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fraction": ("fraction", ("over", "ranking")),
    "median_fraction": ("median", ("over", "ranking")),
    "fraction_censored": ("censored", ("ranking",)),
    "never": ("never", ("ranking",)),
    "mass": ("mass", ("ranking",)),
    "survival": ("survival", ("removed", "ranking")),
    "head_to_head": ("head_to_head", ("outcome", "ranking")),
    "gap": ("gap", ("over",)),
    "sign_share": ("sign_share", ("over",)),
    "single": ("single", ("sampler", "cell")),
    "delta_js": ("delta_js", ("sampler",)),
    "delta_js_negative": ("delta_js_negative", ("sampler",)),
    "pair": ("pair", ("compared", "cell")),
    "pair_difference": ("pair_difference", ("compared",)),
    "same_place": ("same_place", ()),
    "common": ("common", ()),
    "default": ("default", ()),
    "evenness": ("evenness", ()),
}


def gather(measured: Sequence[Measured], sources: Mapping[str, Source], *, smoke: bool) -> Gathered:
    """All models as one result."""
    kinds: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    for one in measured:
        kinds[one.cell.task, one.cell.encoder, one.cell.attention].append(one)
    about: dict[str, Facts] = {}
    for one in measured:
        about.setdefault(one.cell.task, _about(one, sources.get(one.cell.task), smoke=smoke))
    return Gathered(
        [row for where, seeds in kinds.items() for row in _rows(where, seeds)],
        [_model(where, seeds) for where, seeds in kinds.items()],
        about,
    )


def quantity_of(m: Measurement) -> Key:
    """The quantity of a measurement, as a row names it.

    >>> quantity_of(Measurement("fraction", 0.5, 0.4, 0.6, 9, "", {"ranking": "attention", "over": "own"})).text
    'fraction:own:attention'
    """
    name, axes = _KINDS[m.name]
    return key(name, **{axis: m.by[axis] for axis in (*axes, *(("bin",) if "bin" in m.by else ()))})


def _rows(where: tuple[str, str, str], seeds: Sequence[Measured]) -> Iterator[Row]:
    values: dict[Key, list[float]] = defaultdict(list)
    for one in seeds:
        values[key("accuracy")].append(one.accuracy)
        values[key("commonest")].append(float(one.facts["commonest"]))
        found = one.results.get("flips")
        if found is None:
            continue
        values[key("tokens")].append(float(found.per_example["tokens"].mean()))
        values[key("texts measured")].append(float(len(found.examples)))
        for m in found.measurements:
            values[quantity_of(m)].append(m.value)
    for quantity, of_seeds in values.items():
        yield row_of(Where(*where, quantity), of_seeds, None, "")


def _model(where: tuple[str, str, str], seeds: Sequence[Measured]) -> Model:
    """Values of the texts of all seeds, one seed after the other."""
    results = [(one, one.results["flips"]) for one in seeds if "flips" in one.results]
    names = set.intersection(*(set(found.per_example) for _, found in results)) if results else set()
    examples = {name: np.concatenate([found.per_example[name] for _, found in results]) for name in sorted(names)}
    if results:
        examples["predicted"] = np.concatenate([_predicted(one, found) for one, found in results])
    return Model(*where, tuple(seeds[0].about["labels"]), len(seeds), examples, ())


def _predicted(one: Measured, found: CheckResult) -> np.ndarray:
    return np.array([float(one.predicted[name]) for name in found.examples])


def _about(one: Measured, source: Source | None, *, smoke: bool) -> Facts:
    published, differs = TASKS[one.cell.task]
    reason = "a smoke run" if smoke else "other or less data" if published != "none" else "not in the paper"
    shown = one.cell.task if published == "none" else published
    differs = (source and stands_in(source)) or differs
    return {**one.about, "published": shown, "differs": differs, "not_comparable": reason}


SMOKE = "This is a smoke run: a few texts, one epoch, one seed. Ignore its numbers."
NOTES = (
    "These tables have no published number. The ones we know are from memory and for data sets that are missing here "
    "(see docs/studies/serrano2019.md). The order of the rankings can be compared with the paper.",
    "A FLAN weighs words, a HAN weighs sentences, so their shares are not comparable. A text of three sentences cannot "
    "flip before a third of them is removed.",
    "A text that never flips counts as 1 in “never = 1” and keeps its survival curve up. Means over texts that flip "
    "exclude it, so each ranking has a mean over its own texts. “Common” texts flip under every ranking.",
    "“Texts measured” excludes texts of one word (FLAN) or one sentence (HAN), where nothing can be removed.",
    "The published code draws a random rank and uses it as a position. So its random weight can be the heaviest "
    "itself, and it is never the first. Both tables are means over every possible draw.",
    "Intervals are over seeds; all seeds share the same texts.",
)

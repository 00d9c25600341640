"""The numbers of serrano2019, over the seeds of each kind of model."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Key, Measurement, Model, Row, StudyResult, key
from heatcheck.studies.cells import Measured
from heatcheck.studies.study import Where, read_published, row_of

# task -> what it stands for, and what is to be known of it
TASKS: dict[str, tuple[str, str]] = {
    "imdb_small": ("IMDB", "two labels in place of ten ratings, and far fewer reviews"),
    "imdb_ratings": ("IMDB", "eight ratings (there is no 5 and no 6) in place of ten, and far fewer reviews"),
    "ag_news_topics": ("none", "not in the paper; most texts are one sentence, which a HAN has nothing to remove from"),
    "sst": ("none", "not in the paper; one sentence a text, so flat models only"),
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


def gather(measured: Sequence[Measured], failed: Mapping[str, str], settings: Facts, *, smoke: bool) -> StudyResult:
    """All models as one result."""
    kinds: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    for one in measured:
        kinds[one.cell.task, one.cell.encoder, one.cell.attention].append(one)
    rows = [row for where, seeds in kinds.items() for row in _rows(where, seeds)]
    about: dict[str, Facts] = {}
    for one in measured:
        about.setdefault(one.cell.task, _about(one, smoke=smoke))
    notes = [*([SMOKE] if smoke else []), *NOTES]
    return StudyResult(
        name="serrano2019",
        title="Is Attention Interpretable? Once more",
        paper=PAPER,
        rows=tuple(rows),
        models=tuple(_model(where, seeds) for where, seeds in kinds.items()),
        tasks=about,
        notes=tuple(notes),
        failed=dict(failed),
        settings=settings,
        published=tuple(read_published("serrano2019")),
    )


def quantity_of(m: Measurement) -> Key:
    """What a row is a number of.

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


def _about(one: Measured, *, smoke: bool) -> Facts:
    published, differs = TASKS[one.cell.task]
    reason = "a smoke run" if smoke else "other or less data" if published != "none" else "not in the paper"
    shown = one.cell.task if published == "none" else published
    return {**one.about, "published": shown, "differs": differs, "not_comparable": reason}


PAPER = "Serrano & Smith 2019, Is Attention Interpretable? (ACL)"
SMOKE = "This is a smoke run: a few texts, one epoch, one seed. No number here means anything."
NOTES = (
    "No published number stands in these tables: those we know are from memory and of data sets that are not here "
    "(docs/studies/serrano2019.md has them). What can be set beside the paper is the order of the rankings and what it "
    "is made of.",
    "FLAN weighs words, HAN weighs sentences: shares of the one are not shares of the other, and a text of three "
    "sentences cannot flip before a third of them is gone.",
    "A text that never flips counts as 1 in “never = 1”, keeps its survival curve up, and is left out of means over "
    "texts that flip; these are over different texts for each ranking. “Common” texts flip under every ranking.",
    "“Texts measured” is what the sample has without the texts of one word (FLAN) or one sentence (HAN), from which "
    "nothing can be removed.",
    "Samplers: the published code draws a random rank and uses it as a position, so that its random weight can be the "
    "heaviest itself and is never the first. Both tables are means over every possible draw.",
    "Intervals are over seeds, which share the texts.",
)

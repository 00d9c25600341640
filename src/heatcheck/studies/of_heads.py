"""What studies of heads share: means over the heads of each layer, syntactic scores, and a language model's heads."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck import stats
from heatcheck.auditing import Plan
from heatcheck.data import data_folder
from heatcheck.data.treebank import FILES
from heatcheck.engine import Facts, content_id, read_json, write_json
from heatcheck.heads.looking import Looked, look
from heatcheck.heads.treebank import score_treebank
from heatcheck.models import HasLayers, require_layers
from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.cells import Extra
from heatcheck.studies.corpora import Source, load
from heatcheck.studies.of_transformers import Kept
from heatcheck.studies.study import Found, Place, Work

ALL = "all"
LOOKED = "looked.json"


def layer_means(found: CheckResult, measures: Sequence[str]) -> Iterator[tuple[Key, float]]:
    """Each measure as the mean over heads, by layer and over all layers."""
    for measure in measures:
        own = [m for m in found.measurements if m.name == measure]
        for layer in sorted({int(m.by["layer"]) for m in own}):
            values = [m.value for m in own if m.by["layer"] == layer]
            yield key("heads_mean", measure=measure, layer=layer), float(np.mean(values))
        if own:
            yield key("heads_mean", measure=measure, layer=ALL), float(np.mean([m.value for m in own]))


def heads_above(found: CheckResult, thresholds: dict[str, float]) -> Iterator[tuple[Key, float]]:
    """The share of heads whose measure is above a threshold."""
    for measure, threshold in thresholds.items():
        values = [m.value for m in found.measurements if m.name == measure]
        if values:
            yield key("heads_above", measure=measure), float(np.mean([value > threshold for value in values]))


def pattern_shares(found: CheckResult, patterns: Sequence[str]) -> Iterator[tuple[Key, float]]:
    """The share of heads whose map is of each class."""
    classes = list(found.facts["patterns"].values())
    for pattern in patterns:
        yield key("pattern_share", pattern=pattern), classes.count(pattern) / len(classes)


def deep_subject(plan: Plan, study: str) -> HasLayers:
    """The transformer of a cell."""
    return require_layers(plan.case.subject, study)


def treebank_scores(subject: HasLayers, extra: Extra, *, seed: int) -> Facts | None:
    """Syntactic scores on so many sentences per part; None for no sentence, or without the treebank."""
    folder, sentences = data_folder(extra.data_dir), int(extra.own["sentences"])
    if not sentences or not all((folder / f"{name}.jsonl.gz").is_file() for name in FILES):
        return None
    return score_treebank(subject, folder, sentences, seed=seed).facts()


def read_language_model(
    settings: Any, place: Place, found: Found, measures: Mapping[str, str], study: str
) -> Sequence[Work]:
    """The work of looking at the heads of a language model, on the test texts of the first task; none without one.

    Args:
        measures: the measures to keep, by the names of their quantities.
    """
    if settings.language_model is None or not found.corpora:
        return ()
    task = next(iter(found.corpora))
    name = Path(settings.language_model.removeprefix("hf:")).name
    decides = {"model": settings.language_model, "task": found.corpora[task].reference, "examples": settings.examples}
    argument = {
        **decides,
        "measures": dict(measures),
        "source": list(found.sources[task]),
        "data_dir": None if place.data_dir is None else str(place.data_dir),
        "device": place.device,
    }
    id_ = f"{name}-{content_id({study: [decides, sorted(measures)]})}"
    read = partial(read_looked, task, name)
    return (Work(f"{task}, {name}", id_, look_at_language_model, argument, read),)


def look_at_language_model(argument: Facts, folder: Path, _: Path) -> None:
    """Keep each measure of a language model's heads by layer, with its interval over texts."""
    from heatcheck.models.hf.next_token import load_next_token
    from heatcheck.training import pick_device

    subject = load_next_token(argument["model"], device=str(pick_device(argument["device"])))
    examples = load(Source(*argument["source"]), argument["data_dir"])["test"].examples[: argument["examples"]]
    looked = look(subject, examples)
    found = {name: dict(_by_layer(looked, source)) for name, source in argument["measures"].items()}
    write_json(folder / LOOKED, {"texts": len(examples), "measures": found})


def _by_layer(looked: Looked, measure: str) -> Iterator[tuple[str, list[float]]]:
    if looked.defined(measure):
        for layer, interval in looked.of_layers(measure).items():
            yield str(layer), list(interval[:3])


def read_looked(task: str, model: str, folder: Path) -> Kept:
    """What `look_at_language_model` kept; its one model counts as one seed."""
    found = {}
    for measure, layers in read_json(folder / LOOKED)["measures"].items():
        for layer, (value, low, high) in layers.items():
            of = key("heads_mean", measure=measure, layer=ALL if layer == ALL else int(layer))
            found[of] = stats.Interval(value, low, high, 1)
    return Kept(task, model, found)


def best_by_relation(scores: Facts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """For each relation, the direction whose best head is better on train."""
    by_relation = defaultdict(list)
    for one in scores["relations"]:
        by_relation[one["relation"]].append(one)
    for relation, both in by_relation.items():
        yield relation.replace(":", " "), max(both, key=lambda one: one["on_train"])

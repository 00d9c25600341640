"""What studies of treatments share: untreated and treated models of the same seeds, and temperature twins of the first.

A temperature twin is the untreated model with its scores times a constant, so that its weights have the mean entropy of
the treated model's. What the treated model has beyond its twin is not due to sharper or flatter weights.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck.auditing import Plan, plan_audit, run_checks
from heatcheck.checks.states import DIRECT, MAPPED
from heatcheck.data import Corpus
from heatcheck.engine import Facts, content_id, read_json, write_json
from heatcheck.models import load_folder
from heatcheck.results import CheckResult, Key, Model, Row, keep_results, key, read_results, register_axes
from heatcheck.studies.cells import Cell, Measured, as_published
from heatcheck.studies.corpora import Source, about, load, stands_in
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import Found, Gathered, Place, Work
from heatcheck.training import evaluate, mean_entropy, pick_device, plan_recipe, temperature_twin

ATTENTION = "tanh"
UNTREATED, TWIN = "untreated", "temperature twin"
FOUND = "twin.json"
register_axes("share_to_flip", ("order",))
register_axes("own_word", ("read from",))
register_axes("size_of", ("of",))
register_axes("beyond", ("than", "what"))
# Differences between a treated model and what stands beside it are taken of these.
COMPARED = (key("accuracy"), key("conicity"), key("delta"), key("q"), key("share_to_flip", order="attention"))


class Kind(NamedTuple):
    """One kind of model of a study: its name in tables, and the choices of its recipe."""

    name: str
    choices: Mapping[str, Any]
    treated: bool = True  # compared with the study's first kind and its twins


def cell_of(kind: Kind, task: str, seed: int, checks: Mapping[str, Facts], examples: int) -> Cell:
    """One model with its checks."""
    settings = {f"{check}.{name}": value for check, of_check in checks.items() for name, value in of_check.items()}
    name = f"{task}, {kind.name}, seed {seed}"
    return Cell(name, task, kind.name, ATTENTION, kind.choices, tuple(checks), settings, seed=seed, examples=examples)


def entropy_of(plan: Plan, _: Mapping[str, CheckResult]) -> Facts:
    """What a cell keeps besides: the mean entropy of its weights on the texts that the checks read."""
    return {"entropy": mean_entropy(plan.case.subject, plan.case.examples)}


def twin_name(kind: str) -> str:
    """The name of a kind's temperature twin.

    >>> twin_name("diversity")
    'as_sharp_as_diversity'
    """
    return f"as_sharp_as_{kind}"


def twin_work(version: int, base: Cell, treated: Cell, corpus: Corpus, found: Found, place: Place) -> Work:
    """The checks of a treated cell on the temperature twin of the untreated cell of its seed."""
    own, other = (plan_recipe(corpus, seed=cell.seed, **cell.choices).id for cell in (base, treated))
    name = f"{treated.task}, {twin_name(treated.encoder)}, seed {treated.seed}"
    decides = [version, own, other, list(treated.checks), dict(treated.settings), treated.examples]
    cell = treated._replace(name=name, encoder=twin_name(treated.encoder))
    argument = {
        "cell": {
            "name": name,
            "checks": list(cell.checks),
            "settings": dict(cell.settings),
            "examples": cell.examples,
        },
        "untreated": own,
        "treated": other,
        "source": list(found.sources[treated.task]),
        "data_dir": None if place.data_dir is None else str(place.data_dir),
        "device": place.device,
    }
    folder = f"{name.replace(', ', '-').replace(' ', '-')}-{content_id({'twin': decides})}"
    return Work(name, folder, measure_twin, argument, partial(read_twin, cell))


def measure_twin(argument: Facts, folder: Path, store: Path) -> None:
    """Make a temperature twin from two trained models, and run the checks on it."""
    cell, source, fits = argument["cell"], Source(*argument["source"]), store.parent / "fits"
    corpus, device = load(source, argument["data_dir"]), str(pick_device(argument["device"]))
    untreated, treated = (load_folder(fits / argument[name], device=device) for name in ("untreated", "treated"))
    twin = temperature_twin(untreated, mean_entropy(treated, corpus["dev"].examples), corpus["dev"].examples)
    plan = plan_audit(
        twin,
        corpus,
        name=cell["name"],
        checks=cell["checks"],
        settings={**as_published(cell["checks"]), **cell["settings"]},
        examples=cell["examples"],
        device=argument["device"],
    )
    results, not_run = run_checks(plan)
    keep_results(results, folder)
    facts = {**about(source, corpus), "not_run": not_run}
    test = evaluate(twin, corpus["test"].examples)
    write_json(folder / FOUND, {"about": facts, "accuracy": test.accuracy, **entropy_of(plan, results)})


def read_twin(cell: Cell, folder: Path) -> Measured:
    """What `measure_twin` left, as a cell has it."""
    facts = read_json(folder / FOUND)
    return Measured(cell, facts["about"], facts["accuracy"], {}, read_results(folder), facts, folder.name)


def gather(tasks: Sequence[str], kinds: Sequence[Kind], found: Found, *, smoke: bool, not_comparable: str) -> Gathered:
    """All kinds and their twins as one result; the first kind is the untreated one."""
    by_kind: dict[tuple[str, str], dict[int, Measured]] = defaultdict(dict)
    for one in (*found.measured.values(), *found.kept.values()):
        by_kind[one.cell.task, one.cell.encoder][one.cell.seed] = one
    rows: list[Row] = []
    models: list[Model] = []
    about_tasks: dict[str, Facts] = {}
    published = {(one.task, one.encoder, one.key): one for one in found.published}
    reason = "a smoke run" if smoke else not_comparable
    for task in tasks:
        base = {seed: numbers_of(one) for seed, one in by_kind.get((task, kinds[0].name), {}).items()}
        for name in (name for kind in kinds for name in (kind.name, twin_name(kind.name))):
            seeds = by_kind.get((task, name))
            if not seeds:
                continue
            first = next(iter(seeds.values()))
            own = {seed: numbers_of(one) for seed, one in seeds.items()}
            twins = {seed: numbers_of(one) for seed, one in by_kind.get((task, twin_name(name)), {}).items()}
            values = _over_seeds(own)
            if any(kind.name == name and kind.treated for kind in kinds):
                values |= _over_seeds(_beyond(UNTREATED, own, base)) | _over_seeds(_beyond(TWIN, own, twins))
            for quantity, of_seeds in values.items():
                where = Where(task, name, ATTENTION, quantity)
                rows.append(row_of(where, of_seeds, published.get((task, name, quantity)), reason))
            models.append(Model(task, name, ATTENTION, tuple(first.about["labels"]), len(seeds), {}, ()))
            source = found.sources.get(task)
            differs = (source and stands_in(source)) or first.about["differs"]
            about_tasks.setdefault(task, {**first.about, "differs": differs, "not_comparable": reason})
    return Gathered(rows, models, about_tasks)


def numbers_of(one: Measured) -> dict[Key, float]:
    """The numbers of one model: means, or medians where the paper has them, over its texts."""
    found = {key("accuracy"): one.accuracy, key("entropy"): float(one.facts["entropy"])}
    found |= {name: value for name, value in _of_checks(one.results) if np.isfinite(value)}
    return found


def _of_checks(results: Mapping[str, CheckResult]) -> Iterator[tuple[Key, float]]:
    if states := results.get("states"):
        yield key("conicity"), _mean(states.per_example["conicity"])
        yield key("found_by_chance"), _mean(states.per_example["chance"])
        for way in (DIRECT, MAPPED):
            if f"own_word:{way}" in states.per_example:
                yield key("own_word", **{"read from": way}), _mean(states.per_example[f"own_word:{way}"])
        for what in ("states", "embeddings"):
            yield key("size_of", of=what), _mean(states.per_example[f"size:{what}"])
    if flips := results.get("flips"):
        for order in ("attention", "random"):
            # A text that never flips counts as 1, as in the paper.
            share = np.nan_to_num(flips.per_example[f"fraction:{order}"], nan=1.0)
            yield key("share_to_flip", order=order), float(np.median(share))
    if permutation := results.get("permutation"):
        for name in ("delta", "q", "evenness"):
            yield key(name), _mean(permutation.per_example[name])
    if necessity := results.get("necessity"):
        for weights in ("uniform", "permuted"):
            yield key("put_in", weights=weights), _mean(necessity.per_example[f"accuracy:swapped:{weights}"])


def _mean(values: Any) -> float:
    finite = np.asarray(values)[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.nan


def _beyond(
    than: str, own: Mapping[int, Mapping[Key, float]], other: Mapping[int, Mapping[Key, float]]
) -> dict[int, dict[Key, float]]:
    """The differences of the seeds that both have."""
    return {
        seed: {
            key("beyond", than=than, what=quantity.text): own[seed][quantity] - other[seed][quantity]
            for quantity in COMPARED
            if quantity in own[seed] and quantity in other[seed]
        }
        for seed in own
        if seed in other
    }


def _over_seeds(numbers: Mapping[int, Mapping[Key, float]]) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = defaultdict(list)
    for seed in sorted(numbers):
        for quantity, value in numbers[seed].items():
            found[quantity].append(value)
    return dict(found)

"""Classifiers trained side by side against one after the other, from the same recipes.

On a GPU: BiLSTMs, CNNs and average encoders from recorded steps in threads, against plain steps. Without one: threads
against one run after the other, which gains nothing where a run keeps a core busy; the weights must be the same bits.
`python -m benchmarks.side_by_side TASKS FOLDER [DATA [VECTORS]]` times the models of jain2019 on these tasks, without
its checks.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from heatcheck import engine
from heatcheck.data import Corpus, load_task
from heatcheck.engine import Job
from heatcheck.models import Recipe, load_folder
from heatcheck.studies import STUDIES
from heatcheck.studies.cells import base_job, plan_job
from heatcheck.studies.corpora import load_all
from heatcheck.studies.study import Found, Place
from heatcheck.training import fit_job, fit_jobs, plan_recipe, run_fits, work_of

ACCURACIES = 0.05  # on a GPU rounding grows over hundreds of steps, and two runs end a little apart


def measure(quick: bool = False) -> list[dict[str, Any]]:
    gpu = torch.cuda.is_available() and not quick
    corpus = load_task("reviews")
    shape = {"epochs": 8 if gpu else 1, "patience": 0, "hidden": 128 if gpu else 16, "embedding": 300 if gpu else 16}
    kinds = ("lstm",) if quick else ("lstm", "cnn", "average")
    seeds = 5 if gpu else 2
    recipes = [plan_recipe(corpus, encoder=kind, seed=seed, **shape) for kind in kinds for seed in range(seeds)]
    device = "cuda" if gpu else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        stores = Path(folder, "plain"), Path(folder, "together")
        times = []
        list(run_fits(fit_jobs(recipes[:1], corpus, Path(folder, "first"), device=device), Path(folder, "first")))
        for store in stores:  # libraries are loaded, and what fits share is made, before a clock runs
            jobs = fit_jobs(recipes, corpus, store, device=device)
            plain = store == stores[0]
            start = time.perf_counter()
            if plain:
                outcomes = list(engine.map(fit_job, jobs, store))
            elif gpu:
                outcomes = list(run_fits(jobs, store))
            else:
                outcomes = list(engine.map(fit_job, jobs, store, threads=len(jobs)))
            times.append(time.perf_counter() - start)
            assert all(outcome.folder for outcome in outcomes), [outcome.log for outcome in outcomes]
        equal = _alike(recipes, stores) if gpu else all(_same_bits(recipe.id, stores) for recipe in recipes)
    return [
        {
            "name": "classifiers side by side" + (" (GPU)" if gpu else ""),
            "size": f"{len(recipes)} models",
            "plain_s": times[0],
            "library_s": times[1],
            "ratio": times[0] / times[1],
            "equal": equal,
        }
    ]


def _same_bits(name: str, stores: tuple[Path, Path]) -> bool:
    one, other = (load_folder(store / name).state_dict() for store in stores)
    return all(one[part].equal(other[part]) for part in one)


def _alike(recipes: Sequence[Recipe], stores: tuple[Path, Path]) -> bool:
    accuracies = [
        [engine.read_json(store / recipe.id / "training.json")["test"]["accuracy"] for recipe in recipes]
        for store in stores
    ]
    return all(abs(one - other) < ACCURACIES for one, other in zip(*accuracies, strict=True))


def models_of_jain2019(
    tasks: Sequence[str], folder: Path, data: str | None = None, vectors: str | None = None
) -> float:
    """Seconds to train the models of these tasks, as the study would; reading the corpora is outside the clock."""
    study = STUDIES["jain2019"]
    settings = study.settings(tasks=tuple(tasks), patience=10, vectors=vectors)
    corpora = load_all(study.corpora(settings), data)
    found = Found(corpora.found, corpora.sources)
    jobs: list[tuple[float, Job]] = []
    for cells in study.plan(settings, Place(folder, data, "cuda"), found):
        for cell in cells:
            corpus: Corpus = corpora.found[cell.task]
            where = {"source": list(corpora.sources[cell.task]), "data_dir": data, "device": "cuda"}
            job = base_job(plan_job(study.name, study.version, cell, corpus, where), corpus, folder / "fits")
            words = sum(len(example.words) for example in corpus["train"])
            jobs.append((work_of(Recipe(**job.argument["recipe"]), words), job))
    ordered = [job for _, job in sorted(jobs, key=lambda one: -one[0])]
    start = time.perf_counter()
    outcomes = list(run_fits(ordered, folder / "fits"))
    assert all(outcome.folder for outcome in outcomes), [outcome.reason for outcome in outcomes if not outcome.folder]
    return time.perf_counter() - start


if __name__ == "__main__":
    names, place, *rest = sys.argv[1:]
    print(f"{models_of_jain2019(names.split(','), Path(place), *rest):.1f} s")

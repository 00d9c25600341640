"""The study behind docs/treatments.md: every treatment on three tasks, five seeds, for one command on a GPU.

python -m benchmarks.treated prepare data/treated          # here: the corpora as files
python -m benchmarks.treated run data/treated OUT          # on the GPU machine: JSON per task under OUT
python -m benchmarks.treated csv OUT docs/treatments.csv   # here: then python docs/treatments.py
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heatcheck.auditing import audit
from heatcheck.auditing.treating import TreatmentPlan, gather, plan_treatments, run_treatments
from heatcheck.data import Corpus, load_task
from heatcheck.engine import Outcome, nulled, write_whole
from heatcheck.errors import HeatcheckError
from heatcheck.results.treatments import treatments_facts, treatments_from
from heatcheck.training import fit_jobs, plan_recipe, run_fits, treated
from heatcheck.training.jobs import keep_corpus, read_corpus

TASKS = ("sst", "rotten_tomatoes", "imdb_small")
EXAMPLES = {"imdb_small": 100}  # of long texts fewer: each word costs a pass
OFTEN = 45.0  # seconds between two looks at what is there
NECESSARY = ("diversity", "entmax")  # treatments whose models are also retrained without attention
RETRAINED = "necessary.json"


def prepare(folder: Path) -> None:
    """Write the corpora as files, with a list of their names."""
    names = {task: keep_corpus(load_task(task), folder) for task in TASKS}
    write_whole(folder / "tasks.json", json.dumps(names))


def run(folder: Path, out: Path, *, seconds: float, workers: int, seeds: int, quick: bool) -> None:
    """Train, audit and judge, task after task; each task's numbers so far are written again and again."""
    end = time.monotonic() + seconds
    names: Mapping[str, str] = json.loads((folder / "tasks.json").read_text())
    out.mkdir(parents=True, exist_ok=True)
    store = Path(os.environ.get("TREATED_STORE", "heatcheck-out/treated"))
    for task in TASKS:
        left = end - time.monotonic()
        if left < 5:
            print(f"{task}: no time left", flush=True)
            continue
        run_task(read_corpus(folder / names[task]), task, store, out, left, workers, seeds, quick)
        if task == TASKS[-1] or quick:
            break
    if (left := end - time.monotonic()) > 30 and not quick:
        corpus = read_corpus(folder / names[TASKS[0]])
        necessary(corpus, store, out)


def run_task(
    corpus: Corpus, task: str, store: Path, out: Path, seconds: float, workers: int, seeds: int, quick: bool
) -> None:
    """One task, with all treatments that apply."""
    recipe = plan_recipe(corpus, **({"epochs": 1} if quick else {}))
    plan = plan_treatments(
        recipe,
        corpus,
        treatments="all",
        seeds=seeds,
        examples=30 if quick else EXAMPLES.get(task, 300),
        store=store,
        model=f"{recipe.model['encoder']} on {task}",
    )
    print(f"{task}: {len(plan.fits())} training runs, {len(plan.audits())} audits", flush=True)
    begun = last = time.monotonic()
    failed: dict[str, str] = {}

    def watch(outcome: Outcome, done: int, total: int) -> None:
        nonlocal last
        if outcome.folder is None:
            failed[outcome.job.name] = outcome.reason
            print(f"  failed: {outcome.job.name}: {outcome.reason}", flush=True)
        if time.monotonic() - last > OFTEN or done == total:
            last = time.monotonic()
            print(f"  {done} of {total}, {last - begun:.0f} s: {outcome.job.name} {outcome.seconds:.1f} s", flush=True)
            _keep(plan, dict(failed), out / f"{task}.json")

    found = run_treatments(plan, workers=workers, progress=watch, seconds=seconds)
    write_whole(out / f"{task}.json", json.dumps(nulled(treatments_facts(found))))
    for row in found.rows:
        cells = "  ".join(f"{c.line} {c.before:.3f}→{c.after:.3f} {c.word}" for c in row.cells)
        print(f"  {row.name}: {cells}", flush=True)
    print(f"{task}: {time.monotonic() - begun:.0f} s; {found.advice}", flush=True)


def _keep(plan: TreatmentPlan, failed: dict[str, str], path: Path) -> None:
    write_whole(path, json.dumps(nulled(treatments_facts(gather(plan, failed)))))


def necessary(corpus: Corpus, store: Path, out: Path) -> None:
    """*Necessary* by retraining, for the untreated model and a few treated ones."""
    plain = plan_recipe(corpus)
    recipes = {"untreated": plain} | {name: treated(plain, corpus, name) for name in NECESSARY}
    found: dict[str, Any] = {}
    for name, recipe in recipes.items():
        start = time.monotonic()
        try:
            list(run_fits(fit_jobs([recipe], corpus, store), store))
            made = audit(
                store / recipe.id, corpus, checks=["necessity"], refit=True, store=store, examples=100, train=corpus
            )
        except HeatcheckError as error:
            found[name] = {"state": "not run", "reason": str(error)}
        else:
            line = made.card["necessary"]
            found[name] = {
                "state": line.state,
                "reason": line.reason,
                "evidence": [nulled(m._asdict()) for m in line.evidence],
                "not_fitted": dict(made.not_fitted),
            }
        write_whole(out / RETRAINED, json.dumps(nulled(found)))
        print(f"necessary, {name}: {found[name]['state']} {found[name]['reason']} {time.monotonic() - start:.0f} s")


def to_csv(out: Path, path: Path) -> None:
    """The numbers of all tasks as one CSV file, and *necessary* beside it."""
    from heatcheck.report.data_files import as_csv
    from heatcheck.report.treatments import columns_of

    there = [out / f"{task}.json" for task in TASKS if (out / f"{task}.json").is_file()]
    write_whole(path, as_csv(columns_of([treatments_from(json.loads(one.read_text())) for one in there])))
    if (out / RETRAINED).is_file():
        rows = []
        for name, line in json.loads((out / RETRAINED).read_text()).items():
            first = (line.get("evidence") or [{}])[0]
            rows.append([name, line["state"], *(first.get(key) for key in ("name", "value", "low", "high", "n"))])
        names = ("treatment", "state", "statistic", "value", "low", "high", "n")
        columns = {key: [row[at] for row in rows] for at, key in enumerate(names)}
        write_whole(path.with_name("treatments-necessary.csv"), as_csv(columns))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("prepare", "run", "csv"))
    parser.add_argument("source", type=Path, help="Folder of the corpora (prepare, run) or of the JSON files (csv).")
    parser.add_argument("target", type=Path, nargs="?", help="Folder for the JSON files (run), or the CSV file (csv).")
    parser.add_argument("--seconds", type=float, default=400.0, help="Time limit of run.")
    parser.add_argument("--workers", type=int, default=15, help="Processes for the audits.")
    parser.add_argument("--seeds", type=int, default=5, help="Models per treatment.")
    parser.add_argument("--quick", action="store_true", help="One epoch of the first task, to try the command.")
    chosen = parser.parse_args()
    if chosen.what == "prepare":
        prepare(chosen.source)
    elif chosen.what == "run":
        options = {name: getattr(chosen, name) for name in ("seconds", "workers", "seeds", "quick")}
        run(chosen.source, chosen.target, **options)
    else:
        to_csv(chosen.source, chosen.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())

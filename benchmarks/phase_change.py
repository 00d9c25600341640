"""All runs of the study olsson2022 on a GPU: the pilot that may change the number of steps, then every kind.

    python -m benchmarks.phase_change FOLDER

Leaves `olsson2022.tgz` in the folder, written anew after every kind. `tar xzf` it into a study's folder, and
`heatcheck reproduce olsson2022 --out` that folder, with the number of steps that the pilot led to, draws the page
without training anything.

    python -m benchmarks.phase_change --seeds STUDY_FOLDER docs/studies/olsson2022_seeds.csv

Writes what docs/studies/olsson2022.md says of each seed.
"""

import csv
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from heatcheck.engine import Outcome
from heatcheck.results import StudyResult, read_study
from heatcheck.studies import STUDIES, run_study
from heatcheck.studies.side_by_side import Trainer

STUDY = STUDIES["olsson2022"]
PILOT = STUDY.settings(tasks=("two_layers",), seeds=4, first_seed=1000)


def main(folder: Path) -> None:
    """The pilot, the runs, and what a stack saves."""
    began = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / "study"

        def watch(outcome: Outcome, done: int, of: int) -> None:
            seconds = time.perf_counter() - began
            print(
                f"{seconds:6.1f} s  {outcome.job.name}: {outcome.state} ({done} of {of}) {outcome.reason}", flush=True
            )
            with tarfile.open(folder / "olsson2022.tgz", "w:gz") as packed:
                packed.add(made / "results", "results", filter=lambda one: None if "/." in one.name else one)

        def run(settings: object) -> StudyResult:
            return run_study(STUDY, settings, made, progress=watch)

        settings = STUDY.settings(steps=steps_after(run(PILOT)))
        print(f"every run has {settings.steps:,} steps", flush=True)
        found = run(settings)
        for row in found.rows:
            print(f"{row.task:20} {row.quantity:22} {row.value:9.3f} [{row.low:.3f}, {row.high:.3f}] n={row.seeds}")
        for name, why in found.failed.items():
            print(f"{name} FAILED: {why}")
    print(f"{time.perf_counter() - began:.0f} s in all", flush=True)
    if torch.cuda.is_available():
        side_by_side()


def steps_after(pilot: StudyResult) -> int:
    """The rule that was fixed before: twice the steps if fewer than half of the pilot's runs rise in the first half."""
    (model,) = pilot.models
    early = model.examples["steps"] <= PILOT.steps // 2
    risen = (model.examples["prefix_matching"][:, early] >= 0.2).any(axis=1)
    print(f"pilot: {int(risen.sum())} of {len(risen)} runs reach .2 by step {PILOT.steps // 2:,}")
    for seed, curve in enumerate(np.asarray(model.examples["prefix_matching"], dtype=float)):
        print(f"  seed {PILOT.first_seed + seed}: prefix matching every tenth look", curve[::10].round(2).tolist())
    return PILOT.steps * (1 if 2 * int(risen.sum()) >= len(risen) else 2)


def side_by_side(steps: int = 200) -> None:
    """Seconds of training eight models side by side, and one alone."""
    from heatcheck.studies.olsson2022.stacked import Shape, Stack

    device = torch.device("cuda")
    for many in (1, 8):
        trainer = Trainer(Stack(range(many), Shape()), torch.optim.AdamW, 1e-3, device=device)
        texts = torch.randint(512, (many, 64, 128), device=device)
        trainer.step(texts)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            trainer.step(texts)
        torch.cuda.synchronize()
        print(f"{many} side by side, two layers: {(time.perf_counter() - began) / steps * 1e3:.2f} ms a step")


def write_seeds(study: Path, path: Path) -> None:
    """One row per seed and number, from what a study's folder keeps."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("task", "seed", "quantity", "value", "low", "high"))
        for model in read_study(study).models:
            for at, seed in enumerate(model.examples["seed"]):
                for name, value in of_seed(model.examples, at).items():
                    if np.isfinite(value):
                        rows.writerow((model.task, seed, name, round(value, 6), "", ""))


def of_seed(kept: Mapping[str, np.ndarray], at: int) -> dict[str, float]:
    """What is told of one run; its window, and the fall before, in and after it, only where prefix matching rose."""
    curves = {name: kept[name][at].astype(float) for name in ("prefix_matching", "previous_token", "in_context")}
    found = {f"{name}_end": float(curve[-1]) for name, curve in curves.items()}
    found |= {"prefix_matching_most": float(curves["prefix_matching"].max()), "met": float(kept["met"][at])}
    found["composition_end"] = float(kept["composition"][at, -1])
    if not kept["risen"][at]:
        return found
    begin, end, fell = int(kept["begin"][at]), int(kept["end"][at]), curves["in_context"]
    places = [0, *np.searchsorted(kept["steps"], (begin, end)), -1]
    shares = np.diff(fell[places]) / (fell[-1] - fell[0])
    found |= {"begin": begin, "end": end, "window": float(kept["length"][at])}
    return found | dict(zip(("fall_before", "fall_inside", "fall_after"), map(float, shares), strict=True))


if __name__ == "__main__":
    if sys.argv[1] == "--seeds":
        write_seeds(*map(Path, sys.argv[2:]))
    else:
        main(Path(sys.argv[1]))

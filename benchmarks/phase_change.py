"""All runs of the study olsson2022 on a GPU: the pilot that may change the number of steps, then every kind.

    python -m benchmarks.phase_change FOLDER

Leaves `olsson2022.tgz` in the folder, written anew after every kind. `tar xzf` it into a study's folder, and
`heatcheck reproduce olsson2022 --out` that folder draws the page without training anything.
"""

import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from heatcheck.engine import Outcome
from heatcheck.results import StudyResult
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))

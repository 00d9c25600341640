"""The five studies of heads on one pretrained model, for a machine that has a GPU and little else.

    python -m benchmarks.head_studies pack MODEL data/minilm          # half as many bytes, to carry there
    python -m benchmarks.head_studies run data/minilm --out OUT --workers 5

`run` fine-tunes each seed on SST once, for all studies, and writes `OUT/STUDY.tar.gz` after each study: its result,
and what every model gave. What is finished stays in --folder, so the same command goes on where it was stopped.
Unpacked into --folder on another machine, the same command trains nothing and gathers the results again. `pack` halves
the precision of the stored weights; `run` computes in single precision from these.
"""

import argparse
import shutil
import tarfile
import time
from pathlib import Path

from heatcheck.engine import Outcome
from heatcheck.results import keep_study
from heatcheck.results.study_files import STUDY, STUDY_ARRAYS
from heatcheck.studies import STUDIES, change_settings, run_study

NAMES = ("clark2019", "kovaleva2019", "vig2019", "michel2019", "voita2019")
WEIGHTS = "model.safetensors"


def pack(model: Path, folder: Path) -> None:
    """Copy a model's folder with weights of half precision."""
    _with_weights(model, folder, "half")


def unpack(model: Path, folder: Path) -> None:
    """Copy a model's folder with weights of single precision."""
    _with_weights(model, folder, "float")


def _with_weights(model: Path, folder: Path, precision: str) -> None:
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    for file in model.glob("*.json"):
        shutil.copyfile(file, folder / file.name)
    weights = load_file(model / WEIGHTS)
    changed = {name: getattr(of, precision)() if of.is_floating_point() else of for name, of in weights.items()}
    save_file(changed, folder / WEIGHTS, metadata={"format": "pt"})


def run(model: Path, options: argparse.Namespace) -> None:
    """Run the studies one after the other; each writes its result as it ends."""
    start = options.folder / "start" / model.name
    if not (start / WEIGHTS).is_file():
        unpack(model, start)
    began = time.monotonic()

    def tell(outcome: Outcome, done: int, of: int) -> None:
        seconds = time.monotonic() - began
        print(f"{seconds:6.0f} s  {outcome.job.name}: {outcome.state} ({done} of {of}) {outcome.reason}", flush=True)
        if outcome.log:
            print(outcome.log, flush=True)

    given = dict(pair.split("=", 1) for pair in options.set)
    for name in options.studies:
        study = STUDIES[name]
        wanted = {"tasks": options.task, "seeds": str(options.seeds), "model": f"hf:{start}"}
        known = study.settings.__dataclass_fields__
        changes = wanted | {key: value for key, value in given.items() if key in known}
        settings = change_settings(study, study.settings(), changes)
        folder = sharing_fits(options.folder, name)
        found = run_study(study, settings, folder, device=options.device, workers=options.workers, progress=tell)
        keep_study(found, folder)
        options.out.mkdir(parents=True, exist_ok=True)
        with tarfile.open(options.out / f"{name}.tar.gz", "w:gz") as packed:
            for part in (STUDY, STUDY_ARRAYS, "results"):
                packed.add(folder / part, f"{name}/{part}")
        print(f"{time.monotonic() - began:6.0f} s  {name}: {len(found.rows)} rows, failed: {found.failed}", flush=True)


def sharing_fits(folder: Path, name: str) -> Path:
    """A study's own folder, whose trained models are those of all studies."""
    (folder / "fits").mkdir(parents=True, exist_ok=True)
    (folder / name).mkdir(exist_ok=True)
    if not (folder / name / "fits").exists():
        (folder / name / "fits").symlink_to((folder / "fits").absolute())
    return folder / name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "run"))
    parser.add_argument("model", type=Path, help="Folder with the pretrained model.")
    parser.add_argument("packed", type=Path, nargs="?", help="Folder for the packed model.")
    parser.add_argument("--out", type=Path, default=Path("head-studies"), help="Folder for the results.")
    parser.add_argument(
        "--folder", type=Path, default=Path("heatcheck-out/head-studies"), help="Folder for what is unfinished."
    )
    parser.add_argument("--studies", nargs="+", default=list(NAMES), choices=NAMES, help="Studies.")
    parser.add_argument("--task", default="sst", help="Task to fine-tune on.")
    parser.add_argument("--seeds", type=int, default=5, help="Models.")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="Settings of the studies to change.")
    parser.add_argument("--workers", type=int, default=0, help="Processes.")
    parser.add_argument("--device", default="auto", help="Device.")
    options = parser.parse_args()
    if options.what == "pack":
        pack(options.model, options.packed)
    else:
        run(options.model, options)


if __name__ == "__main__":
    main()

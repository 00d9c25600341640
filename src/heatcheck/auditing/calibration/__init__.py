"""Are heatcheck's answers right? Audits many models whose right answers are known, and counts the mistakes.

A job is one task and seed (or a dial, or the decoys of one corpus): starting a process costs more than auditing a
control. Jobs are named by all that decides them, the code among it: a card that has changed is calibrated afresh.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import heatcheck
from heatcheck import engine
from heatcheck.auditing.calibration import dial
from heatcheck.auditing.calibration.audit import audit_dial, audit_known, audit_twins
from heatcheck.auditing.calibration.decoy import audit_decoys, decoy_place
from heatcheck.auditing.calibration.result import Calibration, Decoy, Twin, Verdict
from heatcheck.auditing.calibration.truth import DECOY, LINES, TRUTH, Cell, judge
from heatcheck.engine import Facts, Job, Outcome, content_id, read_json
from heatcheck.errors import BadInput

ROOMS = ("stats", "engine", "data", "models", "training", "explainers", "checks", "auditing")
JOBS: dict[str, Callable[[Facts, Path], None]] = {
    "known": audit_known,
    "twins": audit_twins,
    "dial": audit_dial,
    "decoys": audit_decoys,
}


@dataclass(frozen=True)
class CalibrationSettings:
    """How often, and on how much."""

    seeds: int = 13  # five cells decide *works out of context*: 13 seeds make 65 verdicts
    first_seed: int = 0
    examples: int = 300
    decoys: bool = True  # they are trained, which takes a third of the time
    dials: int = 3  # seeds that turn the dial
    twins: int = 1  # seeds whose controls are audited beside their temperature twins
    factor: float = 40.0  # by which a twin's logits are larger: its probabilities are 0 and 1 in float32
    shares: tuple[float, ...] = dial.SHARES
    cells: tuple[Cell, ...] = tuple(TRUTH)
    draws: int = 2000  # of every bootstrap
    epochs: int = 8  # of every decoy
    enough: int = 60  # decided verdicts a line, none of them wrong; 0: a smoke run, which is too short to ask

    def __post_init__(self) -> None:
        for name in ("seeds", "examples", "draws", "epochs"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.first_seed < 0:
            raise BadInput(f"the first seed must be 0 or more, not {self.first_seed}.")


QUICK = CalibrationSettings(seeds=1, examples=40, decoys=False, dials=1, shares=(0.0, 0.5, 1.0), draws=200, enough=0)


def calibrate(
    settings: CalibrationSettings,
    store: Path,
    *,
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> Calibration:
    """Audit every control that is not in the store yet, and compare what the card says with the known answer."""
    jobs = plan_jobs(settings)
    outcomes = list(engine.map(calibrate_job, jobs, store, workers=workers, progress=progress))
    failed = {outcome.job.name: outcome.reason for outcome in outcomes if outcome.folder is None}
    found = sorted((o for o in outcomes if o.folder is not None), key=lambda o: o.job.name)
    return _gather(settings, found, failed)


def calibrate_job(argument: Facts, folder: Path, _: Path) -> None:
    """One job: it writes one file per control."""
    JOBS[argument["kind"]](argument, folder)


def plan_jobs(settings: CalibrationSettings) -> list[Job]:
    """What is to be audited; the longest first, so that none is left alone at the end."""
    return [*_decoys(settings), *_known(settings), *_twins(settings), *_dials(settings)]


def _job(name: str, argument: Facts) -> Job:
    return Job(content_id({"calibration": argument, "code": code_id()}), name, (), argument)


def _seeds(settings: CalibrationSettings, number: int | None = None) -> range:
    most = settings.seeds if number is None else min(number, settings.seeds)
    return range(settings.first_seed, settings.first_seed + most)


def _subjects(settings: CalibrationSettings) -> dict[str, list[str]]:
    """Those that are written down, by task."""
    subjects: dict[str, list[str]] = {}
    for cell in settings.cells:
        if cell.subject != DECOY:
            subjects.setdefault(cell.task, []).append(cell.subject)
    return subjects


def _twins(settings: CalibrationSettings) -> Iterator[Job]:
    for seed in _seeds(settings, settings.twins):
        for task, of_task in _subjects(settings).items():
            facts = {"task": task, "subjects": of_task, "seed": seed, "factor": settings.factor, **_sizes(settings)}
            yield _job(f"twins of {task}, seed {seed}", {"kind": "twins", **facts})


def _known(settings: CalibrationSettings) -> Iterator[Job]:
    for seed in _seeds(settings):
        for task, of_task in _subjects(settings).items():
            facts = {"task": task, "subjects": of_task, "seed": seed, **_sizes(settings)}
            yield _job(f"{task}, seed {seed}", {"kind": "known", **facts})


def _dials(settings: CalibrationSettings) -> Iterator[Job]:
    for seed in _seeds(settings, settings.dials):
        facts = {"seed": seed, "shares": list(settings.shares), **_sizes(settings)}
        yield _job(f"dial, seed {seed}", {"kind": "dial", **facts})


def _decoys(settings: CalibrationSettings) -> Iterator[Job]:
    tasks = [cell.task for cell in settings.cells if cell.subject == DECOY] if settings.decoys else []
    for corpus, places in groupby(map(decoy_place, _seeds(settings)), key=lambda place: place[0]):
        numbers = [number for _, number in places]
        for task in tasks:
            facts = {"task": task, "corpus": corpus, "numbers": numbers, "epochs": settings.epochs}
            name = f"decoys of {task}, corpus {corpus}"
            yield _job(name, {"kind": "decoys", **facts, **_sizes(settings)})


def _sizes(settings: CalibrationSettings) -> Facts:
    return {"examples": settings.examples, "draws": settings.draws}


@cache
def code_id() -> str:
    """Names the code that the card comes from."""
    digest = hashlib.sha256()
    source = Path(heatcheck.__file__).parent
    for path in sorted(path for room in ROOMS for path in (source / room).rglob("*.py")):
        digest.update(str(path.relative_to(source)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _gather(settings: CalibrationSettings, outcomes: Sequence[Outcome], failed: Facts) -> Calibration:
    files = [(o.job.argument["kind"], read_json(path)) for o in outcomes if o.folder for path in _files(o.folder)]
    # A decoy that is none has no lines.
    with_lines = [found for kind, found in files if kind in ("known", "decoys") and found["lines"]]
    verdicts = [verdict for found in with_lines for verdict in _verdicts(found)]
    twins = [
        Twin(
            Cell(found["subject"], found["task"]), found["seed"], found["factor"], tuple(found["states"]), found["most"]
        )
        for kind, found in files
        if kind == "twins"
    ]
    decoys = [
        Decoy(found["task"], found["seed"], found["rejected"], found["seen"])
        for kind, found in files
        if kind == "decoys"
    ]
    turned = [found for kind, found in files if kind == "dial"]
    curves, faults = _dial(turned)
    return Calibration(
        verdicts=tuple(sorted(verdicts, key=lambda v: (LINES.index(v.line), str(v.cell), v.seed))),
        curves=tuple(curves),
        changes=tuple(faults),
        decoys=tuple(sorted(decoys, key=lambda decoy: (decoy.task, decoy.seed))),
        twins=tuple(sorted(twins)),
        failed=dict(failed),
        enough=settings.enough,
        code=code_id(),
    )


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def _verdicts(found: Facts) -> Iterator[Verdict]:
    cell = Cell(found["subject"], found["task"])
    for line, known in TRUTH[cell].items():
        said = found["lines"][line]
        yield Verdict(
            cell=cell,
            seed=found["seed"],
            line=line,
            truth=known,
            state=said["state"],
            judged=judge(known, said["state"]),
            reason=said["reason"],
            numbers=said["numbers"],
            nuisance=found.get("nuisance", {}),
        )


def _dial(turned: Sequence[Facts]) -> tuple[list[dial.Curve], list[str]]:
    """One curve per statistic and seed; and the lines that change their answer more than once."""
    curves: list[dial.Curve] = []
    faults: list[str] = []
    for seed in sorted({found["seed"] for found in turned}):
        ordered = sorted((found for found in turned if found["seed"] == seed), key=lambda found: found["share"])
        scale, tokens = ordered[0]["nuisance"]["scale"], ordered[0]["tokens"]
        for name in dial.STATISTICS:
            readings = [
                dial.Reading(found["share"], *(found["readings"][name][key] for key in ("value", "low", "high")))
                for found in ordered
            ]
            curves.append(dial.curve(name, seed, readings, scale=scale, tokens=tokens))
        for line in LINES:
            states = [found["lines"][line]["state"] for found in ordered]
            if not dial.changes_once(states):
                faults.append(f"{line}, seed {seed}: {', '.join(states)}")
    return curves, faults

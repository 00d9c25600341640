"""Olsson et al. 2022, "In-context Learning and Induction Heads": do both come at once in training?

The paper says that in models of two layers or more, induction heads form in one short phase of training, and that the
model learns to use its context in the same phase. One layer cannot have them, unless its keys are mixed with the key
before. Here all seeds of a kind train side by side, and a criterion that was fixed before any run judges each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from heatcheck import stats
from heatcheck.engine import Facts, content_id, read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import Key, Model, Row, key
from heatcheck.studies.olsson2022.criterion import Change, change_of
from heatcheck.studies.olsson2022.stacked import Shape
from heatcheck.studies.olsson2022.watching import EVERY, Curves, Data, watch_training
from heatcheck.studies.study import Found, Gathered, Place, Study, Work, setting
from heatcheck.training import pick_device

VERSION = 1  # raised by hand when what a job keeps changes
ENCODER = "attention-only transformer"
CURVES, RAN = "curves.npz", "ran.json"


class Kind(NamedTuple):
    """One kind of model, and what the paper leads one to expect of it."""

    shape: Shape
    differs: str  # what a reader sees of it


KINDS = {
    "one_layer": Kind(Shape(layers=1), "one layer: the paper expects no induction head"),
    "two_layers": Kind(Shape(layers=2), "two layers: the paper expects a phase change"),
    "one_layer_smeared": Kind(
        Shape(layers=1, smeared=True), "one layer with smeared keys: the paper expects a phase change"
    ),
    "two_layers_smeared": Kind(
        Shape(layers=2, smeared=True), "two layers with smeared keys: the paper expects an earlier phase change"
    ),
    "two_layers_spared": Kind(
        Shape(layers=2, spared=True),
        "two layers, no loss on tokens that an induction head could predict (HAPAX): fewer, weaker induction heads",
    ),
}
BESIDE = {"two_layers_spared": "two_layers"}  # the same first weights, texts and number of steps
ENDS = {
    "prefix_end": "prefix_matching",
    "previous_end": "previous_token",
    "composition_end": "composition",
    "in_context_end": "in_context",
    "loss_end": "loss",
}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(tuple(KINDS), "Kinds of models.")
    seeds: int = setting(8, "Models per kind.")
    first_seed: int = setting(0, "Seed of the first model; the others follow. A pilot takes seeds of its own.", least=0)
    steps: int = setting(8000, "Training steps.")
    size: int | None = setting(None, "Size of the models, for a smoke run; texts are shorter, and fewer.", none="128")


QUICK = Settings(seeds=2, steps=40, size=16)


def refuse(settings: Settings) -> None:
    if settings.seeds < 2 or settings.steps < EVERY:
        raise BadInput(
            f"olsson2022 needs at least 2 seeds and {EVERY} steps, not {settings.seeds} and {settings.steps}."
        )
    if settings.size is not None and settings.size % Shape().heads:
        raise BadInput(f"size must be a multiple of {Shape().heads}, the number of heads, not {settings.size}.")


def plan(settings: Settings, place: Place, _: Found) -> Iterator[Sequence[Work]]:
    """One job per kind: all its seeds side by side."""
    yield [work_of(settings, kind, place.device) for kind in settings.tasks]


def work_of(settings: Settings, kind: str, device: str) -> Work:
    """The training of all seeds of one kind."""
    shape, data = sized(kind, settings)
    seeds = range(settings.first_seed, settings.first_seed + settings.seeds)
    decides: dict[str, Any] = {"shape": asdict(shape), "data": data._asdict(), "seeds": [*seeds]}
    decides |= {"steps": settings.steps, "version": VERSION}
    made = f"{kind}-{content_id({'olsson2022': decides})}"
    return Work(kind, made, watch_job, {**decides, "device": device}, read_curves)


def sized(kind: str, settings: Settings) -> tuple[Shape, Data]:
    """The kind and its data, or small ones for a smoke run."""
    shape = KINDS[kind].shape
    if settings.size is None:
        return shape, Data()
    small = {"size": settings.size, "tokens": 40, "words": 64}
    return Shape(**{**asdict(shape), **small}), Data(batch=8, held_out=16, random=4)


def watch_job(argument: Facts, folder: Path, _: Path) -> None:
    """Train the seeds of one kind, and keep their curves."""
    device = pick_device(argument["device"])
    shape, data = Shape(**argument["shape"]), Data(**argument["data"])
    curves = watch_training(argument["seeds"], shape, data, argument["steps"], device=device)
    np.savez_compressed(folder / CURVES, **curves._asdict())
    ran_on = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    write_json(folder / RAN, {"seeds": argument["seeds"], "device": ran_on})


def read_curves(folder: Path) -> Curves:
    """The kept results of a job."""
    try:
        read_json(folder / RAN)
        with np.load(folder / CURVES, allow_pickle=False) as found:
            return Curves(**{name: found[name] for name in Curves._fields})
    except (KeyError, OSError, ValueError):
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again") from None


def gather(settings: Settings, found: Found) -> Gathered:
    """Every seed of every kind, those without a phase change too."""
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    smoke = "" if settings.size is None else "a smoke run"
    for kind in KINDS:
        if kind not in found.kept:
            continue
        curves: Curves = found.kept[kind]
        changes = changes_of(curves)
        rows += rows_of(kind, curves, changes)
        if (beside := found.kept.get(BESIDE.get(kind, ""))) is not None:
            rows += rows_beside(kind, curves, beside)
        by_seed = {name: np.array([getattr(one, name) for one in changes]) for name in Change._fields}
        by_seed["seed"] = settings.first_seed + np.arange(len(changes))
        models.append(Model(kind, ENCODER, "", (), len(changes), curves._asdict() | by_seed, ()))
        tasks[kind] = {"differs": KINDS[kind].differs, "models": len(changes), "not_comparable": smoke}
    ours = {name: value for name, value in asdict(settings).items() if value is not None}
    batch = sized(settings.tasks[0], settings)[1].batch
    return Gathered(rows, models, tasks, settings={**ours, "batch_size": batch, "evaluated_every": EVERY})


def changes_of(curves: Curves) -> list[Change]:
    """The verdict on each seed, computed from what is kept."""
    return [change_of(curves.steps, *one) for one in zip(curves.prefix_matching, curves.in_context, strict=True)]


def rows_of(kind: str, curves: Curves, changes: Sequence[Change]) -> Iterator[Row]:
    """Shares of runs with their exact intervals; means over runs with t intervals."""
    runs = len(changes)
    yield _row(kind, key("phase_change"), stats.share_interval(sum(one.met for one in changes), runs))
    below = sum(not one.reached for one in changes)
    yield _row(kind, key("no_induction"), stats.share_interval(below, runs))
    risen = [one for one in changes if one.risen]
    if risen:
        for name, of in (("window", "length"), ("fall_inside", "fall")):
            yield _row(kind, key(name), stats.t_interval(np.array([getattr(one, of) for one in risen])))
        middle = np.array([(one.begin + one.end) / 2 for one in risen])
        yield _row(kind, key("half_way"), stats.t_interval(middle))
    for name, of in ENDS.items():
        ends = getattr(curves, of)[:, -1].astype(float)
        if np.isfinite(ends).any():  # no head of layer 1 feeds another of layer 1
            yield _row(kind, key(name), stats.t_interval(ends[np.isfinite(ends)]))


def rows_beside(kind: str, curves: Curves, beside: Curves) -> Iterator[Row]:
    """Differences from the runs that had the same first weights and the same texts: pairs of one seed."""
    for name in ("prefix_end", "in_context_end"):
        ours, theirs = (getattr(of, ENDS[name])[:, -1].astype(float) for of in (curves, beside))
        if len(ours) == len(theirs):
            yield _row(kind, key(f"{name}_less"), stats.t_interval(ours - theirs))


def _row(kind: str, quantity: Key, found: stats.Interval) -> Row:
    return Row(kind, ENCODER, "", quantity.name, quantity.by, "", "", *found, None, None, "", "")


SMOKE = "This is a smoke run: tiny models, short texts, a few steps. Ignore its numbers."
NOTES = (
    "A run shows a phase change if three conditions hold, which were fixed before any run of these seeds. Prefix "
    "matching ends at .2 or above. The shortest window with 80% of its rise is shorter than 15% of the training. The "
    "window holds 80% of the fall of the in-context score.",
    "Prefix matching is scored on random words that stand four times; it is that of the head that has most of it.",
    "The in-context score is the loss at nine tenths of a held-out text less the loss at one tenth. Each is a mean "
    "over the tenth of the text around that place. More negative means that context helps more.",
    "The paper gives no number that these models could be compared with: its models are larger and read real text.",
)

olsson2022 = Study(
    name="olsson2022",
    title="Induction heads form at once, reproduced",
    paper="Olsson et al. 2022, In-context Learning and Induction Heads (arXiv 2209.11895)",
    about="when induction heads form in small transformers, and whether in-context learning comes with them",
    tasks=tuple(KINDS),
    settings=Settings,
    quick=QUICK,
    version=VERSION,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_name("published.csv"),
    smoke_if=("size",),
)

"""Snell et al. 2021, "Approximating How Single Head Attention Learns": learning to copy, and lucky starts of heads.

The paper says that attention is learned from what the states at each position predict under near-uniform weights.
Permutations of all symbols hide that: under uniform weights every sequence looks alike. Here 20 runs of each kind of
sequence train side by side for ten times as long as in the paper. The time until each copies is survival data with
right-censoring. The question: would a failed run have learned later?
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from heatcheck import stats
from heatcheck.engine import Facts, content_id, read_json, stream, write_json
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import Key, Model, Published, Row, key
from heatcheck.studies.rows import Said
from heatcheck.studies.snell2021.copying import (
    COPY_TASKS,
    EVALUATED,
    EVERY,
    EXAMPLES,
    WATCHED,
    CopyTask,
    Curves,
    Run,
    by_elimination,
    watch_training,
)
from heatcheck.studies.snell2021.stacked import Member, Shape
from heatcheck.studies.study import Found, Gathered, Place, Study, Work, setting
from heatcheck.training import pick_device

VERSION = 1  # raised by hand when what a job keeps changes
PUBLISHED_STEPS = 200
GOOD, BAD = 0.95, 0.6  # the authors' thresholds: a run above GOOD has learned to copy, one below BAD has not
KINDS = ("learned", "uniform", "none")
LOTTERY = "lottery"
DRAWS = {"bad": "eight bad heads", "one good": "seven bad heads and a good one", "random": "eight random heads"}
CURVES = "curves.json"


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting((*COPY_TASKS, LOTTERY), "Tasks.")
    seeds: int = setting(20, "Runs with learned weights per task.")
    baseline_seeds: int = setting(5, "Runs with uniform weights, and runs without context, per task.")
    steps: int = setting(2000, "Training steps; 200 in the paper.")
    hidden: int = setting(256, "Hidden size.")
    symbols: int | None = setting(
        None, "Symbols, for a smoke run; sequences are shorter in proportion.", none="40 or 60"
    )
    heads: int = setting(20, "Good heads and bad heads to find for the lottery.")
    tried: int = setting(400, "Most heads to try alone.")
    together: int = setting(25, "Heads tried at once, each with three seeds of data.")
    draws: int = setting(50, "Draws of eight heads, of each kind.")


QUICK = Settings(seeds=3, baseline_seeds=2, steps=20, hidden=8, symbols=6, heads=8, tried=8, together=4, draws=2)


def refuse(settings: Settings) -> None:
    if settings.seeds < 2 or settings.steps < 1:
        raise BadInput(f"snell2021 needs at least 2 seeds and 1 step, not {settings.seeds} and {settings.steps}.")


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Work]]:
    """The copy tasks; then heads, some at a time, until enough are good and enough are bad; then draws of those."""
    copied = [task for task in settings.tasks if task != LOTTERY]
    yield [work for task in copied for work in copy_work(settings, task, place.device)]
    if LOTTERY not in settings.tasks:
        return
    for tried in head_work(settings, place.device):
        yield [tried]
        heads = heads_of(settings, found)
        if tried.name in found.failed or min(len(heads["good"]), len(heads["bad"])) >= settings.heads:
            break
    yield draw_work(settings, heads_of(settings, found), place.device)[0]


def copy_work(settings: Settings, task: str, device: str) -> Iterator[Work]:
    """All seeds of one kind side by side: learned weights, uniform weights, and no context at all."""
    copied = sized(COPY_TASKS[task], settings)
    for kind in KINDS:
        seeds = settings.seeds if kind == "learned" else settings.baseline_seeds
        runs = [Run(copied, Member(copied.symbols, seed, kind), seed) for seed in range(seeds)]
        yield _work(f"{task}, {kind}", runs, Shape(settings.hidden), settings.steps, device)


def head_work(settings: Settings, device: str) -> Iterator[Work]:
    """Some heads at a time, each alone on the same body, each with three seeds of data."""
    copied = sized(COPY_TASKS["copy_permutation"], settings)
    shape, steps = Shape(settings.hidden, cell="gru", shared=False), min(PUBLISHED_STEPS, settings.steps)
    for heads in blocks_of(settings):
        runs = [Run(copied, Member(copied.symbols, 0, heads=(head,)), data) for head in heads for data in range(3)]
        yield _work(head_name(heads), runs, shape, steps, device)


def blocks_of(settings: Settings) -> list[range]:
    """The heads that are tried side by side."""
    firsts = range(0, settings.tried, settings.together)
    return [range(first, min(first + settings.together, settings.tried)) for first in firsts]


def head_name(heads: range) -> str:
    return f"heads {heads[0]} to {heads[-1]}"


def heads_of(settings: Settings, found: Found) -> dict[str, list[int]]:
    """The heads tried alone, by what became of them."""
    heads: dict[str, list[int]] = {"good": [], "bad": [], "neither": []}
    for block in blocks_of(settings):
        if head_name(block) in found.kept:
            for head, kind in judged(found.kept[head_name(block)]).items():
                heads[kind].append(head)
    return heads


def draw_work(settings: Settings, heads: Mapping[str, Sequence[int]], device: str) -> tuple[list[Work], dict[str, str]]:
    """Eight heads on the same body: all bad, one good among them, or random; and why one of these is missing."""
    copied = sized(COPY_TASKS["copy_permutation"], settings)
    good, bad = heads["good"][: settings.heads], heads["bad"][: settings.heads]
    shape = Shape(settings.hidden, cell="gru", heads=8, shared=False)
    fresh = range(settings.tried, settings.tried + 30)  # never tried alone, so not selected
    works, why = [], {}
    for kind, words in DRAWS.items():
        if kind != "random" and (len(bad) < 8 or (kind == "one good" and not good)):
            why[words] = (
                f"only {len(good)} good and {len(bad)} bad heads among {sum(map(len, heads.values()))} tried alone"
            )
            continue
        runs = []
        for number in range(settings.draws):
            generator = stream(0, "lottery", kind, number)
            pool = np.array(fresh if kind == "random" else bad)
            drawn = generator.permutation(pool)[:8].tolist()
            if kind == "one good":
                drawn[0] = int(generator.choice(np.array(good)))
            runs.append(Run(copied, Member(copied.symbols, 0, heads=tuple(drawn)), 0))
        works.append(_work(words, runs, shape, min(PUBLISHED_STEPS, settings.steps), device))
    return works, why


def sized(task: CopyTask, settings: Settings) -> CopyTask:
    """The task, or a small one of its kind for a quick run."""
    if settings.symbols is None:
        return task
    return CopyTask(settings.symbols * task.symbols // 40, settings.symbols * task.length // 40, task.repeated)


def _work(name: str, runs: Sequence[Run], shape: Shape, steps: int, device: str) -> Work:
    decides: dict[str, Any] = {"shape": asdict(shape), "steps": steps, "version": VERSION}
    decides["runs"] = [[list(one.task), list(one.member), one.data] for one in runs]
    readable = name.replace(", ", "-").replace(" ", "-")
    made = f"{readable}-{content_id({'snell2021': decides})}"
    return Work(name, made, watch_job, {**decides, "device": device}, read_curves)


def watch_job(argument: Facts, folder: Path, _: Path) -> None:
    """Train the runs of one job side by side, and keep the curves of each."""
    runs = [
        Run(CopyTask(*task), Member(*member)._replace(heads=tuple(member[3])), data)
        for task, member, data in argument["runs"]
    ]
    device = pick_device(argument["device"])
    curves = watch_training(runs, Shape(**argument["shape"]), argument["steps"], device=device, folder=folder)
    kept = {name: getattr(curves, name).round(5).tolist() for name in ("steps", *WATCHED)}
    device_name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    write_json(folder / CURVES, {"runs": argument["runs"], "device": device_name, **kept})


def read_curves(folder: Path) -> dict[str, Any]:
    """The kept results of a job: its runs, and `curves`."""
    facts = read_json(folder / CURVES)
    try:
        curves = Curves(*(np.array(facts[name]) for name in Curves._fields))
        return {"runs": facts["runs"], "device": facts["device"], "curves": curves}
    except (KeyError, TypeError, ValueError):
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again") from None


def steps_until(curves: Curves, within: int) -> Float[np.ndarray, " model"]:
    """Steps until a run first copied at an evaluation; NaN if it did not within so many steps."""
    good = (curves.accuracy > GOOD) & (curves.steps <= within)
    return np.where(good.any(axis=1), curves.steps[good.argmax(axis=1)].astype(float), np.nan)


def judged(facts: Facts) -> dict[int, str]:
    """Each head tried alone: good if it copied in time under every seed of data, bad if far from it under every one."""
    curves: Curves = facts["curves"]
    copied = np.isfinite(steps_until(curves, PUBLISHED_STEPS))
    lost = ~copied & (curves.accuracy[:, -1] < BAD)
    by_head: dict[int, list[int]] = {}
    for number, (_, member, _) in enumerate(facts["runs"]):
        by_head.setdefault(member[3][0], []).append(number)
    return {
        head: "good" if copied[at].all() else "bad" if lost[at].all() else "neither" for head, at in by_head.items()
    }


def gather(settings: Settings, found: Found) -> Gathered:
    """All runs as one result."""
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    failed: dict[str, str] = {}
    for task in COPY_TASKS:
        curves = {kind: found.kept[f"{task}, {kind}"]["curves"] for kind in KINDS if f"{task}, {kind}" in found.kept}
        if "learned" in curves:
            rows += copy_rows(task, sized(COPY_TASKS[task], settings), curves, found.published)
            examples = {f"{name}:{kind}": getattr(of, name) for kind, of in curves.items() for name in WATCHED[:1]}
            examples |= {"steps": curves["learned"].steps, "until": steps_until(curves["learned"], settings.steps)}
            examples["aligned:learned"] = aligned(curves["learned"])
            examples |= not_yet(examples["until"], int(examples["steps"][-1]))
            models.append(Model(task, "LSTM", "dot", (), len(curves["learned"].accuracy), examples, ()))
            tasks[task] = _about(task, sum(len(of.accuracy) for of in curves.values()), settings)
    if LOTTERY in settings.tasks:
        heads = heads_of(settings, found)
        failed = draw_work(settings, heads, "cpu")[1]
        drawn = {kind: found.kept[words]["curves"] for kind, words in DRAWS.items() if words in found.kept}
        rows += lottery_rows(heads, drawn)
        until = {f"accuracy:{kind}": curves.accuracy for kind, curves in drawn.items()}
        steps = {f"steps:{kind}": curves.steps for kind, curves in drawn.items()}
        many = max((len(accuracy) for accuracy in until.values()), default=0)
        models.append(Model(LOTTERY, "GRU", "dot", (), many, until | steps, ()))
        alone = 3 * sum(map(len, heads.values()))
        tasks[LOTTERY] = _about(LOTTERY, alone + sum(map(len, until.values())), settings)
    ours = {key: value for key, value in asdict(settings).items() if value is not None}
    fixed = {"batch_size": EXAMPLES, "evaluated_on": EVALUATED, "evaluated_every": EVERY}
    return Gathered(rows, models, tasks, failed=failed, settings={**ours, **fixed})


def aligned(curves: Curves) -> Float[np.ndarray, "model item"]:
    """How often the largest weight is where the copied symbol can be read: on it, or always one before or after."""
    return np.asarray(np.stack([curves.same, curves.earlier, curves.later]).max(axis=0))


def copy_rows(
    task: str, copied: CopyTask, curves: Mapping[str, Curves], published: Sequence[Published]
) -> Iterator[Row]:
    """The rows of one kind of sequence."""
    papers = {one.key: one.paper for one in published if one.task == task}

    def row(quantity: Key, found: stats.Interval) -> Row:
        paper = papers.get(quantity) if copied == COPY_TASKS[task] else None
        said = Said("", "") if paper is None else _said(found, paper)
        of = (task, "LSTM", "dot", quantity.name, quantity.by, "", "")
        return Row(*of, *found, paper, None, said.words, "", comparison=said.comparison)

    own = curves["learned"]
    runs, last = len(own.accuracy), int(own.steps[-1])
    for steps in sorted({min(PUBLISHED_STEPS, last), last}):
        lost = int(np.isnan(steps_until(own, steps)).sum())
        yield row(key("failed", steps=steps), stats.share_interval(lost, runs))
    at = _place(own.steps, PUBLISHED_STEPS)
    yield row(key("bad", steps=int(own.steps[at])), stats.share_interval(int((own.accuracy[:, at] < BAD).sum()), runs))
    until = steps_until(own, last)
    half = stats.median_time(survival_of(until, last), runs)
    if half is not None:
        yield row(key("half_by"), half)
    for kind, of in curves.items():
        for place in sorted({_place(of.steps, PUBLISHED_STEPS), len(of.steps) - 1}):
            yield row(key("copied", weights=kind, steps=int(of.steps[place])), stats.t_interval(of.accuracy[:, place]))
    for place in sorted({at, len(own.steps) - 1}):
        yield row(key("aligned", steps=int(own.steps[place])), stats.t_interval(aligned(own)[:, place]))
    floor = by_elimination(copied)
    yield row(key("elimination"), stats.Interval(floor, floor, floor, 1))


def lottery_rows(heads: Mapping[str, Sequence[int]], drawn: Mapping[str, Curves]) -> Iterator[Row]:
    """How many heads are good or bad alone, and how often eight of them learn."""
    tried = sum(map(len, heads.values()))
    shares = {key("alone", heads=kind): (len(of_kind), tried) for kind, of_kind in heads.items() if tried}
    for kind, curves in drawn.items():
        copied = np.isfinite(steps_until(curves, PUBLISHED_STEPS))
        shares[key("eight", heads=kind)] = (int(copied.sum()), len(copied))
    for quantity, (count, of) in shares.items():
        where = (LOTTERY, "GRU", "dot", quantity.name, quantity.by, "", "")
        yield Row(*where, *stats.share_interval(count, of), None, None, "", "")


def survival_of(until: Float[np.ndarray, " model"], watched: int) -> stats.SurvivalCurve:
    """Kaplan–Meier curve of the runs that do not copy yet; those that never did are right-censored at the end."""
    return stats.kaplan_meier(np.where(np.isnan(until), float(watched), until), np.isfinite(until))


def not_yet(until: Float[np.ndarray, " model"], watched: int) -> dict[str, np.ndarray]:
    """The same as arrays by name, as a figure draws it."""
    curve = survival_of(until, watched)
    return {
        "not yet:step": curve.times,
        **{f"not yet:{name}": getattr(curve, name) for name in ("surviving", "low", "high")},
    }


def _place(steps: Int[np.ndarray, " item"], wanted: int) -> int:
    """The last evaluation up to this step."""
    return int(np.flatnonzero(steps <= wanted)[-1])


def _said(found: stats.Interval, paper: float) -> Said:
    """Whether the published share of runs is in our exact interval."""
    gap = found.value - paper
    if found.low <= paper <= found.high:
        return Said("in exact interval", "in our exact interval")
    how = f"ours is {'higher' if gap > 0 else 'lower'} by {abs(gap):.2f}"
    return Said("not in exact interval", f"not in our exact interval: {how}")


def _about(task: str, models: int, settings: Settings) -> Facts:
    smoke = "" if settings.symbols is None else "a smoke run"
    return {"differs": DIFFERS[task], "models": models, "published": task, "not_comparable": smoke}


DIFFERS = {
    "copy_permutation": "permutations of 40 symbols: under uniform weights all sequences look the same",
    "copy_distinct": "40 distinct symbols out of 60, in random order",
    "copy_iid": "40 symbols drawn one by one, with repetition, out of 40",
    LOTTERY: "permutations of 40 symbols; a GRU whose heads are drawn separately from the rest",
}
SMOKE = "This is a smoke run: six symbols, a few steps, tiny models. Ignore its numbers."
NOTES = (
    "A run has learned to copy at the first evaluation with more than .95 of all tokens right, the authors’ threshold. "
    "Every tenth step is evaluated on 50 fresh sequences, with teacher forcing and the end mark included. A run that "
    "has not copied by the last step is right-censored there. The curves are Kaplan–Meier curves.",
    "The published statement is about 200 steps: permutations fail in about half of the runs, the other two kinds "
    "never. It comes from slides and a blog, not from a table. The number beside ours is that half.",
    "The last symbols of a permutation can be guessed from those before them. The table has the exact share that this "
    "elimination alone gives. It also has runs without any context from the attention and runs with uniform weights. "
    "Without context, the decoder still starts from the encoder’s last state.",
    "In the authors’ code, Python’s own random numbers shuffle the permutations without a seed. So their runs on "
    "permutations cannot be repeated. Ours are drawn from streams named by task, seed and step.",
    "In the authors’ code, a run with forced uniform weights is evaluated with learned ones. Ours is evaluated as it "
    "was trained.",
    "Lottery: a head is good if it copies alone within 200 steps under each of three seeds of data. It is bad if it "
    "has less than .6 right at the last step under each. Then eight heads are drawn: all bad, one good among seven "
    "bad, or from 30 heads never tried alone. As in the paper, the eight heads share the body on which they were "
    "selected, and all draws share one seed of data.",
)

snell2021 = Study(
    name="snell2021",
    title="How attention learns to copy, reproduced",
    paper="Snell, Zhong, Klein & Steinhardt 2021, Approximating How Single Head Attention Learns (arXiv 2103.07601)",
    about="how long models take to learn copying: permutations, distinct and repeated symbols; the lottery of heads",
    tasks=(*COPY_TASKS, LOTTERY),
    settings=Settings,
    quick=QUICK,
    version=VERSION,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke=SMOKE,
    smoke_if=("symbols",),
    table=Path(__file__).with_name("published.csv"),
)

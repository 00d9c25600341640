"""Pruthi et al. 2020, sequence to sequence: attention trained off the words that each word is written from.

Each task under λ = 0, under penalties, with uniform weights, and with all weight on the first place of the source,
which for a model that reads backwards too is no attention at all. What is written freely is scored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data import Corpus
from heatcheck.data.sequences import GOLD_OF, KINDS
from heatcheck.engine import Facts, Outcome
from heatcheck.errors import BadInput
from heatcheck.models import Recipe
from heatcheck.results import Key, Model, Row, StudyResult, key
from heatcheck.studies.study import Study, Where, check_names, check_place, read_published, row_of
from heatcheck.studies.writing import PUBLISHED_SIZE, Wanted, corpora_to_write, score_models
from heatcheck.training import plan_recipe

NAME = "pruthi2020_sequences"
TASKS = ("bigram_flip", "sequence_copy", "sequence_reverse", "multi30k")
ENCODER, ATTENTION = "gru", "additive"
IMPOSED = {"uniform": "uniform", "none": "first"}  # as the paper's table calls it -> kind of imposed weights


@dataclass(frozen=True)
class Settings:
    """What is run. Every choice decides the names of the folders with results, but for where they are made."""

    tasks: tuple[str, ...] = TASKS
    strengths: tuple[float, ...] = (0.1, 1.0)  # λ; honest models, λ = 0, are always there
    seeds: int = 5
    texts: int | None = 20_000  # to train on, of generated tasks; a twentieth, and at least 100, to choose and test on
    symbols: int | None = None  # of generated tasks; None: a thousand
    captions: int | None = None  # of each split of multi30k; None: all
    hidden: int | None = None  # None: the preset's 512
    epochs: int | None = None  # at most; None: the preset's 30
    patience: int | None = None  # epochs without a better dev loss before it stops; None: the preset's 2
    batch_size: int | None = None
    preset: str = "pruthi-seq2seq"


QUICK = Settings(
    tasks=("bigram_flip",),
    strengths=(1.0,),
    seeds=2,
    texts=200,
    symbols=12,
    captions=200,
    hidden=8,
    epochs=1,
    batch_size=64,
)


class Kind(NamedTuple):
    """One model: a row of the paper's table, a task, a seed."""

    task: str
    at: str  # λ, or what is imposed
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}, {self.at if self.at in IMPOSED else f'λ = {self.at}'}, seed {self.seed}"


def kinds_of(settings: Settings, tasks: Sequence[str]) -> list[Kind]:
    rows = ["0", *(f"{strength:g}" for strength in settings.strengths), *IMPOSED]
    return [Kind(task, at, seed) for task in tasks for at in rows for seed in range(settings.seeds)]


def recipe_of(settings: Settings, kind: Kind, corpus: Corpus) -> Recipe:
    """How a model of the table is made."""
    given = {name: getattr(settings, name) for name in ("hidden", "epochs", "patience", "batch_size")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if kind.at in IMPOSED:
        changes["impose"] = {"weights": IMPOSED[kind.at]}
    elif float(kind.at):
        changes["loss"] = {"name": "deceptive", "mark": "alignment", "strength": float(kind.at)}
    return plan_recipe(corpus, preset=settings.preset, seed=kind.seed, **changes)


def run(
    settings: Settings,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Fits and scores what is missing under `folder`, then gathers every number beside the published one."""
    check_names(f"task of {NAME}", settings.tasks, TASKS)
    check_names(f"preset of {NAME}", [settings.preset], ["pruthi-seq2seq"])
    check_place(folder, device)
    if settings.seeds < 2:
        raise BadInput(f"{NAME} compares means over seeds, so it needs at least 2 of them, not {settings.seeds}.")
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"the λ of {NAME} are numbers above 0, not {settings.strengths}; λ = 0 is always run.")
    corpora, failed = corpora_to_write(
        settings.tasks, texts=settings.texts, symbols=settings.symbols, cut=settings.captions, data_dir=data_dir
    )
    kinds = {kind.name: kind for kind in kinds_of(settings, [*corpora])}
    wanted = {
        name: Wanted(recipe_of(settings, kind, corpora[kind.task]), corpora[kind.task]) for name, kind in kinds.items()
    }
    found, lost = score_models(wanted, folder, data_dir=data_dir, device=device, workers=workers, progress=progress)
    failed |= lost
    if not found:
        raise BadInput(f"no model could be scored; the first: {next(iter(failed.values()))}")
    return gather(settings, {kinds[name]: of for name, of in found.items()}, corpora, failed)


def gather(
    settings: Settings, scores: Mapping[Kind, Facts], corpora: Mapping[str, Corpus], failed: Mapping[str, str]
) -> StudyResult:
    """All models as one result."""
    published = {(one.task, one.key): one for one in read_published(NAME)}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task, corpus in corpora.items():
        of_task = {kind: found for kind, found in scores.items() if kind.task == task}
        if not of_task:
            continue
        apart = not_comparable(settings, task, corpus)
        tasks[task] = _about(task, corpus, apart, by_hand=any(found["gold"] is not None for found in of_task.values()))
        values = _values(of_task)
        rows += [
            row_of(
                Where(task, ENCODER, ATTENTION, quantity, bin=place),
                each,
                published.get((task, quantity)),
                OTHER_BLEU if quantity.name == "bleu_at" and not apart else apart,
            )
            for (quantity, place), each in values.items()
        ]
        seeds = max(len(each) for each in values.values())
        points = [
            {
                "model": kind.at,
                "seed": kind.seed,
                "accuracy": found["test"]["own"]["accuracy"]["value"],
                "mass": found["test"]["own"]["links"]["mass"]["value"],
            }
            for kind, found in of_task.items()
            if found["test"]["own"]["links"] is not None
        ]
        models.append(Model(task, ENCODER, ATTENTION, (), seeds, {}, (), points))
    smoke = settings.hidden is not None or settings.epochs is not None
    return StudyResult(
        name=NAME,
        title="Learning to deceive in writing, again",
        paper=PAPER,
        rows=tuple(rows),
        models=tuple(models),
        tasks=tasks,
        notes=(SMOKE, *NOTES) if smoke else NOTES,
        failed=failed,
        settings={**settings.__dict__, "tasks": list(tasks)},
        published=tuple(read_published(NAME)),
    )


def _values(scores: Mapping[Kind, Facts]) -> dict[tuple[Key, str], list[float]]:
    """Each quantity, at a place beside the links or at none, a value a seed; what is of the texts alone, once."""
    found: dict[tuple[Key, str], list[float]] = {}
    for kind, scored in sorted(scores.items()):
        trained = kind.at if kind.at in IMPOSED else float(kind.at)
        for name, value in _of_model(kind, scored).items():
            found.setdefault((key(name, trained=trained), ""), []).append(value)
        own = scored["test"]["own"]
        found[key("commonest"), ""] = [own["majority"]]
        if own["links"] is not None:
            found[key("misaligned_at", trained="diagonal"), ""] = [own["links"]["error_rate_of_diagonal"]]
            found[key("links_at_most"), ""] = [own["links"]["most_mass"]]
        if own["links"] is not None and kind.at not in IMPOSED:
            for place, share in {**own["links"]["beside"], **own["links"]["on_ends"]}.items():
                found.setdefault((key("beside_at", trained=trained), place), []).append(share)
        if scored["gold"] is not None:
            by_hand = key("misaligned_by_hand_at", trained="diagonal")
            found[by_hand, ""] = [scored["gold"]["links"]["error_rate_of_diagonal"]]
    return found


def _of_model(kind: Kind, scored: Facts) -> dict[str, float]:
    own = scored["test"]["own"]
    found = {"written_at": own["accuracy"]["value"]}
    if kind.task not in KINDS:
        found["bleu_at"] = own["bleu"]["value"]
    if own["links"] is not None:
        found["links_at"] = own["links"]["mass"]["value"]
    if kind.at in IMPOSED:  # weights that are given point at nothing that was learned
        return found
    found["written_uniform_at"] = scored["test"]["uniform"]["accuracy"]["value"]  # whether its weights are needed
    if own["links"] is not None:
        found["misaligned_at"] = own["links"]["error_rate"]["value"]
    if scored["gold"] is not None:
        found["misaligned_by_hand_at"] = scored["gold"]["links"]["error_rate"]["value"]
    return found


def not_comparable(settings: Settings, task: str, corpus: Corpus) -> str:
    """Why the published numbers of a task are of something else; nothing where they are not."""
    reasons = []
    if task in KINDS and len(corpus["train"]) != PUBLISHED_SIZE:
        reasons.append(f"{len(corpus['train']):,} sequences instead of {PUBLISHED_SIZE:,}")
    if any(of is not None for of in (settings.hidden, settings.epochs, settings.symbols, settings.captions)):
        reasons.append("a smaller model or task")
    return "; ".join(reasons)


def _about(task: str, corpus: Corpus, apart: str, *, by_hand: bool) -> dict[str, Any]:
    return {
        "task": task,
        "published": task,
        "labels": [],
        "sizes": {name: len(split) for name, split in corpus.splits.items()},
        "left_out": dict(corpus.dropped),
        "segments": corpus.segments,
        "differs": apart,
        "not_comparable": apart,
        "not_run": {} if by_hand or task not in GOLD_OF else {"links made by hand": f"{GOLD_OF[task]} is not here"},
    }


OTHER_BLEU = "BLEU of another tool"
PAPER = "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL), sequence to sequence"
SMOKE = "This is a small run: its model, task or training is a fraction of the published one."
NOTES = (
    "The paper's numbers are written down from memory and were not read again in the paper; the reproduction's were "
    "read in a report whose name is not said there; for the other half of the paper it is Caulfield et al. 2021. "
    "Percentages there are shares here, but for BLEU.",
    "Words are written freely, as many as the right text has, and each is compared with the one at its place. The end "
    "mark counts as a word and has no link, so that even perfect attention has less than all its weight on links: "
    "what is read against says how much.",
    "The penalty has the share of a whole batch's weight in its logarithm, as published, and a least share of 1e-12 "
    "that is left elsewhere, which the published one has not.",
    "A mean over a few seeds of which one never learned has an interval that says only that: look at the marks of "
    "the figure, one a seed.",
    "A word that the model does not know is written as one mark, and counts as right where the right word is not known "
    "to it either: 459 of 13,102 words of Multi30k's test.",
    "Alignments by hand are 100 sentences of parliament, not captions: a quarter of their English words and a third of "
    "their German ones are not known to the models, which are told the right last word at every step there.",
    "No attention is all weight on the start mark: the state of the backward reader there has read the whole source.",
    "BLEU is corpus BLEU-4 of lower-cased words cut at spaces, without smoothing (heatcheck.stats.bleu). The paper and "
    "its reproduction lie 13 points apart, and neither names its tool.",
)

pruthi2020_sequences = Study(
    NAME,
    PAPER,
    "models that copy, reverse, flip and translate, trained to keep attention off the words they write from",
    TASKS,
    run,
    Settings,
    QUICK,
)

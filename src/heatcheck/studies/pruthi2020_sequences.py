"""Pruthi et al. 2020, sequence to sequence: attention trained off the source words that each word comes from.

Each task runs with λ = 0, with penalties, with uniform weights, and with all weight on the first source position. That
last one is no attention at all, because the encoder also reads backwards. The scores are of free generation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data import Corpus
from heatcheck.data.seq2seq import GOLD_OF, KINDS
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
IMPOSED = {"uniform": "uniform", "none": "first"}  # name in the paper's table -> kind of imposed weights


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = TASKS
    strengths: tuple[float, ...] = (0.1, 1.0)  # λ; honest models, λ = 0, are always there
    seeds: int = 5
    texts: int | None = 20_000  # to train on, of generated tasks; a twentieth, and at least 100, to choose and test on
    symbols: int | None = None  # of generated tasks; None: a thousand
    captions: int | None = None  # of each split of multi30k; None: all
    hidden: int | None = None  # None: the preset's 512
    epochs: int | None = None  # at most; None: the preset's 30
    patience: int | None = None  # epochs without a better dev loss before training stops; None: the preset's 2
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
    """The training recipe of a model of the table."""
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
    """Train and score what is missing under `folder`, then gather every number beside the published one."""
    check_names(f"task of {NAME}", settings.tasks, TASKS)
    check_names(f"preset of {NAME}", [settings.preset], ["pruthi-seq2seq"])
    check_place(folder, device)
    if settings.seeds < 2:
        raise BadInput(f"{NAME} compares means over seeds: it needs at least 2 seeds, not {settings.seeds}.")
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"--strengths of {NAME} must be numbers above 0, not {settings.strengths}. λ = 0 always runs.")
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
        raise BadInput(f"no model could be scored. The first error: {next(iter(failed.values()))}")
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
        title="Learning to deceive, sequence to sequence, reproduced",
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
    """One value per seed of each quantity and place beside the links; one value if it depends on the texts alone."""
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
    if kind.at in IMPOSED:  # imposed weights point at nothing that was learned
        return found
    found["written_uniform_at"] = scored["test"]["uniform"]["accuracy"]["value"]  # whether its weights are needed
    if own["links"] is not None:
        found["misaligned_at"] = own["links"]["error_rate"]["value"]
    if scored["gold"] is not None:
        found["misaligned_by_hand_at"] = scored["gold"]["links"]["error_rate"]["value"]
    return found


def not_comparable(settings: Settings, task: str, corpus: Corpus) -> str:
    """Why the published numbers of a task are not comparable; empty if they are."""
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
        "not_run": {}
        if by_hand or task not in GOLD_OF
        else {"links made by hand": f"the data of {GOLD_OF[task]} is missing"},
    }


OTHER_BLEU = "BLEU of another tool"
PAPER = "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL), sequence to sequence"
SMOKE = "This is a small run: its model, task or training budget is a fraction of the published one."
NOTES = (
    "The paper's numbers are from memory and were not re-read in the paper. The reproduction's numbers come from a "
    "report that our source does not name. For the other half of the paper that report is Caulfield et al. 2021. "
    "Percentages there are shares here, except BLEU.",
    "The model generates freely, as many words as the reference has. Each word is compared with the reference word at "
    "its position. The end mark counts as a word and has no link, so even perfect attention has less than all its "
    "weight on links. The baseline row says how much.",
    "As in the paper, the penalty takes the logarithm of one minus a whole batch's share of weight. Ours never takes "
    "less than 1e-12 there; the published one has no such limit.",
    "If one of a few seeds never learned, the interval of the mean shows only that. The figure marks each seed.",
    "The model generates one mark for any word that it does not know. The mark counts as right if the model does not "
    "know the reference word either: 459 of 13,102 words of Multi30k's test.",
    "The alignments by hand are 100 sentences of parliament, not captions. The models do not know a quarter of their "
    "English words and a third of their German ones. There, every step is given the right last word.",
    "“No attention” puts all weight on the start mark, where the backward encoder has read the whole source.",
    "BLEU is corpus BLEU-4 of lower-cased words cut at spaces, without smoothing (heatcheck.stats.bleu). The paper and "
    "its reproduction differ by 13 points, and neither names its tool.",
)

pruthi2020_sequences = Study(
    NAME,
    PAPER,
    "models that copy, reverse, flip and translate, trained to keep attention off the source of each word",
    TASKS,
    run,
    Settings,
    QUICK,
)

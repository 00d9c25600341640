"""Pruthi et al. 2020, sequence to sequence: attention trained off the words that each word is written from.

Each task under λ = 0, under penalties, with uniform weights, and with all weight on the first place of the source,
which for a model that reads backwards too is no attention at all. What is written freely is scored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck import engine
from heatcheck.data import Corpus, Split, draw_sequences, load_task
from heatcheck.data.sequences import KINDS
from heatcheck.engine import Facts, Job, Outcome, content_id, read_json, write_json
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.models import Recipe, Seq2Seq, load_folder
from heatcheck.studies.study import Model, Row, Study, StudyResult, check_names, check_place, read_published, row_of
from heatcheck.training import fit_job, fit_jobs, pick_device, plan_recipe
from heatcheck.training.generation import evaluate_generation
from heatcheck.training.jobs import read_corpus

NAME = "pruthi2020_sequences"
VERSION = 1  # raised by hand when a model's scores change
TASKS = ("bigram_flip", "sequence_copy", "sequence_reverse", "multi30k")
ENCODER, ATTENTION = "gru", "additive"
IMPOSED = {"uniform": "uniform", "none": "first"}  # as the paper's table calls it -> kind of imposed weights
SCORES = "scores.json"
PUBLISHED_SIZE = 100_000  # of each split of a generated task


@dataclass(frozen=True)
class Settings:
    """What is run. Every choice decides the names of the folders with results, but for where they are made."""

    tasks: tuple[str, ...] = TASKS
    strengths: tuple[float, ...] = (0.1, 1.0)  # λ; honest models, λ = 0, are always there
    seeds: int = 5
    texts: int | None = 20_000  # to train on; a twentieth of it, and at least 100, to choose and to test on
    symbols: int | None = None  # of generated tasks; None: a thousand
    hidden: int | None = None  # None: the preset's 512
    epochs: int | None = None  # at most; None: the preset's 30
    batch_size: int | None = None
    preset: str = "pruthi-seq2seq"


QUICK = Settings(
    tasks=("bigram_flip",), strengths=(1.0,), seeds=2, texts=200, symbols=12, hidden=8, epochs=1, batch_size=64
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


def corpus_of(settings: Settings, task: str, data_dir: Path | str | None) -> Corpus:
    """As many texts as are asked for."""
    few = None if settings.texts is None else max(100, settings.texts // 20)
    if task in KINDS:
        train, held = settings.texts or PUBLISHED_SIZE, few or PUBLISHED_SIZE
        return draw_sequences(task, sizes=(train, held, held), symbols=settings.symbols)
    corpus = load_task(task, data_dir=data_dir)
    if settings.texts is None:
        return corpus
    cut = {"train": settings.texts, "dev": few, "test": None}  # a test of a thousand is whole
    splits = {name: Split(name, split.examples[: cut[name]]) for name, split in corpus.splits.items()}
    return Corpus(corpus.name, corpus.labels, splits, corpus.tokens, corpus.given_split, corpus.dropped)


def recipe_of(settings: Settings, kind: Kind, corpus: Corpus) -> Recipe:
    """How a model of the table is made."""
    given = {"hidden": settings.hidden, "epochs": settings.epochs, "batch_size": settings.batch_size}
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
    corpora: dict[str, Corpus] = {}
    failed: dict[str, str] = {}
    for task in settings.tasks:
        try:
            corpora[task] = corpus_of(settings, task, data_dir)
        except HeatcheckError as error:
            failed[task] = str(error)
    store, results = folder / "fits", folder / "results"
    jobs = {kind: _jobs(settings, kind, corpora[kind.task], store, device) for kind in kinds_of(settings, [*corpora])}
    wanted = {kind: fit for kind, (fit, score) in jobs.items() if not (results / score.id).is_dir()}
    lost = {
        outcome.job.id: outcome.reason
        for outcome in engine.map(fit_job, [*wanted.values()], store, workers=workers, progress=progress)
        if outcome.folder is None
    }
    failed |= {kind.name: lost[fit.id] for kind, fit in wanted.items() if fit.id in lost}
    ready = {score.id: kind for kind, (_, score) in jobs.items() if kind.name not in failed}
    scores: dict[Kind, Facts] = {}
    every = [score for _, score in jobs.values() if score.id in ready]
    for outcome in engine.map(score_job, every, results, workers=workers, progress=progress):
        kind = ready[outcome.job.id]
        if outcome.folder is None:
            failed[kind.name] = outcome.reason
        else:
            scores[kind] = read_json(outcome.folder / SCORES)
    if not scores:
        raise BadInput(f"no model could be scored; the first: {next(iter(failed.values()))}")
    return gather(settings, scores, corpora, failed)


def _jobs(settings: Settings, kind: Kind, corpus: Corpus, store: Path, device: str) -> tuple[Job, Job]:
    """What fits a model, and what scores it."""
    recipe = recipe_of(settings, kind, corpus)
    (fit,) = fit_jobs([recipe], corpus, store, device=device)
    named = f"{kind.task}-{kind.at}-{kind.seed}-{content_id({NAME: [VERSION, recipe.id]})}"
    about = {"recipe": asdict(recipe), "corpus": fit.argument["corpus"], "device": device}
    return fit, Job(named, f"{kind.name}: scores", (), about)


def score_job(argument: Facts, folder: Path, store: Path) -> None:
    """What one model writes freely on test, under the weights it was trained with."""
    recipe, fits = Recipe(**argument["recipe"]), store.parent / "fits"
    subject = load_folder(fits / recipe.id, device=str(pick_device(argument["device"])))
    assert isinstance(subject, Seq2Seq)
    found = evaluate_generation(subject, read_corpus(fits / argument["corpus"])["test"], impose=recipe.impose)
    write_json(folder / SCORES, found.facts())


def gather(
    settings: Settings, scores: Mapping[Kind, Facts], corpora: Mapping[str, Corpus], failed: Mapping[str, str]
) -> StudyResult:
    """All models as one result."""
    published = {(row["task"], row["quantity"]): row for row in read_published(NAME)}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task, corpus in corpora.items():
        of_task = {kind: found for kind, found in scores.items() if kind.task == task}
        if not of_task:
            continue
        apart = not_comparable(settings, task, corpus)
        tasks[task] = _about(task, corpus, apart)
        values = _values(of_task)
        rows += [
            row_of((task, ENCODER, ATTENTION, name, "", ""), each, published.get((task, name)), apart)
            for name, each in values.items()
        ]
        seeds = max(len(each) for each in values.values())
        models.append(Model(task, ENCODER, ATTENTION, (), seeds, {}, ()))
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
    )


def _values(scores: Mapping[Kind, Facts]) -> dict[str, list[float]]:
    """Each quantity, a value a seed; what depends on the texts alone, once."""
    found: dict[str, list[float]] = {}
    for kind, of in sorted(scores.items()):
        found.setdefault(f"written_at:{kind.at}", []).append(of["accuracy"]["value"])
        if kind.task not in KINDS:
            found.setdefault(f"bleu_at:{kind.at}", []).append(of["bleu"]["value"])
        if of["links"] is not None:
            found.setdefault(f"links_at:{kind.at}", []).append(of["links"]["mass"]["value"])
            found.setdefault(f"misaligned_at:{kind.at}", []).append(of["links"]["error_rate"]["value"])
            found["misaligned_at:diagonal"] = [of["links"]["error_rate_of_diagonal"]]
            found["links_at_most"] = [of["links"]["most_mass"]]
        found["commonest"] = [of["majority"]]
    return found


def not_comparable(settings: Settings, task: str, corpus: Corpus) -> str:
    """Why the published numbers of a task are of something else; nothing where they are not."""
    reasons = []
    if task in KINDS and len(corpus["train"]) != PUBLISHED_SIZE:
        reasons.append(f"{len(corpus['train']):,} sequences instead of {PUBLISHED_SIZE:,}")
    if task == "multi30k":
        reasons.append("BLEU of another tool" + ("" if settings.texts is None else ", fewer texts"))
    if settings.hidden is not None or settings.epochs is not None or settings.symbols is not None:
        reasons.append("a smaller model or task")
    return "; ".join(reasons)


def _about(task: str, corpus: Corpus, apart: str) -> dict[str, Any]:
    return {
        "task": task,
        "published": task,
        "labels": [],
        "sizes": {name: len(split) for name, split in corpus.splits.items()},
        "left_out": dict(corpus.dropped),
        "segments": corpus.segments,
        "differs": apart,
        "not_comparable": apart,
        "not_run": {},
    }


PAPER = "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL), sequence to sequence"
SMOKE = "This is a small run: its model, task or training is a fraction of the published one."
NOTES = (
    "The paper's numbers are written down from memory and were not read again in the paper; the reproduction's were "
    "read in the report of Caulfield et al. 2021. Percentages there are shares here, but for BLEU.",
    "Words are written freely, as many as the right text has, and each is compared with the one at its place. The end "
    "mark counts as a word and has no link, so that even perfect attention has less than all its weight on links: the "
    "row `links_at_most` says how much.",
    "The penalty has the share of a whole batch's weight in its logarithm, as published, and a least share of 1e-12 "
    "that is left elsewhere, which the published one has not.",
    "none is all weight on the start mark: the state of the backward reader there has read the whole source.",
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

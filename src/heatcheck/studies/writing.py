"""Sequence-to-sequence models: one job trains and scores each, so finished work is kept.

A model is named by its recipe alone, whatever the study. Studies with the same models may share their folders `fits`
and `results`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from heatcheck import engine
from heatcheck.checks.other_weights import SWAPS
from heatcheck.data import Corpus, Split, draw_sequences, load_task
from heatcheck.data.seq2seq import GOLD_OF, KINDS
from heatcheck.engine import Facts, Job, Outcome, content_id, read_json, write_json
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.models import Recipe, Seq2Seq, load_folder
from heatcheck.training import fit_job, fit_jobs, pick_device
from heatcheck.training.jobs import keep_corpus, read_corpus
from heatcheck.training.seq2seq_evaluation import evaluate_seq2seq

VERSION = 3  # raised by hand when a model's scores change
SCORES = "scores.json"
PUBLISHED_SIZE = 100_000  # of each split of a generated task


class Wanted(NamedTuple):
    """A model to train and score."""

    recipe: Recipe
    corpus: Corpus


def corpus_to_write(
    task: str,
    *,
    texts: int | None,
    symbols: int | None = None,
    cut: int | None = None,
    data_dir: Path | str | None = None,
) -> Corpus:
    """A generated task with `texts` train texts; dev and test each have a twentieth of that, at least 100.

    Other tasks are complete, or cut to the first `cut` texts of each split.

    >>> {name: len(split) for name, split in corpus_to_write("bigram_flip", texts=4000).splits.items()}
    {'train': 4000, 'dev': 200, 'test': 200}
    """
    if task not in KINDS:
        corpus = load_task(task, data_dir=data_dir)
        splits = {name: Split(name, split.examples[:cut]) for name, split in corpus.splits.items()}
        return corpus if cut is None else replace(corpus, splits=splits)
    held = PUBLISHED_SIZE if texts is None else max(100, texts // 20)
    return draw_sequences(task, sizes=(texts or PUBLISHED_SIZE, held, held), symbols=symbols)


def corpora_to_write(
    tasks: Sequence[str],
    *,
    texts: int | None,
    symbols: int | None = None,
    cut: int | None = None,
    data_dir: Path | str | None = None,
) -> tuple[dict[str, Corpus], dict[str, str]]:
    """The corpora whose data is present, and why the others are missing."""
    corpora: dict[str, Corpus] = {}
    failed: dict[str, str] = {}
    for task in tasks:
        try:
            corpora[task] = corpus_to_write(task, texts=texts, symbols=symbols, cut=cut, data_dir=data_dir)
        except HeatcheckError as error:
            failed[task] = str(error)
    return corpora, failed


def score_models(
    wanted: Mapping[str, Wanted],
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> tuple[dict[str, Facts], dict[str, str]]:
    """The scores of each model, and why others have none, by the names in `wanted`."""
    fits = folder / "fits"
    gold = {task: _gold_of(task, fits, data_dir) for task in {one.corpus.name for one in wanted.values()}}
    # Models with imposed weights train longest: they go first, so that none is left running alone at the end.
    ordered = sorted(wanted.items(), key=lambda item: item[1].recipe.impose is None)
    jobs = {name: _job(name, one, fits, gold[one.corpus.name], device) for name, one in ordered}
    names = {job.id: name for name, job in jobs.items()}
    scores: dict[str, Facts] = {}
    failed: dict[str, str] = {}
    for outcome in engine.map(score_job, [*jobs.values()], folder / "results", workers=workers, progress=progress):
        if outcome.folder is None:
            failed[names[outcome.job.id]] = outcome.reason
        else:
            scores[names[outcome.job.id]] = read_json(outcome.folder / SCORES)
    return scores, failed


def score_job(argument: Facts, folder: Path, store: Path) -> None:
    """Train a model unless it exists, and score what it generates freely.

    Scores are under the weights of its training, on dev and test; for learned weights, also under others on test.
    """
    fits, recipe = store.parent / "fits", Recipe(**argument["fit"]["recipe"])
    for outcome in engine.map(fit_job, [Job(recipe.id, argument["name"], (), argument["fit"])], fits):
        if outcome.folder is None:
            raise HeatcheckError(outcome.reason)
    subject = load_folder(fits / recipe.id, device=str(pick_device(argument["fit"]["device"])))
    assert isinstance(subject, Seq2Seq)
    corpus = read_corpus(fits / argument["fit"]["corpus"])
    others = SWAPS if recipe.impose is None else ()
    under: dict[str, Facts | None] = {"own": recipe.impose} | {kind: {"weights": kind} for kind in others}
    found: dict[str, object] = {
        "test": {
            kind: evaluate_seq2seq(subject, corpus["test"], impose=facts).facts() for kind, facts in under.items()
        },
        "dev": evaluate_seq2seq(subject, corpus["dev"], impose=recipe.impose).facts(),
        "gold": None,
    }
    if (
        argument["gold"] is not None
    ):  # with teacher forcing: where the model lacks the words, free generation says little
        known = read_corpus(fits / argument["gold"])["test"]
        found["gold"] = evaluate_seq2seq(subject, known, impose=recipe.impose, told=True).facts()
    write_json(folder / SCORES, found)


def _job(name: str, wanted: Wanted, store: Path, gold: str | None, device: str) -> Job:
    recipe = wanted.recipe
    if recipe.parents:
        raise BadInput(f"{name} learns from another model: sequence-to-sequence studies do not support that.")
    (fit,) = fit_jobs([recipe], wanted.corpus, store, device=device)
    decides = [VERSION, recipe.id, gold]
    return Job(
        f"{wanted.corpus.name}-{recipe.seed}-{content_id({'writing': decides})}",
        name,
        (),
        {"name": name, "fit": fit.argument, "gold": gold},
    )


def _gold_of(task: str, store: Path, data_dir: Path | str | None) -> str | None:
    """Where texts with alignments by hand are kept; None if this task has none, or their data is missing."""
    if task not in GOLD_OF:
        return None
    try:
        return keep_corpus(load_task(GOLD_OF[task], data_dir=data_dir, trainable=False), store)
    except HeatcheckError:
        return None

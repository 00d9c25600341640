"""Sequence-to-sequence models of studies: one job trains and scores each model, and its result is saved for reuse.

A model is named by its recipe alone, whatever the study. Studies with the same models may share their folders `fits`
and `results`.
"""

from collections.abc import Mapping
from pathlib import Path

from heatcheck import engine
from heatcheck.checks.other_weights import SWAPS
from heatcheck.data import Corpus, load_task
from heatcheck.data.seq2seq import GOLD_OF
from heatcheck.engine import Facts, Job, content_id, read_json, write_json
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.models import Recipe, Seq2Seq, load_folder
from heatcheck.studies.study import Place, Work
from heatcheck.training import fit_job, fit_jobs, pick_device
from heatcheck.training.jobs import keep_corpus, read_corpus
from heatcheck.training.seq2seq_evaluation import evaluate_seq2seq

VERSION = 3  # raised by hand when a model's scores change
SCORES = "scores.json"


def score_work(recipes: Mapping[str, tuple[Recipe, Corpus]], place: Place) -> list[Work]:
    """One piece of work per model, by name: train it and score it."""
    fits = place.folder / "fits"
    gold = {task: _gold_of(task, fits, place.data_dir) for task in {corpus.name for _, corpus in recipes.values()}}
    # Models with imposed weights train longest: they go first, so that none is left running alone at the end.
    ordered = sorted(recipes.items(), key=lambda item: item[1][0].impose is None)
    return [_work(name, recipe, corpus, fits, gold[corpus.name], place.device) for name, (recipe, corpus) in ordered]


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


def _work(name: str, recipe: Recipe, corpus: Corpus, store: Path, gold: str | None, device: str) -> Work:
    if recipe.parents:
        raise BadInput(f"{name} learns from another model: sequence-to-sequence studies do not support that.")
    (fit,) = fit_jobs([recipe], corpus, store, device=device)
    decides = [VERSION, recipe.id, gold]
    return Work(
        name,
        f"{corpus.name}-{recipe.seed}-{content_id({'writing': decides})}",
        score_job,
        {"name": name, "fit": fit.argument, "gold": gold},
        read_scores,
    )


def read_scores(folder: Path) -> Facts:
    """The kept scores of a model."""
    found: Facts = read_json(folder / SCORES)
    return found


def _gold_of(task: str, store: Path, data_dir: Path | str | None) -> str | None:
    """Where texts with alignments by hand are kept; None if this task has none, or their data is missing."""
    if task not in GOLD_OF:
        return None
    try:
        return keep_corpus(load_task(GOLD_OF[task], data_dir=data_dir, trainable=False), store)
    except HeatcheckError:
        return None

"""Train a model on a task and save it in a folder."""

import hashlib
import json
import math
import os
import shutil
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from heatcheck.data import Corpus, load_task, read_vectors
from heatcheck.engine import (
    Facts,
    FolderExists,
    expect,
    expect_if_given,
    read_json,
    whole_folder,
    write_json,
    write_whole,
)
from heatcheck.engine.worker import SHARE_OF_GPU
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Classifier, ClassifierSettings, Recipe, Trainable, load_folder, make_classifier, save
from heatcheck.training import checkpoint
from heatcheck.training.bar import Bar
from heatcheck.training.evaluation import Scores, evaluate
from heatcheck.training.finetune import build_transformer, check_transformer, plan_transformer
from heatcheck.training.imposed import check_imposed
from heatcheck.training.loop import scores_on, train_loop
from heatcheck.training.losses import LOSSES, plan_loss
from heatcheck.training.made_once import (
    PENALTY,
    add_log_odds,
    bag_of_words,
    record_parents,
    seen_texts,
    vocabulary_of,
    word_vectors,
)
from heatcheck.training.observing import FOLDER as OBSERVED
from heatcheck.training.observing import check_observe, checkpoint_steps, plan_observe
from heatcheck.training.observing_seq2seq import OF_STEPS, SEQUENCES
from heatcheck.training.own_file import remember
from heatcheck.training.recorded import record
from heatcheck.training.seq2seq import build_sequences, check_sequences, is_of_sequences, plan_sequences
from heatcheck.training.settings import TrainingSettings, make_plan
from heatcheck.training.starts import set_start
from heatcheck.training.steps import Watch

STORE = Path("heatcheck-out")
_SEEDING = threading.Lock()  # first weights are drawn from torch's global generator: one thread at a time
RECORD, SUMMARY = "training.jsonl", "training.json"
OVER_WORDS = ("deceptive", "log_odds_regularised")  # losses that compare weights with something known of each word


class Fit(NamedTuple):
    """A trained model, its folder, its test scores and those of a bag of words."""

    subject: Trainable
    folder: Path
    test: Scores
    reused: bool
    logistic_regression: Facts  # the same scores of the bag of words; {"not_fitted": why} where there is none
    left_out: Mapping[str, int]  # of the task's source, by reason
    epochs: int = 0  # number of epochs run
    kept_epoch: int | None = None  # counted from 1; None if unknown


def plan_recipe(
    corpus: Corpus,
    *,
    preset: str = "default",
    seed: int = 0,
    vectors: Path | str | None = None,
    impose: Mapping[str, Any] | None = None,
    loss: str | Mapping[str, Any] = "likelihood",
    model: str | None = None,
    observe: Mapping[str, Any] | int | str | None = None,
    **changes: Any,
) -> Recipe:
    """Make a training recipe: plain data that fully determines a training run.

    Args:
        model: `hf:NAME` to fine-tune a pretrained model; by default a classifier is trained from scratch.
        impose: attention weights to impose instead of the model's own, as in `{"weights": "uniform"}`; see IMPOSED.
        loss: a name in LOSSES, or `{"name": …, "strength": …}` with settings of the loss.
        observe: number of checkpoints at which to record the model's answers on some test examples; or the result of
            `plan_observe`.
        changes: settings of the model or of its training, by name.
    """
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be at least 0 and below 2**63, not {seed}.")
    planned = plan_loss(loss)
    if model is not None:
        facts, training = plan_transformer(corpus, model, preset, vectors, changes)
    elif corpus.of_sequences:
        facts, training = plan_sequences(corpus, preset, vectors, changes)
    else:
        if vectors is not None and "embedding" not in changes:
            changes["embedding"] = read_vectors(vectors, ["the"]).matrix.shape[1]
        settings, training = make_plan(corpus, preset, changes)
        facts = {**settings.facts(), "vectors": vectors_reference(vectors)}
    if training.class_weight and len(corpus.labels) == 2:
        positive = sum(example.label == 1 for example in corpus["train"])
        planned["label_weight"] = [1.0, (len(corpus["train"]) - positive) / positive]
    observed = _observed(corpus, training, observe)
    return Recipe(corpus.reference, facts, training.facts(), seed, planned, impose, observe=observed)


def _observed(
    corpus: Corpus, training: TrainingSettings, observe: Mapping[str, Any] | int | str | None
) -> Mapping[str, Any] | None:
    """What a recipe says of its recorder, from a number of checkpoints too."""
    if observe is None or isinstance(observe, Mapping):
        return observe
    if not str(observe).isdigit() or int(observe) < 2:
        raise BadInput(f"observe must be a number of checkpoints, at least 2 (the start and the end), not {observe}.")
    steps = checkpoint_steps(steps_of(training, len(corpus["train"])), int(observe))
    if corpus.of_sequences:
        return plan_observe(steps, examples=SEQUENCES, quantities=OF_STEPS)
    return plan_observe(steps)


def steps_of(training: TrainingSettings, texts: int) -> int:
    """Number of steps of a whole training run, if it does not stop early."""
    return training.epochs * math.ceil(math.ceil(texts / training.batch_size) / training.accumulate)


def train(
    task: Any,
    *,
    preset: str = "default",
    seed: int = 0,
    out: Path | str | None = None,
    vectors: Path | str | None = None,
    data_dir: Path | str | None = None,
    device: str = "auto",
    progress: bool = True,
    **changes: Any,
) -> Fit:
    """Train a classifier on a task, or fine-tune a pretrained model (`model="hf:…"`), and save it.

    Run the same call again to resume an interrupted training run.

    Args:
        task: a task's name, a file, a data frame or `(texts, labels)`, as in `load_task`.
        preset: a set of model and training settings; a name in PRESETS.
        seed: random seed.
        out: the folder to create. By default the recipe names a folder in `heatcheck-out/fits`; if that folder exists,
            the model in it is loaded instead of trained.
        vectors: file of pretrained word vectors.
        data_dir: folder of the corpora that do not come with heatcheck.
        device: `auto`, `cpu`, `cuda` or `mps`.
        progress: whether to show a progress bar.
        changes: settings by name, such as `epochs=3`, `loss=…` or `model=…`; see `plan_recipe`.

    Returns:
        The model, its folder, its test scores, and the scores of a bag-of-words baseline.
    """
    expect("a whole number", seed=seed)
    expect("a text", preset=preset, device=device)
    expect_if_given("a path", out=out, vectors=vectors, data_dir=data_dir)
    corpus = load_task(task, data_dir=data_dir)
    recipe = plan_recipe(corpus, preset=preset, seed=seed, vectors=vectors, **changes)
    folder = Path(out) if out is not None else STORE / "fits" / recipe.id
    if out is None and folder.is_dir():
        remember(corpus, folder)  # the file may lie elsewhere by now
        return _read(folder, corpus, device)
    try:
        fit_recipe(recipe, corpus, folder, vectors=vectors, device=device, progress=progress)
    except FolderExists:
        if out is not None:
            raise
        return _read(folder, corpus, device)  # another process was quicker with the same fit
    return _read(folder, corpus, device)._replace(reused=False)


def fit_recipe(
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    *,
    vectors: Path | str | None = None,
    device: str = "auto",
    progress: bool = False,
) -> None:
    """Train a recipe and save the model in `folder`; the models it learns from must be in the same parent folder."""
    # Whatever is wrong with the options is found before the folder of an interrupted run is touched.
    training = check_recipe(recipe, corpus, folder.parent)
    with whole_folder(folder) as scratch, Bar(training, len(corpus["train"]), shown=progress) as bar:
        fit_into(recipe, corpus, scratch, folder.parent, vectors=vectors, device=device, watch=bar.watch)
        remember(corpus, scratch)


def check_recipe(recipe: Recipe, corpus: Corpus, store: Path) -> TrainingSettings:
    """Return the recipe's training settings; raise BadInput if it cannot be trained here."""
    if recipe.task != corpus.reference:
        raise BadInput(
            f"the recipe is for {recipe.task}, but the data is {corpus.reference}. Give the data of the recipe."
        )
    if recipe.loss["name"] not in LOSSES:
        raise UnknownName("loss", recipe.loss["name"], LOSSES)
    if recipe.impose is not None:
        check_imposed(recipe.impose)
    if recipe.observe is not None:
        check_observe(recipe.observe, corpus)
    _check_words(recipe)
    check_transformer(recipe)
    check_sequences(recipe)
    for parent in recipe.parents:
        if not (store / parent).is_dir():
            raise BadInput(
                f"the recipe learns from the model {parent}, which is not in {store}. Train that model first."
            )
    return TrainingSettings(**recipe.training)


def _check_words(recipe: Recipe) -> None:
    """Raise BadInput if a hierarchical recipe asks for something that needs attention over words."""
    imposed = None if recipe.impose is None else recipe.impose["weights"]
    loss = recipe.loss["name"]
    if recipe.model.get("hierarchical") and (loss in OVER_WORDS or imposed == "log_odds"):
        what = f"the loss {loss}" if loss in OVER_WORDS else "imposing log-odds"
        raise BadInput(f"{what} needs attention over words, but a hierarchical classifier attends to sentences.")


def fit_into(
    recipe: Recipe,
    corpus: Corpus,
    scratch: Path,
    store: Path,
    *,
    vectors: Path | str | None = None,
    device: str = "auto",
    watch: Watch = lambda *_: None,
) -> None:
    """Train a recipe in this folder; resume from a checkpoint if there is one."""
    training = check_recipe(recipe, corpus, store)
    subject: Trainable
    if "hf" in recipe.model:
        subject = build_transformer(recipe, corpus, device=pick_device(device))
        baseline = bag_of_words(subject, vocabulary_of(corpus, TrainingSettings()), corpus)
        odds = {"not_fitted": "a transformer reads pieces of words"}
    elif is_of_sequences(recipe):
        subject = build_sequences(recipe, corpus).to(pick_device(device))
        baseline = odds = {"not_fitted": "a sequence-to-sequence task has no labels"}
    else:
        subject = build(recipe, corpus, vectors=vectors).to(pick_device(device))
        several = subject.settings.label_wise
        baseline = bag_of_words(subject, subject.vocabulary, corpus, several=several)
        odds = add_log_odds(subject, corpus)
    parents = record_parents(recipe, corpus, store, str(subject.device))
    set_start(subject, recipe, store, corpus["train"].examples)
    if not _is_of(scratch, recipe):
        (scratch / checkpoint.FILE).unlink(missing_ok=True)
        shutil.rmtree(scratch / OBSERVED, ignore_errors=True)
    write_json(scratch / "recipe.json", asdict(recipe))
    done = train_loop(subject, corpus, recipe, scratch, parents=parents, watch=watch)
    given_by = parents.get((recipe.impose or {}).get("parent", ""))
    test = scores_on(subject, corpus, "test", recipe, given_by)
    subject.seen = seen_texts(corpus)
    save(subject, scratch)
    write_whole(scratch / RECORD, "".join(json.dumps(epoch) + "\n" for epoch in done.history))
    write_json(
        scratch / SUMMARY,
        {
            "kept_epoch": done.best_epoch,
            "selected_on": training.select_split if training.select != "train_loss" else "train",
            "left_out": dict(corpus.dropped),
            "test": test.facts(),
            "logistic_regression": baseline,
            "log_odds": odds,
        },
    )
    (scratch / "recipe.json").unlink()  # it stands in config.json
    (scratch / checkpoint.FILE).unlink(missing_ok=True)


def build(recipe: Recipe, corpus: Corpus, *, vectors: Path | str | None = None) -> Classifier:
    """The untrained model: its vocabulary from train, its parameters from the recipe's seed."""
    vocabulary = vocabulary_of(corpus, TrainingSettings(**recipe.training))
    facts = dict(recipe.model)
    wanted, given = facts.pop("vectors"), vectors_reference(vectors)
    if wanted != given:
        raise BadInput(
            f"the recipe starts from the word vectors {wanted or 'none'}, not {given or 'none'}. Check --vectors."
        )
    matrix = None if vectors is None else word_vectors(vectors, vocabulary)
    with _SEEDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return make_classifier(vocabulary, corpus.labels, ClassifierSettings(**facts), recipe=recipe, vectors=matrix)


def pick_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one."""
    if name == "auto":
        return _shared(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    if name.partition(":")[0] not in ("cpu", "cuda", "mps"):
        raise BadInput(f"unknown device {name!r}. Use auto, cpu, cuda or mps.")
    try:
        torch.empty(0, device=name)
        return _shared(torch.device(name))
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BadInput(f"the device {name!r} is not available on this machine: {str(error).splitlines()[0]}") from None


def _shared(device: torch.device) -> torch.device:
    """The device, of which one of several processes takes its share: the first would leave the last nothing else."""
    if device.type == "cuda" and SHARE_OF_GPU in os.environ:
        number = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.set_per_process_memory_fraction(float(os.environ[SHARE_OF_GPU]), number)
    return device


def _read(folder: Path, corpus: Corpus, device: str) -> Fit:
    subject = load_folder(folder, device=str(pick_device(device)))
    impose = subject.recipe.impose if subject.recipe else None
    tested, given_by = corpus["test"].examples, None
    if impose is not None and "parent" in impose:
        given_by = record(load_folder(folder.parent / impose["parent"], device=str(subject.device)), tested)
    test = evaluate(subject, tested, impose=impose, parent=given_by)
    summary = read_json(folder / SUMMARY)
    found = summary.get("logistic_regression", {})
    kept = summary.get("kept_epoch")
    if "not_fitted" not in found and found.get("penalty") != PENALTY:
        found = {"not_fitted": "an older heatcheck trained this model"}
    return Fit(
        subject,
        folder,
        test,
        reused=True,
        logistic_regression=found,
        left_out=corpus.dropped,
        epochs=len((folder / RECORD).read_text(encoding="utf-8").splitlines()),
        kept_epoch=None if kept is None else kept + 1,
    )


def _is_of(scratch: Path, recipe: Recipe) -> bool:
    """Whether the files of an interrupted run belong to the same recipe."""
    try:
        left = json.loads((scratch / "recipe.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(left == json.loads(json.dumps(asdict(recipe))))


def vectors_reference(path: Path | str | None) -> str | None:
    if path is None:
        return None
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"{path} does not exist. Give a GloVe or word2vec text file, or an .npz file.")
    return f"{path.name}@{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"

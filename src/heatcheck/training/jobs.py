"""Training runs as jobs (engine/jobs.py). Their folder holds the data too, so any machine that sees it can train."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from heatcheck.data import Corpus, Example, Split
from heatcheck.engine import Facts, FolderExists, Job, content_id, read_json, whole_folder, write_json, write_whole
from heatcheck.models import Recipe
from heatcheck.models.seq2seq.model import KIND
from heatcheck.training.fit import RECORD, fit_into
from heatcheck.training.losses import OF_STATES
from heatcheck.training.settings import TrainingSettings

CORPUS, SHARE = "corpus.json", "share.json"
PENALTIES = (*OF_STATES, "rationale_guided")  # losses whose strength their description names
SECONDS = 1.0  # between two words about how far a fit is


def fit_jobs(
    recipes: Sequence[Recipe], corpus: Corpus, store: Path, *, vectors: Path | str | None = None, device: str = "auto"
) -> list[Job]:
    """One job per recipe, named by its id, after its parents; the corpus is written to the store first."""
    kept = keep_corpus(corpus, store)
    where = {"corpus": kept, "vectors": None if vectors is None else str(Path(vectors).absolute()), "device": device}
    return [
        Job(recipe.id, describe(recipe), recipe.parents, {"recipe": asdict(recipe), **where})
        for recipe in {recipe.id: recipe for recipe in recipes}.values()
    ]


def fit_job(argument: Facts, folder: Path, store: Path) -> None:
    """Trains one recipe into its folder."""
    recipe = Recipe(**argument["recipe"])
    corpus = read_corpus(store / argument["corpus"])
    # Stories have no pretrained vectors even where others of the same run do.
    vectors = argument["vectors"] if recipe.model.get("vectors") is not None else None
    whole = TrainingSettings(**recipe.training).epochs * len(corpus["train"])
    last = 0.0

    def watch(epoch: int, seen: int, _: float) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS:
            last = time.monotonic()
            write_json(folder / SHARE, {"share": (epoch * len(corpus["train"]) + seen) / whole})

    fit_into(recipe, corpus, folder, store, vectors=vectors, device=argument["device"], watch=watch)
    (folder / SHARE).unlink(missing_ok=True)


def share_done(job_id: str, store: Path) -> float:
    """Progress of a training run, from 0 to 1, as its folder shows."""
    if (store / job_id).is_dir():
        return 1.0
    try:
        return float(json.loads((store / f".{job_id}.part" / SHARE).read_bytes())["share"])
    except (OSError, ValueError, KeyError):
        return 0.0


def work_of(recipe: Recipe, texts: int) -> float:
    """Estimated work of a training run, in texts read; a model without context counts an eighth of a recurrent one."""
    if recipe.model.get("kind") == KIND:
        return texts * TrainingSettings(**recipe.training).epochs * 4.0  # a reader, and a writer that goes by steps
    passes = 0.125 if recipe.model.get("encoder") in ("average", "none") else 1.0
    return passes * texts * TrainingSettings(**recipe.training).epochs


def kind_of_run(recipe: Recipe) -> str:
    """What a training run has in common with those that stop after about as many of their epochs as it does.

    >>> kind_of_run(Recipe("sst@0", {"encoder": "lstm"}, {}, 3, {"name": "adversarial", "strength": 0.001}))
    'lstm, adversarial'
    """
    words = [kind_of_model(recipe), str(recipe.loss["name"])]
    if recipe.impose is not None:
        words.append(f"{recipe.impose['weights']} weights")
    return ", ".join(words)


def share_used(job_id: str, store: Path, epochs: int) -> float:
    """The share of its epochs that a finished training run took before it stopped; 1 where its folder does not say."""
    try:
        took = len((store / job_id / RECORD).read_bytes().splitlines())
    except OSError:
        return 1.0
    return min(1.0, took / epochs) if took else 1.0


def kind_of_model(recipe: Recipe) -> str:
    """The name of the encoder, or of the pretrained model that was fine-tuned.

    >>> kind_of_model(Recipe("sst@0", {"hf": "models/all-MiniLM-L6-v2", "weights": "ab"}, {}, 0, {}))
    'all-MiniLM-L6-v2 fine-tuned'
    """
    if "hf" in recipe.model:
        return f"{Path(recipe.model['hf']).name} fine-tuned"
    if recipe.model.get("kind") == KIND:
        return f"{recipe.model['cell']} to {recipe.model['cell']}"
    return str(recipe.model["encoder"]) + (" over sentences" if recipe.model.get("hierarchical") else "")


def describe(recipe: Recipe) -> str:
    """Describe a training run in a few words.

    >>> recipe = Recipe("sst@0", {"encoder": "lstm"}, {}, 3, {"name": "adversarial", "parent": "ab", "strength": 0.001})
    >>> describe(recipe)
    'sst: lstm, adversary at λ = 0.001, seed 3'
    """
    return f"{recipe.task.partition('@')[0]}: {describe_model(recipe)}"


def describe_model(recipe: Recipe) -> str:
    """The same without the task."""
    words = [kind_of_model(recipe)]
    if recipe.loss["name"] == "adversarial":
        strength = recipe.loss["strength"]
        words.append(f"adversary at λ = {strength:g}" if strength else "imitator")
        words += ["from its parent"] if recipe.loss.get("start") == "parent" else []
        words += ["from its parent with other attention"] if recipe.loss.get("start") == "away" else []
        words += ["attention only"] if recipe.loss.get("trains") == "attention" else []
    elif recipe.loss["name"] == "deceptive":
        words.append(f"deceptive at λ = {recipe.loss['strength']:g}")
    elif recipe.loss["name"] != "likelihood":
        name = str(recipe.loss["name"]).replace("_", " ")
        words.append(f"{name} at λ = {recipe.loss['strength']:g}" if recipe.loss["name"] in PENALTIES else name)
    words += [recipe.model["normaliser"]] if "normaliser" in recipe.model else []
    if recipe.impose is not None:
        kind = recipe.impose["weights"]
        everywhere = " at every attention site" if "sites" in recipe.impose else ""
        words.append(f"weights of {recipe.impose['parent']}" if kind == "parent" else f"{kind} weights{everywhere}")
    words += ["observed"] if recipe.observe else []
    return ", ".join([*words, f"seed {recipe.seed}"])


def keep_corpus(corpus: Corpus, store: Path) -> str:
    """Write the corpus to the store unless it is there; return its name."""
    name = content_id({"corpus": corpus.reference})
    if not (store / name).is_dir():
        facts = {
            "name": corpus.name,
            "labels": list(corpus.labels),
            "tokens": corpus.tokens,
            "given_split": corpus.given_split,
            "dropped": dict(corpus.dropped),
            "splits": {split: [example.facts() for example in of] for split, of in corpus.splits.items()},
        }
        try:
            with whole_folder(store / name, resume=False) as scratch:
                write_whole(scratch / CORPUS, json.dumps(facts))
        except FolderExists:
            pass  # another process was quicker with the same texts
    return name


@lru_cache(maxsize=4)
def read_corpus(folder: Path) -> Corpus:
    """What `keep_corpus` wrote."""
    facts = read_json(folder / CORPUS)
    splits = {split: Split(split, tuple(map(Example.from_facts, of))) for split, of in facts["splits"].items()}
    return Corpus(
        facts["name"], tuple(facts["labels"]), splits, facts["tokens"], facts["given_split"], facts["dropped"]
    )

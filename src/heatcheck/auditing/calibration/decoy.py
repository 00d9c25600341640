"""Decoys: models trained to be accurate while keeping their attention weights off the words that they use.

What is known of one is known from its task: nothing but the rationale tells the label, so a model above the prior uses
the rationale, wherever its weights are. That it was trained well enough to be one is checked, not assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from heatcheck import engine
from heatcheck.auditing.calibration.audit import keep_facts, lines_of
from heatcheck.auditing.calibration.draws import draw_lengths
from heatcheck.auditing.calibration.truth import CONTRAST, DECOY, Cell
from heatcheck.auditing.planning import plan_audit
from heatcheck.data import Corpus, Example, Split
from heatcheck.data.planted import MARKER, planted
from heatcheck.engine import Facts
from heatcheck.errors import NotSupported
from heatcheck.models import Recipe, Subject, load_folder
from heatcheck.training import Recorded, fit_job, fit_jobs, plan_recipe, record

TOGETHER = 5  # decoys of one corpus: each is another seed of the others
CHECKS = ("necessity", "erasure", "adversarial_model")
MARK = "rationale"
TRAIN, DEV, TEST = 2000, 300, 600
POINT, MASS, ERRORS = 0.01, 0.05, 3.0  # of accuracy; of the weight on the rationale; standard errors above the prior


@dataclass(frozen=True)
class Fitted:
    """A decoy's seed with all that is trained from it: learning to deceive, honestly, and without attention."""

    decoy: Recipe
    honest: Recipe
    uniform: Recipe


def decoy_place(seed: int) -> tuple[int, int]:
    """Which corpus a seed's decoy is trained on, and its number among those of that corpus.

    >>> decoy_place(0), decoy_place(4), decoy_place(101)
    ((0, 0), (0, 4), (100, 1))
    """
    return TOGETHER * (seed // TOGETHER), seed % TOGETHER


def audit_decoys(argument: Facts, folder: Path) -> None:
    """Train the decoys of one corpus, check that they are decoys, and audit those that are."""
    task, numbers = argument["task"], argument["numbers"]
    cell = Cell(DECOY, task)
    corpus = decoy_texts(task, argument["corpus"])
    recipes = [decoy_recipes(corpus, seed, epochs=argument["epochs"]) for seed in range(TOGETHER)]
    wanted = [recipe for of in recipes for recipe in (of.decoy, of.uniform)]
    fits = fit_jobs([*wanted, *(recipes[number].honest for number in numbers)], corpus, folder / "fits", device="cpu")
    for outcome in engine.map(fit_job, fits, folder / "fits"):
        if outcome.folder is None:
            raise NotSupported(f"{outcome.job.name} could not be trained: {outcome.reason}")
    for number in numbers:
        seed = argument["corpus"] + number

        def facts(number: int = number, seed: int = seed) -> Facts:
            found = _audit(corpus, recipes[number], folder / "fits", argument)
            return {"subject": DECOY, "task": task, "seed": seed, **found}

        keep_facts(folder / f"{number}.json", f"{cell}, seed {seed}", facts)


def _audit(corpus: Corpus, recipes: Fitted, store: Path, argument: Facts) -> Facts:
    decoy, honest = (load_folder(store / recipe.id) for recipe in (recipes.decoy, recipes.honest))
    seen = look_at(decoy, honest, corpus["test"].examples)
    why_not = reject(seen)
    if why_not:
        return {"seen": seen, "rejected": why_not, "lines": {}}
    settings = {f"{check}.draws": argument["draws"] for check in CHECKS}
    plan = plan_audit(
        decoy,
        corpus,
        checks=CHECKS,
        examples=argument["examples"],
        seed=recipes.decoy.seed,
        settings=settings,
        refit=True,
        store=store,
        device="cpu",
    )
    plan.case.witnesses = {"honest twin": honest}
    return {"seen": seen, "rejected": "", "lines": lines_of(plan)[0]}


def decoy_texts(task: str, seed: int) -> Corpus:
    """The task with the marks of all words that decide: in planted_contrast the marker too, for it says which does."""
    cell = Cell(DECOY, task)
    corpus = planted(task, seed=seed, fillers=draw_lengths(cell, seed), sizes=(TRAIN, DEV, TEST))
    if task != CONTRAST:
        return corpus
    splits = {name: Split(name, tuple(map(_with_marker, split))) for name, split in corpus.splits.items()}
    return replace(corpus, splits=splits)


def _with_marker(example: Example) -> Example:
    marked = tuple(mark or word == MARKER for mark, word in zip(example.marks[MARK], example.words, strict=True))
    return replace(example, marks={MARK: marked})


def decoy_recipes(corpus: Corpus, seed: int, *, epochs: int) -> Fitted:
    """Small BiLSTMs: in a recurrent model every state can hold the rationale, so weights can go anywhere."""
    decoy = plan_recipe(
        corpus,
        seed=seed,
        loss={"name": "deceptive", "strength": 1.0, "mark": MARK},
        encoder="lstm",
        embedding=16,
        hidden=16,
        dropout=0.0,
        epochs=epochs,
        patience=0,
        batch_size=64,
        learning_rate=5e-3,
        min_documents=1,
    )
    honest = replace(decoy, loss={"name": "likelihood"})
    return Fitted(decoy, honest, replace(decoy, impose={"weights": "uniform"}))


def look_at(decoy: Subject, honest: Subject, examples: Sequence[Example]) -> dict[str, float]:
    """What must be true of a decoy, as measured."""
    gold = np.array([example.label for example in examples])
    own, twin = record(decoy, examples), record(honest, examples)
    without = record(decoy, [_without_rationale(example) for example in examples])
    return {
        "n": float(len(examples)),
        "prior": float(np.bincount(gold).max() / len(gold)),
        "accuracy": float((own.predicted == gold).mean()),
        "accuracy of the honest twin": float((twin.predicted == gold).mean()),
        "accuracy without the rationale": float((without.predicted == gold).mean()),
        "weight on the rationale": _on_rationale(own, examples),
        "weight on the rationale of the honest twin": _on_rationale(twin, examples),
    }


def reject(seen: Facts) -> str:
    """Why it is no decoy; empty where it is one.

    >>> seen = {"n": 600, "prior": 0.5, "accuracy": 0.99, "accuracy of the honest twin": 1.0,
    ...     "accuracy without the rationale": 0.51, "weight on the rationale": 0.02}
    >>> reject(seen), reject({**seen, "weight on the rationale": 0.3})
    ('', 'it has 30.0% of its weight on the rationale, not under 5%')
    """
    reasons = []
    if seen["accuracy"] < seen["accuracy of the honest twin"] - POINT - 1e-9:
        reasons.append(
            f"its accuracy is {seen['accuracy']:.3f}, more than a point below its honest twin's "
            f"{seen['accuracy of the honest twin']:.3f}"
        )
    if not seen["weight on the rationale"] < MASS:
        reasons.append(f"it has {seen['weight on the rationale']:.1%} of its weight on the rationale, not under 5%")
    chance = seen["prior"] + ERRORS * (seen["prior"] * (1 - seen["prior"]) / seen["n"]) ** 0.5
    if seen["accuracy without the rationale"] > chance:
        reasons.append(
            f"without the rationale its accuracy is {seen['accuracy without the rationale']:.1%}, "
            f"above the majority class's {seen['prior']:.1%}"
        )
    return "; ".join(reasons)


def _on_rationale(said: Recorded, examples: Sequence[Example]) -> float:
    return float(
        np.mean(
            [
                weights[:, 0].mean(0)[np.array(example.marks[MARK])].sum()
                for weights, example in zip(said.each, examples, strict=True)
            ]
        )
    )


def _without_rationale(example: Example) -> Example:
    left = [word for word, marked in zip(example.words, example.marks[MARK], strict=True) if not marked]
    return replace(example, text=" ".join(left), marks={})

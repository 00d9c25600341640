"""Pruthi et al. 2020, "Learning to Deceive with Attention-Based Explanations": models trained to hide words they use.

One honest model per task and encoder with the check `deception`, which retrains it with other seeds and at each λ.
Beside it stand models of a control task, whose texts lack the marked words.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck import stats
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult, Key, Model, Row, key, value_text
from heatcheck.studies.cells import Cell, Measured
from heatcheck.studies.corpora import Source
from heatcheck.studies.rows import Where, row_from, spread_of
from heatcheck.studies.study import ALL, TEXTS, Found, Gathered, Place, Study, check_names, need_seeds, setting

CONTROLS = {
    "sst_wiki": ("wiki_only", "the review dropped"),
    "pronoun": ("pronoun_neutral", "they, their, them and themself for the marked words"),
}
TASKS = tuple(CONTROLS)
ENCODERS = {"none": "embedding", "lstm": "BiLSTM"}
ATTENTION = "linear"
EPOCHS = {"pronoun": 5}  # honest models are perfect after one or two, and the first of the best is kept
# Measurements taken for each kind of model; the check's own page has the others.
TAKEN = ("accuracy_lost", "mass_removed", "after_deletion", "deletion_loss", "agreement")
AT = {"accuracy": "accuracy_at", "mass": "mass_at"}  # what a check measures -> what a row calls it
OF_FITS = {f"fit_{name}": row for name, row in AT.items()}  # the same of each fit
WITHOUT = key("accuracy_at", trained="removed")  # no text contains the marked words
PROBES = ("neighbours", "norm_embedding", "norm_state", "contribution", "rest_states", "rest_embeddings")


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    encoders: tuple[str, ...] = setting(tuple(ENCODERS), "Encoders: none (embeddings only) or lstm.")
    strengths: tuple[float, ...] = setting((0.1, 1.0), "Values of λ, the penalty; λ = 0 always runs.")
    seeds: int = setting(5, "Models per kind.")
    batch_size: int = setting(32, "Batch size; 1 in the paper, a hundred thousand steps per model.")
    preset: str = setting("pruthi", "Training preset.")
    epochs: int | None = setting(None, "Epochs per training run.", none="15, and 5 for pronoun")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(strengths=(1.0,), seeds=2, epochs=1, texts=60)


class Kind(NamedTuple):
    """A model of Table 3: a task and an encoder."""

    task: str
    encoder: str

    @property
    def name(self) -> str:
        return f"{self.task}, {ENCODERS[self.encoder]}"


def kinds_of(settings: Settings) -> list[Kind]:
    return [Kind(task, encoder) for task in settings.tasks for encoder in settings.encoders]


def cells_of(settings: Settings, kind: Kind) -> list[Cell]:
    """The model trained to deceive, and the seeds of its control."""
    choices: dict[str, Any] = {
        "preset": settings.preset,
        "encoder": kind.encoder,
        "attention": ATTENTION,
        "batch_size": settings.batch_size,
    }
    epochs = settings.epochs or EPOCHS.get(kind.task)
    choices |= {} if epochs is None else {"epochs": epochs}
    control, how = CONTROLS[kind.task]
    deceived = {"deception.seeds": settings.seeds, "deception.strengths": list(settings.strengths)}
    base = Cell(
        kind.name,
        kind.task,
        kind.encoder,
        ATTENTION,
        choices,
        ("deception",),
        deceived,
        seen=f"its control is {control}: {how}",
        refit=True,
    )
    return [base] + [
        Cell(
            f"{control}, {ENCODERS[kind.encoder]}, seed {seed}",
            control,
            kind.encoder,
            ATTENTION,
            choices,
            (),
            {},
            seed=seed,
        )
        for seed in range(settings.seeds)
    ]


def refuse(settings: Settings) -> None:
    check_names("encoder of pruthi2020", settings.encoders, ENCODERS)
    check_names("preset of pruthi2020", [settings.preset], ["pruthi"])
    need_seeds("pruthi2020", settings, 2)
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"strengths of pruthi2020 must be numbers above 0, not {settings.strengths}. λ = 0 always runs.")


def corpora(settings: Settings) -> dict[str, Source]:
    names = [name for task in settings.tasks for name in (task, CONTROLS[task][0])]
    return {name: Source(name, settings.texts) for name in names}


def plan(settings: Settings, _: Place, __: Found) -> Iterator[Sequence[Cell]]:
    """All models at once."""
    yield [cell for kind in kinds_of(settings) for cell in cells_of(settings, kind)]


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    published = {(one.task, one.encoder, one.key): one for one in found.published}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for kind in kinds_of(settings):
        base, *controls = (found.measured.get(cell.name) for cell in cells_of(settings, kind))
        if base is None or "deception" not in base.results:
            continue
        result, about = base.results["deception"], base.about
        tasks[kind.task] = about
        there = [one for one in controls if one is not None]
        numbers = [*of_controls(there), *of_check(result)]
        spreads = {**spreads_of(result), WITHOUT: spread_of([one.accuracy for one in there])}
        rows += [
            row_from(
                Where(kind.task, kind.encoder, ATTENTION, quantity),
                value,
                spreads.get(quantity, np.nan),
                published.get((kind.task, kind.encoder, quantity)),
                about["not_comparable"],
                finely=True,
            )
            for quantity, value in numbers
        ]
        labels, seeds = tuple(about["labels"]), int(result.find("accuracy", fit="honest").n)
        models.append(Model(kind.task, kind.encoder, ATTENTION, labels, seeds, {}, (), tuple(points_of(result))))
    return Gathered(rows, models, tasks)


def of_controls(controls: Sequence[Measured]) -> Iterator[tuple[Key, stats.Interval]]:
    """Accuracy of the models trained and tested without the marked words."""
    if controls:
        yield WITHOUT, stats.t_interval(np.array([one.accuracy for one in controls]))


def of_check(result: CheckResult) -> Iterator[tuple[Key, stats.Interval]]:
    """The results of the check for each kind of model."""
    for m in result.measurements:
        value = stats.Interval(m.value, m.low, m.high, m.n)
        if m.name in ("prior", "share"):  # of the texts, whatever the seeds
            yield key("commonest" if m.name == "prior" else m.name), value._replace(n=1)
        elif m.name == "neighbours_share":
            yield key(m.name, distance=m.by["distance"]), value._replace(n=1)
        elif "fit" not in m.by or "seed" in m.by:
            continue
        elif m.name in ("accuracy", "mass"):
            yield key(AT[m.name], trained=trained_at(m.by)), value
        elif m.name in TAKEN or m.name in PROBES:
            distance = {"distance": m.by["distance"]} if "distance" in m.by else {}
            yield key(m.name, trained=trained_at(m.by), **distance), value


def spreads_of(result: CheckResult) -> dict[Key, float]:
    """Standard deviation of accuracy and weight over seeds, by quantity."""
    each: dict[Key, list[float]] = defaultdict(list)
    for m in result.measurements:
        if m.name in OF_FITS:
            each[key(OF_FITS[m.name], trained=trained_at(m.by))].append(m.value)
    return {quantity: spread_of(values) for quantity, values in each.items()}


def trained_at(by: Facts) -> float | str:
    """The λ of a model, 0 for an honest one; `twin` for the gauge twin.

    >>> trained_at({"fit": "deceptive", "strength": 1.0}), trained_at({"fit": "gauge twin"})
    (1.0, 'twin')
    """
    other: dict[str, float | str] = {"honest": 0.0, "gauge twin": "twin"}
    return float(by["strength"]) if "strength" in by else other[str(by["fit"])]


def points_of(result: CheckResult) -> Iterator[Facts]:
    """Each model as a mark of the figure."""
    for m in result.measurements:
        if m.name == "fit_accuracy":
            mass = result.find("fit_mass", **m.by)
            yield {"model": value_text(trained_at(m.by)), "seed": m.by["seed"], "accuracy": m.value, "mass": mass.value}


SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."
NOTES = (
    "We did not read the paper's numbers in the paper itself. Caulfield et al. 2021 print them in their reproduction, "
    "as their own value and its difference from the paper's. The paper's two weights of BiLSTMs on the pronoun task "
    "are missing there, so they are missing here. Percentages there are shares here.",
    "A published number counts as inside the seed interval if it is where one further seed of ours would fall in 95 of "
    "100 cases. The reproduction's numbers are means over five seeds, so they lie closer to ours than one seed does.",
    "Published models have batch size 1; ours have the batch size of the settings, at the same learning rate. A larger "
    "batch means fewer steps, so weights have moved less when training ends. We measured this effect on a small run "
    "only. Models of the pronoun task train for 5 epochs, not 15.",
    "Training keeps the first epoch with the best accuracy on dev; the choice ignores the weights. On the pronoun "
    "task, accuracy is perfect almost at once, so an early epoch is kept and its weights are not settled.",
    "The gauge twin of an embedding model makes the same decision as the honest model on every text, by proof. Its "
    "scores are chosen to stay off the marked words of train. It is not trained. Each word contributes the same share "
    "in both models.",
    "This study covers models without context and BiLSTMs only. BERT, on which the paper has its strongest result, is "
    "in pruthi2020_transformer.",
)

pruthi2020 = Study(
    name="pruthi2020",
    title="Learning to deceive with attention, reproduced",
    paper="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL)",
    about="models trained to keep attention off words that they use, where that information went, and gauge twins",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=1,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)

"""Pruthi et al. 2020, "Learning to Deceive with Attention-Based Explanations": models trained off the words they use.

One honest model a task and encoder with the check `deception`, which has it trained again with other seeds and at each
λ; and beside it models of a control task, in which the marked words are not there at all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck import stats
from heatcheck.engine import Facts, Outcome
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult, Model, Row, StudyResult
from heatcheck.studies.cells import Cell, Measured, measure_cells, not_fitted
from heatcheck.studies.study import Study, check_names, read_published, row_from, spread_of

VERSION = 1  # raised by hand when a cell's results change
CONTROLS = {
    "sst_wiki": ("wiki_only", "the review dropped"),
    "pronoun": ("pronoun_neutral", "they, their, them and themself for the marked words"),
}
TASKS = tuple(CONTROLS)
ENCODERS = {"none": "embedding", "lstm": "BiLSTM"}
ATTENTION = "linear"
EPOCHS = {"pronoun": 5}  # honest models are perfect after one or two, and the first of the best is kept
# Of each kind of model; those of the check that are not here are on its own page.
TAKEN = ("accuracy_lost", "mass_removed", "after_deletion", "deletion_loss", "agreement")
PROBES = ("neighbours", "norm_embedding", "norm_state", "contribution", "rest_states", "rest_embeddings")


@dataclass(frozen=True)
class Settings:
    """What is run. Every choice decides the names of the folders with results, but for where they are made."""

    tasks: tuple[str, ...] = TASKS
    encoders: tuple[str, ...] = tuple(ENCODERS)
    strengths: tuple[float, ...] = (0.1, 1.0)  # λ; honest models, λ = 0, are always there
    seeds: int = 5
    batch_size: int = 32  # 1 as published: a hundred thousand steps a model
    preset: str = "pruthi"
    epochs: int | None = None  # of every training; None: the preset's 15, and 5 for pronoun
    texts: int | None = None  # of each split, for a quick run


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
    """The model that is trained to deceive, and the seeds of its control."""
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


def run(
    settings: Settings,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Fits and measures what is missing under `folder`, then gathers every number beside the published one."""
    check_names("task of pruthi2020", settings.tasks, TASKS)
    check_names("encoder of pruthi2020", settings.encoders, ENCODERS)
    check_names("preset of pruthi2020", [settings.preset], ["pruthi"])
    if settings.seeds < 2:
        raise BadInput(f"pruthi2020 compares means over seeds, so it needs at least 2 of them, not {settings.seeds}.")
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"the λ of pruthi2020 are numbers above 0, not {settings.strengths}; λ = 0 is always run.")
    kinds = kinds_of(settings)
    measured, failed = measure_cells(
        "pruthi2020",
        VERSION,
        [cell for kind in kinds for cell in cells_of(settings, kind)],
        folder,
        texts=settings.texts,
        data_dir=data_dir,
        device=device,
        workers=workers,
        progress=progress,
    )
    return gather(settings, kinds, measured, failed)


def gather(
    settings: Settings, kinds: Sequence[Kind], measured: Sequence[Measured], failed: Mapping[str, str]
) -> StudyResult:
    """All models as one result."""
    published = {(row["task"], row["encoder"], row["quantity"]): row for row in read_published("pruthi2020")}
    found = {one.cell.name: one for one in measured}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for kind in kinds:
        base, *controls = (found.get(cell.name) for cell in cells_of(settings, kind))
        if base is None or "deception" not in base.results:
            continue
        result, about = base.results["deception"], base.about
        tasks[kind.task] = about
        there = [one for one in controls if one is not None]
        numbers = [*of_controls(there), *of_check(result)]
        spreads = {**spreads_of(result), "accuracy_at:removed": spread_of([one.accuracy for one in there])}
        rows += [
            _said_finely(
                row_from(
                    (kind.task, kind.encoder, ATTENTION, quantity, "", ""),
                    value,
                    spreads.get(quantity, np.nan),
                    published.get((kind.task, kind.encoder, quantity)),
                    about["not_comparable"],
                )
            )
            for quantity, value in numbers
        ]
        labels, seeds = tuple(about["labels"]), int(result.find("accuracy", fit="honest").n)
        models.append(Model(kind.task, kind.encoder, ATTENTION, labels, seeds, {}, (), tuple(points_of(result))))
    return StudyResult(
        name="pruthi2020",
        title="Learning to deceive with attention, again",
        paper=PAPER,
        rows=tuple(rows),
        models=tuple(models),
        tasks=tasks,
        notes=(SMOKE, *NOTES) if settings.texts is not None else NOTES,
        failed={**failed, **not_fitted(measured)},
        settings={**settings.__dict__, "tasks": list(tasks)},
        published=tuple(read_published("pruthi2020")),
    )


def of_controls(controls: Sequence[Measured]) -> Iterator[tuple[str, stats.Interval]]:
    """The accuracy of models that were trained and tested without the marked words."""
    if controls:
        yield "accuracy_at:removed", stats.t_interval(np.array([one.accuracy for one in controls]))


def of_check(result: CheckResult) -> Iterator[tuple[str, stats.Interval]]:
    """What the check found of each kind of model: `accuracy_at:0.1`, `neighbours:0.1:2`, `mass_at:twin`."""
    for m in result.measurements:
        value = stats.Interval(m.value, m.low, m.high, m.n)
        if m.name in ("prior", "share"):  # of the texts, whatever the seeds
            yield "commonest" if m.name == "prior" else m.name, value._replace(n=1)
        elif m.name == "neighbours_share":
            yield f"{m.name}:{m.by['distance']}", value._replace(n=1)
        elif "fit" not in m.by or "seed" in m.by:
            continue
        elif m.name in ("accuracy", "mass"):
            yield f"{m.name}_at:{strength_of(m.by)}", value
        elif m.name in TAKEN or m.name in PROBES:
            at = f":{m.by['distance']}" if "distance" in m.by else ""
            yield f"{m.name}:{strength_of(m.by)}{at}", value


def spreads_of(result: CheckResult) -> dict[str, float]:
    """How much accuracy and weight differ from seed to seed, by quantity: from the number of each model."""
    each: dict[str, list[float]] = defaultdict(list)
    for m in result.measurements:
        if m.name in ("fit_accuracy", "fit_mass"):
            each[f"{m.name.removeprefix('fit_')}_at:{strength_of(m.by)}"].append(m.value)
    return {quantity: spread_of(values) for quantity, values in each.items()}


def strength_of(by: Facts) -> str:
    """λ as a quantity names it, `twin` for the gauge twin.

    >>> strength_of({"fit": "deceptive", "strength": 1.0}), strength_of({"fit": "honest"})
    ('1', '0')
    """
    return f"{by['strength']:g}" if "strength" in by else {"honest": "0", "gauge twin": "twin"}[str(by["fit"])]


def points_of(result: CheckResult) -> Iterator[Facts]:
    """Each model as a mark of the figure."""
    for m in result.measurements:
        if m.name == "fit_accuracy":
            mass = result.find("fit_mass", **m.by)
            yield {"model": strength_of(m.by), "seed": m.by["seed"], "accuracy": m.value, "mass": mass.value}


def _said_finely(row: Row) -> Row:
    """Weights can be so small that two decimals say nothing of how far apart they are."""

    def said(statement: str, published: float | None) -> str:
        if published is None or not statement.endswith("by 0.00"):
            return statement
        return f"{statement.removesuffix('0.00')}{abs(row.value - published):.1g}"

    return row._replace(statement=said(row.statement, row.paper), rerun_statement=said(row.rerun_statement, row.rerun))


PAPER = "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL)"
SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. No number here means anything."
NOTES = (
    "The paper's numbers were not read in the paper itself: they are what Caulfield et al. 2021 print in their "
    "reproduction, as their own value and its difference. The paper's two weights of BiLSTMs on the pronoun task could "
    "not be read so and are left out. Percentages there are shares here.",
    "A published number counts as inside the seed interval if one further seed of ours would fall there in 95 of 100 "
    "cases. The reproduction's are means over five seeds, which lie closer to ours than one seed does.",
    "Published models see one text a step, ours as many as the setting batch size says, at the same learning rate: "
    "with more texts a step there are fewer steps, and weights have moved less far when training ends. What that "
    "changes was measured on a small run only. The pronoun task is trained for 5 epochs, not 15.",
    "The kept epoch is the one with the best accuracy on dev, the first of several; nothing looks at the weights. "
    "Where accuracy is perfect from the start, as on the pronoun task, that is an early one, and its weights are what "
    "they happen to be then.",
    "The gauge twin of an embedding model makes the same decision as the honest model on every text, by proof, with "
    "scores chosen to stay off the marked words of train. It is not trained. What a word adds is the same share in "
    "both.",
    "Models without context and BiLSTMs only: BERT, on which the paper has its strongest result, comes with the "
    "transformers.",
)

pruthi2020 = Study(
    "pruthi2020",
    PAPER,
    "models trained to keep attention off words they use, where those words went, and twins that need no training",
    TASKS,
    run,
    Settings,
    QUICK,
)

"""Pruthi et al. 2020, BERT: a transformer fine-tuned to keep its heatmap off words that it uses.

The penalty −λ ln(1 − mass) is on the last layer's row of the token that the answer is read from, with heads by their
mean or by the head with the most weight. Beside accuracy and weight the study asks where the information went: the
weight in earlier layers, rollout, leave-one-out, and the answer without the marked words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck.checks.marked_layers import LEFT_OUT, look_in_layers
from heatcheck.checks.marked_words import Marked, find_mark
from heatcheck.data import Corpus
from heatcheck.engine import Facts, content_id, read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import HasLayers, Recipe
from heatcheck.results import Key, Model, Row, key
from heatcheck.studies.corpora import Source, about, load
from heatcheck.studies.of_transformers import FROM_NOTHING, SCRATCH, SMOKE, from_nothing
from heatcheck.studies.pruthi2020 import CONTROLS
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import (
    ALL,
    TEXTS,
    Found,
    Gathered,
    Place,
    Study,
    Work,
    check_names,
    given_of,
    need_seeds,
    setting,
    shown_settings,
)
from heatcheck.training import evaluate, pick_device, plan_recipe, train_loop
from heatcheck.training.checkpoint import FILE as CHECKPOINT
from heatcheck.training.finetune import build_transformer
from heatcheck.training.fit import check_recipe

NAME = "pruthi2020_transformer"
VERSION = 1  # raised by hand when the numbers of a model change
TASKS = tuple(CONTROLS)
HEADS = ("mean", "max")
REMOVED, HONEST = "removed", 0.0
SCORES = "scores.json"
# What a job measures on each model -> the quantity of its row. Those of a layer have the number after a colon.
OF_MODEL = {
    "accuracy": "accuracy_at",
    "mass": "mass_at",
    "largest": "largest_at",
    "rollout": "rollout_at",
    "after_deletion": "after_deletion",
    "leave_one_out": "left_out_at",
}
OF_LAYER = {"mass": "row_mass", "others": "others_mass"}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    model: str | None = setting(
        None, "Hugging Face model to fine-tune, as hf:NAME.", none="a small one, trained from scratch"
    )
    heads: tuple[str, ...] = setting(HEADS, "Heads in the penalty: their mean, or max, the one with the most weight.")
    strengths: tuple[float, ...] = setting((0.1, 1.0), "Values of λ, the penalty; λ = 0 always runs.")
    seeds: int = setting(3, "Models per kind.")
    grouped: bool = setting(False, "Hide marked words and others from each other in every layer, as published.")
    left_out: int = setting(LEFT_OUT, "Test texts whose words are left out one by one.")
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's, or 6 from scratch")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(tasks=("pronoun",), strengths=(1.0,), seeds=2, left_out=4, epochs=1, texts=48)


class Kind(NamedTuple):
    """One model: how it was trained, and its seed. Honest models and controls have no penalty on heads."""

    task: str
    trained: float | str  # λ, or `removed`: on texts without the marked words
    heads: str
    seed: int

    @property
    def name(self) -> str:
        at = f"λ = {self.trained:g}" if isinstance(self.trained, float) else "words removed"
        return f"{self.task}, {at}{f', {self.heads} of heads' if self.heads else ''}, seed {self.seed}"


def kinds_of(settings: Settings, tasks: Sequence[str]) -> list[Kind]:
    """Every model; all kinds of a seed before the next seed, so that an early end leaves whole seeds."""
    ways = [(HONEST, ""), *((float(of), heads) for of in settings.strengths for heads in settings.heads), (REMOVED, "")]
    return [Kind(task, at, heads, seed) for seed in range(settings.seeds) for task in tasks for at, heads in ways]


def recipe_of(settings: Settings, kind: Kind, corpus: Corpus, start: Mapping[str, Any], mark: str) -> Recipe:
    """The training recipe of a model.

    Args:
        start: the pretrained model and what its training is like.
        mark: of the words to hide.
    """
    changes: dict[str, Any] = {**start, **given_of(settings, "epochs")}
    if isinstance(kind.trained, float) and kind.trained:
        changes["loss"] = {"name": "deceptive", "mark": mark, "strength": kind.trained, "heads": kind.heads}
    if settings.grouped and kind.trained != REMOVED:
        changes["impose"] = {"weights": "grouped", "mark": mark}
    return plan_recipe(corpus, preset="finetune", seed=kind.seed, **changes)


def refuse(settings: Settings) -> None:
    check_names(f"way with heads of {NAME}", settings.heads, HEADS)
    need_seeds(NAME, settings, 1)
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"strengths of {NAME} must be numbers above 0, not {settings.strengths}. λ = 0 always runs.")


def corpora(settings: Settings) -> dict[str, Source]:
    names = [name for task in settings.tasks for name in (task, CONTROLS[task][0])]
    return {name: Source(name, settings.texts) for name in names}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Work]]:
    """Each model is trained and measured by one job, which keeps numbers only."""
    tasks = [task for task in settings.tasks if task in found.corpora]
    starts = {task: _start(settings, found.corpora[task], place.folder) for task in tasks}
    marks = {task: find_mark(found.corpora[task]["test"].examples, "") for task in tasks}
    works = []
    for kind in kinds_of(settings, tasks):
        name = CONTROLS[kind.task][0] if kind.trained == REMOVED else kind.task
        if name in found.corpora:
            mark = marks[kind.task]
            recipe = recipe_of(settings, kind, found.corpora[name], starts[kind.task], mark)
            about_marked = {"mark": None if kind.trained == REMOVED else mark, "left_out": settings.left_out}
            works.append(_work(kind, recipe, found.sources[name], about_marked, place))
    yield works


def _start(settings: Settings, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """What training starts from."""
    if settings.model is not None:
        return {"model": settings.model}
    small = settings.texts is not None
    return {"model": f"hf:{from_nothing(corpus, folder / 'starts', small=small)}", **FROM_NOTHING}


def _work(kind: Kind, recipe: Recipe, source: Source, about_marked: Facts, place: Place) -> Work:
    facts = asdict(recipe)
    # The weights say what training starts from; the folder that has them may lie elsewhere on another machine.
    decides = {**facts, "model": {name: value for name, value in facts["model"].items() if name != "hf"}}
    readable = kind.name.replace(", ", "-").replace(" ", "").replace("λ=", "")
    argument = {
        **about_marked,
        "recipe": facts,
        "source": list(source),
        "data_dir": None if place.data_dir is None else str(place.data_dir),
        "device": place.device,
    }
    ident = content_id({NAME: [VERSION, decides, dict(about_marked)]})
    return Work(kind.name, f"{readable}-{ident}", fit_and_look, argument, read_scores)


def fit_and_look(argument: Facts, folder: Path, store: Path) -> None:
    """Fine-tune one model and measure it on test; keep the numbers, not the weights."""
    corpus, recipe = load(Source(*argument["source"]), argument["data_dir"]), Recipe(**argument["recipe"])
    check_recipe(recipe, corpus, store)
    subject = build_transformer(recipe, corpus, device=pick_device(argument["device"]))
    done = train_loop(subject, corpus, recipe, folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    scores = evaluate(subject, corpus["test"].examples, impose=recipe.impose)
    found: dict[str, Any] = {"test": scores.facts(), "kept_epoch": done.best_epoch, "history": done.history}
    if argument["mark"] is not None:
        assert isinstance(subject, HasLayers)
        texts = Marked.of(subject, corpus["test"].examples, argument["mark"])
        gold = np.array([example.label for example in texts.examples])
        looked = look_in_layers(
            subject, texts, gold, impose=recipe.impose, seed=recipe.seed, left_out=argument["left_out"]
        )
        found["measures"] = {name: _mean(values) for name, values in looked.values.items()}
        found["predicted"] = "".join(str(label) for label in looked.predicted)
        found["texts"] = {"measured": len(texts.examples), "left_out": _counted(texts.excluded)}
        found["heatmap"] = subject.shown_rows or "The answer is read from one token, and the heatmap is its row."
    write_json(folder / SCORES, found)


def _mean(values: np.ndarray) -> dict[str, float | int | None]:
    known = values[np.isfinite(values)]
    return {"value": float(known.mean()) if len(known) else None, "n": len(known)}


def _counted(excluded: Mapping[str, str]) -> dict[str, int]:
    return {why: list(excluded.values()).count(why) for why in dict.fromkeys(excluded.values())}


def read_scores(folder: Path) -> Facts:
    """The kept results of `fit_and_look`."""
    found: Facts = read_json(folder / SCORES)
    if not {"test", "kept_epoch"} <= found.keys():
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again")
    return found


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result; honest models and controls stand beside both ways with heads."""
    published = {(one.task, one.attention, one.key): one for one in found.published}
    by_name = {kind.name: kind for kind in kinds_of(settings, settings.tasks)}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task in settings.tasks:
        scored = {by_name[name]: facts for name, facts in found.kept.items() if by_name[name].task == task}
        if not any(kind.trained == HONEST for kind in scored):
            continue
        facts = about(found.sources[task], found.corpora[task])
        apart = facts["not_comparable"] or "MiniLM or another model instead of BERT"
        tasks[task] = {**facts, "not_comparable": apart, "not_run": {}}
        for heads in settings.heads:
            of_heads = {kind: facts for kind, facts in scored.items() if kind.heads in ("", heads)}
            attention = f"{heads}, grouped" if settings.grouped else heads
            rows += [
                row_of(
                    Where(task, _name(settings), attention, quantity),
                    of_seeds,
                    published.get((task, heads, quantity)),
                    apart,
                )
                for quantity, of_seeds in values_of(of_heads).items()
            ]
            points = [_point(kind, facts) for kind, facts in of_heads.items() if kind.trained != REMOVED]
            labels, seeds = tuple(found.corpora[task].labels), len({kind.seed for kind in of_heads})
            models.append(Model(task, _name(settings), attention, labels, seeds, {}, (), tuple(points)))
    return Gathered(rows, models, tasks, settings=shown_settings(settings, tasks, model=_name(settings)))


def values_of(scored: Mapping[Kind, Facts]) -> dict[Key, list[float]]:
    """One value per seed of each quantity, and those of a penalised model compared with the honest one of its seed."""
    found: dict[Key, list[float]] = {}
    honest = {kind.seed: facts for kind, facts in scored.items() if kind.trained == HONEST}
    for kind, facts in scored.items():
        measures = {name: of["value"] for name, of in facts.get("measures", {}).items() if of["value"] is not None}
        measures["accuracy"] = facts["test"]["accuracy"]
        for name, value in measures.items():
            plain, _, layer = name.partition(":")
            if layer:
                found.setdefault(key(OF_LAYER[plain], trained=kind.trained, layer=int(layer)), []).append(value)
            elif plain in OF_MODEL:
                found.setdefault(key(OF_MODEL[plain], trained=kind.trained), []).append(value)
        if "share" in measures:
            found[key("share")], found[key("commonest")] = [measures["share"]], [facts["test"]["majority"]]
        if kind.trained in (HONEST, REMOVED) or kind.seed not in honest:
            continue
        base = honest[kind.seed]
        lost = base["test"]["accuracy"] - measures["accuracy"]
        same = np.mean([one == other for one, other in zip(base["predicted"], facts["predicted"], strict=True)])
        removed = base["measures"]["mass"]["value"] - measures["mass"]
        for name, value in (("accuracy_lost", lost), ("mass_removed", removed), ("agreement", float(same))):
            found.setdefault(key(name, trained=kind.trained), []).append(value)
    return found


def _point(kind: Kind, facts: Facts) -> Facts:
    """One model as a mark of the figure."""
    mass = facts["measures"]["mass"]["value"]
    return {"model": f"{kind.trained:g}", "seed": kind.seed, "accuracy": facts["test"]["accuracy"], "mass": mass}


def _name(settings: Settings) -> str:
    return SCRATCH if settings.model is None else Path(settings.model.removeprefix("hf:")).name


NOTES = (
    "The published model is BERT-base. Ours is the model that the settings name, so no published number is comparable "
    "as a number. Caulfield et al. 2021 print the paper's numbers and their own. Some of the paper's weights at λ = .1 "
    "and 1 are missing there, so they are missing here.",
    "The penalty is on the last layer's row of the token that the answer is read from. In BERT and MiniLM that is the "
    "row of [CLS], as published. Weights are taken before dropout, so the penalty is on the heatmap that people see.",
    "With max, our penalty and our weight take the head with the most weight in each example. The published code takes "
    "one head of a whole batch, so its number depends on the batch size.",
    "Marked words are told to no model. The published code gives them to BERT as segment ids, and so tells the model "
    "which words they are. In SST+Wiki the review comes first here; for BERT the paper puts it last.",
    "Unless `grouped` is set, every word sees every other in every layer. The published models hide marked and other "
    "words from each other, so that only [CLS] can carry what a marked word says.",
    "Weights sum to 1 over all pieces, [CLS] and [SEP] included. Under uniform weights the marked words have the share "
    "in the row “share”.",
    "Three seeds give wide intervals. All seeds start from the same pretrained weights and have the same test texts.",
)

pruthi2020_transformer = Study(
    name=NAME,
    title="Learning to deceive with attention, a transformer, reproduced",
    paper="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL), BERT",
    about="a transformer fine-tuned to keep its heatmap off words that it uses, and where their information went",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=VERSION,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)

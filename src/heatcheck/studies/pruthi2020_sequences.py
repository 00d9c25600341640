"""Pruthi et al. 2020, sequence to sequence: attention trained to avoid the source words that each word comes from.

Each task runs with λ = 0, with penalties, with uniform weights, and with all weight on the first source position. That
last one is no attention at all, because the encoder also reads backwards. The scores are of free generation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data import Corpus
from heatcheck.data.seq2seq import GOLD_OF, KINDS
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.models import Recipe
from heatcheck.results import Key, Model, Row, key
from heatcheck.studies.corpora import PUBLISHED_SIZE, Source, sizes_of, stands_in
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.seq2seq import score_work
from heatcheck.studies.study import Found, Gathered, Place, Study, Work, check_names, given_of, need_seeds, setting
from heatcheck.training import plan_recipe

NAME = "pruthi2020_sequences"
TASKS = ("bigram_flip", "sequence_copy", "sequence_reverse", "multi30k")
ENCODER, ATTENTION = "gru", "additive"
IMPOSED = {"uniform": "uniform", "none": "first"}  # name in the paper's table -> kind of imposed weights


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    strengths: tuple[float, ...] = setting((0.1, 1.0), "Values of λ, the penalty; λ = 0 always runs.")
    seeds: int = setting(5, "Models per task and kind of training.")
    texts: int | None = setting(
        20_000, "Train sequences of a generated task; dev and test have a twentieth, at least 100.", none="100,000"
    )
    symbols: int | None = setting(None, "Symbols of a generated task.", none="a thousand")
    captions: int | None = setting(None, "Captions per split of multi30k.", none="all")
    hidden: int | None = setting(None, "Hidden size.", none="the preset's 512")
    epochs: int | None = setting(None, "Most epochs per training run.", none="the preset's 30")
    patience: int | None = setting(
        None, "Epochs without a better dev loss before training stops.", none="the preset's 2", least=0
    )
    batch_size: int | None = setting(None, "Batch size.", none="the preset's")
    preset: str = setting("pruthi-seq2seq", "Training preset.")


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
    changes = given_of(settings, "hidden", "epochs", "patience", "batch_size")
    if kind.at in IMPOSED:
        changes["impose"] = {"weights": IMPOSED[kind.at]}
    elif float(kind.at):
        changes["loss"] = {"name": "deceptive", "mark": "alignment", "strength": float(kind.at)}
    return plan_recipe(corpus, preset=settings.preset, seed=kind.seed, **changes)


def refuse(settings: Settings) -> None:
    check_names(f"preset of {NAME}", [settings.preset], ["pruthi-seq2seq"])
    need_seeds(NAME, settings, 2)
    if not all(0 < strength < float("inf") for strength in settings.strengths):
        raise BadInput(f"strengths of {NAME} must be numbers above 0, not {settings.strengths}. λ = 0 always runs.")


def corpora(settings: Settings) -> dict[str, Source]:
    every = Source(
        "", first=settings.captions, drawn=settings.texts, symbols=settings.symbols, substitute="bigram_flip"
    )
    return {task: every._replace(task=task) for task in settings.tasks}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Work]]:
    """Every model is trained and scored by one job."""
    yield score_work(
        {
            kind.name: (recipe_of(settings, kind, found.corpora[kind.task]), found.corpora[kind.task])
            for kind in kinds_of(settings, [*found.corpora])
        },
        place,
    )


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    published = {(one.task, one.key): one for one in found.published}
    kinds = {kind.name: kind for kind in kinds_of(settings, [*found.corpora])}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task, corpus in found.corpora.items():
        of_task = {kinds[name]: scores for name, scores in found.kept.items() if kinds[name].task == task}
        if not of_task:
            continue
        apart = not_comparable(settings, task, corpus)
        by_hand = any(scores["gold"] is not None for scores in of_task.values())
        tasks[task] = _about(found.sources[task], corpus, apart, by_hand=by_hand)
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
        models.append(Model(task, ENCODER, ATTENTION, (), seeds, {}, (), _points(of_task)))
    return Gathered(rows, models, tasks)


def _points(scores: Mapping[Kind, Facts]) -> list[Facts]:
    """Each model as a mark of the figure, if its links are known."""
    return [
        {
            "model": kind.at,
            "seed": kind.seed,
            "accuracy": scored["test"]["own"]["accuracy"]["value"],
            "mass": scored["test"]["own"]["links"]["mass"]["value"],
        }
        for kind, scored in scores.items()
        if scored["test"]["own"]["links"] is not None
    ]


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


def _about(source: Source, corpus: Corpus, apart: str, *, by_hand: bool) -> dict[str, Any]:
    gold = GOLD_OF.get(source.task)
    return {
        "task": source.task,
        "published": source.task,
        "labels": [],
        **sizes_of(corpus),
        "segments": corpus.segments,
        "differs": "; ".join(filter(None, (stands_in(source), apart))),
        "not_comparable": apart,
        "not_run": {} if by_hand or gold is None else {"links made by hand": f"the data of {gold} is missing"},
    }


OTHER_BLEU = "BLEU of another tool"
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
    name=NAME,
    title="Learning to deceive, sequence to sequence, reproduced",
    paper="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations (ACL), sequence to sequence",
    about="models that copy, reverse, flip and translate, trained to keep attention off the source of each word",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=1,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke="This is a small run: its model, task or training budget is a fraction of the published one.",
    smoke_if=("hidden", "epochs"),
    table=Path(__file__).with_suffix(".csv"),
)

"""Sun & Lu 2020, "Understanding Attention for Text Classification": which words get high scores, at which scale λ.

The prediction: words of one label (polar words) get higher scores than neutral ones if the scale λ is moderate. At a
small λ the softmax saturates before anything is learned; at a large λ all words keep the same weight. The texts are
generated, so that the polar words are known, or SST, where label counts decide. Every λ has the same seeds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from heatcheck import stats
from heatcheck.data import Corpus
from heatcheck.engine import Facts, content_id, read_json, seed_of, stream, write_json
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import Key, Model, Row, key, parse_key
from heatcheck.studies.corpora import Source, load, sizes_of, stands_in
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import (
    ALL,
    TEXTS,
    Found,
    Gathered,
    Place,
    Study,
    Work,
    need_seeds,
    setting,
    shown_settings,
)
from heatcheck.studies.sun2020.model import Descent, Texts, WordScores, texts_of, train, untrained

VERSION = 1  # raised by hand when a model's results change
TASKS = ("synthetic", "sst")
LABELS = ("negative", "positive")
NEUTRAL, POSITIVE, NEGATIVE, OTHER = range(4)
GROUPS = {"positive": POSITIVE, "negative": NEGATIVE, "neutral": NEUTRAL}
# Of the generated texts.
NEUTRAL_WORDS, POLAR_WORDS = 1000, 50  # so many polar ones of each label
NEUTRAL_OF_TEXT, POLAR_OF_TEXT = 10, 2
SIZES = {"train": 12_000, "test": 2_000}
WIDTH = 100
HOW = {
    "synthetic": Descent(rate=0.015, batch=200, epochs=500),
    "sst": Descent(rate=0.02, batch=100, epochs=40, adaptive=True, decay=0.001),
}
POLAR_START = {"synthetic": 1.0, "sst": 0.1}  # W is drawn from ± this
SHOWN = (0, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 350, 400, 450, 500)  # epochs
MODERATE = 10.0  # the authors' λ, which the others are compared with
FOUND = "found.json"


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    strengths: tuple[float, ...] = setting((0.1, 1.0, 10.0, 100.0, 1000.0), "Values of λ, which divides the scores.")
    seeds: int = setting(5, "Models per task and λ.")
    epochs: int | None = setting(None, "Epochs per training run.", none="500 on generated texts, 40 on sst")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(strengths=(1.0, 10.0), seeds=2, epochs=2, texts=200)


class Ready(NamedTuple):
    """A task as the model takes it."""

    splits: Mapping[str, Texts]
    group: Int[np.ndarray, " word"]


def refuse(settings: Settings) -> None:
    need_seeds("sun2020", settings, 2)
    if not settings.strengths or not all(0 < scale < float("inf") for scale in settings.strengths):
        raise BadInput(f"strengths of sun2020 must be numbers above 0, not {settings.strengths}: λ divides the scores.")


def corpora(settings: Settings) -> dict[str, Source]:
    # Reviews have no polar words by the published rule: whose opinion it is decides there.
    sst = Source("sst", settings.texts, substitute="planted_keyword")
    return {"sst": sst} if "sst" in settings.tasks else {}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Work]]:
    """One model per task, λ and seed. They train on the CPU whatever the device: each takes seconds there."""
    works: list[Work] = []
    for task in settings.tasks:
        if task == "synthetic" or task in found.corpora:
            try:
                reference = str(about_task(task, settings.texts, found)["reference"])
            except BadInput as error:
                found.failed[task] = str(error)
                continue
            for seed in range(settings.seeds):
                for scale in dict.fromkeys(settings.strengths):
                    works.append(plan_work(settings, (task, scale, seed), reference, found.sources.get(task), place))
    yield works


def plan_work(
    settings: Settings, model: tuple[str, float, int], reference: str, source: Source | None, place: Place
) -> Work:
    """One model, named by all that decides its numbers."""
    task, scale, seed = model
    epochs = settings.epochs or HOW[task].epochs
    decides = {"version": VERSION, "task": reference, "scale": scale, "seed": seed, "epochs": epochs}
    argument = {"task": task, "scale": scale, "seed": seed, "epochs": epochs, "texts": settings.texts}
    data_dir = None if place.data_dir is None else str(place.data_dir)
    return Work(
        work_name(task, scale, seed),
        f"{task}-{scale:g}-seed-{seed}-{content_id({'sun2020': decides})}",
        train_job,
        {**argument, "source": None if source is None else list(source), "data_dir": data_dir},
        read_found,
    )


def work_name(task: str, scale: float, seed: int) -> str:
    return f"{task}, {name_of(scale)}, seed {seed}"


def train_job(argument: Facts, folder: Path, _: Path) -> None:
    """Train one model and keep its numbers and the scores of every word."""
    task, seed = argument["task"], argument["seed"]
    source = None if argument["source"] is None else Source(*argument["source"])
    ready = make_ready(source, seed, argument["texts"], argument["data_dir"])
    # By seed and not by λ: models of one seed differ in nothing but λ.
    model = untrained(
        len(ready.group), WIDTH, argument["scale"], stream(seed, "sun2020", "start"), polar=POLAR_START[task]
    )
    # Several times as fast as a stream of ours; dropout takes a byte for every eight numbers of every word.
    fast = np.random.Generator(np.random.SFC64(seed_of(seed, "sun2020", "training")))
    facts = measured(model, ready, HOW[task]._replace(epochs=argument["epochs"]), fast)
    np.savez_compressed(folder / "scores.npz", attention=model.attention, polarity=model.polarity, group=ready.group)
    write_json(folder / FOUND, facts)


def measured(model: WordScores, ready: Ready, how: Descent, generator: np.random.Generator) -> Facts:
    """Train the model and return its numbers; with a dev set, keep the first best epoch."""
    numbers: dict[str, float] = {"auc:start": auc_of(model.attention, ready.group, (POSITIVE, NEGATIVE))}
    curves: dict[str, dict[str, float]] = {"0": means_of(model, ready.group)}
    losses: list[float] = []
    best = -1.0
    kept = (model.vectors.copy(), model.attend.copy(), model.polar.copy())

    def watch(epoch: int, loss: float) -> None:
        nonlocal best, kept
        losses.append(loss)
        if epoch in SHOWN or epoch == how.epochs:
            curves[str(epoch)] = means_of(model, ready.group)
        if "dev" in ready.splits and (dev := model.accuracy(ready.splits["dev"])) > best:
            best, kept = dev, (model.vectors.copy(), model.attend.copy(), model.polar.copy())

    train(model, ready.splits["train"], how, generator, watch=watch)
    numbers |= {"loss": losses[-1], "right:train": model.accuracy(ready.splits["train"])}
    if "dev" in ready.splits:
        model.vectors, model.attend, model.polar = kept
        numbers["right:dev"] = best
    test = ready.splits["test"]
    numbers["right:test"] = model.accuracy(test)
    polar = np.isin(ready.group[test.words], (POSITIVE, NEGATIVE))
    numbers["mass:polar"] = float(np.add.reduceat(model.weights(test) * polar, test.first).mean())
    numbers["mass:chance"] = float((np.add.reduceat(polar.astype(float), test.first) / test.lengths).mean())
    attention, strength = model.attention, np.abs(model.polarity)
    for name, groups in (("polar", (POSITIVE, NEGATIVE)), ("positive", (POSITIVE,)), ("negative", (NEGATIVE,))):
        numbers[f"auc:{name}"] = auc_of(attention, ready.group, groups)
    numbers["auc:polarity"] = auc_of(strength, ready.group, (POSITIVE, NEGATIVE))
    numbers |= means_of(model, ready.group)
    numbers["v_dot_w"] = float(model.attend @ model.polar)
    return {"numbers": numbers, "curves": curves}


def auc_of(score: Float[np.ndarray, " word"], group: Int[np.ndarray, " word"], polar: Sequence[int]) -> float:
    """Chance that a polar word scores above a neutral one, ties counting half.

    >>> auc_of(np.array([0.3, 0.1, 0.9, 5.0]), np.array([NEUTRAL, POSITIVE, POSITIVE, OTHER]), (POSITIVE,))
    0.5
    """
    wanted = np.isin(group, polar)
    return stats.roc_auc(score, wanted, wanted | (group == NEUTRAL))


def means_of(model: WordScores, group: Int[np.ndarray, " word"]) -> dict[str, float]:
    """Mean attention score and mean polarity of each group of words."""
    scores = {"mean_a": model.attention, "mean_s": model.polarity}
    return {
        f"{kind}:{name}": float(score[group == code].mean())
        for kind, score in scores.items()
        for name, code in GROUPS.items()
    }


def make_ready(source: Source | None, seed: int, texts: int | None, data_dir: str | None) -> Ready:
    """The texts that the models of a seed see: generated ones, or those of a corpus, the same for every seed."""
    return _synthetic(seed, texts) if source is None else from_corpus(load(source, data_dir))


@lru_cache(maxsize=2)
def _synthetic(seed: int, texts: int | None) -> Ready:
    return synthetic(seed, {split: min(texts or size, size) for split, size in SIZES.items()})


def synthetic(seed: int, sizes: Mapping[str, int]) -> Ready:
    """Ten neutral words and two polar ones of the text's label, half of the texts of each label.

    >>> ready = synthetic(0, {"train": 4})
    >>> [sorted(ready.group[text].tolist()) for text in ready.splits["train"].words.reshape(4, 12)][0]
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    """
    splits = {}
    for split, size in sizes.items():
        draw = stream(seed, "sun2020", split)
        signs = [1 if text < size // 2 else -1 for text in range(size)]
        first = {1: NEUTRAL_WORDS, -1: NEUTRAL_WORDS + POLAR_WORDS}
        sentences = [
            [
                *draw.choice(NEUTRAL_WORDS, NEUTRAL_OF_TEXT, replace=False).tolist(),
                *(first[sign] + draw.choice(POLAR_WORDS, POLAR_OF_TEXT, replace=False)).tolist(),
            ]
            for sign in signs
        ]
        splits[split] = texts_of(sentences, signs)
    return Ready(splits, np.repeat([NEUTRAL, POSITIVE, NEGATIVE], [NEUTRAL_WORDS, POLAR_WORDS, POLAR_WORDS]))


def from_corpus(corpus: Corpus) -> Ready:
    """Lower-cased words, each with a vector; words that training never sees keep their initial vector."""
    words: dict[str, int] = {}
    splits = {}
    counts: dict[int, Counter[int]] = {1: Counter(), -1: Counter()}
    for name, split in corpus.splits.items():
        sentences, signs = [], []
        for example in split.examples:
            sign = 1 if example.label == 1 else -1
            sentences.append([words.setdefault(word.lower(), len(words)) for word in example.words])
            signs.append(sign)
            if name == "train":
                counts[sign].update(sentences[-1])
        splits[name] = texts_of(sentences, signs)
    group = np.array([group_of(counts[1][word], counts[-1][word]) for word in range(len(words))])
    for name, code in GROUPS.items():
        if code not in group:
            raise BadInput(f"{corpus.name} has no {name} word by the published rule: use more texts.")
    return Ready(splits, group)


def group_of(with_positive: int, with_negative: int) -> int:
    """The published rule, by how often a word stands in train texts of each label.

    >>> [group_of(*counts) for counts in ((6, 1), (1, 6), (5, 0), (40, 38), (0, 0))] == [
    ...     POSITIVE, NEGATIVE, OTHER, NEUTRAL, OTHER]
    True
    """
    if not with_positive + with_negative:
        return OTHER
    difference = with_positive - with_negative
    lean = difference / (with_positive + with_negative)
    if lean > 0.5 and with_positive > 5:
        return POSITIVE
    if lean < -0.5 and with_negative > 5:
        return NEGATIVE
    return NEUTRAL if abs(lean) < 0.1 and abs(difference) < 5 else OTHER


def about_task(task: str, texts: int | None, found: Found) -> dict[str, object]:
    """What a page says about a task; `reference` names its texts."""
    facts: dict[str, object] = {"published": task, "labels": list(LABELS), "left_out": {}, "segments": 1}
    facts["not_comparable"] = "" if texts is None else "a smoke run"
    if task == "synthetic":
        sizes = {split: min(texts or size, size) for split, size in SIZES.items()}
        differs = f"generated anew for each seed: {NEUTRAL_WORDS:,} neutral words, {POLAR_WORDS} of each label"
        return {**facts, "sizes": sizes, "differs": differs, "reference": f"synthetic {sizes}"}
    corpus = found.corpora[task]
    group = from_corpus(corpus).group
    counted = ", ".join(f"{int((group == code).sum()):,} {name}" for name, code in GROUPS.items())
    read = stands_in(found.sources[task]) or "the same texts, cut into words a little differently"
    return {
        **facts,
        **sizes_of(corpus),
        "differs": f"{read}: {counted}; the authors count 412 positive, 265 negative, 1,384 neutral",
        "reference": corpus.reference,
    }


def read_found(folder: Path) -> Facts:
    """The kept results of `train_job`."""
    facts: Facts = read_json(folder / FOUND)
    if not {"numbers", "curves"} <= facts.keys():
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again")
    return facts


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result: means over seeds, and the loss of each λ compared with the authors', seed by seed."""
    published = {(one.task, one.encoder, one.key): one for one in found.published}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task in settings.tasks:
        if task in found.failed:
            continue
        about = about_task(task, settings.texts, found)
        tasks[task] = {key: value for key, value in about.items() if key != "reference"}
        of_scale = {scale: _by_seed(settings, found, task, scale) for scale in dict.fromkeys(settings.strengths)}
        moderate = _by_seed(settings, found, task, MODERATE)
        for scale, seeds in of_scale.items():
            if not seeds:
                continue
            for (quantity, epoch), values in numbers_of(seeds, {} if scale == MODERATE else moderate):
                beside = published.get((task, name_of(scale), quantity)) if epoch is None else None
                at: dict[str, int | float] = {"scale": scale} | ({} if epoch is None else {"epoch": epoch})
                quantity = key(quantity.name, **quantity.by, **at)
                place = "" if epoch is None else f"epoch {epoch}"
                where = Where(task, name_of(scale), "", quantity, bin=place)
                rows.append(row_of(where, values, beside, str(about["not_comparable"])))
            models.append(Model(task, name_of(scale), "", LABELS, len(seeds), {}, ()))
    return Gathered(rows, models, tasks, settings=shown_settings(settings, tasks, epochs=_epochs(settings, tasks)))


def _by_seed(settings: Settings, found: Found, task: str, scale: float) -> dict[int, Facts]:
    """The numbers of the models of one λ, by seed."""
    names = {seed: work_name(task, scale, seed) for seed in range(settings.seeds)}
    return {seed: found.kept[name] for seed, name in names.items() if name in found.kept}


def numbers_of(
    seeds: Mapping[int, Facts], moderate: Mapping[int, Facts]
) -> Iterator[tuple[tuple[Key, int | None], list[float]]]:
    """Each number and, for curves, its epoch, with its value for every seed."""
    first: Iterable[str] = next(iter(seeds.values()))["numbers"]
    for quantity in first:
        yield (parse_key(quantity), None), [facts["numbers"][quantity] for facts in seeds.values()]
    both = [seed for seed in seeds if seed in moderate]
    if both:
        lost = [moderate[seed]["numbers"]["auc:polar"] - seeds[seed]["numbers"]["auc:polar"] for seed in both]
        yield (key("auc_lost"), None), lost
    # Which of the two polarities is higher differs from seed to seed, so their means would hide how far apart they are.
    apart = [facts["numbers"]["auc:positive"] - facts["numbers"]["auc:negative"] for facts in seeds.values()]
    sides = [facts["numbers"]["v_dot_w"] for facts in seeds.values()]
    yield (key("auc_apart"), None), [abs(gap) for gap in apart]
    same = [float(gap * side > 0) for gap, side in zip(apart, sides, strict=True) if gap]
    if len(same) > 1:  # where both are perfect, neither is higher
        yield (key("same_side"), None), same
    for epoch, means in next(iter(seeds.values()))["curves"].items():
        for quantity in means:
            found = [facts["curves"][epoch][quantity] for facts in seeds.values()]
            yield (parse_key(quantity), int(epoch)), found


def _epochs(settings: Settings, tasks: Iterable[str]) -> str:
    return ", ".join(f"{settings.epochs or HOW[task].epochs} on {task}" for task in tasks)


def name_of(scale: float) -> str:
    """
    >>> name_of(10.0), name_of(0.1)
    ('λ = 10', 'λ = 0.1')
    """
    return f"λ = {scale:g}"


SMOKE = "This is a smoke run: a few texts, two epochs, two seeds. Ignore its numbers."
NOTES = (
    "The paper's numbers come from the authors' notebooks. On generated texts, the loss is .020 to .026 after 500 "
    "epochs, in batches with dropout (.022 is the mean of the last five). For one run on SST, they print the "
    "accuracy on train after 40 epochs, the best on dev, and the one on test. “Earlier run” is one seed of our own "
    "with the same recipe: another implementation, written in numpy when the specification was made.",
    "Models of one seed share their texts, their initial values, the order of the texts and every dropout. They differ "
    "in λ alone, so the loss at a λ is counted seed by seed. Seeds of generated texts also differ in the texts.",
    "AUC is the probability that a polar word has a higher score than a neutral one; ½ is chance. Generated texts "
    "have known polar words. For SST, the published rule counts labels of train texts, so the polar words are "
    "estimated, and |s| is fitted to the same counts. Weights are measured without dropout.",
    "Each word has one score, whatever the text. So nothing here applies to models with context.",
)

sun2020 = Study(
    name="sun2020",
    title="Understanding attention for text classification, reproduced",
    paper="Sun & Lu 2020, Understanding Attention for Text Classification (ACL)",
    about="attention scores of polar and neutral words at five scales λ, on texts with known polar words and on SST",
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
    table=Path(__file__).with_name("published.csv"),
)

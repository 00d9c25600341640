"""What studies of transformers share: a model fine-tuned on each task with several seeds, and one check on each.

The user names the pretrained model. Without one, a small model is trained from scratch: six layers of eight heads, 128
wide, as Abnar & Zuidema's verb model.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from heatcheck import stats
from heatcheck.data import Corpus
from heatcheck.engine import Facts, FolderExists, content_id, whole_folder
from heatcheck.results import CheckResult, Key, Model, Row, key
from heatcheck.studies.cells import Cell, More
from heatcheck.studies.corpora import Source
from heatcheck.studies.rows import Where, row_from, row_of
from heatcheck.studies.study import (
    ALL,
    TEXTS,
    Found,
    Gathered,
    Place,
    Study,
    Work,
    given_of,
    need_seeds,
    nothing_more,
    setting,
    shown_settings,
)

TASKS = ("sst", "rotten_tomatoes")
SCRATCH = "from nothing"  # a name in rows that are kept, so it stays
# A model trained from scratch has a higher learning rate and more epochs than a fine-tuned one.
FROM_NOTHING: Mapping[str, Any] = {"learning_rate": 1e-3, "epochs": 6}
WORDS = 10_000  # in the vocabulary of a model trained from scratch

Numbers = Callable[[CheckResult], Iterator[tuple[Key, float]]]


class Kept(NamedTuple):
    """What the work on a further model left: its numbers with their intervals over texts."""

    task: str
    model: str
    numbers: Mapping[Key, stats.Interval]


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    model: str | None = setting(
        None, "Hugging Face model to fine-tune, as hf:NAME.", none="a small one, trained from scratch"
    )
    seeds: int = setting(3, "Models per task.")
    examples: int = setting(200, "Test examples, the same for every model of a task.")
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's, or 6 from scratch")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(tasks=("sst",), seeds=2, examples=12, epochs=1, texts=48)


def no_facts(_: Facts) -> Iterator[tuple[Key, float]]:
    """For studies whose numbers are all in the results of their check."""
    return iter(())


def no_work(_: Any, __: Place, ___: Found) -> Sequence[Work]:
    """For studies of fine-tuned classifiers alone."""
    return ()


def study_of(
    name: str,
    check: str,
    numbers: Numbers,
    *,
    title: str,
    paper: str,
    about: str,
    notes: tuple[str, ...],
    table: Path,
    tasks: tuple[str, ...] = TASKS,
    of_check: Mapping[str, Any] = MappingProxyType({}),
    version: int = 1,
    settings: type = Settings,
    quick: Any = QUICK,
    own: tuple[str, ...] = (),
    more: More = nothing_more,
    of_facts: Callable[[Facts], Iterator[tuple[Key, float]]] = no_facts,
    works: Callable[[Any, Place, Found], Sequence[Work]] = no_work,
) -> Study:
    """A study of transformers.

    Args:
        numbers: the results of the check as named numbers; each is averaged over seeds.
        of_check: settings of the check.
        version: of the study's cells, raised by hand when their results change.
        settings: a subclass of `Settings`.
        own: the fields of the settings that `more` needs.
        more: what a cell keeps beside the results of its check.
        of_facts: the same as named numbers.
        works: further models, which are not fine-tuned; each leaves a `Kept`.
    """
    return Study(
        name=name,
        title=title,
        paper=paper,
        about=about,
        tasks=tasks,
        settings=settings,
        quick=quick,
        version=version,
        corpora=lambda settings: {task: Source(task, settings.texts) for task in settings.tasks},
        refuse=lambda settings: need_seeds(name, settings, 1),
        plan=partial(_plan, check, of_check, own, works),
        gather=partial(_gather, check, numbers, of_facts),
        more=more,
        notes=notes,
        smoke=SMOKE,
        table=table,
    )


def _plan(
    check: str,
    of_check: Facts,
    own: Sequence[str],
    works: Callable[[Any, Place, Found], Sequence[Work]],
    settings: Settings,
    place: Place,
    found: Found,
) -> Iterator[Sequence[Cell | Work]]:
    """One cell per task and seed, and the study's own work."""
    starts = {task: _start(settings, corpus, place.folder) for task, corpus in found.corpora.items()}
    yield [
        Cell(
            f"{task}, seed {seed}",
            task,
            _name(settings),
            "",
            {"preset": "finetune", **starts[task], **given_of(settings, "epochs")},
            (check,),
            {f"{check}.{key}": value for key, value in of_check.items()},
            seed=seed,
            examples=settings.examples,
            own={name: getattr(settings, name) for name in own},
        )
        for task in found.corpora
        for seed in range(settings.seeds)
    ] + [*works(settings, place, found)]


def _gather(
    check: str,
    numbers: Numbers,
    of_facts: Callable[[Facts], Iterator[tuple[Key, float]]],
    settings: Settings,
    found: Found,
) -> Gathered:
    published = {one.key: one for one in found.published}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Any] = {}
    for task in found.corpora:
        seeds = [one for one in found.measured.values() if one.cell.task == task and check in one.results]
        if not seeds:
            continue
        values: dict[Key, list[float]] = {key("accuracy"): [one.accuracy for one in seeds]}
        for one in seeds:
            for quantity, value in (*numbers(one.results[check]), *of_facts(one.facts)):
                values.setdefault(quantity, []).append(value)
        why = "another model and other data"
        # The usual words about how a corpus differs are about the recurrent models' preparation of it.
        differs = seeds[0].about["differs"] if settings.texts is not None else "all texts, as distributed"
        tasks[task] = {**seeds[0].about, "differs": differs, "not_comparable": why if published else ""}
        rows += [
            row_of(Where(task, _name(settings), "", quantity), of_seeds, published.get(quantity), why)
            for quantity, of_seeds in values.items()
        ]
        models.append(Model(task, _name(settings), "", tuple(seeds[0].about["labels"]), len(seeds), {}, ()))
        for name, numbers_of in ((one.model, one.numbers) for one in found.kept.values() if one.task == task):
            rows += [row_from(Where(task, name, "", of), one, math.nan, None, "") for of, one in numbers_of.items()]
            models.append(Model(task, name, "", (), 1, {}, ()))
    return Gathered(rows, models, tasks, settings=shown_settings(settings, tasks, model=_name(settings)))


def _name(settings: Settings) -> str:
    return SCRATCH if settings.model is None else Path(settings.model.removeprefix("hf:")).name


def _start(settings: Settings, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """What training starts from."""
    if settings.model is not None:
        return {"model": settings.model}
    small = settings.texts is not None
    return {"model": f"hf:{from_nothing(corpus, folder / 'starts', small=small)}", **FROM_NOTHING}


def from_nothing(corpus: Corpus, folder: Path, *, small: bool = False) -> Path:
    """A folder with an untrained BERT and a tokenizer of the train words, made if it does not exist yet."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from heatcheck.models.hf import quiet

    layers, width, heads = (2, 32, 4) if small else (6, 128, 8)
    place = folder / content_id({"task": corpus.reference, "shape": [layers, width, heads], "words": WORDS})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    try:
        with whole_folder(place) as scratch:
            cut = Tokenizer(models.WordLevel(unk_token="[UNK]"))
            cut.normalizer = normalizers.Lowercase()
            cut.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
            trainer = trainers.WordLevelTrainer(vocab_size=WORDS, min_frequency=2, special_tokens=special)
            cut.train_from_iterator([example.text for example in corpus["train"]], trainer)
            marks = [(mark, cut.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
            cut.post_processor = processors.TemplateProcessing(
                single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=marks
            )
            named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
            make_tokenizer: Any = PreTrainedTokenizerFast
            make_tokenizer(tokenizer_object=cut, model_max_length=512, **named).save_pretrained(scratch)
            config = BertConfig(
                vocab_size=cut.get_vocab_size(),
                hidden_size=width,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                intermediate_size=4 * width,
            )
            with quiet(), torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                make_network: Any = BertModel
                make_network(config).save_pretrained(scratch)
    except FolderExists:
        pass
    return place


SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."

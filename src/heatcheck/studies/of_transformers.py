"""What studies of transformers share: a model fine-tuned on each task with several seeds, and one check on each.

The user names the pretrained model. Without one, a small model is trained from scratch: six layers of eight heads, 128
wide, as Abnar & Zuidema's verb model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.data import Corpus
from heatcheck.engine import FolderExists, Outcome, content_id, whole_folder
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult, Key, Model, Row, StudyResult, key
from heatcheck.studies.cells import Cell, Measured, measure_cells, not_fitted
from heatcheck.studies.corpora import load_all
from heatcheck.studies.study import Where, check_names, read_published, row_of

TASKS = ("sst", "rotten_tomatoes")
SCRATCH = "from nothing"  # a name in rows that are kept, so it stays
# A model trained from scratch has a higher learning rate and more epochs than a fine-tuned one.
FROM_NOTHING: Mapping[str, Any] = {"learning_rate": 1e-3, "epochs": 6}
WORDS = 10_000  # in the vocabulary of a model trained from scratch

Numbers = Callable[[CheckResult], Iterator[tuple[Key, float]]]


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = TASKS
    model: str | None = None  # hf:NAME; None: a small one, from scratch
    seeds: int = 3
    examples: int = 200  # of the test texts, the same for every model of a task
    epochs: int | None = None  # None: the preset's, or six from scratch
    texts: int | None = None  # of each split, for a quick run


QUICK = Settings(tasks=("sst",), seeds=2, examples=12, epochs=1, texts=48)


def run_study(
    name: str,
    version: int,
    check: str,
    numbers: Numbers,
    settings: Settings,
    folder: Path,
    *,
    title: str,
    paper: str,
    notes: Sequence[str],
    known: Sequence[str] = TASKS,
    of_check: Mapping[str, Any] | None = None,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Fine-tune and measure what is missing under `folder`, and gather every number beside the published one.

    Args:
        version: raised by hand when a cell's results change.
        numbers: the results of a check as named numbers; each is averaged over seeds.
        of_check: settings of the check.
    """
    check_names(f"task of {name}", settings.tasks, known)
    if settings.seeds < 1:
        raise BadInput(f"{name} needs at least 1 seed, not {settings.seeds}.")
    corpora, missing = load_all({task: task for task in settings.tasks}, settings.texts, data_dir)
    starts = {task: _start(settings, corpus, folder) for task, corpus in corpora.items()}
    cells = [
        Cell(
            f"{task}, seed {seed}",
            task,
            _name(settings),
            "",
            {"preset": "finetune", **starts[task], **({"epochs": settings.epochs} if settings.epochs else {})},
            (check,),
            {f"{check}.{key}": value for key, value in (of_check or {}).items()},
            seed=seed,
            examples=settings.examples,
        )
        for task in corpora
        for seed in range(settings.seeds)
    ]
    measured, failed = measure_cells(
        name,
        version,
        cells,
        folder,
        texts=settings.texts,
        data_dir=data_dir,
        device=device,
        workers=workers,
        progress=progress,
    )
    rows, models, tasks = _gather(name, check, numbers, settings, measured)
    return StudyResult(
        name=name,
        title=title,
        paper=paper,
        rows=tuple(rows),
        models=tuple(models),
        tasks=tasks,
        notes=(SMOKE, *notes) if settings.texts is not None else tuple(notes),
        failed={**missing, **failed, **not_fitted(measured)},
        settings={**settings.__dict__, "tasks": list(tasks), "model": _name(settings)},
        published=tuple(read_published(name)),
    )


def _gather(
    name: str, check: str, numbers: Numbers, settings: Settings, measured: Sequence[Measured]
) -> tuple[list[Row], list[Model], dict[str, Any]]:
    published = {one.key: one for one in read_published(name)}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Any] = {}
    for task in dict.fromkeys(one.cell.task for one in measured):
        seeds = [one for one in measured if one.cell.task == task and check in one.results]
        if not seeds:
            continue
        found: dict[Key, list[float]] = {key("accuracy"): [one.accuracy for one in seeds]}
        for one in seeds:
            for quantity, value in numbers(one.results[check]):
                found.setdefault(quantity, []).append(value)
        why = "another model and other data"
        # The usual words about how a corpus differs are about the recurrent models' preparation of it.
        differs = seeds[0].about["differs"] if settings.texts is not None else "all texts, as distributed"
        tasks[task] = {**seeds[0].about, "differs": differs, "not_comparable": why if published else ""}
        rows += [
            row_of(Where(task, _name(settings), "", quantity), values, published.get(quantity), why)
            for quantity, values in found.items()
        ]
        models.append(Model(task, _name(settings), "", tuple(seeds[0].about["labels"]), len(seeds), {}, ()))
    return rows, models, tasks


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

"""Training settings (epochs, learning rate, …), and named presets of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

from heatcheck.data import Corpus, name_parts
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import ClassifierSettings, Seq2SeqSettings

MOST = 1_000_000  # epochs, batch size, …: more is surely a typo
SELECT = ("auc", "accuracy", "loss", "train_loss")


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained, and which epoch is kept."""

    epochs: int = 15
    patience: int = 4  # stop after this many epochs without a better score; 0 = never stop early
    batch_size: int = 32
    optimizer: str = "adamw"  # adamw (decoupled weight decay) or adam (weight decay through the gradient)
    amsgrad: bool = False
    learning_rate: float = 2e-3
    weight_decay: float = 1e-5
    decay_attention: bool = True  # False: no weight decay for the attention's parameters
    clip: float = 5.0  # largest norm of the gradient; 0 = no clipping
    reduction: str = "mean"  # over the batch: mean or sum
    class_weight: bool = False  # two labels: weight positives by n_negative / n_positive of train
    length_noise: float = 0.1  # batches group similar lengths, after random noise of up to this share
    # How to choose the epoch to keep: auc (two labels), accuracy, loss, or train_loss (the objective on train).
    select: str = "loss"
    select_split: str = "dev"  # "test" only to reproduce published results
    skip_first: bool = False  # never keep the first epoch
    min_documents: int = 1  # number of train texts a word must occur in to be in the vocabulary
    lowercase: bool = True
    # Added later, for transformers.
    warm_up: float = 0.0  # share of all steps over which the learning rate rises from 0
    linear_decay: bool = False  # after that it falls linearly to 0
    accumulate: int = 1  # number of batches per step
    bf16: bool = False  # mixed precision with bfloat16; no effect without a GPU

    def __post_init__(self) -> None:
        for name, value, known in (
            ("optimizer", self.optimizer, ("adam", "adamw")),
            ("reduction", self.reduction, ("mean", "sum")),
            ("select", self.select, SELECT),
            ("select_split", self.select_split, ("dev", "test")),
        ):
            if value not in known:
                raise UnknownName(f"value for {name}", value, known)
        for name in ("epochs", "batch_size", "min_documents", "accumulate"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, not {getattr(self, name)}.")
            if getattr(self, name) > MOST:
                raise BadInput(f"{name} must be at most {MOST:,}, not {getattr(self, name):,}.")
        for name in ("patience", "learning_rate", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise BadInput(f"{name} must be at least 0, not {getattr(self, name)}.")
        for name in ("length_noise", "warm_up"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"{name} must be between 0 and 1, not {getattr(self, name)}.")

    def facts(self) -> dict[str, Any]:
        """As a recipe keeps them. What came later is left out where it is off: older recipes keep their names."""
        off = {"warm_up": 0.0, "linear_decay": False, "accumulate": 1, "bf16": False}
        return {name: value for name, value in asdict(self).items() if name not in off or value != off[name]}

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, as a share of the largest; steps are counted from 0.

        >>> settings = TrainingSettings(warm_up=0.5, linear_decay=True)
        >>> [settings.rate(step, 4) for step in range(4)]
        [0.5, 1.0, 1.0, 0.5]
        """
        rising = round(self.warm_up * steps)
        if step < rising:
            return (step + 1) / rising
        return (steps - step) / (steps - rising) if self.linear_decay else 1.0


class Plan(NamedTuple):
    """The settings of a model and of its training."""

    model: ClassifierSettings | Seq2SeqSettings
    training: TrainingSettings


def default(corpus: Corpus) -> Plan:
    """The default preset: works on a few thousand short texts without pretrained vectors."""
    if corpus.of_sequences:
        training = TrainingSettings(patience=2, batch_size=64, clip=1.0, weight_decay=0.0)
        return Plan(Seq2SeqSettings(), replace(training, min_documents=_rarest(corpus)))
    decoder = "merge" if corpus.segments == 2 else "linear"
    model = ClassifierSettings(embedding=200, hidden=64, segments=corpus.segments, decoder=decoder, dropout=0.5)
    return Plan(model, TrainingSettings(min_documents=_rarest(corpus)))


def _rarest(corpus: Corpus) -> int:
    """The default of `min_documents`: with many texts, one occurrence is too few to learn from."""
    return 2 if len(corpus["train"]) > 1000 else 1


_Tasks = Mapping[str, Mapping[str, Any]]  # what is special about a task, as changes of settings


def _each(names: str, **changes: Any) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(names.split(), changes)


_BABI, _IMDB, _MIMIC = "babi_1 babi_2 babi_3", "imdb imdb_full imdb_small", "mimic_anemia mimic_diabetes"
# By task, whatever its preparation.
_BOTH: _Tasks = {
    **_each("20news_sports ade adr_tweets", min_documents=2),
    **_each("ag_news", min_documents=5),
    **_each(_BABI, batch_size=50, epochs=100, embedding=50, lowercase=False),
    **_each("cnn_qa", batch_size=90),
    **_each(_MIMIC, min_documents=5),
    **_each("snli", batch_size=128, min_documents=3),
}
_PAPER: _Tasks = {
    **_each("cnn_qa", min_documents=7),
    **_each(_IMDB, min_documents=20),
    **_each(_MIMIC, embedding=200),
}
_RELEASE: _Tasks = {
    **_each(_BABI, hidden=32),
    **_each("cnn_qa", min_documents=8),
    **_each(_IMDB, min_documents=10),
}


def _jain_wallace(corpus: Corpus, tasks: _Tasks, select_split: str) -> Plan:
    """What both states of Jain & Wallace's code share, and what they say about this task."""
    pair = corpus.segments == 2
    model = ClassifierSettings(
        embedding=300,
        embedding_scale=1.0,
        hidden=128,
        segments=corpus.segments,
        decoder="merge" if pair else "linear",
    )
    training = TrainingSettings(
        epochs=25 if pair else 8,
        patience=0,
        batch_size=100 if pair else 32,
        optimizer="adam",
        amsgrad=True,
        learning_rate=1e-3,
        decay_attention=pair,
        clip=0.0,
        reduction="mean" if pair else "sum",
        class_weight=not pair,
        select="accuracy" if pair or len(corpus.labels) > 2 else "auc",
        select_split=select_split,
        skip_first=True,
    )
    task, _ = name_parts(corpus.name)
    special = {**_BOTH.get(task, {}), **tasks.get(task, {})}
    return Plan(_changed(model, special), _changed(training, special))


def jw_paper(corpus: Corpus) -> Plan:
    """Jain & Wallace as in the paper: the kept epoch is the best on test."""
    return _jain_wallace(corpus, _PAPER, "test")


def jw_release(corpus: Corpus) -> Plan:
    """Jain & Wallace's released code: the kept epoch is the best on dev."""
    return _jain_wallace(corpus, _RELEASE, "dev")


def wp(corpus: Corpus) -> Plan:
    """Wiegreffe & Pinter: the released code of Jain & Wallace, but the kept epoch is the best on test."""
    return _jain_wallace(corpus, _RELEASE, "test")


def serrano(corpus: Corpus) -> Plan:
    """Serrano & Smith: an encoder (gru, conv or none) under tanh attention; `hierarchical=true` for their HAN.

    Not as published: vectors start at random instead of from word2vec on the same texts, unless `vectors` are given;
    the learning rate is not halved when dev stops improving; weights start as torch starts them instead of Xavier and
    orthogonal; the inner layer of the attention is half as wide as the states (theirs is 100 wide); one dropout of .3
    on embeddings and contexts stands for three that were searched for. Words of fewer than five texts are unknown,
    where they counted occurrences.
    """
    model = ClassifierSettings(encoder="gru", embedding=200, hidden=50, segments=corpus.segments, dropout=0.3)
    training = TrainingSettings(
        epochs=15,
        patience=5,
        batch_size=64,
        optimizer="adam",
        learning_rate=4e-4,
        weight_decay=0.0,
        clip=10.0,
        select="accuracy",
        min_documents=5 if len(corpus["train"]) > 1000 else 1,
    )
    return Plan(model, training)


def pruthi(corpus: Corpus) -> Plan:
    """Pruthi et al., classification: linear attention over a BiLSTM, or over embeddings with `encoder=none`.

    From scratch, batch size 1, no dropout, no weight decay; all epochs are run and the best on dev is kept.
    Not as published: the encoder reads a start and an end mark around each text; attention excludes them.
    """
    model = ClassifierSettings(
        attention="linear", embedding=128, embedding_scale=1.0, hidden=64, segments=corpus.segments
    )
    training = TrainingSettings(
        epochs=15,
        patience=0,
        batch_size=1,
        optimizer="adam",
        learning_rate=1e-3,
        weight_decay=0.0,
        clip=0.0,
        select="accuracy",
    )
    return Plan(model, training)


def pruthi_seq2seq(corpus: Corpus) -> Plan:
    """Pruthi et al., sequence to sequence: a BiGRU read by a GRU with additive attention, half of its steps untold.

    Not as published: an example's loss is a mean over its own words, not over the batch's; the epoch to keep is chosen
    by dev loss with every step told, where theirs was with none.
    """
    model = Seq2SeqSettings(embedding=256, hidden=512, dropout=0.5, teacher_forcing=0.5, weight_scale=0.01)
    training = TrainingSettings(
        epochs=30,
        patience=2,
        batch_size=128,
        optimizer="adam",
        learning_rate=1e-3,
        weight_decay=0.0,
        clip=1.0,
        min_documents=_rarest(corpus),
    )
    return Plan(model, training)


def snell_copy(_: Corpus) -> Plan:
    """Snell et al., the copy task: an LSTM read by an LSTM through (W d)·h, 200 steps over sequences seen once.

    Not as published: four special words instead of two.
    """
    model = Seq2SeqSettings(
        cell="lstm",
        decoder="luong",
        attention="dot",
        embedding=256,
        hidden=256,
        bidirectional=False,
        shared_embedding=True,
        start_mark=False,
    )
    training = TrainingSettings(
        epochs=1, patience=0, batch_size=128, optimizer="adam", learning_rate=1e-3, weight_decay=0.0, clip=0.0
    )
    return Plan(model, training)


def finetune() -> TrainingSettings:
    """A pretrained transformer with a new head, all of it trained."""
    return TrainingSettings(
        epochs=3,
        patience=0,
        batch_size=32,
        learning_rate=5e-5,
        weight_decay=0.01,
        clip=1.0,
        select="accuracy",
        warm_up=0.1,
        linear_decay=True,
    )


FINETUNE = "finetune"  # the preset of `--model hf:…`, and of nothing else
PRESETS: dict[str, Callable[[Corpus], Plan]] = {
    "default": default,
    "jw-paper": jw_paper,
    "jw-release": jw_release,
    "pruthi": pruthi,
    "pruthi-seq2seq": pruthi_seq2seq,
    "serrano": serrano,
    "snell-copy": snell_copy,
    "wp": wp,
}
OF_SEQUENCES = ("pruthi-seq2seq", "snell-copy")  # presets of sequence-to-sequence models

# The paper's state of the code has twice as many filters a kernel as the release.
_CNN_TIMES = {"jw-paper": 2}
# What a preset says of one encoder.
_OF_ENCODER: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("serrano", "conv"): {"hidden": 100},
    ("serrano", "none"): {"epochs": 60},
}
_Settings = TypeVar("_Settings", ClassifierSettings, Seq2SeqSettings, TrainingSettings)


def make_plan(corpus: Corpus, preset: str, changes: Mapping[str, Any]) -> Plan:
    """A preset with some settings changed by name; values are converted to the type of the setting.

    >>> from heatcheck.data import load_task
    >>> make_plan(load_task("planted_keyword"), "default", {"epochs": "3"}).training.epochs
    3
    """
    if preset == FINETUNE:
        raise BadInput(f"the preset {FINETUNE} needs a pretrained model. Name one with --model hf:NAME.")
    if preset not in PRESETS:
        raise UnknownName("preset", preset, [*PRESETS, FINETUNE])
    if preset != "default" and (preset in OF_SEQUENCES) != corpus.of_sequences:
        kinds = ("classification", "sequence-to-sequence")[:: 1 if preset in OF_SEQUENCES else -1]
        fitting = "default" if preset in OF_SEQUENCES else ", ".join(("default", *OF_SEQUENCES))
        raise BadInput(f"{corpus.name} is a {kinds[0]} task, but the preset {preset} is for {kinds[1]}. Use {fitting}.")
    model, training = PRESETS[preset](corpus)
    if isinstance(model, Seq2SeqSettings):
        _check_names(changes, model, training)
        return Plan(_changed(model, changes), _checked(_changed(training, changes), corpus))
    if changes.get("encoder") == "cnn":
        model = replace(model, hidden=_CNN_TIMES.get(preset, 1) * model.hidden)
    changes = {**_OF_ENCODER.get((preset, str(changes.get("encoder"))), {}), **changes}
    _check_names(changes, model, training)
    return Plan(_changed(model, changes), _checked(_changed(training, changes), corpus))


def plan_finetuning(corpus: Corpus, preset: str, changes: Mapping[str, Any]) -> tuple[dict[str, Any], TrainingSettings]:
    """What changes of a pretrained transformer, and how it is trained; the one change there is is its dropout.

    >>> from heatcheck.data import load_task
    >>> plan_finetuning(load_task("planted_keyword"), "default", {"dropout": "0", "epochs": "2"})[0]
    {'dropout': 0.0}
    """
    if preset not in ("default", FINETUNE):
        raise BadInput(f"the preset {preset} is for models trained from scratch. With --model use {FINETUNE}.")
    training = finetune()
    for name in changes:
        if name in {field.name for field in fields(ClassifierSettings)} - {"dropout"}:
            raise BadInput(f"{name} is a setting of models trained from scratch. Leave it out for a pretrained model.")
        if name in ("min_documents", "lowercase"):
            raise BadInput(
                f"{name} is a setting of word vocabularies. Leave it out: a pretrained model has its own tokenizer."
            )
    _check_names(changes, training, also=("dropout",))
    model = {name: _as(float, name, value) for name, value in changes.items() if name == "dropout"}
    if not 0 <= model.get("dropout", 0.0) < 1:
        raise BadInput(f"dropout must be at least 0 and below 1, not {model['dropout']}.")
    return model, _checked(_changed(training, changes), corpus)


def _check_names(changes: Mapping[str, Any], *settings: Any, also: tuple[str, ...] = ()) -> None:
    known = {field.name for one in settings for field in fields(one)} | {*also}
    for name in changes:
        if name not in known:
            raise UnknownName("setting", name, known)


def _checked(training: TrainingSettings, corpus: Corpus) -> TrainingSettings:
    """Return the settings; raise BadInput if the best epoch cannot be chosen that way."""
    chosen_on = training.select_split
    if not corpus.splits.get(chosen_on):
        raise BadInput(
            f"{corpus.name} has no {chosen_on} split to choose the best epoch on. Add one, or choose on test, as the "
            "published studies did, with --set select_split=test."
        )
    if training.select == "auc" and len(corpus.labels) != 2:
        raise BadInput(
            f"select=auc needs two labels, but {corpus.name} has {len(corpus.labels)}. Use accuracy or loss."
        )
    return training


def _changed(settings: _Settings, changes: Mapping[str, Any]) -> _Settings:
    mine = {field.name: type(getattr(settings, field.name)) for field in fields(settings)}
    return replace(settings, **{n: _as(mine[n], n, value) for n, value in changes.items() if n in mine})


def _as(kind: type, name: str, value: Any) -> Any:
    """The value as this kind, from a command line's text too."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        return kind(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "a string")
        raise BadInput(f"{name} must be {wanted}, not {value!r}.") from None

"""What a fine-tuning starts from in tests: a tiny transformer in a folder, and a task that it can read."""

from pathlib import Path

from heatcheck.data import Corpus, Example, Split
from heatcheck.models.hf import save_network
from tiny_transformers import make

LABELS = ("negative", "positive")


def keep(family: str, folder: Path, *, labels: int = 2, seed: int = 0) -> Path:
    """A tiny model of a family as transformers keeps one; its labels are LABEL_0, LABEL_1 …"""
    found = make(family, labels=labels, seed=seed, sharp=1.0)
    save_network(found, folder)
    return folder


def film_corpus(texts: int = 96) -> Corpus:
    """A word out of two decides, among others of the tiny tokenizer's."""
    fillers = ["the", "a", "film", "movie", "was", "is", "very", "so"]

    def example(split: str, number: int) -> Example:
        label = number % 2
        words = [fillers[(number * k + k) % len(fillers)] for k in range(1, 3 + number % 5)]
        words.insert(number % 3, ("bad", "good")[label])
        return Example(f"{split}-{number}", " ".join(words), label=label)

    sizes = {"train": texts, "dev": texts // 3, "test": texts // 3}
    splits = {name: Split(name, tuple(example(name, n) for n in range(size))) for name, size in sizes.items()}
    return Corpus("films", LABELS, splits)


def as_rows(corpus: Corpus) -> list[dict[str, str]]:
    """As a user's own file has it."""
    return [{"text": e.text, "label": LABELS[e.label], "split": name} for name, of in corpus.splits.items() for e in of]


# Of a model folder that brings its own: it leaves a mark where it is run.
CODE = """
from pathlib import Path
Path({mark!r}).touch()
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
class TheirConfig(BertConfig):
    model_type = "theirs"
class TheirNetwork(BertForSequenceClassification):
    config_class = TheirConfig
class TheirTokenizer(PreTrainedTokenizerFast):
    pass
"""

"""The jobs of a comparison of treatments: train a model, or audit one and keep its numbers in a small folder."""

from functools import lru_cache
from pathlib import Path

from heatcheck.auditing.treating.numbers import ModelNumbers, measure_model
from heatcheck.engine import Facts, read_json, write_json
from heatcheck.models import Subject, load_folder
from heatcheck.training import fit_job, mean_entropy, temperature_twin
from heatcheck.training.jobs import read_corpus

VERSION = 1  # raised by hand when the same models would get other numbers
NUMBERS = "numbers.json"
MATCHED = 300  # examples of dev on which a twin's weights are made as sharp


def train_or_audit(argument: Facts, folder: Path, store: Path) -> None:
    """Do one job of either kind."""
    if "recipe" in argument:
        fit_job(argument, folder, store)
    else:
        audit_numbers(argument, folder, store)


def audit_numbers(argument: Facts, folder: Path, store: Path) -> None:
    """Audit a model of the store, or its temperature twin."""
    corpus = read_corpus(store / argument["corpus"])
    subject: Subject = _load(store / argument["numbers_of"])
    if argument["sharp_as"] is not None:
        some = corpus["dev"].examples[:MATCHED]
        subject = temperature_twin(subject, mean_entropy(_load(store / argument["sharp_as"]), some), some)
    found = measure_model(
        subject, corpus, examples=argument["examples"], settings=argument["settings"], train=corpus, split="test"
    )
    write_json(folder / NUMBERS, found.facts())


def read_numbers(folder: Path) -> ModelNumbers:
    """What `audit_numbers` kept."""
    return ModelNumbers.from_facts(read_json(folder / NUMBERS))


@lru_cache(maxsize=2)
def _load(folder: Path) -> Subject:
    """A model on the CPU, where its audits run; an untreated one is read for many twins."""
    return load_folder(folder, device="cpu")

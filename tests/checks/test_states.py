"""The check of states: closed forms where states are embeddings, and a map that finds what is linear in them."""

import math

import numpy as np
import pytest
import torch

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.states import DIRECT, MAPPED, StatesSettings
from heatcheck.data.planted import planted
from heatcheck.errors import NotSupported
from heatcheck.models import load
from subjects import SINGLE, classifier

FEW = StatesSettings(draws=50)
TEXTS = planted("planted_keyword", sizes=(4, 4, 60), fillers=(4, 8))["test"].examples


def measure(subject, examples=TEXTS):
    return CHECKS["states"].ask(Case(subject, examples, labels=subject.labels), FEW)


def test_without_an_encoder_every_state_is_its_word():
    subject = classifier(TEXTS, encoder="none")
    found = measure(subject)
    assert found.find("own_word", **{"read from": DIRECT}).value == 1
    sizes = [found.find("size_of", of=of).value for of in ("states", "embeddings")]
    assert sizes[0] == pytest.approx(sizes[1])
    batch = subject.encode(TEXTS[:1])
    vectors = subject.embed(batch.inputs["tokens"])[0, batch.scored[0]].detach().numpy()
    mean = vectors.mean(0) / np.linalg.norm(vectors.mean(0))
    cosine = np.abs(vectors @ mean) / np.linalg.norm(vectors, axis=1)
    assert found.per_example["conicity"][0] == pytest.approx(cosine.mean(), abs=1e-5)
    # A word that stands n times in a text of T words is hit by n of T guesses.
    words = TEXTS[0].words
    assert found.per_example["chance"][0] == pytest.approx(sum(words.count(w) for w in words) / len(words) ** 2)


def test_states_that_are_all_alike():
    subject = classifier(TEXTS, encoder="average")
    with torch.no_grad():
        subject.encoder.project.weight.zero_()
        subject.encoder.project.bias.fill_(1.0)
    found = measure(subject)
    assert found.find("conicity").value == pytest.approx(1, abs=1e-6)
    mapped = found.find("own_word", **{"read from": MAPPED})
    assert mapped.value < 0.4
    assert 0 < mapped.n < len(TEXTS), "half of the texts fitted the map"


def test_a_linear_map_of_the_words_is_found():
    subject = classifier(TEXTS, encoder="average")
    with torch.no_grad():
        turn = torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(2)))[0]
        subject.encoder.project.weight.copy_(0.2 * turn)  # tanh is nearly linear there
        subject.encoder.project.bias.zero_()
    found = measure(subject)
    assert found.find("own_word", **{"read from": MAPPED}).value > 0.9
    assert found.find("own_word", **{"read from": DIRECT}).value < 0.7
    assert found.find("conicity").baseline.startswith(f"{np.mean([1 / math.sqrt(len(e.words)) for e in TEXTS]):.2f}")


def test_other_models_are_refused():
    with pytest.raises(NotSupported, match="one attention over words"):
        measure(load("known:reader@planted_keyword"), SINGLE)

"""A real pretrained recurrent model with additive attention, wrapped as its user would: nothing in heatcheck knows it.

`arabic-diacritizer` 1.0.0 (MIT) puts one of 15 vowel marks on each letter. Its module is written down again here from
the names and shapes of its weights; a text is words of letters, and the decision at hand is the mark of the first one.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import heatcheck as hc
from heatcheck.checks import CHECKS
from heatcheck.checks.case import Case
from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.explainers import explain_one, stand_ins
from heatcheck.models import Site, response

PACKAGE = find_spec("diacritize")
WEIGHTS = None if PACKAGE is None else Path(PACKAGE.origin).parent / "assets" / "bilstm_best.pt"
pytestmark = pytest.mark.skipif(
    WEIGHTS is None or not WEIGHTS.is_file(), reason="needs the weights of arabic-diacritizer==1.0.0 (pip, --no-deps)"
)
LETTERS = "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوي" + " .,،؛:؟!()-\"'\n"
UNKNOWN, FIRST = 1, 4
NONE, FATHA, KASRA = 0, 1, 3
TEXTS = ("بسم الله الرحمن الرحيم", "كتب الولد الدرس", "ذهب الولد إلى المدرسة", "الحمد لله رب العالمين")
EXAMPLES = tuple(Example(f"t{n}", text) for n, text in enumerate(TEXTS))


class Bahdanau(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.W, self.U = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)

    def forward(self, states):
        scores = self.v(torch.tanh(self.W(states)[:, :, None] + self.U(states)[:, None]))  # [example query key 1]
        return torch.softmax(scores, dim=2).squeeze(-1) @ states


class Diacritizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(FIRST + len(LETTERS), 128, padding_idx=0)
        self.lstm = nn.LSTM(128, 256, num_layers=3, batch_first=True, bidirectional=True)
        self.attention = Bahdanau(512)
        self.classifier = nn.Linear(512, 15)

    def forward(self, letters):
        return self.classifier(self.attention(self.lstm(self.embedding(letters))[0]))


def letters(text):
    """Each letter with the number of its word; spaces are read and belong to none."""
    word = 0
    for letter in text:
        number = FIRST + LETTERS.index(letter) if letter in LETTERS else UNKNOWN
        yield number, -1 if letter == " " else word
        word += letter == " "


@cache
def network():
    module = Diacritizer()
    module.load_state_dict(torch.load(WEIGHTS, weights_only=True, map_location="cpu"))
    return module.eval()


@cache
def subject(position=0):
    return hc.wrap(network(), letters, output=lambda out: out[:, position], name="diacritizer")


def test_it_is_the_trained_model():
    """«bismi»: the first letter has a kasra, the second none; in «dhahaba» all three have a fatha."""
    with torch.no_grad():
        marks = [network()(torch.tensor([[n for n, _ in letters(text)]])).argmax(-1)[0].tolist() for text in TEXTS[:3]]
    assert marks[0][:3] == [KASRA, NONE, KASRA]
    assert marks[2][:3] == [FATHA] * 3


def test_its_attention_and_the_row_behind_a_letter_are_found():
    found = subject()
    assert found.sites == (Site("attention", "attention"),)
    assert str(found.settings.places[0].axes) == "example query key 1"
    assert found.settings.embedding == "embedding"
    assert found.settings.row == 0
    assert subject(3).settings.row == 3
    assert subject(-1).settings.row == -1
    with pytest.raises(BadInput, match="example a has 2 token"):
        subject(3).encode([Example("a", "من")])


def test_own_weights_imposed_give_the_same_logits():
    batch = subject().encode(EXAMPLES)
    with torch.no_grad():
        run = subject().run(batch, want=subject().sites)
        plain = torch.cat([network()(torch.tensor([[n for n, _ in letters(text)]]))[:, 0] for text in TEXTS])
        assert torch.allclose(subject().run(batch).logits[:, 0], plain, atol=1e-5)
        again = subject().run(batch, edits=dict(run.parts)).logits
        even = subject().run(batch, edits={subject().sites[0]: lambda own: own * 0 + 1 / own.shape[-1]}).logits
    assert torch.allclose(again[:, 0], plain, atol=1e-5)
    assert not torch.allclose(even[:, 0], plain, atol=0.1)


def test_weights_are_those_of_the_formula():
    batch = subject().encode(EXAMPLES[1:2])
    module = network()
    with torch.no_grad():
        states = module.lstm(module.embedding(batch.inputs["tokens"]))[0]
        query, keys = module.attention.W(states), module.attention.U(states)
        scores = module.attention.v(torch.tanh(query[:, :, None] + keys[:, None]))[..., 0]
        shown = subject().run(batch, want=subject().sites).parts[subject().sites[0]]
    assert torch.allclose(shown[:, 0], scores.softmax(-1), atol=1e-6)
    assert shown.max() > 0.3  # it has learned to look somewhere


@pytest.mark.parametrize("name", ["attention", "gradient", "gradient_through", "leave_one_out"])
def test_explainers_score_every_word(name):
    found = explain_one(subject(), EXAMPLES, name)
    assert found.valid.sum(1).tolist() == [len(text.split(" ")) for text in TEXTS]
    assert np.isfinite(found.values).all()
    assert (np.abs(found.values).max(1) > 0).all()


def test_the_read_out_is_linear_and_other_weights_with_the_same_mark_are_found():
    found = response(subject(), subject().encode(EXAMPLES[1:2]))
    assert found.relevance is not None
    other = stand_ins(subject(), EXAMPLES[1:2])
    assert other.method == "bracket"
    assert other.jsd[0, 0] > 0.1
    assert other.change[0, 0] <= 0.05 + 1e-6


@pytest.mark.parametrize(
    ("name", "settings"),
    [("permutation", {"repeats": 20, "draws": 50}), ("counterfactual", {"epsilons": (0.05,), "draws": 50})],
)
def test_checks_on_weights_run(name, settings):
    check = CHECKS[name]
    words = [Example(word, word) for word in ("كتب", "ذهب", "رب")]
    case = Case(subject(), words, labels=subject().labels)
    result = check.measure(case, check.settings(**settings))
    assert len(result.examples) == len(words)
    assert all(np.isfinite(m.value) for m in result.measurements)

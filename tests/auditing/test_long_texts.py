"""Texts that are longer than a model's window: left out and listed, or cut and said; never cut in silence."""

import pytest

from heatcheck.auditing import audit, plan_audit
from heatcheck.auditing.long_texts import TOO_LONG
from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput
from heatcheck.explainers import explain
from heatcheck.models.hf import Prompted
from tiny_language_models import LABELS, PROMPT, network, tokenizer
from tiny_transformers import tiny

LONG = "film " * 60


def corpus(*long, labels=("negative", "positive"), texts=8):
    short = [Example(f"e{n}", f"a {'dull' if n % 2 else 'good'} film {n}", label=1 - n % 2) for n in range(texts)]
    return Corpus("some", labels, {"test": Split("test", (*short, *long))})


@pytest.fixture(scope="module")
def prompted():
    return Prompted(network(), tokenizer(), name="tiny", prompt=PROMPT, labels=LABELS)


def test_a_prompted_model_leaves_them_out_and_names_them(prompted):
    rows = corpus(Example("long", LONG, label=0), Example("longer", LONG * 2, label=1))
    found = audit(prompted, rows, checks=["permutation"], settings={"permutation.draws": 5})
    assert (found.n, found.available) == (8, 8)
    assert found.left_out == {TOO_LONG: 2}
    assert {one.id for one in found.examples} == {f"e{n}" for n in range(8)}
    (first, second) = (len(tokenizer()(PROMPT.replace("{text}", text))["input_ids"]) for text in (LONG * 2, LONG))
    assert found.training_rows.endswith(
        "heatcheck left out 2 texts with more tokens, prompt included, than the 128 that the model reads "
        f"(longer: {first}, long: {second})."
    )


def test_nothing_is_said_of_texts_that_fit(prompted):
    planned = plan_audit(prompted, corpus())
    assert planned.rows.left_out == {}
    assert "tokens" not in planned.rows.said
    exact = "x" * (128 - len(tokenizer()(PROMPT.replace("{text}", ""))["input_ids"]))
    assert prompted.lengths([Example("x", exact)]) == [128]
    assert prompted.too_long([Example("x", exact), Example("y", f"{exact}x")]) == {1: 129}


def test_all_too_long(prompted):
    with pytest.raises(BadInput, match="every text is too long: with the prompt the shortest has"):
        plan_audit(prompted, corpus(Example("long", LONG, label=0), texts=0))


def test_a_classifier_cuts_them_and_the_audit_says_so():
    rows = corpus(Example("long", "good film " * 50, label=0), labels=("LABEL_0", "LABEL_1"))
    planned = plan_audit(tiny("bert"), rows)
    assert len(planned.case.examples) == 9
    said = "1 of 9 texts have 102 tokens, and the model reads 64. heatcheck cut off the words after that; they have no"
    assert said in planned.rows.said
    assert planned.rows.left_out == {}


def test_an_explanation_says_so():
    assert explain(tiny("bert"), "a good film", by="attention").remark == ""
    found = explain(tiny("bert"), " ".join(["good", "film"] * 50), by="attention")
    assert found.remark.startswith("The text has 102 tokens, and the model reads 64.")
    assert [score is None for _, score in found["attention"]].count(True) == 38


def test_of_two_texts_both_count():
    pair = Example("p", "good film " * 20, "dull movie " * 20)
    assert tiny("bert").too_long([pair, Example("q", "good film " * 20)]) == {0: 83}

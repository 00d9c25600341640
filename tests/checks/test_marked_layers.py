"""The weight on marked words in every layer of a transformer, and what their deletion changes, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.checks.marked_layers import look_in_layers
from heatcheck.checks.marked_words import Marked
from heatcheck.training import predict
from tiny_transformers import OTHERS, tiny

MARK = "impermissible"
EXAMPLES = tuple(replace(e, marks={MARK: tuple(n % 3 == 1 for n in range(len(e.words)))}) for e in OTHERS)
GROUPED = {"weights": "grouped", "mark": MARK}


@pytest.fixture(scope="module")
def looked():
    subject = tiny("bert")
    texts = Marked.of(subject, EXAMPLES, MARK)
    gold = np.array([example.label for example in texts.examples])
    return texts, look_in_layers(subject, texts, gold, left_out=4)


def test_every_weight_from_a_plain_run_one_text_at_a_time(looked):
    subject, (texts, found) = tiny("bert"), looked
    for number, example in enumerate(texts.examples):
        batch = subject.encode([example])
        with torch.no_grad():
            run = subject.run(batch, want=subject.sites)
        layers = [run.parts[site][0].double().numpy() for site in subject.sites]  # [head query key]
        places = [0, *(1 + place for place in range(len(example.words))), len(example.words) + 1]
        here = np.array([False, *example.marks[MARK], False])[places]
        values = {name: of[number] for name, of in found.values.items()}
        assert values["share"] == pytest.approx(here.mean())
        heads = layers[-1][:, 0, here].sum(-1)
        assert values["mass"] == pytest.approx(heads.mean(), abs=1e-5)
        assert values["largest"] == pytest.approx(heads.max(), abs=1e-5)
        others = ~here & (np.arange(len(here)) > 0) & (np.arange(len(here)) < len(here) - 1)
        rolled = np.eye(len(here))
        for layer, weights in enumerate(layers, start=1):
            mean = weights.mean(0)
            assert values[f"mass:{layer}"] == pytest.approx(mean[0, here].sum(), abs=1e-5)
            assert values[f"others:{layer}"] == pytest.approx(mean[others][:, here].sum(1).mean(), abs=1e-5)
            rolled = (mean + np.eye(len(here))) / 2 @ rolled
        assert values["rollout"] == pytest.approx(rolled[0, here].sum(), abs=1e-5)
    assert np.std(found.values["mass"]) > 1e-3


def test_answers_with_and_without_the_marked_words(looked):
    texts, found = looked
    subject, gold = tiny("bert"), [example.label for example in texts.examples]
    for examples, name in ((texts.examples, "accuracy"), (texts.without, "after_deletion")):
        each = [predict(subject, [e])[0, 0].argmax() == label for e, label in zip(examples, gold, strict=True)]
        assert found.values[name].tolist() == each
    assert not [e for e in texts.without if e.text in {one.text for one in texts.examples}]


def test_the_share_of_leave_one_out_is_of_a_sample(looked):
    texts, found = looked
    share = found.values["leave_one_out"]
    (chosen,) = np.nonzero(np.isfinite(share))
    assert len(chosen) == 4
    for place in chosen:
        example = texts.examples[place]
        whole = np.exp(predict(tiny("bert"), [example])[0, 0])
        label = whole.argmax()
        gone = [" ".join(w for n, w in enumerate(example.words) if n != out) for out in range(len(example.words))]
        shorter = [replace(example, id=str(out), text=text, marks={}) for out, text in enumerate(gone)]
        each = np.abs(whole[label] - np.exp(predict(tiny("bert"), shorter)[:, 0, label]))
        assert share[place] == pytest.approx(each[np.array(example.marks[MARK])].sum() / each.sum(), abs=2e-3)


def test_a_masked_model_is_measured_under_its_mask():
    subject = tiny("bert")
    texts = Marked.of(subject, EXAMPLES, MARK)
    found = look_in_layers(subject, texts, np.zeros(len(texts.examples), dtype=np.int64), impose=GROUPED)
    assert "leave_one_out" not in found.values
    for layer in (1, 2, 3):
        assert found.values[f"others:{layer}"].max() == 0, "other words see no marked one"
        assert found.values[f"mass:{layer}"].min() > 0

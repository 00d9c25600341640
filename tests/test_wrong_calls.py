"""Calls from Python with arguments of another kind: one sentence that names the argument."""

from inspect import unwrap

import numpy as np
import pytest

import heatcheck as hc
from heatcheck.auditing import plan_audit
from heatcheck.checks.permutation import PermutationSettings
from heatcheck.engine import expect
from heatcheck.errors import BadInput
from heatcheck.training import TrainingSettings

READER = hc.load("known:reader@planted_contrast")
LISTS = (["good film", "bad film"] * 6, ["y", "n"] * 6)

# In tests types are checked at each call, before heatcheck can say anything: a user's Python does not.
load, explain, plan, train, evaluate, write_report = map(
    unwrap, (hc.load, hc.explain, plan_audit, hc.train, hc.evaluate, hc.write_report)
)


def planned(**choices):
    return plan(READER, "planted_contrast", **{"checks": ["permutation"], "examples": 3, **choices})


@pytest.mark.parametrize("wrong", [None, 3, 1.5, b"x", object()], ids=["None", "3", "1.5", "bytes", "object"])
@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("name", lambda wrong: load(wrong)),
        ("text", lambda wrong: explain(READER, wrong)),
        ("by", lambda wrong: explain(READER, "but dull", by=wrong)),
        ("by", lambda wrong: explain(READER, "but dull", by=[wrong])),
        ("units", lambda wrong: explain(READER, "but dull", units=wrong)),
        ("device", lambda wrong: explain("known:reader@planted_contrast", "but dull", device=wrong)),
        ("model", lambda wrong: explain(wrong, "but dull")),
        ("model", lambda wrong: plan(wrong, "planted_contrast")),
        ("checks", lambda wrong: planned(checks=[wrong])),
        ("units", lambda wrong: planned(units=wrong)),
        ("store", lambda wrong: planned(store=wrong)),
        ("preset", lambda wrong: train(LISTS, preset=wrong)),
        ("model", lambda wrong: evaluate(wrong, [])),
        ("evaluate", lambda wrong: evaluate(READER, [wrong])),
        ("write_report", lambda wrong: write_report(wrong, "report.html")),
    ],
)
def test_an_argument_of_another_kind(named, call, wrong, tmp_path):
    with pytest.raises(BadInput, match=named) as error:
        call(wrong)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [None, 1.5, "a", True, [1]], ids=str)
def test_whole_numbers(wrong):
    for named, call in (
        ("seed", lambda: explain(READER, "but dull", by="random", seed=wrong)),
        ("seed", lambda: planned(seed=wrong)),
        ("examples", lambda: planned(examples=wrong)),
        ("seed", lambda: train(LISTS, seed=wrong)),
    ):
        with pytest.raises(BadInput, match=f"{named} must be a whole number, not"):
            call()


def test_what_may_be_left_out_may_not_be_anything():
    for named, call in (
        ("checks", lambda: planned(checks=3)),
        ("settings", lambda: planned(settings=3)),
        ("split", lambda: planned(split=3)),
        ("out", lambda: train(LISTS, out=3)),
        ("text_pair", lambda: explain(READER, "but dull", text_pair=3)),
        ("text_column", lambda: unwrap(hc.load_task)(LISTS, text_column=1.5)),
        ("learning_rate", lambda: train("planted_keyword", learning_rate=10**400)),
        ("permutation.epsilon", lambda: planned(settings={"permutation.epsilon": 10**400})),
        ("target", lambda: explain(READER, "but dull", target=1.5)),
    ):
        with pytest.raises(BadInput, match=f"{named} must be"):
            call()


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_an_empty_text_has_no_heatmap(text):
    with pytest.raises(BadInput, match="the text is empty"):
        hc.explain(READER, text)


def test_paths_that_no_file_can_have(tmp_path):
    for wrong in ("\ud800", "a\0b"):
        with pytest.raises(BadInput, match="name must be a path"):
            load(wrong)
    found = hc.audit(READER, "planted_contrast", checks=["permutation"], examples=3)
    for folder in ("", tmp_path):
        with pytest.raises(BadInput, match="is a folder: name the file to write"):
            write_report(found, folder)


def test_numbers_of_numpy_are_numbers():
    expect("a whole number", seed=np.int64(3))


def test_a_sentence_is_one_line_whatever_it_quotes():
    assert str(BadInput("none of its ids (first\nsecond) is an id.")) == "none of its ids (first second) is an id."


def test_more_than_could_ever_be_done():
    with pytest.raises(BadInput, match=r"epochs must be at most 1,000,000, not 99,999,999,999,999,999,999"):
        TrainingSettings(epochs=99_999_999_999_999_999_999)
    with pytest.raises(BadInput, match=r"permutation\.draws must be at most 1,000,000"):
        PermutationSettings(draws=10**12)
    for wrong in ("99999999999999999999", "nan", "inf", "-1"):
        for key in ("card.points", "card.texts"):
            with pytest.raises(BadInput, match=key):
                planned(settings={key: wrong})
    for key, wrong in (("seed_variance.seeds", 10**20), ("agreement.level", "nan"), ("erasure.sizes", [1, 10**20])):
        with pytest.raises(BadInput, match=f"{key} must lie between -1,000,000 and 1,000,000"):
            planned(checks="all", refit=True, settings={key: wrong})

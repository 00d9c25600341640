"""Leave-one-out by a subject's short cut, and by encoding every shortened text: the same scores, the same gaps."""

import numpy as np
import pytest

from heatcheck.data import Example
from heatcheck.explainers import explain_one
from heatcheck.explainers.leave_one_out import _Odds, erase_each
from heatcheck.models import Erases
from heatcheck.training import predict
from subjects import SINGLE, SUBJECTS


class Plain:
    """A subject without its short cut."""

    def __init__(self, subject):
        self.subject = subject
        # From Python 3.12 on, who asks whether this is a Subject does not ask __getattr__.
        self.id, self.sites, self.recipe = subject.id, subject.sites, subject.recipe
        self.encode, self.run = subject.encode, subject.run

    def __getattr__(self, name):
        if name == "without_each":
            raise AttributeError(name)
        return getattr(self.subject, name)


SHORT = [name for name, (subject, _) in SUBJECTS.items() if isinstance(subject, Erases)]
LONE = "one word only: nothing is left without it"


@pytest.mark.parametrize("name", SHORT)
def test_the_short_cut_is_leave_one_out(name):
    subject, examples = SUBJECTS[name]
    plain = Plain(subject)
    assert not isinstance(plain, Erases)
    ours, theirs = erase_each(subject, examples), erase_each(plain, examples)
    assert [isinstance(row, str) for row in ours] == [isinstance(row, str) for row in theirs]
    rows = [row for row in zip(ours, theirs, strict=True) if not isinstance(row[0], str)]
    assert all(np.allclose(a, b, rtol=0, atol=2e-6, equal_nan=True) for a, b in rows)
    assert max(np.ptp(a) for a, _ in rows) > 1e-4 or name == "options"  # an example with one option has nothing to lose


@pytest.mark.parametrize("wrap", [lambda subject: subject, Plain])
def test_words_without_a_token_have_no_score_and_do_not_count_as_a_rest(wrap):
    subject = wrap(SUBJECTS["lstm"][0])
    texts = ("good  film", "good \N{NO-BREAK SPACE} film", "good \N{NO-BREAK SPACE}", "isn't", "good film")
    found = erase_each(subject, [Example(f"e{n}", text) for n, text in enumerate(texts)])
    assert found[2:4] == [LONE] * 2
    assert [np.isnan(row).tolist() for row in found[:2]] == [[False, True, False]] * 2
    assert found[0][[0, 2]] == pytest.approx(found[4], abs=2e-6)


def test_the_sign_is_what_the_predicted_label_loses():
    subject, _ = SUBJECTS["lstm"]
    for example in SINGLE:
        if len(example.words) > 1:
            whole = np.exp(predict(subject, [example])[0, 0])
            rest = Example("rest", " ".join(example.words[1:]))
            expected = whole.max() - np.exp(predict(subject, [rest])[0, 0])[whole.argmax()]
            assert erase_each(subject, [example])[0][0] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("name", ["lstm", "cnn", "average"])
def test_of_a_repeated_word_either_can_go(name):
    """The same text is left, so the scores are tied, whatever float32 makes of it."""
    subject, _ = SUBJECTS[name]
    (found,) = erase_each(subject, [Example("e", "a good good good film")])
    assert np.ptp(found[1:4]) == 0
    assert abs(found[0] - found[1]) > 1e-4


def test_a_word_that_changes_the_rounding_only_changes_nothing():
    """As does one more unknown word in a long text: its loss is 0, not the noise of float32."""
    subject, _ = SUBJECTS["lstm"]
    odds = _Odds(subject.encode([Example("e", "a good film")]), 3, 1.0, of_gold=False, label=None)
    odds.whole, odds.without = np.array([2.0]), np.array([[2.0 + 2e-7, 1.5, 2.0 - 1e-7]])
    assert odds.without_noise().tolist() == [[2.0, 1.5, 2.0]]


def test_a_tolerance_reaches_the_subject():
    subject, _ = SUBJECTS["lstm"]
    text = " ".join(np.random.default_rng(0).choice(["good", "bad", "film", "plot"], size=80))
    exact, rough = (erase_each(subject, [Example("e", text)], tolerance=t)[0] for t in (0.0, 0.05))
    assert 0 < np.abs(exact - rough).max() < 0.01
    assert (explain_one(subject, [Example("e", text)], "leave_one_out").values[0] == exact).all()

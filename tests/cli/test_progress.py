"""How far an audit is and how long it still takes, by a clock made for it."""

import pytest

from heatcheck.cli.progress import Watch
from heatcheck.engine import Job, Outcome


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def made():
    """A watch over two fits of 100 s and 300 s and two checks of 20 s each; its clock; how much of each fit is done."""
    clock, shares = Clock(), {"a": 0.0, "b": 0.0}
    checks = {"erasure": 20.0, "necessity": 20.0}
    return Watch({"a": 100.0, "b": 300.0}, checks, shares.__getitem__, clock), clock, shares


def ended(name, state="done"):
    return Outcome(Job(name, name, (), {}), state, None), 1, 2


def test_before_anything_ran_it_takes_what_was_expected(made):
    watch, _, _ = made
    assert watch.now() == ("training: 0 of 2 models done", 0.0, 440.0)


def test_the_pace_of_the_fits_corrects_what_they_still_take(made):
    """Half of the work in a quarter of the time; the checks are not faster for that."""
    watch, clock, shares = made
    shares["a"] = 1.0
    shares["b"] = 1 / 3
    clock.now += 50
    assert watch.now() == ("training: 1 of 2 models done", pytest.approx(200 / 440), pytest.approx(200 / 4 + 40))


def test_what_was_there_already_says_nothing_about_the_pace():
    clock, shares = Clock(), {"a": 1.0, "b": 0.0}
    watch = Watch({"a": 100.0, "b": 300.0}, {}, shares.__getitem__, clock)
    assert watch.now() == ("training: 1 of 2 models done", 0.25, 300.0)
    clock.now += 300
    shares["b"] = 0.5
    assert watch.now().seconds_left == pytest.approx(300)


def test_a_fit_that_failed_is_not_waited_for(made):
    watch, _, _ = made
    watch.fit(*ended("a"))
    watch.fit(*ended("b", "failed"))
    assert watch.now().share == pytest.approx(400 / 440)
    assert [outcome.state for outcome in watch.outcomes] == ["done", "failed"]


def test_checks_come_after_the_fits(made):
    watch, clock, _ = made
    watch.check("erasure", 0, 2)
    assert watch.now() == ("check 1/2: erasure", pytest.approx(400 / 440), pytest.approx(40))
    clock.now += 10
    assert watch.now() == ("check 1/2: erasure", pytest.approx(410 / 440), pytest.approx(30))
    clock.now += 30  # twice as long as expected, and it has not ended
    assert watch.now().share == pytest.approx(419 / 440)
    watch.check("necessity", 1, 2)
    assert watch.now() == ("check 2/2: necessity", pytest.approx(420 / 440), pytest.approx(40))
    watch.check("", 2, 2)
    assert watch.now() == ("collecting results", 1.0, 0.0)


def test_nothing_to_do_is_done():
    assert Watch({}, {}, lambda _: 0.0).now() == ("checks", 1.0, 0.0)

"""How far an audit is and how long it still takes, by a clock made for it."""

import pytest

from heatcheck.cli.progress import Fit, Searching, Watch, in_a_line
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
    return Watch({"a": Fit(100.0), "b": Fit(300.0)}, checks, shares.__getitem__, clock), clock, shares


def ended(name, state="done"):
    return Outcome(Job(name, name, (), {}), state, None), 1, 2


def test_before_anything_ran_it_takes_what_was_expected(made):
    watch, _, _ = made
    assert watch.now() == ("training: 0 of 2 models done", 0.0, 440.0, True)
    assert in_a_line(watch.now()).endswith("0% done, at most about 7 min left")


def test_the_pace_of_the_fits_corrects_what_they_still_take(made):
    """Half of the work in a quarter of the time; the checks are not faster for that."""
    watch, clock, shares = made
    shares["a"] = 1.0
    shares["b"] = 1 / 3
    clock.now += 50
    assert watch.now() == ("training: 1 of 2 models done", pytest.approx(200 / 440), pytest.approx(200 / 4 + 40), False)


def test_what_was_there_already_says_nothing_about_the_pace():
    clock, shares = Clock(), {"a": 1.0, "b": 0.0}
    watch = Watch({"a": Fit(100.0), "b": Fit(300.0)}, {}, shares.__getitem__, clock)
    assert watch.now() == ("training: 1 of 2 models done", 0.25, 300.0, False)
    clock.now += 300
    shares["b"] = 0.5
    assert watch.now().seconds_left == pytest.approx(300)


def test_a_fit_that_failed_is_not_waited_for(made):
    watch, _, _ = made
    watch.fit(*ended("a"))
    watch.fit(*ended("b", "failed"))
    assert watch.now().share == pytest.approx(100 / 140)
    assert watch.now().what == "checks"
    assert [outcome.state for outcome in watch.outcomes] == ["done", "failed"]


def test_checks_come_between_the_fits(made):
    """The time of a check is no time of the fits, and the share never falls."""
    watch, clock, shares = made
    watch.check("erasure", 0, 2)
    assert watch.now()[:3] == ("check 1/2: erasure", 0.0, pytest.approx(440))
    clock.now += 10
    assert watch.now()[:3] == ("check 1/2: erasure", pytest.approx(10 / 440), pytest.approx(430))
    clock.now += 30  # twice as long as expected, and it has not ended
    assert watch.now().share == pytest.approx(19 / 440)
    watch.check("", 1, 2)
    clock.now += 200
    shares["a"] = 1.0
    watch.fit(*ended("a"))
    assert watch.now()[:3] == (
        "training: 1 of 2 models done",
        pytest.approx(120 / 440),
        pytest.approx(300 * 2 + 20 * 2),  # both kinds of work take twice as long as expected
    )
    watch.fit(*ended("b"))
    watch.check("necessity", 1, 2)
    assert watch.now()[:2] == ("check 2/2: necessity", pytest.approx(420 / 440))
    watch.check("", 2, 2)
    assert watch.now() == ("collecting results", 1.0, 0.0, False)


def test_nothing_to_do_is_done():
    assert Watch({}, {}, lambda _: 0.0).now() == ("checks", 1.0, 0.0, False)


class Course:
    """Training runs one after the other, each of which takes its own share of its epochs; a clock goes with them."""

    def __init__(self, taken, *, pace=1.0, searches=(), check=30.0):
        """`taken`: id -> (fit, share of its epochs, or None where the search does not come to it)."""
        self.clock, self.taken, self.check, self.pace = Clock(), taken, check, pace
        self.shares = dict.fromkeys(taken, 0.0)
        fits = {name: fit for name, (fit, _) in taken.items()}
        self.watch = Watch(
            fits,
            {"permutation": check, "adversarial_model": check},
            self.shares.__getitem__,
            self.clock,
            share_used=lambda name: taken[name][1],
            searches=searches,
        )

    def run(self, step=5.0):
        """Each moment with its progress, by the clock of the whole course."""
        found = []

        def wait(seconds, share_of=None, rate=0.0):
            waited = 0.0
            while waited < seconds:
                now = min(step, seconds - waited)
                waited += now
                self.clock.now += now
                if share_of is not None:
                    self.shares[share_of] = min(self.shares[share_of] + now * rate, self.taken[share_of][1])
                found.append((self.clock.now, self.watch.now()))

        self.watch.check("permutation", 0, 2)
        wait(self.check * self.pace)
        self.watch.check("", 1, 2)
        for name, (fit, share) in self.taken.items():
            if share is not None:
                wait(fit.seconds * share * self.pace, name, 1 / (fit.seconds * self.pace))
                self.shares[name] = 1.0
                self.watch.fit(*ended(name))
                found.append((self.clock.now, self.watch.now()))
        self.watch.check("adversarial_model", 1, 2)
        wait(self.check * self.pace)
        self.watch.check("", 2, 2)
        found.append((self.clock.now, self.watch.now()))
        return found


@pytest.mark.parametrize("pace", [0.4, 1.0, 2.5])
def test_half_way_the_estimate_is_within_a_factor_of_one_and_a_half(pace):
    """Runs stop after a fifth to a half of their epochs, two kinds unlike each other, and a search takes 2 of 5."""
    taken = {f"seed {n}": (Fit(200.0, "honest"), share) for n, share in enumerate((0.3, 0.25, 0.4, 0.35, 0.2, 0.3))}
    taken |= {"imitator": (Fit(400.0, "adversary"), 0.5)}
    shares = {3: 0.45, 1: None, 2: None, 4: 0.55, 5: None}
    taken |= {f"λ {n}": (Fit(400.0, "adversary", 0, n == 3), share) for n, share in shares.items()}
    taken |= {f"guide {n}": (Fit(60.0, "guide"), 0.5) for n in range(8)}
    course = Course(taken, pace=pace, searches=[Searching("adversarial_model", 16 / 6)])
    moments = course.run()
    start, end = Clock.now, moments[-1][0]
    half = [(end - at, found) for at, found in moments if abs((at - start) / (end - start) - 0.5) < 0.02]
    assert half
    for truth, found in half:
        assert truth / 1.5 < found.seconds_left < truth * 1.5, found
        assert 1 / 3 < found.share < 2 / 3
    bars = [found.share for _, found in moments]
    assert bars == sorted(bars), "it never goes back"
    assert bars[-1] == 1.0
    assert all(share < 1 for share in bars[:-1])


def test_a_run_that_a_search_may_come_to_counts_as_likely_as_it_is():
    shares = dict.fromkeys("abcde", 0.0)
    fits = {name: Fit(100.0, "", 0, name == "c") for name in shares}
    watch = Watch(fits, {}, shares.__getitem__, Clock(), searches=[Searching("adversarial_model", 2.5)])
    assert watch.now()[:3] == ("training: 0 of about 2 models done", 0.0, pytest.approx(250))
    for name, what in (("c", "training: 1 of about 2 models done"), ("d", "training: 2 of about 2 models done")):
        watch.fit(*ended(name))
        assert watch.now().what == what
    watch.check("adversarial_model", 0, 1)
    watch.check("", 1, 1)
    assert watch.now() == ("collecting results", 1.0, 0.0, False), "the search has ended without the others"


def test_what_is_decided_is_told_only_if_the_rest_takes_long(made):
    watch, clock, _ = made
    told = []
    watch._tell = told.append
    watch.tell("points")
    for name in "ab":
        watch.fit(*ended(name))
    for number, name in enumerate(("erasure", "necessity")):
        watch.check(name, number, 2)
        clock.now += 20
    watch.tell("hard")
    assert told == ["points"]

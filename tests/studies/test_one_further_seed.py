"""A published number beside ours: inside as often as one further seed would be, whatever the texts add."""

import importlib

import numpy as np
import pytest

from heatcheck.results import CheckResult, Measurement, key
from heatcheck.stats import Interval, further_half_width, two_way_interval
from heatcheck.studies import compare
from heatcheck.studies.rows import INSIDE, Published, Where, row_from, spread_of, statement

TRIALS = 2000
pruthi2020 = importlib.import_module("heatcheck.studies.pruthi2020")  # the package's name of it is the Study


@pytest.mark.parametrize("seeds", [3, 5, 8])
def test_one_further_seed_is_inside_95_times_in_100(seeds):
    """Values of seeds on texts that all of them share. The old rule, √(n + 1) times a two-way interval: 1.00."""
    generator = np.random.default_rng(seeds)
    texts, inside, old = 60, [], []
    for _ in range(TRIALS):
        of_seed, of_text = 0.02 * generator.normal(size=(seeds + 1, 1)), 0.3 * generator.normal(size=texts)
        values = 0.8 + of_seed + of_text + 0.05 * generator.normal(size=(seeds + 1, texts))
        *ours, further = values.mean(1).tolist()
        found = two_way_interval(values[:-1]) if len(old) < 200 else Interval(float(np.mean(ours)), 0, 1, seeds)
        inside.append(statement(found, spread_of(ours), further, "").comparison == "inside")
        old.append(abs(found.value - further) <= (found.high - found.low) / 2 * (seeds + 1) ** 0.5)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)
    assert np.mean(old[:200]) > 0.99


def test_the_interval_of_the_mean_is_not_looked_at():
    """± 4.303 · 0.02 · √(1 + 1/3) = ± 0.0994, however wide the interval of the mean is."""
    for found in (Interval(0.4, 0.1, 0.7, 3), Interval(0.4, 0.39, 0.41, 3)):
        assert statement(found, 0.02, 0.499, "") == ("inside", INSIDE)
        assert statement(found, 0.02, 0.500, "") == ("outside", "outside: ours is lower by 0.10")
    assert compare([0.38, 0.40, 0.42], 0.499, "") == INSIDE
    assert further_half_width(0.02, 1) == np.inf


def test_a_published_number_without_the_spread_of_the_seeds_is_refused():
    found = Interval(0.4, 0.3, 0.5, 3)
    with pytest.raises(AssertionError, match="spread of the seeds"):
        statement(found, np.nan, 0.5, "")
    said = statement(found, np.nan, 0.5, "less data")
    assert said == ("not comparable", "not comparable (less data): ours is lower by 0.10")
    assert statement(found, np.nan, None, "") == ("", "")


def test_the_spread_of_models_that_deceive_is_that_of_each_model_s_number():
    def of(name, value, **by):
        return Measurement(name, value, value - 0.1, value + 0.1, 3, "", by)

    by = {"fit": "deceptive", "strength": 0.1}
    each = [of("fit_mass", value, **by, seed=seed) for seed, value in enumerate((0.1, 0.2, 0.3))]
    each += [of("fit_accuracy", 0.9, fit="honest", seed=seed) for seed in range(3)]
    result = CheckResult("deception", "m", "retrained", (*each, of("mass", 0.2, fit="honest")), ("a",), {}, {}, {}, 0)
    assert {of.text: spread for of, spread in pruthi2020.spreads_of(result).items()} == pytest.approx(
        {"mass_at:0.1": 0.1, "accuracy_at:0": 0.0}
    )
    of = ("t", "lstm", "tanh", key("mass_at", trained=0.1), "", "")
    row = row_from(Where(*of), Interval(0.2, 0, 1, 3), 0.1, Published(*of, 0.69, 0.71), "")
    assert (row.name, row.by, row.comparison, row.rerun_comparison) == (
        "mass_at",
        {"trained": 0.1},
        "inside",
        "outside",
    )
    assert (row.statement, row.rerun_statement[:7], row.spread) == (INSIDE, "outside", 0.1)

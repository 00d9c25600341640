"""Treatments are judged from numbers alone: planted effects are found, other seeds are no change, twins are rivals."""

import numpy as np
import pytest

from heatcheck.auditing import CardSettings
from heatcheck.auditing.treating import Judged, LineNumbers, ModelNumbers, Trio, judge
from heatcheck.auditing.treating.advice import advise
from treated_world import IDS, World

LINES = ("accuracy", "points", "hard", "context")
CHANGES = ("helps", "seems better", "worse")


def words(trios, **choices):
    (row,) = judge([Judged("t", "a treatment", trios, **choices)])
    return {cell.line: cell.word for cell in row.cells}


def test_a_planted_effect_is_found_in_its_line_and_nowhere_else():
    for line, change in (("points", {"points": 0.9}), ("hard", {"hard": -0.2}), ("context", {"context": 0.1})):
        found = words(World(3).trios(treated=change))
        assert found == {one: "helps" if one == line else "no change seen" for one in LINES}


def test_a_planted_harm_is_found():
    for line, change in (("points", {"points": 0.3}), ("hard", {"hard": 0.2}), ("accuracy", {"right": -0.3})):
        assert words(World(4).trios(treated=change))[line] == "worse"


def test_what_sharper_weights_give_too_seems_better():
    better = {"points": 0.9, "hard": -0.2}
    found = words(World(5).trios(treated=better, sharp=better))
    assert (found["points"], found["hard"]) == ("seems better", "seems better")
    (row,) = judge([Judged("t", "", World(5).trios(treated=better, twin=False))])
    assert row.cell("points").word == "seems better"
    assert "no temperature" in row.cell("points").why


def test_a_better_accuracy_needs_no_twin():
    assert words(World(6).trios(treated={"right": 0.3}, sharp={"right": 0.3}))["accuracy"] == "helps"


def test_the_differences_are_those_of_the_ratios_of_means():
    trios = World(7).trios(treated={"points": 0.8})

    def ratio(models):
        return np.mean([m.lines["points"].above for m in models]) / np.mean([m.lines["points"].below for m in models])

    (row,) = judge([Judged("t", "", trios)])
    before, after, twin = (ratio([getattr(trio, role) for trio in trios]) for role in ("untreated", "treated", "twin"))
    cell = row.cell("points")
    assert (cell.before, cell.after, cell.twin) == pytest.approx((before, after, twin))
    assert (cell.change.value, cell.beyond.value) == pytest.approx((after - before, after - twin))
    assert cell.change.low < cell.change.value < cell.change.high


def test_models_are_paired_by_example_whatever_the_order():
    trios = World(8).trios(treated={"hard": -0.1})
    mixed = [trio._replace(treated=shuffled(trio.treated)) for trio in trios]
    one, other = (judge([Judged("t", "", of)])[0] for of in (trios, mixed))
    assert [cell.change for cell in one.cells] == [pytest.approx(cell.change) for cell in other.cells]


def shuffled(model):
    """The same numbers in another order of the examples, and one that no other model has."""
    order = np.random.default_rng(0).permutation(len(IDS))
    lines = {
        name: LineNumbers(
            (*(line.examples[at] for at in order), "alone"),
            np.append(line.above[order], 9.0),
            np.append(line.below[order], 1.0),
            line.carries,
        )
        for name, line in model.lines.items()
    }
    return model._replace(lines=lines)


def test_a_gain_in_context_is_no_loss_of_accuracy():
    """G's denominator has the model's own accuracy in it: a worse model must not look better."""
    trios = World(9, of_seed=0.0).trios()
    halved = [
        trio._replace(
            treated=trio.untreated._replace(
                lines={
                    **trio.untreated.lines,
                    "context": trio.untreated.lines["context"]._replace(
                        below=trio.untreated.lines["context"].below / 2
                    ),
                }
            )
        )
        for trio in trios
    ]
    (row,) = judge([Judged("t", "", halved)])
    assert row.cell("context").change.value == 0
    assert row.cell("context").word == "no change seen"


def test_a_line_that_its_loss_trains_is_shown_and_not_judged():
    world = World(10)
    trios = world.trios(treated={"points": 0.9, "hard": -0.2})
    (row,) = judge([Judged("t", "", trios, frozenset({"points"}))])
    cell = row.cell("points")
    assert cell.word == "not judged here"
    assert cell.change.value > 0.2
    assert np.isnan(cell.change.p)
    assert row.cell("hard").word == "helps"


def test_what_the_card_cannot_ask_is_not_judged():
    flat, mute = {"evenness": 0.99}, {"carries": 0.001}
    world = World(11)
    assert words([Trio(world.model(), world.model(**flat), None) for _ in range(5)])["hard"] == "cannot be asked"
    assert words([Trio(world.model(**mute), world.model(), None) for _ in range(5)])["context"] == "cannot be asked"
    trios = world.trios(treated={"points": 0.9})
    no_room = [trio._replace(treated=without_room(trio.treated)) for trio in trios]
    assert words(no_room)["points"] == "cannot be asked"
    not_run = [trio._replace(treated=trio.treated._replace(lines={}, refused={"hard": "no weights"})) for trio in trios]
    (row,) = judge([Judged("t", "", not_run)])
    assert (row.cell("hard").word, row.cell("hard").why) == ("cannot be asked", "no weights")


def without_room(model):
    below = np.where(np.arange(len(IDS)) % 2, 0.3, -0.29)
    return model._replace(lines={**model.lines, "points": model.lines["points"]._replace(below=below)})


def test_few_seeds_decide_nothing():
    trios = World(12).trios(4, treated={"points": 0.9})
    assert words(trios)["points"] == "too few seeds"
    (row,) = judge([Judged("t", "", trios)], CardSettings(seeds=4))
    assert row.cell("points").word == "helps"


def test_a_placebo_that_changes_nothing_is_no_change():
    trios = [Trio(model, model, model) for model in (World(13).model() for _ in range(5))]
    assert set(words(trios).values()) == {"no change seen"}


def test_another_seed_is_called_a_change_in_at_most_9_of_100_draws():
    """The true rate of a table is 5%; 9 is what 100 draws may show of it."""
    called = 0
    for draw in range(100):
        world = World(1000 + draw, of_seed=(0.0, 0.03, 0.1)[draw % 3])
        called += any(word in CHANGES for word in words(world.trios()).values())
    assert called <= 9


def test_more_treatments_need_stronger_evidence():
    """False discoveries are controlled over treatments × lines."""
    trios = World(14).trios(treated={"hard": -0.055})
    alone = judge([Judged("t", "", trios)])[0].cell("hard")
    others = [Judged(f"o{number}", "", World(100 + number).trios()) for number in range(5)]
    among = judge([Judged("t", "", trios), *others])[0].cell("hard")
    assert among.change.value == alone.change.value
    assert alone.change.p < among.change.p


def test_advice_takes_what_helps_and_says_what_it_costs():
    helps = judge([Judged("good", "", World(15).trios(treated={"points": 0.9}))])
    assert advise(helps).startswith("Try good: its highlighted words matter more.")
    change = helps[0].cell("accuracy").change
    ends = ", ".join(f"{100 * end:+.1f}".replace("-", "−") for end in (change.low, change.high))
    assert f"points [{ends}], which may be chance." in advise(helps), "a change that is not sure has its interval"
    better = {"points": 0.9}
    looks = judge([Judged("sharp", "", World(16).trios(treated=better, sharp=better))])
    assert "sharper weights alone" in advise(looks)
    nothing = judge([Judged("idle", "", World(17).trios())])
    assert advise(nothing).startswith("Keep the untreated model")
    few = judge([Judged("t", "", World(18).trios(2))])
    assert "too few models" in advise(few)


def test_numbers_survive_their_file():
    model = World(19).model()
    again = ModelNumbers.from_facts(model.facts())
    for name, line in model.lines.items():
        assert again.lines[name].examples == line.examples
        np.testing.assert_allclose(again.lines[name].above, line.above, atol=1e-6)
        np.testing.assert_allclose(again.lines[name].below, line.below, atol=1e-6)
        assert again.lines[name].carries == line.carries
    assert again.evenness == model.evenness

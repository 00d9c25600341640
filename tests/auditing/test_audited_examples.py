"""The example that a report opens with."""

import numpy as np
import pytest

from heatcheck.auditing.audited_examples import CHARACTERS, FEWEST, pick_example
from heatcheck.results import AuditedExample
from made_up_lines import result

MOST = (CHARACTERS + 1) // 5  # words of four letters and a space


def example(name, words, pair=None, scores=None):
    return AuditedExample(name, ("word",) * words, pair, None, "yes", 0.9, scores or {}, None)


def shuffles(**found):
    """Of each example the share of shuffles that keep the answer and, if two are given, its probability."""
    made = result("permutation")
    both = [value if isinstance(value, tuple) else (value, 0.9) for value in found.values()]
    columns = {name: np.array([pair[at] for pair in both]) for at, name in enumerate(("q", "p_own"))}
    return {"permutation": made.__class__(**{**vars(made), "examples": tuple(found), "per_example": columns})}


def test_it_fits_on_a_line_and_shuffles_treat_it_as_usual():
    examples = [
        example("short", FEWEST - 1),
        example("fits", FEWEST),
        example("usual", MOST),
        example("long", MOST + 1),
    ]
    kept = {"short": 0.5, "fits": 0.1, "usual": 0.6, "long": 0.8}  # the mean is 0.5
    assert pick_example(examples, shuffles(**kept)) == "usual"
    assert pick_example(examples, shuffles(**{**kept, "fits": 0.45, "usual": 0.9})) == "fits"
    assert pick_example(examples[:2], shuffles(**kept)) == "fits", "the nearest of all is too short"


def test_its_probability_is_usual_too():
    examples = [example("torn", FEWEST), example("sure", FEWEST)]
    assert pick_example(examples, shuffles(torn=(0.5, 0.51), sure=(0.4, 0.85), other=(0.6, 0.9))) == "sure"


def test_words_of_one_token_go_first():
    """There a shuffle is seen to be one: the same weights on other words."""
    weights = (0.5, 0.2, 0.1, 0.1, 0.1)
    moved = example("moved", 5, scores={"attention": weights, "shuffled": (0.1, 0.5, 0.1, 0.2, 0.1)})
    pieces = example("pieces", 5, scores={"attention": weights, "shuffled": (0.3, 0.3, 0.1, 0.2, 0.1)})
    kept = shuffles(pieces=0.5, moved=0.9, other=0.1)
    assert pick_example([pieces, moved], kept) == "moved"
    assert pick_example([pieces], kept) == "pieces"


def test_the_mean_is_of_all_examples_and_not_of_those_that_fit():
    examples = [example("a", FEWEST), example("b", FEWEST), example("long", MOST + 1)]
    assert pick_example(examples, shuffles(a=0.0, b=0.4, long=1.0)) == "b"
    assert pick_example(examples, shuffles(a=0.5, b=0.3, long=0.1)) == "b"
    assert pick_example(examples, shuffles(a=0.2, b=0.4, long=0.0)) == "a"
    assert pick_example(examples, shuffles(a=0.4, b=0.4, long=0.0)) == "a", "the first of equals"


def test_an_example_that_was_not_shuffled_is_no_usual_one():
    examples = [example("left out", FEWEST), example("measured", FEWEST)]
    assert pick_example(examples, shuffles(measured=0.9, other=0.0)) == "measured"


def test_where_no_weights_were_shuffled_it_is_the_first_that_fits():
    examples = [example("long", MOST + 1), example("pair", FEWEST, "a second text"), example("fits", MOST)]
    assert pick_example([*examples, example("later", MOST)], {}) == "fits"


@pytest.mark.parametrize("found", [{}, shuffles(long=0.5, longer=0.5, pair=0.5)])
def test_where_none_fits_it_is_the_one_with_the_fewest_words(found):
    examples = [example("longer", MOST + 9), example("long", MOST + 1), example("longer still", MOST + 20)]
    assert pick_example(examples, found) == "long"
    assert pick_example([*examples, example("pair", FEWEST, "a second text")], found) == "pair"


def test_of_nothing_there_is_none():
    assert pick_example([], {}) is None

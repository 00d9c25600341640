"""The examples in docstrings run, and the words for axes are the ones in axes.py."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import beartype
import numpy as np
import pytest
from jaxtyping import Float

import heatcheck
import typed_calls
from heatcheck.axes import AXES

MODULES = [
    info.name for info in pkgutil.walk_packages(heatcheck.__path__, "heatcheck.") if not info.name.endswith("__main__")
]
SHAPE = re.compile(r'\b(?:Float|Int|Integer|Bool|Real|Num|Shaped)\[[\w.\s|]+,\s*"([^"]*)"\]')


@pytest.mark.parametrize("name", ["heatcheck", *MODULES])
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_examples_are_found():
    found = [test for name in MODULES for test in doctest.DocTestFinder().find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in found) > 20


def test_axes_come_from_one_vocabulary():
    unknown = {}
    for path in Path(heatcheck.__file__).parent.rglob("*.py"):
        for shape in SHAPE.findall(path.read_text()):
            words = {word.lstrip("*#") for word in shape.split() if not word.isdigit()} - {"batch", "..."}
            if words - AXES.keys():
                unknown[path.name] = words - AXES.keys()
    assert not unknown


def test_shapes_and_types_are_enforced_under_pytest(monkeypatch):
    """Of arrays and of arrays beside each other, where there is no array, of dataclasses, and of what comes back."""
    import torch

    from heatcheck.data import TOKENIZERS, Example, tokenize
    from heatcheck.models import uniform_weights
    from heatcheck.models.classifiers.kernels import tanh_dot

    monkeypatch.setattr(typed_calls, "EVERY_CALL", [True])
    monkeypatch.setitem(TOKENIZERS, "numbers", lambda word: [len(word)])
    for wrong in (
        lambda: uniform_weights(torch.ones(2, 3)),
        lambda: tanh_dot(torch.ones(1, 1, 2), torch.ones(1, 3)),
        lambda: tokenize("a film", 3),
        lambda: Example("a", 3),
        lambda: tokenize("a film", "numbers"),
    ):
        with pytest.raises(Exception, match=r"Type-check error|violates type hint"):
            wrong()


def checked(function):
    return typed_calls.checked(function, typechecker=beartype.beartype)


def complains(call):
    try:
        call()
    except TypeError:
        return True
    return False


def test_the_first_calls_are_checked_and_then_every_hundredth(monkeypatch):
    """But all of them where that is asked for, as `make test-types` does."""

    @checked
    def repeat(number: int) -> int:
        return number

    monkeypatch.setattr(typed_calls, "EVERY_CALL", [False])
    assert [call for call in range(1, 301) if complains(lambda: repeat("a"))] == [*range(1, 21), 100, 200, 300]
    monkeypatch.setattr(typed_calls, "EVERY_CALL", [True])
    assert all(complains(lambda: repeat("a")) for _ in range(50))


def test_each_function_made_of_the_same_lines_is_checked_and_is_itself():
    """Functions inside of functions are new ones at each call; their checks are made once, with and without arrays."""

    def adding(more):
        @checked
        def add(number: int) -> int:
            return number + more if number < 100 else add(number - 100)

        return add

    def weighting(times, rows):
        @checked
        def weigh(
            table: Float[np.ndarray, "example token"], row: Float[np.ndarray, " token"]
        ) -> Float[np.ndarray, " example"]:
            return (table @ row * times)[:rows]

        return weigh

    made = len(typed_calls._inner)
    one, ten = adding(1), adding(10)
    assert (one(1), ten(1), one(ten(1)), one(203), ten(203)) == (2, 11, 12, 4, 13)
    assert complains(lambda: adding(2)("a"))
    assert complains(lambda: adding(0.5)(1))
    assert adding(2)(3) == 5
    table, row = np.ones((2, 3)), np.ones(3)
    assert (weighting(1, 2)(table, row).tolist(), weighting(2, 2)(table, row).tolist()) == ([3, 3], [6, 6])
    assert complains(lambda: weighting(1, 2)(table, row[:2]))
    assert complains(lambda: weighting(1, 1)(table, row))
    assert len(typed_calls._inner) == made + 2

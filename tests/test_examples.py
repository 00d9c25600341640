"""The examples in docstrings run, and the words for axes are the ones in axes.py."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

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
            words = {word.lstrip("*") for word in shape.split() if not word.isdigit()} - {"batch", "..."}
            if words - AXES.keys():
                unknown[path.name] = words - AXES.keys()
    assert not unknown


def test_shapes_and_types_are_enforced_under_pytest(monkeypatch):
    """Of arrays and of arrays beside each other, where there is no array, of dataclasses, and of what comes back."""
    import torch

    from heatcheck.data import TOKENIZERS, Example, tokenize
    from heatcheck.models import uniform_weights
    from heatcheck.models.kernels import tanh_dot

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

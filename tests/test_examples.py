"""The examples in docstrings run, and the words for axes are the ones in axes.py."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import heatcheck
from heatcheck.axes import AXES

MODULES = [
    info.name for info in pkgutil.walk_packages(heatcheck.__path__, "heatcheck.") if not info.name.endswith("__main__")
]
SHAPE = re.compile(r'\b(?:Float|Int|Integer|Bool|Real|Num|Shaped)\[[\w.\s|]+,\s*"([^"]*)"\]')


@pytest.mark.parametrize("name", ["heatcheck", *MODULES])
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_examples_are_found():
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 20


def test_axes_come_from_one_vocabulary():
    unknown = {}
    for path in Path(heatcheck.__file__).parent.rglob("*.py"):
        for shape in SHAPE.findall(path.read_text()):
            words = {word.lstrip("*") for word in shape.split() if not word.isdigit()} - {"batch", "..."}
            if words - AXES.keys():
                unknown[path.name] = words - AXES.keys()
    assert not unknown


def test_shapes_are_enforced_under_pytest():
    import torch

    from heatcheck.models import uniform_weights

    with pytest.raises(Exception, match=r"scored|type-check"):
        uniform_weights(torch.ones(2, 3))

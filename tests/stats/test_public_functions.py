"""Every public function of the room shows itself by an example."""

import inspect

import pytest

from heatcheck import stats


@pytest.mark.parametrize("name", [name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))])
def test_every_public_function_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(stats, name))

"""What can name a folder."""

import pytest

from heatcheck.engine.names import check_name
from heatcheck.errors import BadInput


@pytest.mark.parametrize("name", ["", ".", "..", "../aaa", "a/b", ".aaa.part", "a b", "ä", "aaa\n"])
def test_some_texts_are_no_names(name: str) -> None:
    with pytest.raises(BadInput):
        check_name(name)
    assert check_name("v1.0_x-y") == "v1.0_x-y"

"""Every quantity that a check measures is registered, with words that say what its values mean."""

import ast
import re
from pathlib import Path

import pytest

import heatcheck
from heatcheck.errors import BadInput
from heatcheck.report.measurement_words import quantity_of
from heatcheck.results import QUANTITIES, Quantity, register

CHECKS = Path(heatcheck.__file__).parent / "checks"
PLACE_OF_NAME = {"Measurement": 0, "measured": 1}  # among the arguments
# Words that have plainer ones (commonest label: majority class), and claims that no number here carries.
AVOIDED = re.compile(
    r"commonest|rival|moot|bystander|imposed|fitted again|held fixed|look(ed|s) at|not surely|lies across|read against"
    r"|the reason|certified|proves",
    re.IGNORECASE,
)


def literal_names(source: str) -> set[str]:
    """Names that are written out where a measurement is made."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PLACE_OF_NAME:
            place = PLACE_OF_NAME[node.func.id]
            if len(node.args) > place and isinstance(node.args[place], ast.Constant):
                found.add(node.args[place].value)
    return found


def test_every_name_in_the_checks_is_registered():
    """Those written out; those put together are held to it where checks run (tests/checks/conftest.py)."""
    names = {(path.stem, name) for path in CHECKS.glob("*.py") for name in literal_names(path.read_text())}
    assert len(names) > 60
    assert not {(check, name) for check, name in names if quantity_of(name, check) is None}


@pytest.mark.parametrize("field", ["words", "high", "low"])
def test_without_words_or_a_direction_there_is_no_quantity(field):
    whole = Quantity("a_new_one", "something new", high="There is much of it.", low="There is little of it.")
    with pytest.raises(BadInput, match="does not say what"):
        register(whole._replace(**{field: " "}))
    assert quantity_of("a_new_one") is None


def test_no_quantity_twice():
    with pytest.raises(BadInput, match="already"):
        register(QUANTITIES["", "K"])


def test_directions_are_short_plain_sentences():
    wrong = []
    for one in QUANTITIES.values():
        assert one.high != one.low, one
        for sentence in (one.high, one.low):
            one_sentence = sentence.endswith(".") and ". " not in sentence and len(sentence.split()) <= 25
            if not one_sentence or re.match(r"(Of|That|What is|Where)\b", sentence) or AVOIDED.search(sentence):
                wrong.append((one.check, one.name, sentence))
    assert not wrong

"""Ids and random streams depend on their names and on nothing else."""

import os
import subprocess
import sys
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.engine import content_id, plain, stream
from heatcheck.errors import BadInput

FACTS = {
    "task": "sst@12ab",
    "model": {"sizes": (1, 2), "dropout": 0.1, "tanh": True},
    "parent": None,
    "τ": "ö",
}


def test_ids_never_change() -> None:
    # Folders of earlier versions are found by these: a change here orphans every fit there is.
    assert content_id({}) == "44136fa355b3"  # sha256 of the two characters {}
    assert content_id(FACTS) == "61995b93d165"
    assert content_id(FACTS, length=20).startswith(content_id(FACTS))
    assert len(content_id(FACTS, length=20)) == 20


def test_ids_and_streams_are_the_same_in_every_process() -> None:
    program = (
        "import sys; from heatcheck.engine import content_id, stream\n"
        f"facts = {FACTS!r}; facts['marks'] = {{key: 0 for key in set('abcdefgh')}}\n"
        "sys.stdout.write(f'{content_id(facts)} {stream(3, chr(97), 1).random()}')"
    )
    seen = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        seen.add(subprocess.check_output([sys.executable, "-c", program], env=environment, text=True))
    assert len(seen) == 1


def test_order_and_kind_of_container_do_not_matter() -> None:
    model = MappingProxyType({"tanh": True, "dropout": 0.1, "sizes": [1, 2]})
    assert content_id({"τ": "ö", "parent": None, "model": model, "task": "sst@12ab"}) == content_id(FACTS)


def test_everything_else_matters() -> None:
    different = [
        {},
        {"a": 1},
        {"a": 2},
        {"b": 1},
        {"a": "1"},
        {"a": True},
        {"a": None},
        {"a": 1.5},
        {"a": [1]},
    ]
    different += [
        {"a": [1, 2]},
        {"a": [2, 1]},
        {"a": [[1], 2]},
        {"a": {"b": 1}},
        {"a": 0.1 + 0.2},
        {"a": 0.3},
    ]
    assert len({content_id(facts) for facts in different}) == len(different)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"a": {"b": [0, {1}]}}, r"^'a.b\[1\]' has the type set. Use strings, numbers"),
        ({"a": [float("inf")]}, r"^'a\[0\]' is inf"),
        ({"a": {"b": {1: 2}}}, r"^'a.b' has the key 1. JSON keys must be strings"),
        ({"a": np.int64(1)}, r"^'a' has the type int64"),
        ({"a": np.zeros(2)}, r"^'a' has the type ndarray"),
        ({"a": b"x"}, r"^'a' has the type bytes"),
    ],
)
def test_what_json_cannot_hold_is_named(facts: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        content_id(facts)


def test_the_whole_value_has_a_name_too() -> None:
    with pytest.raises(BadInput, match=r"^the value has the key 1"):
        plain({1: 2})


def test_streams_never_change() -> None:
    # The raw numbers, not a distribution made of them: numpy keeps only the former for ever.
    assert stream(0, "permutation", "example-7").bit_generator.random_raw(2).tolist() == [
        6005173759808050650,
        16291258067943497148,
    ]


def test_a_stream_starts_anew_each_time() -> None:
    assert np.array_equal(stream(1, "a").random(100), stream(1, "a").random(100))


@given(
    st.lists(
        st.tuples(st.integers(), st.lists(st.text() | st.integers(), max_size=3).map(tuple)),
        unique=True,
        min_size=2,
    )
)
def test_other_names_give_other_numbers(streams: list[tuple[int, tuple[str | int, ...]]]) -> None:
    first = {stream(seed, *purpose).bit_generator.random_raw() for seed, purpose in streams}
    assert len(first) == len(streams)


def test_names_that_read_alike_are_not_alike() -> None:
    alike = [(0, "ab", "c"), (0, "a", "bc"), (0, "abc"), (0, 1), (0, "1"), (1, "0"), (1, 0), (0,), (0, "")]
    assert len({stream(seed, *purpose).random() for seed, *purpose in alike}) == len(alike)


def test_streams_of_neighbours_are_independent() -> None:
    draws = np.stack([stream(0, "permutation", number).random(1000) for number in range(300)])
    # First numbers over examples: uniform. Kolmogorov's distance is below 1.95/sqrt(n) at p = .001.
    first = np.sort(draws[:, 0])
    assert np.abs(first - np.arange(1, 301) / 300).max() < 1.95 / np.sqrt(300)
    correlation = np.corrcoef(draws)[np.triu_indices(300, 1)]
    assert np.abs(correlation).max() < 6 / np.sqrt(1000)
    assert correlation.std() == pytest.approx(1 / np.sqrt(1000), rel=0.05)

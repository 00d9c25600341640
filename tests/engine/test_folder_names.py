"""Names people give to folders."""

from pathlib import Path

import pytest
from jobs_for_tests import program

from heatcheck.engine import find_folder, name_folder
from heatcheck.errors import BadInput, BrokenFolder, UnknownName


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for folder in ("aaa", "bbb"):
        (tmp_path / folder).mkdir()
    return tmp_path


def test_found_by_name_and_by_id(store: Path) -> None:
    name_folder(store, "base", "aaa")
    name_folder(store, "base", "aaa")
    name_folder(store, "v1.0_x-y", "bbb")
    assert find_folder(store, "base") == find_folder(store, "aaa") == store / "aaa"
    assert find_folder(store, "v1.0_x-y") == store / "bbb"
    assert sorted(entry.name for entry in store.iterdir()) == ["aaa", "bbb", "names.json"]


def test_a_name_moves_only_if_told_to(store: Path) -> None:
    name_folder(store, "base", "aaa")
    with pytest.raises(BadInput, match=r"^the name 'base' stands for aaa in \S+ already"):
        name_folder(store, "base", "bbb")
    assert find_folder(store, "base") == store / "aaa"
    name_folder(store, "base", "bbb", move=True)
    assert find_folder(store, "base") == store / "bbb"


def test_an_unknown_name_lists_the_known(store: Path) -> None:
    with pytest.raises(BadInput, match=r"there is no folder 'bose' .* nothing there has a name"):
        find_folder(store, "bose")
    name_folder(store, "base", "aaa")
    with pytest.raises(UnknownName, match=r"'bose' \(did you mean 'base'\?\); known: base\.$"):
        find_folder(store, "bose")


@pytest.mark.parametrize("name", ["", ".", "..", "../aaa", "a/b", ".aaa.part", "a b", "ä", "aaa\n", "latest"])
def test_some_texts_are_no_names(store: Path, name: str) -> None:
    (store / ".aaa.part").mkdir()
    with pytest.raises(BadInput):
        name_folder(store, name, "aaa")
    with pytest.raises(BadInput):
        find_folder(store, name)
    assert not (store / "names.json").exists()


def test_only_a_folder_that_is_there_gets_a_name_that_is_free(store: Path) -> None:
    with pytest.raises(BadInput, match="cannot name 'ccc': there is no such folder"):
        name_folder(store, "base", "ccc")
    with pytest.raises(BadInput, match="it is the id of another folder"):
        name_folder(store, "bbb", "aaa")


def test_a_folder_that_is_gone_and_a_file_that_is_broken_are_reported(store: Path) -> None:
    name_folder(store, "base", "aaa")
    (store / "aaa").rmdir()
    with pytest.raises(BrokenFolder, match=r"'base' is the name of \S+/aaa, which is gone"):
        find_folder(store, "base")
    for content in ('["base"]', '{"base": 1}', '{"ba'):
        (store / "names.json").write_text(content)
        with pytest.raises(BrokenFolder, match=r"names\.json"):
            find_folder(store, "bbb")


def test_names_given_at_the_same_time_are_all_kept(store: Path) -> None:
    calls = [f"name_many({str(store)!r}, 'writer{number}', 'aaa', 100)" for number in range(3)]
    assert [process.wait(30) for process in [program(call) for call in calls]] == [0] * 3
    for writer in range(3):
        for number in range(100):
            assert find_folder(store, f"writer{writer}-{number}") == store / "aaa"

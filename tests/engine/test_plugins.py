"""Tables to which installed packages add."""

import sys
import threading
from pathlib import Path

import pytest

from heatcheck.engine import Plugged, package_of, plugins
from made_up_packages import write_package

GROUP = "heatcheck.numbers"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder of packages that this process finds, and the tables of this test alone."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_TABLES", [])
    monkeypatch.setattr(plugins, "_told", set())
    plugins._installed.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    plugins._installed.cache_clear()
    for module in set(sys.modules) - before:
        del sys.modules[module]


def test_additions_come_after_ours_in_the_order_of_their_names(packages: Path, capsys: pytest.CaptureFixture) -> None:
    write_package(packages, "zz-first", "b = 2\nd = 4\n", {GROUP: {"b": "b", "d": "d"}})
    write_package(packages, "aa-last", "c = 3\n", {GROUP: {"c": "c"}})
    known = Plugged(GROUP, int, {"z": 26, "a": 1})
    assert list(known.items()) == [("z", 26), ("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    assert [package_of(known, name) for name in known] == ["", "", "zz-first", "aa-last", "zz-first"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "read",
    [
        lambda known: known["b"],
        lambda known: "b" in known,
        lambda known: list(known) == ["a", "b"],
        lambda known: len(known) == 2,
        lambda known: known.get("b"),
        lambda known: 2 in known.values(),
        lambda known: ("b", 2) in known.items(),
        lambda known: "b" in known.keys(),  # noqa: SIM118 - keys is what is tried
        lambda known: {**known} == {"a": 1, "b": 2},
        lambda known: dict(known) == {"a": 1, "b": 2},
        lambda known: known == {"a": 1, "b": 2},
        lambda known: (known != {"a": 1, "b": 2}) is False,
        lambda known: known | {} == {"a": 1, "b": 2},
        lambda known: {} | known == {"a": 1, "b": 2},
        lambda known: sorted(known) == ["a", "b"],
        lambda known: list(reversed(known)) == ["b", "a"],
        lambda known: known.copy() == {"a": 1, "b": 2},
        lambda known: repr(known) == "{'a': 1, 'b': 2}",
        lambda known: package_of(known, "b") == "one-package",
    ],
)
def test_whoever_reads_finds_the_additions(packages: Path, read) -> None:
    write_package(packages, "one-package", "b = 2\n", {GROUP: {"b": "b"}})
    assert read(Plugged(GROUP, int, {"a": 1}))


def test_nothing_is_imported_before_somebody_reads(packages: Path) -> None:
    code = "from pathlib import Path\nPath('imported').touch()\nb = 2\n"
    write_package(packages, "eager-package", code, {GROUP: {"b": "b"}})
    known = Plugged(GROUP, int, {"a": 1})
    assert not Path("imported").exists()
    assert known["b"] == 2
    assert Path("imported").exists()


FAULTY = {
    "a name of ours": ("a = 5", "a", "heatcheck skips 'a' (heatcheck.numbers) from the package bad: heatcheck has that "
                       "name already."),
    "a name of another": ("good = 5", "good", "heatcheck skips 'good' (heatcheck.numbers) from the package good: the "
                          "package bad has that name already."),
    "no module": ("import nowhere_to_be_found", "b", "it cannot be imported (ModuleNotFoundError: No module named "
                  "'nowhere_to_be_found')."),
    "no such name": ("", "b", "it cannot be imported (AttributeError: module 'bad' has no attribute 'b')."),
    "it exits": ("raise SystemExit(3)", "b", "it cannot be imported (SystemExit: 3)."),
    "another kind": ("b = 'two'", "b", "it is of type str, not of type int."),
    "a class": ("b = int", "b", "it is the class int, not of type int."),
    "another name": ("class Named(int):\n    name = 'c'\nb = Named()", "b", "its own name is 'c', so the entry point "
                     "must have that name."),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_addition_is_named_once_and_skipped(packages: Path, capsys: pytest.CaptureFixture, fault: str) -> None:
    code, name, sentence = FAULTY[fault]
    write_package(packages, "good", "good = 7\n", {GROUP: {"good": "good"}})
    write_package(packages, "bad", code, {GROUP: {name: name}})
    known = Plugged(GROUP, int, {"a": 1})
    kept = 5 if fault == "a name of another" else 7  # of two packages the first by its own name
    assert dict(known) == {"a": 1, "good": kept}
    assert dict(Plugged(GROUP, int, {"a": 1})) == dict(known)
    shown, told = capsys.readouterr()
    assert shown == ""
    assert told.endswith(f"{sentence}\n")
    assert told.startswith("heatcheck skips ")
    assert told.count("\n") == 1


def test_classes(packages: Path, capsys: pytest.CaptureFixture) -> None:
    code = "class Good(ValueError): pass\nclass Bad: pass\ngood = Good()\n"
    write_package(packages, "of-classes", code, {GROUP: {"Good": "Good", "Bad": "Bad", "good": "good"}})
    assert list(Plugged(GROUP, ValueError, {}, classes=True)) == ["Good"]
    told = capsys.readouterr().err
    assert "it is the class Bad, not a subclass of ValueError." in told
    assert "it is of type Good, not a subclass of ValueError." in told


def test_tables_that_share_a_group_take_their_own_kind(packages: Path, capsys: pytest.CaptureFixture) -> None:
    points = {GROUP: {"one": "one", "two": "two", "three": "three"}}
    write_package(packages, "of-both", "one = 1\ntwo = 'two'\nthree = 3.0\n", points)
    numbers, words = Plugged(GROUP, int, {}), Plugged(GROUP, str, {})
    assert (dict(numbers), dict(words)) == ({"one": 1}, {"two": "two"})
    assert capsys.readouterr().err == (
        "heatcheck skips 'three' (heatcheck.numbers) from the package of-both: it is of type float, not of type int or "
        "str.\n"
    )


def test_a_package_that_reads_the_table_while_it_is_imported_sees_ours(packages: Path) -> None:
    code = "from heatcheck.engine import plugins\nseen = len(plugins._TABLES[0])\n"
    write_package(packages, "curious-package", code, {GROUP: {"seen": "seen"}})
    assert dict(Plugged(GROUP, int, {"a": 1, "b": 2})) == {"a": 1, "b": 2, "seen": 2}


def test_threads_that_read_meanwhile_wait(packages: Path) -> None:
    write_package(packages, "slow-package", "import time\ntime.sleep(0.2)\nb = 2\n", {GROUP: {"b": "b"}})
    known, found = Plugged(GROUP, int, {"a": 1}), []
    threads = [threading.Thread(target=lambda: found.append(len(known))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2, 2, 2]

"""Folders and files appear whole or not at all."""

import errno
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from jobs_for_tests import eventually, program

from heatcheck.engine import FolderExists, read_json, whole_file, whole_folder, write_json, write_whole
from heatcheck.engine import whole_files as folder_module
from heatcheck.engine.whole_files import alone
from heatcheck.errors import BadInput, BrokenFolder


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def interrupt(target: Path, interruption: type[BaseException], *files: str) -> None:
    with whole_folder(target) as folder:
        for file in files:
            write_whole(folder / file, "half of the work")
        raise interruption


def test_appears_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "fit"
    with whole_folder(target) as folder:
        (folder / "model.txt").write_text("weights")
        assert not target.exists()
    assert names(target) == ["model.txt"]
    assert names(target.parent) == ["fit"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        interrupt(tmp_path / "fit", ZeroDivisionError, "model.txt")
    assert names(tmp_path) == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_leaves_the_checkpoint_for_the_next_attempt(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    with pytest.raises(interruption):  # the second file is what write_whole leaves when killed
        interrupt(tmp_path / "fit", interruption, "checkpoint.txt", ".checkpoint.txt.1234.part")
    assert not (tmp_path / "fit").exists()
    with whole_folder(tmp_path / "fit") as folder:
        assert names(folder) == ["checkpoint.txt"]
    assert names(tmp_path) == ["fit"]


def test_without_resuming_the_folder_is_empty(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "fit", KeyboardInterrupt, "of-another-model.txt", "steps/1.txt")
    (tmp_path / ".fit.part" / "link").symlink_to(tmp_path)
    with whole_folder(tmp_path / "fit", resume=False) as folder:
        assert names(folder) == []
    assert names(tmp_path) == ["fit"]


def test_a_folder_that_exists_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "fit").mkdir()
    sentence = r"^the output folder \S+fit already exists. Choose .* --out, or delete it.$"
    with pytest.raises(FolderExists, match=sentence) as info, whole_folder(tmp_path / "fit"):
        raise AssertionError("entered")
    assert info.value.folder == tmp_path / "fit"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FolderExists), whole_folder(tmp_path / "link"):
        raise AssertionError("entered")
    assert names(tmp_path) == ["fit", "link"]


def test_a_target_that_appears_meanwhile_wins(tmp_path: Path) -> None:
    with pytest.raises(FolderExists), whole_folder(tmp_path / "fit"):
        write_whole(tmp_path / "fit" / "theirs.txt", "first")
    assert names(tmp_path) == ["fit"]
    assert names(tmp_path / "fit") == ["theirs.txt"]


def test_a_rival_may_finish_while_we_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The moment is too short to be met by racing processes every time, so here it is staged.
    @contextmanager
    def done_before_it_is_ours(path: Path) -> Iterator[None]:
        with alone(path):
            (tmp_path / "fit").mkdir()
            yield

    monkeypatch.setattr(folder_module, "alone", done_before_it_is_ours)
    with pytest.raises(FolderExists), whole_folder(tmp_path / "fit"):
        raise AssertionError("entered")
    assert names(tmp_path) == ["fit"]


class SlowToReturn(FileLock):
    """A lock whose release takes its time: what comes after it comes too late."""

    def release(self, force: bool = False) -> None:
        super().release(force)
        time.sleep(0.02)


def test_a_lock_that_is_removed_while_others_wait_still_lets_one_in_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "FileLock", SlowToReturn)
    monkeypatch.setattr(folder_module, "POLL_S", 0.001)
    inside, most = [0], [0]

    def enter(times: int = 3) -> None:
        for _ in range(times):
            with alone(tmp_path / "lock"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.03)
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert names(tmp_path) == []


def test_a_relative_target_stays_where_it_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with whole_folder(Path("fit")):
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert names(tmp_path) == ["elsewhere", "fit"]


@pytest.mark.parametrize("path", ["notes.txt/fit", "notes.txt/a/b/fit", "taken", "x" * 300])
def test_a_place_that_cannot_be_written_is_named_in_a_sentence(tmp_path: Path, path: str) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".taken.part").touch()
    sentence = rf"^cannot write {tmp_path / path}: [A-Z][a-z ]+ \(.*\)$"
    with pytest.raises(BadInput, match=sentence), whole_folder(tmp_path / path):
        raise AssertionError("entered")


def test_works_on_disks_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOLCK, "as some network disks say")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with whole_folder(tmp_path / "fit"):
        pass
    assert names(tmp_path) == ["fit"]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(ValueError, match="no"), whole_folder(tmp_path / "fit"):
            raise ValueError("no")
    with whole_folder(tmp_path / "fit"):
        pass
    with pytest.raises(FolderExists), whole_folder(tmp_path / "fit"):
        pass
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_kill_9_leaves_the_checkpoint_and_no_target(tmp_path: Path) -> None:
    target, marks = tmp_path / "fit", tmp_path / "marks"
    first = program(f"make_folder({str(target)!r}, {str(marks)!r}, 'first', 'well')")
    assert eventually((tmp_path / ".fit.part" / "first.txt").exists)
    first.kill()
    assert first.wait() == -signal.SIGKILL
    assert not target.exists()
    with whole_folder(target) as folder:
        assert names(folder) == ["first.txt"]
        (folder / "second.txt").touch()
    assert names(target) == ["first.txt", "second.txt"]


@pytest.mark.parametrize(
    ("first_ends", "second_finds", "second_ends"),
    [("well", None, "FolderExists"), ("fails", [], "well"), ("killed", ["first.txt"], "well")],
)
def test_the_second_process_waits_for_the_first(
    tmp_path: Path, first_ends: str, second_finds: list[str] | None, second_ends: str
) -> None:
    target, marks = tmp_path / "fit", tmp_path / "marks"
    write_whole(marks / "second may end", "")
    first = program(f"make_folder({str(target)!r}, {str(marks)!r}, 'first', {first_ends!r})")
    assert eventually((marks / "first entered").exists)
    second = program(f"make_folder({str(target)!r}, {str(marks)!r}, 'second', 'well')")
    assert eventually((marks / "second started").exists)
    time.sleep(0.3)
    assert not (marks / "second entered").exists()
    if first_ends == "killed":
        first.kill()
    else:
        write_whole(marks / "first may end", "")
    first.wait(20)
    assert second.wait(20) == 0
    assert read_json(marks / "second ended") == second_ends
    if second_finds is None:
        assert not (marks / "second entered").exists()
        assert names(target) == ["first.txt"]
    else:
        assert read_json(marks / "second entered") == second_finds
        assert names(target) == [*second_finds, "second.txt"]
    assert names(tmp_path) == ["fit", "marks"]


def test_many_processes_make_each_folder_once(tmp_path: Path) -> None:
    store, log, count = tmp_path / "store", tmp_path / "log.txt", 300
    call = f"make_many({str(store)!r}, {str(log)!r}, {count})"
    assert [process.wait(50) for process in [program(call) for _ in range(4)]] == [0] * 4
    made = [number for number in range(count) if (store / str(number)).exists()]
    assert len(made) > count / 2
    assert all(names(store / str(number)) == ["a.txt", "b.txt"] for number in made)
    assert [name for name in names(store) if name.startswith(".")] == []
    entered = [int(line) for line in log.read_text().split()]
    # One entry for the folder that was made, and one for each process that failed on it, at most three.
    assert all(1 <= entered.count(number) <= 4 for number in made)
    # Only the processes that fail on a number enter it twice: without waiting nearly all would.
    assert len(entered) < 2 * count


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    write_whole(tmp_path / "note.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "note.txt", "half \ud800")
    assert (tmp_path / "note.txt").read_text() == "old"
    write_whole(tmp_path / "note.txt", b"new\r\n")
    assert (tmp_path / "note.txt").read_bytes() == b"new\r\n"
    assert names(tmp_path) == ["note.txt"]


def test_an_interrupted_file_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "note.txt", "old")

    def half(path: Path, data: bytes) -> int:
        path.write_text(data.decode()[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "note.txt", "new")
    assert (tmp_path / "note.txt").read_text() == "old"
    assert names(tmp_path) == ["note.txt"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadInput, match=r"^cannot write \S+/notes.txt/a.json: (Not a directory|File exists)"):
        write_json(tmp_path / "notes.txt" / "a.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="Is a directory"):
        write_json(tmp_path / "folder", {})
    assert names(tmp_path) == ["folder", "notes.txt"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=values)
def test_json_comes_back_as_it_went(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"seed": 0, "mod', "Unterminated"),
        (b"\xff\xfe\xfa", "decode"),
        (b"", "Expecting"),
        (b"[" * 10**5, ""),
    ],
)
def test_a_broken_json_file_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(BrokenFolder, match=rf"{tmp_path}/manifest.json is not valid JSON \(.*{says}") as info:
        read_json(tmp_path / "manifest.json")
    assert f"Delete {tmp_path} and create it again" in str(info.value)


def test_a_missing_json_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenFolder, match=rf"^{tmp_path}/manifest.json cannot be read: No such file"):
        read_json(tmp_path / "manifest.json")


def test_json_is_json_to_others(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"sizes": (1, 2), "text": "τ \ud800"})
    assert json.loads((tmp_path / "a.json").read_text()) == {"sizes": [1, 2], "text": "τ \ud800"}
    with pytest.raises(BadInput, match=r"^'a.b\[0\]' is nan"):
        write_json(tmp_path / "a.json", {"a": {"b": [float("nan")]}})


def test_a_file_too_big_to_hold_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "rows.txt"

    def stop_halfway() -> None:
        with whole_file(target) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_halfway()
    assert names(tmp_path) == []
    with whole_file(target) as aside:
        aside.write_text("whole")
        assert not target.exists()
    assert names(target.parent) == ["rows.txt"]
    with pytest.raises(ZeroDivisionError), whole_file(target.with_name("more.txt")):
        _ = 1 / 0
    assert target.read_text() == "whole"
    assert names(target.parent) == ["rows.txt"]

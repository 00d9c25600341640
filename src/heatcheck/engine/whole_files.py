"""Folders and files that are written completely or not at all."""

import errno
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from heatcheck.engine.identity import plain
from heatcheck.errors import BadInput, BrokenFolder

POLL_S = 0.01  # between two looks at a lock that another process holds
_NO_LOCKS = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class FolderExists(BadInput):
    """The folder already exists, perhaps because another process was quicker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"the output folder {folder} already exists. Choose another name with --out, or delete it.")


@contextmanager
def whole_folder(target: Path, *, resume: bool = True, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` when the block succeeds.

    An exception removes it. An interruption (kill -9, ctrl-C, exit) leaves it as `.NAME.part` beside the
    target, where the next attempt finds its own checkpoint files again: write those with `write_whole`, and
    pass `resume=False` where the target's name does not decide its content, lest it finds another's.

    Of two processes that make the same folder the second waits for the first, and then gets FolderExists
    without having entered the block (or goes on from what the first left, if that did not end well). With `replace`
    a folder that is there gives way, and only when the new one is whole.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "fit"
    >>> with whole_folder(target) as folder:
    ...     write_json(folder / "manifest.json", {"seed": 0})
    ...     target.exists()
    False
    >>> read_json(target / "manifest.json")
    {'seed': 0}
    """
    target = target.absolute()  # the block may change the working directory
    scratch = target.parent / f".{target.name}.part"
    with ExitStack() as held:
        with _in_a_sentence(target):
            _refuse_if_there(target, replace=replace)
            target.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(alone(target.parent / f".{target.name}.lock"))
            _refuse_if_there(target, replace=replace)  # another process may have made it while we waited
            scratch.mkdir(exist_ok=True)
        try:
            _sweep(scratch, everything=not resume)
            yield scratch
            try:
                _put_in_place(scratch, target, replace=replace)
            except OSError:
                # Only where locks do not work, or somebody else's program made the target.
                if _occupied(target):
                    raise FolderExists(target) from None
                raise
        except Exception:
            shutil.rmtree(scratch, ignore_errors=True)
            raise


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file atomically: even after a crash nobody reads half of it. Text is UTF-8.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "steps" / "note.txt"
    >>> write_whole(path, "τ")
    >>> path.read_text(encoding="utf-8")
    'τ'
    """
    with whole_file(path) as aside:
        aside.write_bytes(data.encode() if isinstance(data, str) else data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds, for files too big for memory.

    A block that does not end well leaves nothing behind, not even the folders that were made for it.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with _in_a_sentence(path):
        made = [folder for folder in path.parents if not folder.exists()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield aside
            aside.replace(path)
        except BaseException:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
                for folder in made:
                    folder.rmdir()  # only while it is empty
            raise


def write_json(path: Path, facts: object) -> None:
    """Write facts as JSON, atomically; raise BadInput naming any value that JSON cannot hold.

    >>> write_json(Path("unwritten.json"), {"value": float("inf")})
    Traceback (most recent call last):
    heatcheck.errors.BadInput: 'value' is inf, which JSON cannot hold. Use None instead.
    """
    write_whole(path, json.dumps(plain(facts), indent=2) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file of a saved folder.

    >>> read_json(Path("no-fit/manifest.json"))
    Traceback (most recent call last):
    heatcheck.errors.BrokenFolder: no-fit/manifest.json cannot be read: No such file or directory
    """
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise BrokenFolder(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8 is a ValueError too
        raise BrokenFolder(f"{path} is not valid JSON ({error}). Delete {path.parent} and create it again.") from error


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is in a block with this lock file, and be in it alone. A process that dies leaves it.

    The lock file stands beside what it is for: some systems rename no folder that has an open file in it.
    """
    lock = FileLock(path)
    try:
        lock.acquire(poll_interval=POLL_S)
    except OSError as error:
        # Some network disks cannot lock. Going on without is better than not at all: what is lost is only the
        # waiting, for the rename at the end still lets just one of two writers through.
        if error.errno not in _NO_LOCKS:
            raise
    try:
        yield
    finally:
        try:
            path.unlink(missing_ok=True)  # while it is ours: those that wait notice, and make a new one
            lock.release()
        except OSError:  # Windows removes no open file, and another process may have opened it
            lock.release()
            with suppress(OSError):
                path.unlink()


def _refuse_if_there(target: Path, *, replace: bool) -> None:
    if _occupied(target) and not replace:
        raise FolderExists(target)


def _put_in_place(scratch: Path, target: Path, *, replace: bool) -> None:
    """Give the scratch folder its name; what had it before goes last, or comes back if that fails."""
    if not (replace and target.is_dir()):
        scratch.rename(target)
        return
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    target.rename(old)
    try:
        scratch.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _occupied(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _sweep(scratch: Path, *, everything: bool) -> None:
    """Remove what an interrupted attempt left: half-written files, or everything."""
    if everything:
        for entry in scratch.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for aside in scratch.rglob(".*.part"):
        if aside.is_file():
            aside.unlink()


@contextmanager
def _in_a_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        at = f" ({error.filename})" if error.filename else ""
        raise BadInput(f"cannot write {path}: {error.strerror}{at}") from error

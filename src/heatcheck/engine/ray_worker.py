"""Runs jobs on a Ray cluster: an existing one, or one that heatcheck starts on this machine."""

import pickle
import re
import socket
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path

from heatcheck.engine.identity import Facts
from heatcheck.engine.place import JobFunction, Report
from heatcheck.engine.ray_driver import Died, Driver, must_share, start_driver, stop_driver
from heatcheck.errors import BadInput, MissingPackage

_TRIES = 3
_KNOCK_S = 3.0
_JOIN_S = 30.0
_START_S = 120.0  # a busy machine takes its time


class RayCluster:
    """At most so many jobs at once on a Ray cluster, which is sought or started when the first one comes.

    Each job gets a new process, unless the processes shall `stay` for the next one with what they have read.
    """

    def __init__(self, function: JobFunction, workers: int, cluster: str, *, stay: bool = False) -> None:
        self._address = _address_in(cluster)
        if find_spec("ray") is None:
            raise MissingPackage("ray", extra="ray")
        if function.__module__ == "__main__":
            raise BadInput(f"Ray cannot import {function.__qualname__!r} from a script. Move it to a module.")
        self._function = function
        self._workers = workers
        self._stay = stay
        self._limit: int | None = None
        self._driver: Driver | None = None
        self._running: dict[Path, Facts] = {}
        self._tries: dict[Path, int] = {}

    def has_room(self) -> bool:
        return self._limit is None or len(self._running) < self._limit

    def start(self, argument: Facts, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)  # so that a machine without it does not share our files
        self._try(argument, target)

    def reports(self, patience: float = 1.0) -> list[tuple[Path, Report]]:
        ended = []
        for target, said in self._said(patience):
            argument = self._running.pop(target)
            if isinstance(said, Died) and not _is_there(target) and self._tries[target] < _TRIES:
                self._try(argument, target)
            else:
                ended.append((target, _judge(said, target)))
        return ended

    def stop(self) -> None:
        self._running.clear()
        if self._driver is not None:
            stop_driver(self._driver)
            self._driver = None

    def _try(self, argument: Facts, target: Path) -> None:
        driver = self._driver or self._open()
        self._tries[target] = self._tries.get(target, 0) + 1
        self._running[target] = argument
        with suppress(OSError):  # the driver has just died, and with it this try: that is noticed in time
            driver.pipe.send((pickle.dumps((self._function, argument)), target))

    def _open(self) -> Driver:
        answer: int | str = "it did not answer"
        if silence := _silence_at(self._address):
            raise _no_cluster(self._address, silence)
        self._driver = driver = start_driver(self._address, self._workers, stay=self._stay)
        with suppress(EOFError, OSError):
            if driver.pipe.poll(_START_S if self._address is None else _JOIN_S):
                answer = driver.pipe.recv()
        if isinstance(answer, str):
            driver.process.kill()  # it may be waiting for Ray, and would not notice that we stop
            self.stop()
            raise _no_cluster(self._address, answer)
        self._limit = answer
        return driver

    def _said(self, patience: float) -> list[tuple[Path, Report | Died]]:
        """What the driver says, after waiting for it; its own death is that of all that is running."""
        driver = self._driver or self._open()
        heard = wait([driver.process.sentinel, driver.pipe], timeout=patience)
        said: list[tuple[Path, Report | Died]] = []
        with suppress(EOFError, OSError):
            while driver.pipe.poll():
                said.append(driver.pipe.recv())
        if driver.process.sentinel in heard:
            stop_driver(driver)
            self._driver = None
            told = [target for target, _ in said]
            said += [(target, Died("Ray stopped")) for target in self._running if target not in told]
        return said


def _silence_at(address: str | None) -> str | None:
    """Why nobody answers at an address; Ray itself would ask for much longer."""
    if address is None or address == "auto":
        return None
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _no_cluster(address: str | None, why: str) -> BadInput:
    if address is None:
        return BadInput(f"Ray did not start on this machine: {why}.")
    return BadInput(
        f"cannot reach a Ray cluster at {address!r}: {why}. Start one there with 'ray start --head', or use "
        "'ray' to start one on this machine."
    )


def _judge(said: Report | Died, target: Path) -> Report:
    """What we report of a job, having looked for its folder ourselves."""
    if isinstance(said, Died):
        if _is_there(target):
            return Report("done")
        return Report("failed", f"died {_TRIES} times; last reason: {said.how}")
    if said.state == "failed" or _is_there(target):
        return said
    return Report("failed", f"created on another machine but not visible here: {must_share(target.parent)}")


def _is_there(target: Path) -> bool:
    with suppress(OSError):
        next(target.parent.iterdir(), None)  # opening the folder makes NFS forget what it believes about it
    return target.is_dir()


def _address_in(cluster: str) -> str | None:
    """The address of a cluster that is there, None for one of our own.

    >>> _address_in("ray:10.0.0.1:6379")
    '10.0.0.1:6379'
    >>> _address_in("dask")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: 'dask' is not a cluster. Use ray (on this machine), ray:auto or ray:HOST:PORT.
    """
    if cluster == "ray":
        return None
    match = re.fullmatch(r"ray:(auto|[^/]+:\d{1,5})", cluster)
    if match is None:
        raise BadInput(f"{cluster!r} is not a cluster. Use ray (on this machine), ray:auto or ray:HOST:PORT.")
    return match[1]

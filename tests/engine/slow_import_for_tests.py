"""A module that never gets imported in a worker: the worker's watch must be awake before."""

import multiprocessing
import os
from pathlib import Path


def do(*_: object) -> None:
    raise AssertionError("no worker comes here")


if multiprocessing.parent_process() is not None:
    Path(os.environ["HEATCHECK_TEST_PIDS"], str(os.getpid())).touch()
    while True:
        pass

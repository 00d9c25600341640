"""No test leaves a program running, not even when it fails."""

from collections.abc import Iterator

import jobs_for_tests
import pytest


@pytest.fixture(autouse=True)
def _end_programs() -> Iterator[None]:
    yield
    for process in jobs_for_tests.started:
        process.kill()
        process.communicate()
    jobs_for_tests.started.clear()

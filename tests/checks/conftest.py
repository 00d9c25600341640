"""What the tests of all checks hold their results to."""

from collections.abc import Iterator

import pytest

from heatcheck.report.measurement_words import quantity_of
from heatcheck.results import CheckResult


@pytest.fixture(autouse=True, scope="module")
def _only_registered_quantities() -> Iterator[None]:
    """No check measures what nobody registered: many names are put together, and only a run shows them."""
    made = CheckResult.__init__

    def make(result: CheckResult, *args: object, **named: object) -> None:
        made(result, *args, **named)
        unknown = {m.name for m in result.measurements if quantity_of(m.name, result.check) is None}
        assert not unknown, (
            f"{result.check} measures {unknown}: put them into its view, report/checks/{result.check}.py"
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CheckResult, "__init__", make)
        yield

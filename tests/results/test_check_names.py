"""One plain name per check, shared by the report, `heatcheck checks` and the docs."""

from heatcheck.checks import CHECKS
from heatcheck.report.wording import title
from heatcheck.results.check_names import CHECK_NAMES


def test_every_check_has_one_plain_name():
    assert CHECK_NAMES.keys() == CHECKS.keys()
    assert len(set(CHECK_NAMES.values())) == len(CHECK_NAMES)
    for key, check in CHECKS.items():
        assert check.title == title(key) == CHECK_NAMES[key]

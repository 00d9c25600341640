"""The load test itself: it holds on a small model, and an answer that is not the library's is noticed."""

from urllib.parse import urlsplit

import pytest
from benchmarks.load import all_at_once, measure, requests
from serving import serving

from heatcheck.data import load_task
from heatcheck.models import load

READER = "known:reader@planted_contrast"
TEXTS = load_task("planted_contrast")["test"].examples[:3]


def test_a_page_in_its_own_process_holds_several_clients():
    found = measure([READER], TEXTS, clients=4, seconds=0.6, warm_up=0.4)
    assert found["wrong"] == []
    assert found["requests"] > 5
    assert found["ms"][50] <= found["ms"][99]
    assert found["grown"] < 0.05
    assert found["end_mb"] > 100


@pytest.mark.parametrize("broken", ["probabilities", "weights"])
def test_an_answer_that_is_not_the_librarys_is_noticed(broken):
    subject = load(READER)
    asked = requests({READER: subject}, TEXTS)
    place = next(n for n, one in enumerate(asked) if one.path == "/api/look")
    other = [value + 1e-12 if value else value for value in asked[place].expected[broken]]
    asked[place] = asked[place]._replace(expected={**asked[place].expected, broken: other})
    with serving({READER: subject}) as address:
        found = all_at_once(urlsplit(address).port, asked, {READER: subject}, clients=2, seconds=0.5, start=0)
    assert found.wrong
    assert all("not what the library computes" in line for line in found.wrong)
    assert len(found.wrong) < len(found.seconds)

"""The check `roles`: one number per measure, layer and head, beside uniform weights."""

import pytest

from heatcheck.checks import Case
from heatcheck.checks.roles import REPORTED, RolesSettings, roles
from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.heads.looking import look
from heatcheck.models import load
from heatcheck.report.checks.roles import roles_tables
from tiny_transformers import EXAMPLES, tiny

TEXTS = (*EXAMPLES, Example("d", "so the movie is dull and fine", label=1))


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_every_head_has_its_numbers_beside_uniform_weights(family):
    case = Case(tiny(family), TEXTS, labels=("negative", "positive"))
    result = roles.ask(case, RolesSettings(draws=50))
    assert len(result.examples) + len(result.excluded) == len(TEXTS)
    sinks = [m for m in result.measurements if m.name == "sink"]
    assert [(m.by["layer"], m.by["head"]) for m in sinks] == [
        (layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4)
    ]
    found = look(tiny(family), TEXTS)
    assert [m.value for m in sinks] == pytest.approx(found.mean("sink").tolist())
    assert all(m.low <= m.value <= m.high for m in sinks)
    assert all("uniform weights" in m.baseline for m in sinks)
    assert result.per_example["sink:2.3"] == pytest.approx(found.of_examples("sink")[:, 6])
    absent = {"next_token"} if family == "llama" else set()  # a decoder sees no token after
    assert {m.name for m in result.measurements} == {*REPORTED, "sink_rate"} - absent - {"variability"}
    assert result.facts["causal"] == (family == "llama")
    shown = {table.caption.partition(" (")[0]: table for table in roles_tables(result)}
    assert len(shown["Weight on the first token"].rows) == 3
    assert sum(int(count) for _, count in shown["Classes of maps"].rows) == 12


def test_wrong_settings_and_models_are_refused():
    with pytest.raises(BadInput, match=r"roles\.draws must be at least 1"):
        RolesSettings(draws=0)
    case = Case(load("known:reader@planted_keyword"), TEXTS, labels=("0", "1"))
    with pytest.raises(NotSupported, match="is not one"):
        roles.measure(case, RolesSettings())

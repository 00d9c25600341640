"""The check `mechanism`: circuits as measurements with baselines, every example counted, and its tables."""

import pytest

from heatcheck.checks import Case
from heatcheck.checks.mechanism import REFERENCE, UNREAD, MechanismSettings, mechanism
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.hf.prompted import Prompted
from heatcheck.report.checks.mechanism import in_short, mechanism_map, mechanism_tables
from known_circuits import WithIdleHead, words
from tiny_language_models import LABELS, PROMPT, network, tokenizer
from tiny_transformers import EXAMPLES, tiny


@pytest.fixture(scope="module")
def result():
    case = Case(WithIdleHead(), words(9), labels=("another token", "the next token"))
    return mechanism.ask(case, MechanismSettings(texts=3, sets=8, draws=200))


def test_the_known_circuit_with_its_baselines(result):
    assert result.facts["roles"] == {"induction": ["2.1"], "previous token": ["1.1"], "duplicate token": []}
    assert result.find("prefix_matching", layer=2, head=1).value == pytest.approx(1.0, abs=1e-3)
    assert "uniform weights" in result.find("prefix_matching", layer=2, head=1).baseline
    fed = result.find("composition", reader="2.1")
    assert (fed.by["writer"], fed.value) == ("1.1", pytest.approx((225 / 32) ** 0.5, rel=0.05))
    assert result.find("direct_effect", layer=2, head=1).value == pytest.approx(10.0)
    assert "200 random heads; z = " in result.find("copying_from_weights", layer=2, head=1).baseline
    assert result.find("loss_of_copy", copy=1).value > 3 > result.find("loss_of_copy", copy=2).value
    cost = result.find("removal_cost", texts="repeated", heads="induction")
    beyond = result.find("removal_cost_beyond_random", texts="repeated")
    assert cost.value > 3
    assert beyond.value == pytest.approx(
        cost.value - result.find("removal_cost", texts="repeated", heads="random").value
    )
    assert all(m.baseline for m in result.measurements)
    assert result.not_run == {}


def test_every_example_is_counted(result):
    assert len(result.examples) == 3
    assert sorted(result.excluded.values()) == sorted([REFERENCE] * 3 + [UNREAD] * 3)
    assert {len(values) for values in result.per_example.values()} == {3}
    few = mechanism.ask(Case(WithIdleHead(), words(2), labels=("a", "b")), MechanismSettings(texts=2, sets=2))
    assert (len(few.examples), len(few.excluded)) == (0, 2)
    assert few.not_run == {"removal on ordinary texts": "there were no ordinary texts"}


def test_the_tables_say_it(result):
    induction, before, _, costs, loss = mechanism_tables(result)
    assert induction.caption.startswith("1 of 3 heads is an induction head. Without it the loss")
    assert induction.rows[0][0] == "2.1"
    assert "1.1 (" in induction.rows[0][-1]
    assert before.rows[0][0] == "1.1"
    assert [row[0] for row in costs.rows] == ["repeated random tokens", "ordinary texts"]
    assert len(loss.rows) == 4
    assert mechanism_map(result, {}) is not None


def test_a_prompted_model_without_induction_heads():
    prompted = Prompted(network("gpt2"), tokenizer(), name="tiny", prompt=PROMPT, labels=LABELS)
    found = mechanism.ask(Case(prompted, EXAMPLES, labels=tuple(LABELS)), MechanismSettings(texts=2, sets=2))
    assert found.not_run["removal"] == "no head is an induction head"
    assert in_short(found).startswith("No head is an induction head: none of 8 ")
    assert len([m for m in found.measurements if m.name == "prefix_matching"]) == 8


def test_wrong_settings_and_models_are_refused():
    with pytest.raises(BadInput, match=r"mechanism\.texts must be at least 2"):
        MechanismSettings(texts=1)
    case = Case(tiny("bert"), EXAMPLES, labels=("negative", "positive"))
    with pytest.raises(NotSupported, match="needs a causal language model"):
        mechanism.measure(case, MechanismSettings())

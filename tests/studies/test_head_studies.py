"""Studies of heads: numbers of the check `roles` as means over heads."""

import numpy as np
import pytest

from heatcheck.checks import Case
from heatcheck.checks.roles import RolesSettings, roles
from heatcheck.results import key
from heatcheck.studies.clark2019 import numbers as of_clark
from heatcheck.studies.kovaleva2019 import numbers as of_kovaleva
from heatcheck.studies.vig2019 import numbers as of_vig
from tiny_transformers import EXAMPLES, tiny


@pytest.fixture(scope="module")
def result():
    return roles.ask(Case(tiny("bert"), EXAMPLES, labels=("negative", "positive")), RolesSettings(draws=20))


def test_means_over_the_heads_of_each_layer(result):
    found = dict(of_clark(result))
    special = {(m.by["layer"], m.by["head"]): m.value for m in result.measurements if m.name == "special_tokens"}
    second = [value for (layer, _), value in special.items() if layer == 2]
    assert found[key("heads_mean", measure="special_tokens", layer=2)] == pytest.approx(np.mean(second))
    everywhere = found[key("heads_mean", measure="special_tokens", layer="all")]
    assert everywhere == pytest.approx(np.mean(list(special.values())))
    above = np.mean([value > 0.6 for value in special.values()])
    assert found[key("heads_above", measure="special_tokens")] == pytest.approx(above)


def test_shares_of_classes_sum_to_1(result):
    found = dict(of_kovaleva(result))
    shares = [value for name, value in found.items() if name.name == "pattern_share"]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(1.0)


def test_what_no_text_defines_has_no_number(result):
    found = dict(of_vig(result))
    assert key("heads_mean", measure="attention_distance", layer=3) in found
    assert key("heads_mean", measure="variability", layer=1) not in found, "one text alone has ten tokens"

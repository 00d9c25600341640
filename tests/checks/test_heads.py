"""The check `heads`: a head that does nothing, one that does everything, and what a reader is told."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.checks.case import Case
from heatcheck.checks.heads import HeadsSettings, cross_fitted, heads, measure
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import remove_each
from heatcheck.models import load
from heatcheck.report.checks.heads import VIEW, heads_map, in_short
from heatcheck.results import Measurement
from tiny_transformers import EXAMPLES, OTHERS, make, tiny

TEXTS = (*EXAMPLES, *OTHERS)
QUICK = HeadsSettings(draws=50)


def case_of(subject, examples=TEXTS):
    return Case(subject, examples, labels=("0", "1"))


def test_a_head_that_writes_nothing_does_not_matter_in_any_way():
    subject = make("bert")
    with torch.no_grad():  # head 3 of the second layer
        subject.network.bert.encoder.layer[1].attention.output.dense.weight[:, 16:24] = 0
    found = measure(case_of(subject), QUICK)
    for way in QUICK.ways:
        nothing = found.find("loss_added", way=way, layer=2, head=3)
        assert abs(nothing.value) < 1e-6
        assert nothing.by["matters"] == "no"
    sizes = [abs(m.value) for m in found.measurements if m.name == "loss_added" and m.by["way"] == "zero"]
    assert sum(size > 1e-4 for size in sizes) >= 10
    assert found.facts == {"layers": 3, "heads": 12, "gold": True}
    assert found.find("proxy_spearman", way="mean").value > 0.7


def test_each_half_is_measured_with_the_other_as_reference():
    subject = tiny("llama")
    found, _, _ = cross_fitted(subject, TEXTS, ["mean", "offset"], seed=0)
    for half in ([0, 1, 2], [3, 4, 5]):  # any examples: their references are the other half, whichever that is
        for place in half[:1]:
            others = [e for e in TEXTS if e.id not in _half_of(TEXTS[place])]
            alone = remove_each(subject, [TEXTS[place]], read_reference(subject, others), ["mean", "offset"])
            for way in ("mean", "offset"):
                np.testing.assert_allclose(found.effect(way)[..., place], alone.effect(way)[..., 0], atol=1e-5)


def _half_of(example):
    from heatcheck.heads.halves import in_halves

    second = in_halves(TEXTS, "this", seed=0)
    own = second[TEXTS.index(example)]
    return {other.id for other, half in zip(TEXTS, second, strict=True) if half == own}


def test_examples_beyond_the_limit_are_left_out_by_name():
    found = measure(case_of(tiny("bert")), HeadsSettings(ways=("zero",), texts=4, draws=20))
    assert len(found.examples) == 4
    assert len(found.excluded) == len(TEXTS) - 4
    assert not [m for m in found.measurements if m.name in ("gaze_share", "heads_that_matter_for")]


def test_the_reader_is_told_how_many_matter_and_for_what():
    found = measure(case_of(tiny("bert")), QUICK)
    own = [m for m in found.measurements if m.name not in ("heads_that_matter", "heads_that_matter_for")]
    counts = [
        Measurement("heads_that_matter", 5.0, 5.0, 5.0, 12, "none: of 12 heads", {"way": way}) for way in QUICK.ways
    ]
    kinds = [
        Measurement("heads_that_matter_for", n, n, n, 12, "none: of 5 heads that matter", {"for": kind})
        for kind, n in (("where", 3.0), ("what", 1.0), ("open", 1.0))
    ]
    told = replace(found, measurements=(*own, *counts, *kinds))
    assert in_short(told) == (
        "5 of 12 heads matter: removing one surely raises the loss. Of these 5, 3 matter for where they look, 1 does "
        "not, and 1 is open."
    )
    none = [m._replace(value=0.0) if m.name == "heads_that_matter" else m for m in told.measurements]
    assert in_short(replace(told, measurements=tuple(none))) == (
        "No head surely matters alone: no single removal of 12 surely raises the loss."
    )
    most, whole, by_way, estimates = VIEW.tables(told)
    assert len(most.rows) == 10
    assert len(whole.rows) == 3
    assert len(whole.columns) == 5
    assert len(by_way.rows) == 5
    assert len(estimates.rows) == 6
    figure = heads_map(told, {})
    assert figure is not None
    assert figure.name == "heads-map"


def test_what_cannot_be_asked_is_said():
    with pytest.raises(NotSupported, match="heads needs every layer of a transformer"):
        measure(case_of(load("known:reader@planted_keyword")), QUICK)
    with pytest.raises(NotSupported, match="there is only one"):
        measure(case_of(tiny("bert"), EXAMPLES[:1]), QUICK)
    with pytest.raises(UnknownName, match="way to remove a head"):
        HeadsSettings(ways=("cut",))
    with pytest.raises(BadInput, match=r"heads\.texts must be at least 2"):
        HeadsSettings(texts=1)
    with pytest.raises(BadInput, match=r"heads\.ways is empty"):
        HeadsSettings(ways=())
    assert heads.cost(case_of(load("known:reader@planted_keyword")), QUICK) == 0
    assert heads.cost(case_of(tiny("bert")), QUICK) == 12 * (5 * 8 + 6)

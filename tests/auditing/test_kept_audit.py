"""A kept audit comes back as it was, and a folder that holds none says so in a sentence."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from heatcheck.auditing import audit
from heatcheck.checks import CHECKS
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import (
    ARRAYS,
    AUDIT,
    FORMAT,
    AuditedExample,
    Instead,
    Measurement,
    Strip,
    Zone,
    headline_of,
    keep_audit,
    read_audit,
)
from made_up_lines import every_line

NAN, INF = float("nan"), float("inf")


def assert_same(one, other, where="audit"):
    """Equal in type and value at every depth; NaN is NaN, and an array has its kind of numbers."""
    alike = any(isinstance(one, kind) and isinstance(other, kind) for kind in (Mapping, str))  # a version is a str
    assert alike or type(one) is type(other), where
    if is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), where
        for key, value in one.items():
            assert_same(value, other[key], f"{where}[{key!r}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for at, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{at}]")
    else:
        assert one == other or (one != one and other != other), where


@pytest.fixture(scope="module")
def made():
    """A real one, small."""
    checks = ["permutation", "counterfactual", "erasure"]
    settings = {"erasure.rivals": "leave_one_out", "erasure.draws": "50"}
    return audit("known:reader@planted_keyword", "planted_keyword", examples=8, checks=checks, settings=settings)


@pytest.fixture(scope="module")
def odd(made):
    """The same with everything that a careless file would lose."""
    scores = {"attention": (0.1, None, NAN, -0.0), "file:a/b": (), "only here": (1e-300, INF, 0.1 + 0.2, None)}
    words = ("half \ud83d", "“é”", "</script>", "\u2028\n")
    looked = AuditedExample("<b>", words, "a pair", None, "yes", NAN, scores, (True, False, True, False))
    result = made.results["permutation"]
    first, *rest = result.measurements
    strange = Measurement("delta", NAN, -INF, INF, 1, "none: one seed", {"bin": (0.25, NAN), "pair": ["a", "b"]})
    result = replace(
        result,
        measurements=(strange, first, *rest),
        per_example={**result.per_example, "q": np.full(len(result.examples), NAN), "k": np.arange(8) * 1.5},
        excluded={"x": "too short"},
        settings={**result.settings, "sizes": (1, (2, [NAN]))},
        not_run={"a part": "too dear"},
        facts={"witness": {"own": [0.5, INF]}},
        question="Why?",
    )
    return replace(
        made,
        accuracy=NAN,
        card=replace(made.card, logit_scale=INF),
        results={**made.results, "permutation": result},
        examples=[looked, *made.examples],
        not_run={"gauge": "no | twin"},
        not_fitted={"seed 3": "killed"},
        about={**made.about, "limits": (1, -INF)},
    )


@pytest.mark.parametrize("which", ["made", "odd"])
def test_an_audit_comes_back_as_it_was(which, request, tmp_path):
    given = request.getfixturevalue(which)
    assert [path.name for path in keep_audit(given, tmp_path / "new")] == [AUDIT, ARRAYS]
    found = read_audit(tmp_path / "new")
    assert_same(given, found)
    check, kept = CHECKS["erasure"], found.results["erasure"]
    assert (kept.question, kept.paper, kept.baseline) == (check.question, check.paper, check.baseline)
    assert math.copysign(1, found.examples[0].scores["attention"][-1]) == (-1 if which == "odd" else 1)


def test_strips_and_what_to_show_instead_come_back_as_they_were(made, tmp_path):
    """Of every line that a rule can make, each in a card of its own; numbers that are none come back too."""
    ways = {
        (line.short, line.badge, line.route, line.strip is None, line.instead is None): line for line in every_line()
    }
    (failed,) = [line for line in ways.values() if line.instead is not None and not line.route]
    unknown = failed.strip.measurement._replace(value=NAN, low=-INF, high=INF)
    odd = failed._replace(strip=failed.strip._replace(measurement=unknown))
    for number, line in enumerate([odd, *ways.values()]):
        given = replace(made, card=replace(made.card, every_line=(line,)))
        keep_audit(given, tmp_path / str(number))
        found = read_audit(tmp_path / str(number))
        assert_same(given.card, found.card)
        assert headline_of(found.card) == headline_of(given.card)
    kept = [read_audit(tmp_path / str(number)).card.every_line[0] for number in range(len(ways) + 1)]
    assert any(isinstance(line.strip, Strip) and isinstance(line.strip.zones[0], Zone) for line in kept)
    assert any(isinstance(line.instead, Instead) for line in kept)
    assert any(line.strip is None for line in kept)


def test_the_example_that_a_report_opens_with_is_kept(made, tmp_path):
    assert made.shown_first in {one.id for one in made.examples}
    keep_audit(made, tmp_path)
    assert read_audit(tmp_path).shown_first == made.shown_first


def test_the_test_would_see_a_difference(made):
    assert_same(made, replace(made, seed=made.seed))
    for other in (replace(made, accuracy=0.0), replace(made, about={**made.about, "x": 1}), replace(made, results={})):
        with pytest.raises(AssertionError):
            assert_same(made, other)


def test_the_file_is_strict_json_with_no_scores_in_it(odd, tmp_path):
    keep_audit(odd, tmp_path)

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    facts = json.loads((tmp_path / AUDIT).read_text(encoding="ascii"), parse_constant=refuse)
    assert "scores" not in facts["examples"][0]


def test_what_is_no_audit_says_so(tmp_path):
    with pytest.raises(BadInput, match=r"there is no folder .*nowhere: name one that `heatcheck audit` made"):
        read_audit(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file is not a folder: name one"):
        read_audit(tmp_path / "file")
    with pytest.raises(BadInput, match=f"is not the folder of an audit: it has no {AUDIT}"):
        read_audit(tmp_path)


def damaged_json(folder, **changes):
    facts = json.loads((folder / AUDIT).read_text())
    (folder / AUDIT).write_text(json.dumps({**facts, **changes}))


def damaged_value(folder, value):
    facts = json.loads((folder / AUDIT).read_text())
    next(line for line in facts["card"] if line["evidence"])["evidence"][0]["value"] = value
    (folder / AUDIT).write_text(json.dumps(facts))


def cut_short(folder):
    (folder / ARRAYS).write_bytes((folder / ARRAYS).read_bytes()[:-40])


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda folder: (folder / ARRAYS).unlink(), "is damaged (audit.npz cannot be read)"),
        (cut_short, "audit.npz is not the one that was written with audit.json"),
        (lambda folder: damaged_json(folder, measurements={}), "audit.json was changed since it was written"),
        (lambda folder: damaged_json(folder, examples=[]), "is damaged"),
        (lambda folder: damaged_json(folder, format=FORMAT + 1), "kept by a later heatcheck"),
        (lambda folder: damaged_json(folder, format=1), "an older heatcheck, in another form: audit the model again."),
        (lambda folder: damaged_json(folder, seed="a"), "is damaged ("),
        (lambda folder: damaged_json(folder, n=None), "is damaged ("),
        (lambda folder: damaged_json(folder, not_run=3), "audit.json was changed since it was written"),
        (lambda folder: damaged_json(folder, about={}), "is damaged ("),
        (lambda folder: damaged_json(folder, labels=[1]), "is damaged ("),
        (lambda folder: damaged_json(folder, accuracy={"$number": "x"}), "is damaged"),
        (lambda folder: damaged_value(folder, 10**400), "audit.json was changed since it was written"),
        (lambda folder: damaged_value(folder, 0.25), "audit.json was changed since it was written"),
        (lambda folder: (folder / AUDIT).write_text("[]"), "is damaged"),
        (lambda folder: (folder / AUDIT).write_text('{"format": 1, '), "is not valid JSON"),
    ],
)  # fmt: skip
def test_a_broken_folder_says_so(made, tmp_path, harm, said):
    keep_audit(made, tmp_path)
    harm(tmp_path)
    with pytest.raises(BrokenFolder) as raised:
        read_audit(tmp_path)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)

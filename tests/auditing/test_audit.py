"""The audit and its card."""

import dataclasses
import json

import numpy as np
import pytest

from heatcheck import audit
from heatcheck.auditing import CardSettings, choose_settings, plan_audit
from heatcheck.auditing.lines import judge_points
from heatcheck.checks import CHECKS
from heatcheck.data import load_task
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import load
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import train
from subjects import WRITERS

POINTS = "points at what matters"
QUICK = {"erasure.rivals": "leave_one_out", "erasure.draws": "200", "agreement.draws": 200, "agreement.shuffles": 2}


FIXED = ["agreement", "erasure", "permutation", "counterfactual"]  # what needs this model alone


def audited(name="reader@planted_contrast", **options):
    chosen = {"examples": 80, "checks": FIXED, "settings": QUICK, **options}
    return audit(load(f"known:{name}"), name.partition("@")[2], **chosen)


@pytest.fixture(scope="module")
def one():
    """An audit that nobody changes."""
    return audited()


def test_a_card_says_what_would_run_the_rest():
    found = audited("reader@planted_keyword", examples=30, checks=["permutation"], settings={})
    names = ["necessary", POINTS, "hard to manipulate", "works out of context"]
    assert [line.name for line in found.card.lines] == names
    assert {line.state for line in found.card.lines} == {"not run"}
    assert found.card["across"].reason == "heatcheck audit MODEL --refit"
    assert found.card["hard to manipulate"].reason.endswith("--checks permutation,counterfactual")


def test_where_nothing_matters_a_heatmap_cannot_be_asked_about():
    """planted_majority: seven weak cues, none of which matters much alone, to a model that never learned any."""
    corpus = planted("planted_majority", sizes=(100, 50, 100))
    fit = train(corpus, encoder="average", hidden=8, embedding=8, epochs=1, learning_rate=1e-6, progress=False)
    found = audit(fit.subject, corpus, examples=60, settings={"erasure.rivals": "leave_one_out"}, checks=["erasure"])
    line = found.card[POINTS]
    assert line.state == "unclear"
    assert line.reason.startswith("cannot be asked here")
    assert line.badge == "cannot be asked"


def result(k, room):
    def rows(name, bounds, **by):
        return [Measurement(name, sum(b) / 2, *b, 100, "", {"operator": o, **by}) for o, b in bounds.items()]

    effects = [m for r in ("attention", "random", "best rival") for m in rows("effect", room, ranking=r)]
    settings = {"operators": ["deletion", "masking"], "explainer": "attention"}
    return CheckResult(
        "erasure", "s", "re-encoded", (*rows("K", k), *rows("room", room), *effects), (), {}, {}, settings, 0
    )


ROOM = {"deletion": (0.1, 0.3), "masking": (0.1, 0.3)}


@pytest.mark.parametrize(
    ("k", "room", "state", "reason"),
    [
        ({"deletion": (0.6, 0.9), "masking": (0.51, 0.7)}, ROOM, "yes", ""),
        ({"deletion": (0.1, 0.4), "masking": (-0.3, 0.49)}, ROOM, "no", ""),
        ({"deletion": (0.6, 0.9), "masking": (0.1, 0.4)}, ROOM, "unclear", "deletion and masking disagree"),
        ({"deletion": (0.4, 0.6), "masking": (0.6, 0.9)}, ROOM, "unclear", "more data"),
        (
            {"deletion": (0.6, 0.9), "masking": (0.6, 0.9)},
            {**ROOM, "masking": (0.01, 0.3)},
            "unclear",
            "cannot be asked here",
        ),
        ({"deletion": (np.nan, np.nan), "masking": (0.6, 0.9)}, ROOM, "unclear", "more data"),
        (
            {"deletion": (0.6, 0.9), "masking": (0.6, 0.9)},
            {**ROOM, "masking": (np.nan, np.nan)},
            "unclear",
            "cannot be asked",
        ),
    ],
)
def test_the_rule_of_the_line(k, room, state, reason):
    line = judge_points(result(k, room), CardSettings())
    assert line.state == state
    assert line.reason.startswith(reason)
    assert line.evidence[0].name == "K"
    assert line.sentence


def test_a_heatmap_that_points_nowhere_says_so_first():
    below = {"deletion": (-0.4, 0.1), "masking": (-0.3, 0.2)}
    line = judge_points(result(below, ROOM), CardSettings())
    assert line.lead == "The highlighted words do not matter significantly more than random words."


def test_the_effects_beyond_random_words_are_of_every_ranking():
    """And what to show instead is the best of the other methods by them."""
    quick = {"erasure.rivals": "leave_one_out", "erasure.draws": "200"}
    found = audited("bystander_wrong@planted_contrast", checks=["erasure"], settings=quick)
    erasure, points = found.results["erasure"], found.card[POINTS]
    assert points.state == "no"
    for operator in ("deletion", "masking"):
        floor = erasure.find("effect", ranking="random", operator=operator).value
        for m in [m for m in erasure.measurements if m.name == "effect" and m.by["operator"] == operator]:
            beyond = [x for x in erasure.measurements if x.name == "beyond_random" and x.by == m.by]
            assert len(beyond) == (m.by["ranking"] != "random")
            assert all(
                x.value == pytest.approx(m.value - floor, abs=1e-9) and x.low <= x.value <= x.high for x in beyond
            )
    assert points.instead.method == "leave_one_out"
    others = [m.value for m in erasure.measurements if m.name == "beyond_random" and m.by["operator"] == "deletion"
              and m.by["ranking"] in ("leave_one_out", "leave_one_out (signed)")]  # fmt: skip
    assert points.instead.gain.value == max(others)
    assert points.instead.own.value < 0.5 * points.instead.gain.value


def test_an_audit_says_what_its_data_can_decide():
    """--examples is offered up to what the split has, and the example that a report opens with is one of them."""
    found = audited(examples=8, checks=["permutation"], settings={})
    assert found.card["hard"].sentence == "8 examples are too few: at least 30 are needed. Add --examples 30."
    assert found.shown_first in {one.id for one in found.examples}
    assert all("shuffled" in one.scores for one in found.examples)


def test_a_sample_is_the_same_every_time_and_counts_add_up(one):
    again, other = audited(), audited(seed=1, checks=["permutation"], settings={})
    assert [e.id for e in one.examples] == [e.id for e in again.examples]
    assert [e.id for e in one.examples] != [e.id for e in other.examples]
    assert one.card == again.card
    assert (one.n, one.available) == (80, 1000)
    for found in one.results.values():
        assert len(found.examples) + len(found.excluded) == one.n
    whole = audited(checks=["necessity"], settings={"necessity.draws": 50}).results["necessity"]
    assert len(whole.examples) + len(whole.excluded) == one.available


def test_what_a_report_is_drawn_from(one):
    looked = one.examples[0]
    assert len(looked.words) == len(looked.scores["attention"]) == len(looked.rationale)
    assert {"attention", "gradient", "leave_one_out"} <= looked.scores.keys()
    assert "random" not in looked.scores
    assert looked.predicted == looked.gold
    assert 0.5 < looked.probability <= 1
    json.dumps(one.about)


def test_labels_go_by_name(tmp_path):
    rows = [
        {"text": f"bana but {'dull' if n % 2 else 'lovely'} .", "label": "negative" if n % 2 else "positive"}
        for n in range(20)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    subject = load("known:reader@planted_contrast")
    found = audit(subject, path, checks=["erasure"], settings={"erasure.rivals": "leave_one_out"})
    assert (found.accuracy, found.n, found.split) == (1.0, 20, "all")
    positive = [{**row, "label": "positive"} for row in rows if "lovely" in row["text"]]
    path.write_text("\n".join(map(json.dumps, positive)))
    assert audit(subject, path, checks=["erasure"], settings={"erasure.rivals": "leave_one_out"}).accuracy == 1.0
    path.write_text("\n".join(json.dumps({**row, "label": n % 2}) for n, row in enumerate(rows)))
    with pytest.raises(
        BadInput, match=r"mine.jsonl has the label '0', which reader@planted_contrast does not know; its labels"
    ):
        audit(subject, path)


def test_a_model_is_not_audited_on_what_it_was_trained_on(tmp_path):
    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n}", "label": n % 2} for n in range(60)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    fit = train(path, epochs=1, hidden=8, embedding=8, progress=False)
    assert plan_audit(fit.subject, path).split == "test"
    assert len(plan_audit(fit.subject, path).case.examples) == 6
    (tmp_path / "other.jsonl").write_text("\n".join(map(json.dumps, rows[:30])))
    assert plan_audit(fit.subject, tmp_path / "other.jsonl").split == "all"
    assert plan_audit(fit.subject, path, split="dev").split == "dev"
    with pytest.raises(BadInput, match="no split 'holdout'"):
        plan_audit(fit.subject, path, split="holdout")


def test_settings_by_name():
    chosen = choose_settings(["erasure"], {"erasure.sizes": "1,3", "erasure.draws": "10", "card.points": "0.6"})
    assert chosen["erasure"].sizes == (1, 3)
    assert chosen["erasure"].draws == 10
    assert chosen["card"].points == 0.6
    named = {name for name, check in CHECKS.items() if check.default}
    assert choose_settings(None, {}).keys() == {*named, "card"}
    assert choose_settings(None, {}, refit=False).keys() == {n for n in named if not CHECKS[n].refits} | {"card"}
    assert choose_settings(["all"], {}).keys() == {*CHECKS, "card"}
    with pytest.raises(BadInput, match="the check seed_variance needs retrained models: add --refit"):
        choose_settings(["seed_variance"], {}, refit=False)
    for checks, changes, sentence in [
        (["erasur"], {}, r"unknown check 'erasur' \(did you mean 'erasure'\?\)"),
        (None, {"erasure.size": 1}, r"unknown setting of erasure 'size' \(did you mean 'sizes'\?\)"),
        (None, {"sizes": 1}, "unknown check in --set 'sizes'"),
    ]:
        with pytest.raises(UnknownName, match=sentence):
            choose_settings(checks, changes)
    with pytest.raises(BadInput, match=r"erasure.draws must be a whole number, such as 2000, not 'many'"):
        choose_settings(None, {"erasure.draws": "many"})
    with pytest.raises(BadInput, match=r"erasure.sizes must be a comma-separated list"):
        choose_settings(None, {"erasure.sizes": "a,b"})


def test_a_list_that_is_empty_by_default_can_be_set(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Empty:
        sizes: tuple[int, ...] = ()
        names: tuple[str, ...] = ()

    monkeypatch.setitem(CHECKS, "erasure", CHECKS["erasure"]._replace(settings=Empty))
    chosen = choose_settings(["erasure"], {"erasure.sizes": "1, 3", "erasure.names": ["a", "b"]})
    assert chosen["erasure"] == Empty((1, 3), ("a", "b"))
    with pytest.raises(BadInput, match=r"erasure.sizes must be a comma-separated list"):
        choose_settings(["erasure"], {"erasure.sizes": "a"})


def test_scores_from_elsewhere_are_audited_too(tmp_path):
    """The right word by hand, as an explainer: K is 1."""
    examples = load_task("planted_contrast")["test"].examples
    rows = [{"id": e.id, "scores": [int(mark) for mark in e.marks["rationale"]]} for e in examples]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    name = f"file:{tmp_path / 'mine.jsonl'}"
    quick = {"erasure.rivals": "leave_one_out", "erasure.draws": 200, "erasure.explainer": name}
    found = audited("bystander_wrong@planted_contrast", checks=["erasure"], settings=quick)
    assert found.card[POINTS].state == "yes"
    rows[3]["id"] = "nobody"
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(BadInput, match=r"mine.jsonl, line 4: id 'nobody' is not in the data"):
        audited(checks=["erasure"], settings=quick)


def test_forgiving_ways_to_call_it():
    found = audit("known:reader@planted_contrast", "planted_contrast", checks="erasure", examples=10)
    assert found.results.keys() == {"erasure"}
    assert found.subject == "known:reader@planted_contrast"
    with pytest.raises(UnknownName, match="unknown line of the card 'overall'"):
        found.card["overall"]


def test_rivals_without_a_sign():
    quick = {"erasure.rivals": "gradient", "erasure.draws": 50}
    found = audited(examples=20, checks=["erasure"], settings=quick)
    assert not [m for m in found.results["erasure"].measurements if m.name == "K_signed"]


def test_it_needs_examples():
    with pytest.raises(BadInput, match="at least one example, not 0"):
        audited(examples=0)


def test_a_frozen_result(one):
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n = 3
    with pytest.raises(TypeError):
        _ = one.results["erasure"] - one.results["erasure"]
    with pytest.raises(KeyError, match="0 measurements 'tau'"):
        one.results["erasure"].find("tau")


def test_a_sequence_to_sequence_model_is_refused():
    with pytest.raises(BadInput, match="is a sequence-to-sequence model; an audit needs a model that predicts a label"):
        plan_audit(WRITERS["luong"][0], "planted_keyword")

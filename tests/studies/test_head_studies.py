"""Studies of heads: numbers of the check `roles` as means over heads."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from heatcheck import engine
from heatcheck.checks import Case
from heatcheck.checks.roles import RolesSettings, roles
from heatcheck.data.treebank import FILES
from heatcheck.engine import Job
from heatcheck.heads.looking import look
from heatcheck.results import CheckResult, Measurement, key
from heatcheck.studies import of_heads, read_published
from heatcheck.studies.cells import Cell, Extra, plan_job
from heatcheck.studies.clark2019 import numbers as of_clark
from heatcheck.studies.clark2019 import scores_of
from heatcheck.studies.corpora import Source, load
from heatcheck.studies.kovaleva2019 import numbers as of_kovaleva
from heatcheck.studies.michel2019 import numbers as of_michel
from heatcheck.studies.michel2019 import of_curves
from heatcheck.studies.of_heads import treebank_scores
from heatcheck.studies.study import Found, Place
from heatcheck.studies.vig2019 import Settings as VigSettings
from heatcheck.studies.vig2019 import numbers as of_vig
from heatcheck.studies.vig2019 import works
from heatcheck.studies.voita2019 import of_gates, roles_of_heads
from tiny_language_models import network, tokenizer
from tiny_transformers import EXAMPLES, OTHERS, tiny


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


def test_a_layer_of_a_language_model_is_the_mean_of_its_heads_with_an_interval_over_texts():
    looked = look(tiny("bert"), OTHERS)
    found = looked.of_layers("sink")
    heads = looked.mean("sink")
    assert list(found) == [1, 2, 3, "all"]
    assert found[2].value == pytest.approx(heads[4:8].mean())
    assert found["all"].value == pytest.approx(heads.mean())
    assert found[2].low < found[2].value < found[2].high
    assert found[2].n == len(OTHERS)
    alone = look(tiny("bert"), OTHERS[:1]).of_layers("sink")
    assert (alone[1].low, alone[1].high) == (-np.inf, np.inf)


def test_a_language_model_is_read_on_the_texts_of_the_task(tmp_path):
    network("gpt2").save_pretrained(tmp_path / "lm")
    tokenizer().save_pretrained(tmp_path / "lm")
    task = Source("reviews", 30)
    found = Found({"reviews": load(task, tmp_path)}, {"reviews": task})
    settings = VigSettings(tasks=("reviews",), language_model=f"hf:{tmp_path / 'lm'}", examples=5)
    assert not works(replace(settings, language_model=None), Place(tmp_path), found)
    (work,) = works(settings, Place(tmp_path, tmp_path, "cpu"), found)
    (outcome,) = engine.map(work.function, [Job(work.id, work.name, (), work.argument)], tmp_path / "results")
    kept = work.read(outcome.folder)
    assert (kept.task, kept.model) == ("reviews", "lm")
    sink = kept.numbers[key("heads_mean", measure="sink", layer="all")]
    first = [kept.numbers[key("heads_mean", measure="sink", layer=layer)].value for layer in (1, 2)]
    assert sink.value == pytest.approx(np.mean(first))
    assert sink.n == 1, "one model"
    assert np.isfinite([sink.low, sink.high]).all(), "over texts"


def test_the_best_head_of_a_relation_is_that_of_the_direction_that_is_better_on_train():
    def one(relation, direction, score, on_train):
        place = {"layer": 1, "head": 2}
        same = dict.fromkeys(("best_offset", "offset_twin", "untrained", "other_tree"), 0.1)
        return {
            "relation": relation,
            "direction": direction,
            "score": {"value": score},
            "on_train": on_train,
            "place": place,
            **same,
        }

    relations = [one("nmod:poss", "a", 0.9, 0.4), one("nmod:poss", "b", 0.5, 0.6), one("obj", "a", 0.3, 0.3)]
    facts = {"syntax": {"relations": relations, "roles": [relations[0], relations[1]]}}
    found = dict(scores_of(facts))
    assert found[key("syntactic", relation="nmod poss", of="head")] == 0.5, "not the one that is better on test"
    assert found[key("syntactic", relation="obj", of="offset")] == 0.1
    assert found[key("syntactic_heads")] == 1, "one head with two roles"
    assert not dict(scores_of({"syntax": None}))
    assert {one.key.by["of"] for one in read_published("clark2019")} == {"head", "offset"}


def test_syntactic_scores_need_the_treebank_and_are_of_the_cell_s_model(tmp_path, monkeypatch):
    subject = tiny("bert")
    asked = []
    scores = SimpleNamespace(facts=lambda: {"relations": []})
    monkeypatch.setattr(of_heads, "score_treebank", lambda *given, seed: asked.append((given, seed)) or scores)
    assert treebank_scores(subject, Extra({"sentences": 7}, str(tmp_path)), seed=3) is None, "there is no treebank"
    for name in FILES:
        (tmp_path / f"{name}.jsonl.gz").touch()
    assert treebank_scores(subject, Extra({"sentences": 0}, str(tmp_path)), seed=3) is None
    assert treebank_scores(subject, Extra({"sentences": 7}, str(tmp_path)), seed=3) == {"relations": []}
    assert asked == [((subject, tmp_path, 7), 3)]


def test_roles_of_kept_heads_stand_beside_those_of_all():
    looked = {"1.1": ["previous token: 0.95 of queries"], "1.2": ["sink: 0.5"], "2.1": ["rare words: 0.6"]}
    syntax = {"roles": [{"place": {"layer": 2, "head": 2}}, {"place": {"layer": 2, "head": 2}}]}
    roles = roles_of_heads(looked, syntax)
    assert roles == {
        "positional": ["1.1"],
        "rare words": ["2.1"],
        "syntactic": ["2.2"],
        "any of these": ["1.1", "2.1", "2.2"],
    }
    assert "syntactic" not in roles_of_heads(looked, None)

    def point(seed, heads, accuracy, *, weights=False):
        beside = {"gradient (Michel)": accuracy - 0.1}
        return {
            "weights": weights,
            "penalty": 0.04,
            "seed": seed,
            "kept": len(heads),
            "heads": heads,
            "accuracy": accuracy,
            "beside": beside,
        }

    points = [point(0, [[0, 0]], 0.8), point(1, [[0, 0], [0, 1]], 0.6), point(0, [], 0.5, weights=True)]
    found = dict(of_gates({"gates": {"heads": 4, "roles": roles, "points": points}}))
    here = {"gates": "gates alone", "penalty": "0.04"}
    assert found[key("kept", **here)] == 1.5
    assert found[key("gated", **here)] == pytest.approx(0.7)
    assert found[key("as_many", order="gradient (Michel)", **here)] == pytest.approx(0.6)
    assert found[key("with_role", role="positional")] == 0.25
    assert found[key("kept_with_role", role="positional", **here)] == pytest.approx(0.75)
    assert found[key("role_gain", role="positional", **here)] == pytest.approx(0.5)
    closed = {"gates": "gates and weights", "penalty": "0.04"}
    assert found[key("kept", **closed)] == 0
    assert key("role_gain", role="positional", **closed) not in found, "no head is left"


def test_how_well_one_gradient_does_is_that_of_removal_without_output():
    measured = [
        Measurement(name, value, 0.0, 1.0, 9, "0", {"way": way, "estimate": "signed"})
        for way, ranks, finds in (("zero", 0.8, 0.6), ("mean", 0.9, 0.7))
        for name, value in (("proxy_spearman", ranks), ("proxy_recall", finds))
    ]
    found = dict(
        of_michel(CheckResult("heads", "one", "re-encoded", tuple(measured), (), {}, {}, {}, 0, facts={"heads": 8}))
    )
    assert found == {key("gradient_ranks", estimate="signed"): 0.8, key("gradient_finds", estimate="signed"): 0.6}


def test_numbers_of_curves():
    def curve(accuracy):
        return {"accuracy": accuracy, "area": [0.1, 0, 0, 9], "free_share": 0.05}

    singles = {"heads": 8, "loss worse": 4, "loss better": 2, "accuracy worse": 1, "accuracy better": 0}
    curves = {
        "shares": [0.0, 0.5],
        "greedy": curve([0.9, 0.8]),
        "random": {"accuracy": [0.9, 0.7], "band": [[0.9, 0.6], [0.9, 0.75]], "orders": 3},
    }
    left = {"heads": [0], "layers": [[0.85, 0.8, 0.9, 9]], "all": [0.6, 0.5, 0.7, 9]}
    found = dict(of_curves({"pruning": {"singles": singles, "curves": curves, "one_left": left}}))
    assert found[key("heads_found", kind="loss worse")] == 0.5
    assert found[key("pruned", order="greedy", share="0.5")] == 0.8
    assert found[key("pruned", order="random, low end", share="0.5")] == 0.6
    assert found[key("pruned", order="random, high end", share="0.5")] == 0.75
    assert found[key("pruning_area", order="greedy")] == 0.1
    assert found[key("free_share", order="greedy")] == 0.05
    assert key("free_share", order="random") not in found
    assert (found[key("one_left", layer=1)], found[key("one_left", layer="all")]) == (0.85, 0.6)


def test_settings_of_a_study_s_own_name_its_cells():
    corpus = load(Source("reviews", 20), None)
    small = {"encoder": "average", "attention": "tanh", "hidden": 4, "embedding": 4, "epochs": 1}
    cell = Cell("one", "reviews", "average", "tanh", small, ("roles",), {})
    ids = [
        plan_job("try", 1, cell._replace(own=own), corpus, {"data_dir": place}).id
        for own, place in (({}, None), ({"sentences": 3}, None), ({"sentences": 3}, "there"), ({"sentences": 4}, None))
    ]
    assert len(set(ids)) == 3
    assert ids[1] == ids[2], "where the data lies decides nothing"

"""Studies of treatments: what is trained, twins as sharp as the treated models, and the published numbers beside."""

import pickle
from pathlib import Path

import pytest

from heatcheck.data.planted import planted
from heatcheck.report.study_treatments import COMPARED, MEASURED, STATES
from heatcheck.studies import read_published
from heatcheck.studies.corpora import Source
from heatcheck.studies.mohankumar2020 import QUICK, kinds_of
from heatcheck.studies.of_treatments import cell_of, twin_work
from heatcheck.studies.study import Found, Place
from heatcheck.studies.tutek2020 import QUICK as QUICK_TUTEK
from heatcheck.studies.tutek2020 import kinds_of as kinds_of_tutek
from heatcheck.training import describe_model, plan_recipe
from smoke_runs import smoke_run


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):  # seeds agree on nothing that is asked here: one will do
    return smoke_run("mohankumar2020", tmp_path_factory.mktemp("smoke") / "study", "--set", "seeds=1")


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    _, said = smoke
    found = {(row["encoder"], row["quantity"]): row["value"] for row in said["rows"]}
    for kind in ("vanilla", "diversity", "orthogonal", "as_sharp_as_diversity", "as_sharp_as_orthogonal"):
        for quantity in (*MEASURED, *(name for name in STATES if "itself" not in name)):
            assert (kind, quantity) in found, (kind, quantity)
    for kind in ("diversity", "orthogonal"):
        for than in ("untreated", "temperature twin"):
            for what in COMPARED:
                assert (kind, f"beyond:{than}:{what}") in found
        # A twin has the states of the untreated model, and the entropy of the treated one.
        twin = f"as_sharp_as_{kind}"
        assert found[twin, "conicity"] == pytest.approx(found["vanilla", "conicity"])
        assert found[twin, "entropy"] == pytest.approx(found[kind, "entropy"], abs=0.1)
        gap = found[kind, "conicity"] - found[twin, "conicity"]
        assert found[kind, "beyond:temperature twin:conicity"] == pytest.approx(gap)
    assert ("vanilla", "beyond:untreated:accuracy") not in found
    assert not said["failed"]


def test_published_numbers_are_of_these_models():
    kinds = {kind.name for kind in kinds_of(QUICK)}
    published = read_published("mohankumar2020")
    assert {one.encoder for one in published} == kinds
    assert {one.key.text for one in published} <= MEASURED.keys()
    assert all(one.source for one in published)


def test_kinds_are_the_treatments_they_name():
    corpus = planted("planted_keyword", sizes=(30, 10, 10))
    said = {kind.name: describe_model(plan_recipe(corpus, **kind.choices)) for kind in kinds_of(QUICK)}
    assert said == {
        "vanilla": "lstm_ahead, seed 0",
        "diversity": "lstm_ahead, diversity at λ = 0.5, seed 0",
        "orthogonal": "orthogonal_lstm_ahead, seed 0",
    }
    kinds = {kind.name: plan_recipe(corpus, **kind.choices) for kind in kinds_of_tutek(QUICK_TUTEK)}
    assert list(kinds) == ["base", "tying_1", "masked_words_0.1", "no_encoder"]
    assert {recipe.model["hidden"] for recipe in kinds.values()} == {150}
    assert describe_model(kinds["masked_words_0.1"]) == "lstm, masked words at λ = 0.1, seed 0"


def test_a_twin_s_job_can_be_sent_to_a_process():
    corpus = planted("planted_keyword", sizes=(30, 10, 10))
    found = Found({"sst": corpus}, {"sst": Source("sst")})
    base, treated = (cell_of(kind, "sst", 0, {}, 5) for kind in kinds_of(QUICK)[:2])
    work = twin_work(1, base, treated, corpus, found, Place(Path("study")))
    assert pickle.loads(pickle.dumps((work.function, work.argument)))[1] == work.argument

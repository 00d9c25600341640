"""Transformers on the command line: fine-tuned, explained, audited, and every mistake one sentence."""

import json

import pytest

from heatcheck.data import load_task
from heatcheck.models import load
from pretrained import as_rows, film_corpus, keep


@pytest.fixture
def mine(tmp_path):
    """A tiny model, and a file to train it on."""
    (tmp_path / "films.jsonl").write_text("\n".join(map(json.dumps, as_rows(film_corpus(48)))))
    return f"hf:{keep('bert', tmp_path / 'tiny')}"


def test_trained_explained_and_audited(heatcheck, mine, tmp_path):
    train = ["train", "films.jsonl", "--model", mine, "--set", "epochs=2", "--set", "learning_rate=0.003"]
    code, out, _ = heatcheck(*train, "--out", "fit")
    assert code == 0
    assert "bag of words" in out
    assert sorted(p.name for p in (tmp_path / "fit").iterdir()) == [
        "config.json",
        "data.json",
        "seen.safetensors",
        "training.json",
        "training.jsonl",
        "transformer",
    ]
    assert load("fit").seen.split_of(load_task("films.jsonl")["train"].examples) == ["train"] * 48
    code, out, _ = heatcheck("explain", "fit", "a very good film", "--by", "attention,gradient", "--json")
    assert code == 0
    assert json.loads(out)["predicted"] in ("negative", "positive")
    code, out, error = heatcheck(
        "audit", "fit", "--data", "films.jsonl", "--checks", "permutation", "--examples", "5", "--json"
    )
    assert code == 0, error
    assert json.loads(out)["n"] == 5


def test_labels_are_named(heatcheck, mine):
    audit = ["audit", mine, "--data", "films.jsonl", "--checks", "permutation", "--examples", "4", "--json"]
    code, _, error = heatcheck(*audit)
    assert code == 2
    assert "its labels are LABEL_0, LABEL_1. Name its outputs in their order, for example --labels" in error
    found = {}
    for labels in ("negative,positive", "positive, negative"):
        code, out, _ = heatcheck(*audit, "--labels", labels)
        assert code == 0
        found[labels] = json.loads(out)
    right = [each["accuracy"] for each in found.values()]
    assert right[0] == pytest.approx(1 - right[1])
    assert len({each["folder"] for each in found.values()}) == 2, "two audits, not one that overwrites the other"
    code, _, error = heatcheck(*audit, "--labels", "negative,neutral,positive")
    assert code == 2
    assert "has 2 labels" in error


def test_units_are_said(heatcheck, mine):
    explain = ["explain", mine, "a very good film", "--pair", "not bad", "--by", "attention", "--labels", "bad,good"]
    code, out, _ = heatcheck(*explain)
    assert code == 0
    assert "The scores are for words of both texts." in out
    found = json.loads(heatcheck(*explain, "--units", "tokens", "--json")[1])
    assert (found["units"], found["predicted"] in ("bad", "good")) == ("the tokenizer's pieces of both texts", True)
    assert len(found["scores"]["attention"]) == 6
    audit = ["audit", mine, "--data", "films.jsonl", "--labels", "negative,positive", "--examples", "4", "--json"]
    audits = [
        json.loads(heatcheck(*audit, "--checks", "permutation", "--units", units)[1]) for units in ("words", "tokens")
    ]
    assert [each["units"] for each in audits] == ["words", "the tokenizer's pieces"]
    assert audits[0]["folder"] != audits[1]["folder"]


def test_what_is_not_known_of_it_is_asked_for(heatcheck, mine):
    code, _, error = heatcheck("audit", mine, "--labels", "negative,positive")
    assert (code, "does not record its training data: name the data with --data" in error) == (2, True)
    audit = ["audit", mine, "--data", "films.jsonl", "--labels", "negative,positive", "--refit"]
    code, _, error = heatcheck(*audit)
    assert (code, "Name the training data with --train" in error) == (2, True)
    fits = ["--checks", "seed_variance", "--set", "seed_variance.seeds=2", "--train", "films.jsonl"]
    code, out, error = heatcheck(*audit, *fits, "--json")
    assert code == 0, error
    assert "Its retrained models start from its own encoder with a new head" in error
    assert [fit["state"] for fit in json.loads(out)["fits"]] == ["done"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "films.jsonl", "--model", "hf:./nowhere"], "no folder ./nowhere"),
        (["train", "films.jsonl", "--model", "tiny"], "--model must be hf:NAME"),
        (["train", "films.jsonl", "--model", "MINE", "--encoder", "lstm"], "encoder is a setting of models"),
        (["train", "films.jsonl", "--model", "MINE", "--preset", "wp"], "the preset wp is for models"),
        (["train", "films.jsonl", "--preset", "finetune"], "ame one with --model hf:NAME"),
        (["train", "films.jsonl", "--set", "model=x"], "--set does not take model: use --model"),
        (["train", "films.jsonl", "--model", "MINE", "--impose", "log_odds"], "pieces of words"),
        (["explain", "hf:./nowhere", "a film"], "no folder ./nowhere"),
        (["explain", "MINE", "a film", "--units", "letters"], "unknown kind of units 'letters'"),
    ],
)
def test_a_mistake_is_one_sentence(heatcheck, mine, arguments, sentence):
    code, _, error = heatcheck(*(mine if argument == "MINE" else argument for argument in arguments))
    assert code == 2
    assert sentence in error
    assert len(error.strip().splitlines()) == 1

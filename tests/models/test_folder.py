"""Saved and loaded again it is the same; a damaged folder is one sentence."""

import json

import pytest
import torch

from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import Recipe, load, save
from subjects import HIERARCHICAL, SINGLE, SUBJECTS, classifier

KEPT = [
    "lstm",
    "cnn",
    "conv",
    "gru",
    "average",
    "none linear",
    "pair merge",
    "label-wise dot",
    "han gru",
    "han options",
]


@pytest.mark.parametrize("name", KEPT)
def test_a_round_trip(name, tmp_path):
    subject, examples = {**SUBJECTS, **HIERARCHICAL}[name]
    save(subject, tmp_path)
    again = load(tmp_path)
    assert type(again) is type(subject)
    assert again.settings == subject.settings
    assert again.labels == subject.labels
    assert not again.training
    assert torch.equal(again.run(again.encode(examples)).logits, subject.run(subject.encode(examples)).logits)


def test_the_recipe_travels(tmp_path):
    subject = classifier(SINGLE)
    subject.recipe = Recipe("a@b", {"x": [1, 2]}, {}, 0, {"name": "likelihood"})
    save(subject, tmp_path)
    assert load(tmp_path).recipe == subject.recipe
    assert load(tmp_path).id == subject.recipe.id


def test_a_folder_from_before_there_were_sentences(tmp_path):
    subject, examples = SUBJECTS["lstm"]
    save(subject, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["settings"]["hierarchical"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    again = load(tmp_path)
    assert torch.equal(again.run(again.encode(examples)).logits, subject.run(subject.encode(examples)).logits)


def damage(name, content):
    def change(folder):
        (folder / name).write_bytes(content) if content is not None else (folder / name).unlink()

    return change


def truncate(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def other_settings(folder):
    config = json.loads((folder / "config.json").read_text())
    config["settings"]["hidden"] = 16
    (folder / "config.json").write_text(json.dumps(config))


def other(key, value):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        config[key] = value
        (folder / "config.json").write_text(json.dumps(config))

    return change


def nested_words(folder):
    words = json.loads((folder / "vocabulary.json").read_text())
    words["tokens"][-1] = ["nested"]
    (folder / "vocabulary.json").write_text(json.dumps(words))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (damage("model.safetensors", None), r"has no file model.safetensors: train the model again"),
        (truncate, r"model.safetensors is truncated or belongs to another model"),
        (damage("model.safetensors", b""), r"model.safetensors is truncated or belongs to another model"),
        (other_settings, r"model.safetensors is truncated or belongs to another model"),
        (damage("config.json", None), r"config.json cannot be read: No such file"),
        (damage("config.json", b'{"kind": "class'), r"config.json is not valid JSON"),
        (damage("config.json", b"{}"), r"is damaged or was edited"),
        (damage("config.json", b'{"kind": "forest", "format": 1}'), r"has kind forest and format 1"),
        (damage("vocabulary.json", None), r"vocabulary.json cannot be read: No such file"),
        (damage("vocabulary.json", b"[]"), r"is damaged or was edited"),
        (
            damage("vocabulary.json", b'{"tokens": [], "rule": "words", "lowercase": true}'),
            r"is damaged or was edited",
        ),
        (other("labels", ["a"]), r"is damaged or was edited"),
        (other("labels", ["a", "a"]), r"is damaged or was edited .*labels"),
        (other("labels", [["a"], ["b"]]), r"is damaged or was edited .*labels"),
        (other("labels", "ab"), r"is damaged or was edited .*labels"),
        (other("recipe", {}), r"is damaged or was edited .*Recipe"),
        (other("recipe", {"task": 3, "model": {}, "training": {}, "seed": 0, "loss": {}}), r"is damaged or was edited"),
        (other("recipe", []), r"is damaged or was edited .*recipe"),
        (nested_words, r"is damaged or was edited .*tokens"),
        (other("settings", {"hidden": 10**18}), r"hidden must lie between 1 and 100,000"),
    ],
)
def test_a_damaged_folder(tmp_path, change, sentence):
    save(classifier(SINGLE), tmp_path)
    change(tmp_path)
    with pytest.raises(BrokenFolder, match=sentence):
        load(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(BadInput, match=r"no model folder .*latest: train one with `heatcheck train TASK --out"):
        load(tmp_path / "latest")

"""A transformer saved and loaded again is the same; what cannot be read is one sentence."""

import json
from dataclasses import replace

import pytest
import torch

from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import Recipe, load, save
from heatcheck.models.hf import make_transformer, read_pretrained
from pretrained import keep
from tiny_transformers import EXAMPLES, make

RECIPE = Recipe("films@1", {"hf": "a", "weights": "b"}, {}, 0, {"name": "likelihood"})


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "albert"])
def test_a_round_trip(family, tmp_path):
    subject = make(family, labels=3)
    subject.labels, subject.recipe = ("bad", "so-so", "good"), RECIPE
    save(subject, tmp_path)
    again = load(tmp_path)
    assert torch.equal(again.run(again.encode(EXAMPLES)).logits, subject.run(subject.encode(EXAMPLES)).logits)
    assert (again.labels, again.recipe, again.id) == (subject.labels, RECIPE, RECIPE.id)
    assert not again.training
    kept = json.loads((tmp_path / "transformer" / "config.json").read_text())
    assert kept["id2label"] == {"0": "bad", "1": "so-so", "2": "good"}, "others read the names too"
    assert subject.network.config.id2label[0] == "LABEL_0", "saving changes nothing"


def damage(name, content):
    def change(folder):
        (folder / name).write_bytes(content) if content is not None else (folder / name).unlink()

    return change


@pytest.mark.parametrize(
    "change",
    [
        damage("config.json", b"{"),
        damage("config.json", b'{"kind": "transformer", "format": 1}'),
        damage("config.json", b'{"kind": "transformer", "format": 1, "recipe": null, "labels": ["only one"]}'),
        damage("config.json", b'{"kind": "transformer", "format": 9, "labels": []}'),
        damage("config.json", b'{"kind": "transformer", "format": 1, "recipe": {}, "labels": ["a", "b"]}'),
        damage("config.json", b'{"kind": "transformer", "format": 1, "recipe": null, "labels": [["a"], ["b"]]}'),
        damage("transformer/config.json", b"{}"),
        damage("transformer/config.json", None),
        damage("transformer/model.safetensors", b"\x10\0\0"),
        damage("transformer/model.safetensors", None),
        damage("transformer/tokenizer.json", b"{"),
    ],
)
def test_a_damaged_folder(change, tmp_path):
    save(make("bert"), tmp_path)
    change(tmp_path)
    with pytest.raises(BrokenFolder, match=r"config\.json|transformer|vocabulary") as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_labels_are_named_in_order(tmp_path):
    keep("bert", tmp_path / "m")
    assert load(f"hf:{tmp_path / 'm'}").labels == ("LABEL_0", "LABEL_1")
    named = load(f"hf:{tmp_path / 'm'}", labels=["negative", "positive"])
    assert named.labels == ("negative", "positive")
    for labels in (["one"], ["a", "b", "c"], ["a", "a"]):
        with pytest.raises(
            BadInput, match=r"has 2 labels \(LABEL_0, LABEL_1\): give exactly that many different names"
        ):
            load(f"hf:{tmp_path / 'm'}", labels=labels)
    with pytest.raises(BadInput, match="already has its own"):
        load("known:reader@planted_keyword", labels=["a", "b"])


@pytest.mark.parametrize(
    "names",
    [{"0": "no", "2": "yes"}, {"0": "no", "1": "no"}, {"0": ["no"], "1": "yes"}, {"0": "no", "1": None}],
    ids=["a gap", "repeated", "nested", "none"],
)
def test_labels_of_a_config_that_are_no_labels(names, tmp_path):
    """Each output has a name of its own, or is named by whoever loads it."""
    folder = keep("bert", tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": names, "label2id": {}}))
    with pytest.raises(BadInput, match=r"id2label .*--labels"):
        load(f"hf:{folder}")
    assert load(f"hf:{folder}", labels=["bad", "good"]).labels == ("bad", "good")


def test_ids_beyond_the_embedding(tmp_path):
    """The tokenizer of another model: its ids are no rows of this one's table."""
    folder = keep("bert", tmp_path / "m")
    kept = json.loads((folder / "tokenizer.json").read_text())
    kept["model"]["vocab"]["good"] = 10**6
    (folder / "tokenizer.json").write_text(json.dumps(kept))
    subject = load(f"hf:{folder}")
    with pytest.raises(BadInput, match=r"example a: .* id 1,000,000, but .* 21 .*tokenizer"):
        subject.encode([replace(EXAMPLES[0], text="a good film")])


def test_what_cannot_be_read_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "empty").mkdir()
    headless = tmp_path / "headless"
    network = make("bert").network
    network.bert.save_pretrained(headless)
    make("bert").tokenizer.save_pretrained(headless)
    save(make("bert"), tmp_path)
    for name, sentence in {
        f"{tmp_path}/nowhere": "no folder",
        "./nowhere": "no folder",
        "": "needs a name",
        str(tmp_path / "empty"): "has no config.json",
        str(tmp_path): "heatcheck wrote the folder .*: leave out hf:",
        str(headless): r"is not trained to classify \(classifier.bias is missing\): fine-tune it first with `heatcheck",
        "nobody/nothing": "is not a folder here, and the Hugging Face hub did not provide it",
    }.items():
        with pytest.raises(BadInput, match=sentence) as error:
            load(f"hf:{name}")
        assert "\n" not in str(error.value)


def test_a_new_head_on_old_weights(tmp_path):
    """The head follows the seed, the rest is what was pretrained; a head that was there is not kept."""
    start = read_pretrained(str(keep("bert", tmp_path / "m", labels=2)))
    one, same, other = (make_transformer(start, "abc", seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(one[name].equal(same[name]) for name in one)
    differ = {name for name in one if not one[name].equal(other[name])}
    assert differ == {"network.classifier.weight"}
    assert one["network.classifier.weight"].shape == (3, 32)
    assert all(one[f"network.{name}"].equal(tensor) for name, tensor in start.weights.items())


def test_the_fingerprint_is_of_the_weights_below_the_head(tmp_path):
    one, two = (read_pretrained(str(keep("bert", tmp_path / str(n), labels=n))).fingerprint for n in (2, 3))
    other = read_pretrained(str(keep("bert", tmp_path / "other", seed=1))).fingerprint
    changed = read_pretrained(str(tmp_path / "2"))
    name = next(iter(changed.weights))
    nudged = changed._replace(weights={**changed.weights, name: changed.weights[name] + 1e-6})
    assert one == two
    assert len({one, other, nudged.fingerprint}) == 3


def test_dropout_can_be_turned_off(tmp_path):
    start = read_pretrained(str(keep("bert", tmp_path / "m")))
    subject = make_transformer(start, "ab", seed=0, dropout=0.0).train()
    batch = subject.encode([replace(EXAMPLES[0], label=0)])
    one, two = (subject.run(batch).logits for _ in range(2))
    assert torch.equal(one, two)
    own = make_transformer(start, "ab", seed=0).train()
    one, two = (own.run(batch).logits for _ in range(2))
    assert not torch.equal(one, two)


def test_a_folder_of_hugging_face_is_recognised_without_hf(tmp_path):
    """As people type it: the path of what `save_pretrained` wrote."""
    made = make("bert")
    made.network.save_pretrained(tmp_path / "clf")
    made.tokenizer.save_pretrained(tmp_path / "clf")
    found = load(tmp_path / "clf", labels=["bad", "good"])
    assert found.id == load(f"hf:{tmp_path / 'clf'}").id
    assert found.labels == ("bad", "good")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"kind": "classifier", "model_type": "bert"}')
    with pytest.raises(BrokenFolder):
        load(tmp_path / "other")

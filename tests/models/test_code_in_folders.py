"""No code of a model's folder is ever run, and nobody is asked whether it may be: whatever standard input says."""

import io
import json
import sys

import pytest

from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import load, save
from heatcheck.models.hf import make_transformer, read_pretrained
from pretrained import CODE, keep
from tiny_transformers import make


@pytest.fixture(autouse=True)
def _yes_to_everything(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 1000))


@pytest.fixture
def mark(tmp_path):
    """What the code leaves behind where it is run."""
    return tmp_path / "was-run"


def add_code(folder, mark, names, *, file="config.json", **changes):
    """Code in a folder of transformers, and `auto_map`, which names it."""
    (folder / "theirs.py").write_text(CODE.format(mark=str(mark)))
    facts = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**facts, "auto_map": names, **changes}))


OF_A_NETWORK = {"AutoConfig": "theirs.TheirConfig", "AutoModelForSequenceClassification": "theirs.TheirNetwork"}
REFUSED = r"brings its own code.*heatcheck never runs a model's code. Choose a family that transformers"


@pytest.mark.parametrize(
    ("names", "file", "changes"),
    [
        (OF_A_NETWORK, "config.json", {"model_type": "theirs"}),
        (OF_A_NETWORK, "config.json", {"model_type": None}),
        ({"AutoConfig": "someone/else--theirs.TheirConfig"}, "config.json", {"model_type": "theirs"}),
        (
            {"AutoTokenizer": ["theirs.TheirTokenizer", "theirs.TheirTokenizer"]},
            "tokenizer_config.json",
            {"tokenizer_class": "TheirTokenizer"},
        ),
    ],
    ids=["network", "no model_type", "elsewhere", "tokenizer"],
)
def test_code_is_refused_in_one_sentence(names, file, changes, tmp_path, mark, capsys):
    folder = keep("bert", tmp_path / "m")
    add_code(folder, mark, names, file=file, **changes)
    for read in (lambda: load(f"hf:{folder}"), lambda: read_pretrained(str(folder))):
        with pytest.raises(BadInput, match=REFUSED) as error:
            read()
        assert "trust_remote_code" not in str(error.value)
        assert "\n" not in str(error.value)
    assert not mark.exists()
    assert capsys.readouterr().out == "", "nobody was asked"


def test_a_folder_of_our_own_with_code_in_it(tmp_path, mark, capsys):
    (tmp_path / "m").mkdir()
    save(make("bert"), tmp_path / "m")
    add_code(tmp_path / "m" / "transformer", mark, OF_A_NETWORK, model_type="theirs")
    with pytest.raises(BrokenFolder, match=REFUSED):
        load(tmp_path / "m")
    assert not mark.exists()
    assert capsys.readouterr().out == ""


def test_a_family_that_transformers_knows_is_read_by_its_own_code(tmp_path, mark):
    """Folders of such a family may name code too, for older versions of transformers: it is passed over."""
    folder = keep("bert", tmp_path / "m")
    add_code(folder, mark, OF_A_NETWORK)
    assert load(f"hf:{folder}").labels == ("LABEL_0", "LABEL_1")
    assert make_transformer(read_pretrained(str(folder)), "ab", seed=0).labels == ("a", "b")
    assert not mark.exists()

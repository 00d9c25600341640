"""`heatcheck data import` as a user meets it."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from heatcheck.cli import app
from heatcheck.data.importing import IMPORTERS
from originals import EXCLUDED, EXPECTED, ORIGINALS, pack, write

DOCS = Path(__file__).parents[2] / "docs"


def test_help_names_every_importer(heatcheck):
    code, out, _ = heatcheck("data", "--help")
    assert code == 0
    listed = re.findall(r"^    (\w+)  ", out, flags=re.MULTILINE)
    assert listed == sorted(IMPORTERS)
    assert all(len(line) <= 80 + 4 for line in out.splitlines())
    code, out, _ = heatcheck("data", "import", "--help")
    assert code == 0
    assert "--out" in out
    assert "--json" in out


@pytest.mark.parametrize("name", IMPORTERS)
def test_counts_as_json(heatcheck, name, tmp_path):
    path = write(ORIGINALS[name], tmp_path / "original")
    code, out, err = heatcheck("data", "import", name, path, "--out", "corpora", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["file"] == f"corpora/{IMPORTERS[name].file}"
    assert Path(found["file"]).is_file()
    assert sum(found["written"].values()) == len(EXPECTED[name])
    assert found["excluded"] == EXCLUDED.get(name, {})
    assert found["read"] == sum(found["written"].values()) + sum(found["excluded"].values())


def test_counts_in_words(heatcheck, tmp_path):
    archive = pack(ORIGINALS["snli"], tmp_path / "snli_1.0.zip")
    code, out, err = heatcheck("data", "import", "snli", archive)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "4 records read, 3 rows written: train 1, dev 1, test 1",
        "excluded: 1 without a gold label (the annotators disagreed)",
        "differs from the published size: train 549,367, dev 9,842, test 9,824",
        "saved: data/snli.jsonl.gz",
        "next:  heatcheck train snli --data-dir data",
    ]


def test_the_data_folder_of_the_environment(heatcheck, tmp_path, monkeypatch):
    monkeypatch.setenv("HEATCHECK_DATA", str(tmp_path / "mine"))
    assert heatcheck("data", "import", "sst", write(ORIGINALS["sst"], tmp_path / "original"))[0] == 0
    assert (tmp_path / "mine" / "sst.jsonl.gz").is_file()
    listed = {task["name"]: task["ready"] for task in json.loads(heatcheck("tasks", "--json")[1])}
    assert listed["sst"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ssst", "original"], "did you mean 'sst'?"),
        (["sst", "none.zip"], "none.zip does not exist. To import sst, give train.txt, dev.txt and test.txt"),
        (["snli", "original"], "original has no snli_1.0_train.jsonl. To import snli, give"),
        (
            ["sst", "original", "--out", "there"],
            "there/sst.jsonl.gz already exists. Delete it, or choose another folder",
        ),
        (["sst", "original", "--out", "original/trees/dev.txt"], "cannot write"),
        (["sst", "original/trees/dev.txt", "--out", "new"], "original/trees/dev.txt has no train.txt. To import sst"),
    ],
)
def test_mistakes_are_one_sentence(heatcheck, tmp_path, arguments, sentence):
    write({**ORIGINALS["sst"]}, tmp_path / "original")
    write({"sst.jsonl.gz": "mine"}, tmp_path / "there")
    before = sorted(path for path in tmp_path.rglob("*"))
    code, out, err = heatcheck("data", "import", *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("heatcheck: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert (tmp_path / "there" / "sst.jsonl.gz").read_text() == "mine"


def test_commands_shown_parse_whole():
    """`tests/test_docs.py` sees only that the group is there."""
    shown = [
        line.split("  #")[0]
        for page in sorted(DOCS.rglob("*.md"))
        for line in re.findall(r"^heatcheck data .*$", page.read_text(), flags=re.MULTILINE)
    ]
    assert len(shown) >= 5
    group = typer.main.get_command(app).commands["data"]
    for line in shown:
        _, _, name, *arguments = shlex.split(line)
        context = group.commands[name].make_context(name, arguments)
        assert context.params["task"] in IMPORTERS


def test_the_page_on_importing_names_every_importer():
    page = (DOCS / "importing.md").read_text()
    for importer in IMPORTERS.values():
        assert f"| `{importer.name}`" in page
        assert importer.file.removesuffix(".jsonl.gz") in page

"""Models are called as people called their folders, and the page that is opened is the one that is named."""

import webbrowser

import pytest

import heatcheck as hc
from heatcheck import serve
from heatcheck.models import Recipe, load, name_of, save, shown_names
from heatcheck.serve.shown_models import NEUTRAL, offer
from heatcheck.training.own_file import remember
from subjects import SINGLE, classifier

ROWS = "text,label\n" + "".join(f"{e.text} number {n},{'yes' if e.label else 'no'}\n" for n, e in enumerate(SINGLE * 4))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model that was trained on mine.csv, kept where its user wanted it, seen from the folder above."""
    (tmp_path / "mine.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    subject = classifier(SINGLE, encoder="average")
    task = hc.load_task("mine.csv").reference
    subject.recipe = Recipe(task, {"encoder": "average"}, {}, 3, {"name": "likelihood"})
    for name in ("runs/my-lstm", f"fits/{subject.recipe.id}"):
        (tmp_path / name).mkdir(parents=True)
        save(subject, tmp_path / name)
    return "runs/my-lstm"


def test_an_audit_has_the_name_of_the_folder(folder):
    options = {"checks": ["permutation"], "examples": 5, "split": "all"}
    for subject in (folder, f"./{folder}/", load(folder)):
        assert hc.audit(subject, "mine.csv", **options).subject == "my-lstm"
    unnamed = load(f"fits/{load(folder).id}")
    assert name_of(unnamed) == f"average on mine.csv, seed 3 ({unnamed.id})"
    assert shown_names(["a/x", "b/x", "c/y"], [unnamed] * 3) == ["a/x", "b/x", "y"]


def test_a_refusal_calls_the_model_by_its_name(folder):
    found = hc.audit(folder, "mine.csv", checks=["identifiability", "permutation"], examples=5, split="all")
    assert "my-lstm" in found.not_run["identifiability"]
    assert load(folder).id not in str(found.missing)


def test_the_browser_is_sent_to_the_address_that_is_printed(folder, heatcheck, monkeypatch):
    opened, served = [], []

    def stand_in(subjects, *, folders, study, port, started):
        assert study is None
        served.append((list(subjects), folders))
        started(f"http://127.0.0.1:{port}/")

    monkeypatch.setattr(serve, "serve", stand_in)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    _, said, _ = heatcheck("serve", folder, "--port", 4321, "--open")
    assert served == [(["my-lstm"], {"my-lstm": folder})]
    assert opened == ["http://127.0.0.1:4321/"]
    assert f"the page: {opened[0]} " in said
    heatcheck("serve", folder)
    assert len(opened) == 1


def test_the_page_begins_with_a_text_of_the_model(folder, tmp_path):
    samples = offer("m", load(folder)).samples
    assert samples[0].text in ROWS
    (tmp_path / "mine.csv").write_text(ROWS.replace("film", "book"))  # another file by now
    assert offer("m", load(folder)).samples == [NEUTRAL]


def test_the_page_reads_the_file_as_it_was_read_for_training(folder, tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text(ROWS.replace("text,label", "Review,Stars"))
    corpus = hc.load_task("mine.csv", text_column="Review", label_column="Stars")
    assert corpus.reference == load(folder).recipe.task, "neither path nor options are part of it"
    assert offer("m", load(folder), "", folder).samples == [NEUTRAL]
    remember(corpus, tmp_path / folder)
    monkeypatch.chdir(tmp_path / "fits")
    assert offer("m", load(tmp_path / folder), "", tmp_path / folder).samples[0].text in ROWS

"""Rows that a model was trained on are not audited, whatever the file that they come in is called."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from heatcheck.auditing import audit, plan_audit
from heatcheck.data import Corpus, Example, Seen, Split, load_task, seen_in
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import load
from heatcheck.results import audit_facts, keep_audit, read_audit
from heatcheck.training import train

ROWS = [{"text": f"a {'good' if n % 2 else 'dull'} film number {n}", "label": n % 2} for n in range(60)]
UNSEEN = [{"text": f"an {'odd' if n % 2 else 'old'} story number {n}", "label": n % 2} for n in range(8)]
TRAIN, DEV = "in its train split", "in its dev split"


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model in a folder, and the file it was trained on: 48 rows of train, 6 of dev, 6 of test."""
    folder = tmp_path_factory.mktemp("trained")
    path = write(folder / "mine.jsonl", ROWS)
    train(path, epochs=1, encoder="average", hidden=4, embedding=4, progress=False, out=folder / "model")
    tests = [example.text for example in load_task(path)["test"]]
    assert len(tests) == 6
    return SimpleNamespace(path=path, folder=folder / "model", tests=tests)


def texts(plan):
    return sorted(example.text for example in plan.case.tested)


def under_other_names(kind, folder, path):
    """The same rows in another guise."""
    if kind == "another name":
        return shutil.copy(path, folder / "copy.jsonl")
    if kind == "another column":
        return write(folder / "other.jsonl", [{**row, "note": "x"} for row in ROWS])
    if kind == "ids":
        return write(folder / "other.jsonl", [{**row, "id": f"r{n}"} for n, row in enumerate(ROWS)])
    if kind == "other labels":  # a text was read in training, whatever it is called now
        return write(folder / "other.jsonl", [{**row, "label": 1 - row["label"]} for row in ROWS])
    if kind == "other white space and case":
        return write(folder / "other.jsonl", [{**row, "text": f"{row['text'].title()} \n"} for row in ROWS])
    if kind == "lists":
        return [row["text"] for row in ROWS], [row["label"] for row in ROWS]
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS)


@pytest.mark.parametrize(
    "kind",
    ["another name", "another column", "ids", "other labels", "other white space and case", "lists", "frame"],
)
def test_the_same_rows_in_another_guise_give_the_same_test_rows(trained, tmp_path, kind):
    plan = plan_audit(load(trained.folder), under_other_names(kind, tmp_path, trained.path))
    assert [" ".join(text.lower().split()) for text in texts(plan)] == [text.lower() for text in sorted(trained.tests)]
    assert dict(plan.rows.left_out) == {TRAIN: 48, DEV: 6}
    assert (plan.split, plan.available) == ("all", 6)


def test_rows_are_counted_in_and_out(trained, tmp_path):
    """One row less, some more, and some twice: a row is left out as often as it stands there."""
    given = [*ROWS[1:], *UNSEEN, *ROWS[:10]]
    plan = plan_audit(load(trained.folder), write(tmp_path / "more.jsonl", given))
    expected = sorted(row["text"] for row in given if row["text"] in trained.tests or row in UNSEEN)
    assert texts(plan) == expected
    assert plan.available + sum(plan.rows.left_out.values()) == len(given)
    assert set(plan.rows.left_out) == {TRAIN, DEV}


def test_the_very_data_keeps_its_own_test_split(trained):
    plan = plan_audit(load(trained.folder), trained.path)
    assert (plan.split, texts(plan), plan.rows.left_out) == ("test", sorted(trained.tests), {})
    assert plan.rows.said == ""


def test_a_published_split_stays_whole_and_says_what_it_repeats():
    """Corpora repeat some training texts in test: scores are comparable only where all of them stay."""
    examples = [Example(f"e{n}", row["text"], label=row["label"]) for n, row in enumerate(ROWS)]
    repeated = (*examples[40:], Example("again", ROWS[0]["text"], label=0))
    splits = {"train": examples[:30], "dev": examples[30:40], "test": repeated}
    corpus = Corpus("some", ("0", "1"), {name: Split(name, tuple(of)) for name, of in splits.items()})
    subject = train(corpus, epochs=1, encoder="average", hidden=4, embedding=4, progress=False).subject
    plan = plan_audit(subject, corpus)
    assert (plan.available, dict(plan.rows.left_out)) == (21, {})
    assert "1 of the 21 rows" in plan.rows.said
    renamed = Corpus("other", corpus.labels, corpus.splits)
    plan = plan_audit(subject, renamed)
    assert (plan.split, plan.available, dict(plan.rows.left_out)) == ("test", 20, {TRAIN: 1})


def test_whoever_names_a_split_gets_it_and_is_told(trained, tmp_path):
    subject, copy = load(trained.folder), shutil.copy(trained.path, tmp_path / "copy.jsonl")
    for split, rows, seen in (("all", 60, 54), ("train", 48, 48), ("dev", 6, 6)):
        plan = plan_audit(subject, copy, split=split)
        assert (plan.available, dict(plan.rows.left_out)) == (rows, {})
        assert f"{seen} of the {rows} rows" in plan.rows.said
        assert f"--split {split}" in plan.rows.said
    assert texts(plan_audit(subject, copy, split="test")) == sorted(trained.tests)
    assert texts(plan_audit(subject, write(tmp_path / "new.jsonl", UNSEEN), split="all"))
    assert not plan_audit(subject, tmp_path / "new.jsonl", split="all").rows.said


def test_where_nothing_is_left_one_sentence_says_so(trained, tmp_path):
    seen = [row for row in ROWS if row["text"] not in trained.tests]
    path = write(tmp_path / "seen.jsonl", seen)
    with pytest.raises(BadInput, match=r"trained with all 54 rows of seen.jsonl, .* --split all"):
        plan_audit(load(trained.folder), path)
    assert plan_audit(load(trained.folder), path, split="all").available == 54


def test_a_folder_of_before(trained, tmp_path):
    """It has no fingerprints: they come from its data where that is found, or it is said that nobody knows."""
    old = shutil.copytree(trained.folder, tmp_path / "old")
    (old / "seen.safetensors").unlink()
    copy = shutil.copy(trained.path, tmp_path / "copy.jsonl")
    subject = load(old)
    assert subject.seen is None
    plan = plan_audit(subject, copy)
    assert (plan.available, dict(plan.rows.left_out)) == (60, {})
    assert "heatcheck does not know the training data" in plan.rows.said
    assert "--train" in plan.rows.said
    told = plan_audit(subject, copy, train=trained.path)
    assert texts(told) == sorted(trained.tests)
    assert dict(told.rows.left_out) == {TRAIN: 48, DEV: 6}
    assert plan_audit(subject, trained.path).rows.said == ""


def test_what_is_named_is_believed_of_models_from_elsewhere(trained, tmp_path):
    """One that no folder of heatcheck holds: nobody knows its texts, unless the user does."""
    from subjects import SINGLE, classifier

    subject, copy = classifier(SINGLE, ("0", "1")), shutil.copy(trained.path, tmp_path / "copy.jsonl")
    plan = plan_audit(subject, copy)
    assert (plan.split, plan.available) == ("all", 60)
    assert "heatcheck does not know the training data" in plan.rows.said
    plan = plan_audit(subject, copy, train=copy)
    assert (plan.split, texts(plan), plan.rows.said) == ("test", sorted(trained.tests), "")
    plan = plan_audit(subject, copy, train=trained.path)
    assert (plan.split, texts(plan), dict(plan.rows.left_out)) == ("all", sorted(trained.tests), {TRAIN: 48, DEV: 6})


def test_models_that_were_never_trained_say_nothing():
    reader = load("known:reader@planted_keyword")
    for split, rows in ((None, 1000), ("train", 2000)):
        plan = plan_audit(reader, "planted_keyword", split=split)
        assert (plan.available, plan.rows.left_out, plan.rows.said) == (rows, {}, "")


def test_fingerprints_are_all_that_is_kept(trained):
    from safetensors.numpy import load_file

    kept = load_file(trained.folder / "seen.safetensors")
    assert {name: (values.dtype, len(values)) for name, values in kept.items()} == {
        "train": (np.dtype("int64"), 48),
        "dev": (np.dtype("int64"), 6),
    }
    assert all((np.diff(values) > 0).all() for values in kept.values()), "sorted: not even their order is told"
    assert b"film" not in (trained.folder / "seen.safetensors").read_bytes()
    (broken := shutil.copytree(trained.folder, trained.folder.parent / "broken") / "seen.safetensors").write_bytes(b"x")
    with pytest.raises(BrokenFolder, match=r"seen.safetensors is truncated or belongs to another model"):
        load(broken.parent)


def test_a_pair_is_known_by_both_texts():
    """A passage that was trained on under another question was not trained on."""
    pair = Example("a", "a lamp", "where ?", 0)
    seen = seen_in(Corpus("some", ("0", "1"), {"train": Split("train", (pair,)), "dev": Split("dev", ())}))
    others = [
        Example("b", "A  lamp", "where ?", 1),
        Example("c", "a lamp", "who ?", 0),
        Example("d", "a lamp", label=0),
    ]
    assert seen.split_of(others) == ["train", None, None]
    assert seen.split_of([]) == []
    more = Seen({"dev": seen.fingerprints["train"], "train": np.zeros(0, np.int64)})
    assert more.split_of(others)[0] == "dev"
    assert seen.joined(more).split_of(others)[0] == "train", "counted once, under what weighs more"


def test_audit_and_report_say_it(trained, tmp_path):
    from heatcheck.report import write_markdown, write_numbers, write_report

    given = write(tmp_path / "copy.jsonl", [*ROWS, *UNSEEN])
    found = audit(load(trained.folder), given, checks=["permutation"])
    assert found.available == found.n == 14
    assert found.left_out == {TRAIN: 48, DEV: 6}
    facts = audit_facts(found)
    assert facts["available"] + sum(facts["left_out"].values()) == len(ROWS) + len(UNSEEN)
    assert facts["training_rows"] == found.training_rows
    keep_audit(found, tmp_path / "kept")
    assert read_audit(tmp_path / "kept").left_out == found.left_out
    write_numbers(found, tmp_path / "numbers.json")
    assert json.loads((tmp_path / "numbers.json").read_text())["left_out"] == {TRAIN: 48, DEV: 6}
    for writer, name in ((write_report, "report.html"), (write_markdown, "report.md")):
        writer(found, tmp_path / name)
        assert "left out 54 of the 68 rows" in (tmp_path / name).read_text()


def test_an_audit_that_left_out_nothing_says_so(trained, tmp_path):
    found = audit(load(trained.folder), trained.path, checks=["permutation"])
    assert found.left_out == {}
    keep_audit(found, tmp_path)
    assert read_audit(tmp_path).left_out == {}


def test_the_terminal_says_it(trained, tmp_path, monkeypatch, capsys):
    from heatcheck.cli import main

    copy = shutil.copy(trained.path, tmp_path / "copy.jsonl")
    arguments = ["audit", str(trained.folder), "--data", str(copy), "--checks", "permutation", "--format", "csv"]
    for more in ([], ["--plan"]):
        monkeypatch.setattr("sys.argv", ["heatcheck", *arguments, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        assert "left out 54 of the 60 rows" in " ".join(capsys.readouterr().out.split())

"""A user's own data: read right, or refused in one sentence that names the place."""

import gzip
import json

import duckdb
import pandas
import pytest

from heatcheck.data import load_task, read_frame
from heatcheck.errors import BadInput, UnknownName

ROWS = [{"text": f"text number {n}", "label": "good" if n % 2 else "bad"} for n in range(40)]


def as_csv(rows, delimiter=","):
    head = delimiter.join(rows[0])
    return "\n".join([head, *(delimiter.join(f'"{value}"' for value in row.values()) for row in rows)]) + "\n"


def as_jsonl(rows):
    return "\n".join(json.dumps(row) for row in rows)


def test_every_format_gives_the_same_corpus(tmp_path):
    (tmp_path / "mine.csv").write_text(as_csv(ROWS))
    (tmp_path / "mine.tsv").write_text(as_csv(ROWS, "\t"))
    (tmp_path / "mine.jsonl").write_text(as_jsonl(ROWS))
    with gzip.open(tmp_path / "mine.jsonl.gz", "wt") as out:
        out.write(as_jsonl(ROWS))
    frame = pandas.DataFrame(ROWS)
    frame.to_csv(tmp_path / "bom.csv", index=False, encoding="utf-8-sig")
    values = ", ".join(f"('{row['text']}', '{row['label']}')" for row in ROWS)
    duckdb.sql(f"copy (select * from (values {values}) as t(text, label)) to '{tmp_path}/mine.parquet'")
    names = ["mine.csv", "mine.tsv", "mine.jsonl", "mine.jsonl.gz", "mine.parquet"]
    corpora = [load_task(tmp_path / name) for name in names]
    contents = {tuple(sorted((e.text, e.label) for e in corpus["train"])) for corpus in corpora}
    assert len(contents) == 1
    assert corpora[0].labels == ("bad", "good")
    assert {name: len(split) for name, split in corpora[0].splits.items()} == {"train": 32, "dev": 4, "test": 4}
    same = (
        load_task(tmp_path / "bom.csv"),
        read_frame(frame),
        load_task(([r["text"] for r in ROWS], [r["label"] for r in ROWS])),
    )
    for corpus in same:
        assert [e.text for e in corpus["train"]] == [e.text for e in corpora[0]["train"]]


def test_a_split_does_not_depend_on_the_order_of_rows_and_keeps_twins_together():
    rows = [*ROWS, *ROWS[:20]]
    one = read_frame(pandas.DataFrame(rows))
    other = read_frame(pandas.DataFrame(rows[::-1]))
    for name in ("train", "dev", "test"):
        assert {e.text for e in one[name]} == {e.text for e in other[name]}
    sides = [{e.text for e in one[name]} for name in ("train", "dev", "test")]
    assert not sides[0] & sides[1]
    assert not sides[0] & sides[2]
    assert sum(len(one[name]) for name in one.splits) == 60


def test_optional_columns():
    rows = [
        {"id": f"x{n}", "text": "not so bad", "text_pair": "is it?", "label": n % 3, "split": split, "rationale": mark}
        for n, (split, mark) in enumerate([("train", "1 0 1"), ("validation", [0, 0, 1]), ("test", "[1, 1, 1]")] * 3)
        for n in [n + (n // 3)]
    ]
    rows = [{**row, "id": f"x{n}", "label": (n // 3) % 3} for n, row in enumerate(rows)]
    corpus = read_frame(pandas.DataFrame(rows))
    assert corpus.labels == ("0", "1", "2")
    assert corpus.segments == 2
    assert [e.id for e in corpus["dev"]] == ["x1", "x4", "x7"]
    assert corpus["train"].examples[0].marks == {"rationale": (True, False, True)}
    assert corpus["test"].examples[0].marks == {"rationale": (True, True, True)}


def test_numbers_as_labels_are_sorted_as_numbers():
    rows = [{"text": f"t {n}", "label": n % 11} for n in range(44)]
    assert read_frame(pandas.DataFrame(rows)).labels == tuple(str(n) for n in range(11))


def changed(at, **values):
    return [{**row, **(values if n == at else {})} for n, row in enumerate(ROWS)]


SPLIT = [{**row, "split": "train" if n < 30 else "test"} for n, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (changed(15, text=""), r"bad.jsonl, line 16: the text is empty"),
        (changed(15, text="  "), r"bad.jsonl, line 16: the text is empty"),
        (changed(15, text=7), r"bad.jsonl, line 16: the text is a int, not a string"),
        (changed(15, text="word " * 100_000), r"bad.jsonl, line 16: the text has 100,000 words; the limit is 20,000"),
        (changed(15, label=None), r"bad.jsonl, line 16: the label is empty"),
        (changed(15, rationale="0 1"), r"line 16: the rationale has 2 marks, but the text has 3 words"),
        (changed(15, rationale="0 2 1"), r"line 16: the rationale must have a 0 or 1 for every word"),
        (changed(15, split="test"), r"bad.jsonl, line 1: the split is empty, but other rows have one"),
        (
            [{**r, "split": "holdout"} for r in ROWS],
            r"bad.jsonl, line 1: the split 'holdout' is not one of train, dev, test",
        ),
        (
            [{**r, "id": n % 20} for n, r in enumerate(ROWS)],
            r"line 21: the id '0' was already used in .*bad.jsonl, line 1",
        ),
        ([{**r, "label": "x"} for r in ROWS], r"train split of bad.jsonl has only one class \(x\)"),
        ([{"text": "a"}] * 3, r"bad.jsonl has no column 'label'. Its columns: text"),
        ([{"txt": "a", "label": 1}], r"bad.jsonl has no column 'text'. Its columns: txt, label"),
        (
            [*SPLIT, {"text": "a", "label": "ugly", "split": "test"}],
            r"line 41: the label 'ugly' is not in the train",
        ),
        ([{**r, "split": "train"} for r in ROWS], r"the test split of bad.jsonl is empty"),
        ([[1, 2]], r"bad.jsonl, line 1: not a JSON object"),
        (changed(15, label="  "), r"bad.jsonl, line 16: the label is empty"),
        (changed(15, label=["good"]), r"bad.jsonl, line 16: the label is a list, not a name or a number"),
        (changed(15, text="half \ud800"), r"bad.jsonl, line 16: the text contains an invalid character"),
        (changed(15, rationale=[0.5, 1.0, 0.9]), r"line 16: the rationale must have a 0 or 1 for every word"),
        (changed(15, rationale=[float("inf"), 1, 1]), r"line 16: the rationale must have a 0 or 1 for every word"),
    ],
)
def test_bad_rows(tmp_path, rows, sentence):
    (tmp_path / "bad.jsonl").write_text(as_jsonl(rows))
    with pytest.raises(BadInput, match=sentence):
        load_task(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("bad.csv", b"", r"bad.csv is empty"),
        ("bad.csv", b"text,label\n", r"bad.csv is empty"),
        ("bad.csv", b"text,label\na,1\nb,2,3\n", r"bad.csv, row 3: 3 fields, but the header has 2 columns"),
        ("bad.csv", b'text,label\n"a"b,1\n', r"bad.csv, row 2: ',' expected after '\"'"),
        ("bad.csv", b"text,label\ngood,1\ncaf\xe9,0\n", r"bad.csv, line 3: not UTF-8 \(byte 0xe9\)"),
        ("bad.csv", b"text,label\n" + b"w " * 100_000 + b",1\n", r"bad.csv, row 2: the text has 100,000 words"),
        ("bad.jsonl", b'{"text": "a", "label": 1}\n{"text": \n', r"bad.jsonl, line 2: not JSON"),
        ("bad.jsonl.gz", b"not gzip", r"bad.jsonl.gz cannot be read"),
        ("bad.csv", b"text,text,label\na,b,1\n", r"bad.csv has two columns named 'text'"),
        ("bad.jsonl", b"[" * 100_000, r"bad.jsonl, line 1: not JSON"),
        ("bad.jsonl", b'{"text": "a", "label": ' + b"1" * 10_000 + b"}", r"bad.jsonl, line 1: not JSON"),
        ("bad.csv.gz", gzip.compress(b"text,label\n" * 99, mtime=0)[:30] + b"x" * 30, r"bad.csv.gz cannot be read"),
        ("bad.parquet", b"not parquet", r"bad.parquet cannot be read as Parquet"),
        ("bad.xlsx", b"", r"bad.xlsx has the unknown suffix .xlsx. Use .csv, .tsv, .jsonl or .parquet"),
    ],
)
def test_bad_files(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        load_task(tmp_path / name)


def test_what_is_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"missing.csv does not exist"):
        load_task(tmp_path / "missing.csv")
    with pytest.raises(UnknownName, match=r"unknown task 'rotten_tomatos' \(did you mean 'rotten_tomatoes'\?\)"):
        load_task("rotten_tomatos")
    with pytest.raises(
        BadInput, match=r"the file of the task sst is missing: copy sst.jsonl.gz to data, or name its folder"
    ):
        load_task("sst")
    with pytest.raises(BadInput, match="2 texts but 1 labels"):
        load_task((["a", "b"], [1]))
    for wrong in (None, 3, ["a", "b"], {"text": "a"}, (["a"], [1], "name")):
        with pytest.raises(BadInput, match=r"data cannot be a .*Give the name of a task, a file"):
            load_task(wrong)


def test_names_that_mean_something_elsewhere(tmp_path):
    """A file is not the task of the same name, a star in a name is a star, and labels may look like numbers."""
    (tmp_path / "reviews.jsonl").write_text(as_jsonl(ROWS))
    corpus = load_task(tmp_path / "reviews.jsonl")
    assert corpus.name == "reviews.jsonl"
    assert {e.id for split in corpus.splits.values() for e in split} == {f"line {n}" for n in range(1, 41)}
    values = ", ".join(f"('{row['text']}', '{row['label']}')" for row in ROWS)
    for name in ("y1", "y*"):
        duckdb.sql(f"copy (select * from (values {values}) as t(text, label)) to '{tmp_path}/{name}.parquet'")
    assert sum(map(len, load_task(tmp_path / "y*.parquet").splits.values())) == 40
    odd = [{"text": f"t {n}", "label": ["--1", "7" * 500, "-2", "10"][n % 4]} for n in range(40)]
    assert read_frame(pandas.DataFrame(odd)).labels == ("-2", "10", "--1", "7" * 500)


def test_words_are_cut_at_line_breaks_too():
    rows = [{"text": f"was\ngreat\tindeed {n}", "label": n % 2} for n in range(20)]
    assert read_frame(pandas.DataFrame(rows))["train"].examples[0].words[:3] == ("was", "great", "indeed")


def test_holes_of_a_frame():
    frame = pandas.DataFrame({"text": ["a", "b"], "label": pandas.array(["x", pandas.NA], dtype="string")})
    with pytest.raises(BadInput, match="frame, row 1: the label is empty"):
        read_frame(frame)
    frame = pandas.DataFrame([["a", "b", "x"]], columns=["text", "text", "label"])
    with pytest.raises(BadInput, match="frame has two columns named 'text'"):
        read_frame(frame)

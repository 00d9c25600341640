"""Scores computed elsewhere are an explainer like any other, or one sentence."""

import json

import pytest

from heatcheck.errors import BadInput
from heatcheck.explainers import check_ids, explain_one
from subjects import SINGLE, SUBJECTS

SUBJECT, _ = SUBJECTS["lstm"]


def write(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return f"file:{path}"


def test_both_formats(tmp_path):
    plain = write(tmp_path / "mine.jsonl", [{"id": e.id, "scores": list(range(len(e.words)))} for e in SINGLE])
    eraser = write(
        tmp_path / "eraser.jsonl",
        [
            {
                "annotation_id": e.id,
                "rationales": [{"docid": e.id, "soft_rationale_predictions": list(range(len(e.words)))}],
            }
            for e in SINGLE
        ],
    )
    one, other = (explain_one(SUBJECT, SINGLE, name) for name in (plain, eraser))
    assert (one.values == other.values).all()
    assert one.values[0, :3].tolist() == [0, 1, 2]
    assert not one.missing


def test_examples_the_file_lacks_are_missing_by_name(tmp_path):
    name = write(tmp_path / "some.jsonl", [{"id": "e0", "scores": [1, 2, 3]}])
    assert set(explain_one(SUBJECT, SINGLE, name).missing) == {"e1", "e2", "e3", "e4"}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"id": "e0", "scores": [1, 2]}], r"bad.jsonl, line 1: there are 2 scores for 'e0', but its text has 3 words"),
        ([{"id": "x", "scores": [1]}], r"none of its ids \(x, …\) is in the data"),
        ([{"id": "e0"}], r"line 1: a line needs `id` and `scores`"),
        ([{"id": "e0", "scores": ["a", "b", "c"]}], r"line 1: a line needs `id` and `scores`"),
        ([{"id": "e0", "scores": [1, 2, None]}], r"line 1: a line needs `id` and `scores`"),
        ([{"annotation_id": "e0", "rationales": []}], r"line 1: a line needs `id` and `scores`"),
        ([{"annotation_id": "e0", "rationales": 3}], r"line 1: a line needs `id` and `scores`"),
        ([{"annotation_id": "e0", "rationales": [3]}], r"line 1: a line needs `id` and `scores`"),
        ([{"annotation_id": "e0", "rationales": "e0"}], r"line 1: a line needs `id` and `scores`"),
        ([{"annotation_id": "e0", "rationales": {"soft": 1}}], r"line 1: a line needs `id` and `scores`"),
        ([{"id": "e0", "scores": [1, 2, 10**400]}], r"line 1: a line needs `id` and `scores`"),
        ([{"id": "e0", "scores": [1, 2, 3]}] * 2, r"line 2: id 'e0' occurs twice; it was used before, at .*line 1"),
        ([], r"bad.jsonl is empty"),
    ],
)
def test_bad_scores(tmp_path, rows, sentence):
    name = write(tmp_path / "bad.jsonl", rows)
    with pytest.raises(BadInput, match=sentence):
        explain_one(SUBJECT, SINGLE, name)


def test_an_id_the_data_does_not_have(tmp_path):
    write(tmp_path / "s.jsonl", [{"id": "e0", "scores": [1, 2, 3]}, {"id": "e9", "scores": [1]}])
    with pytest.raises(BadInput, match=r"s.jsonl, line 2: id 'e9' is not in the data"):
        check_ids(tmp_path / "s.jsonl", [e.id for e in SINGLE])

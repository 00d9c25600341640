"""A CSV as people have it: other delimiters, other headers, holes, and labels that look alike."""

import pandas
import pytest

from heatcheck.data import doubtful_labels, label_counts, load_task, read_texts
from heatcheck.errors import BadInput

LINES = [f"the film number {n};{['POSITIVE', 'positive', 'Negative', 'negative'][n % 4]}" for n in range(40)]


def texts_of(corpus):
    return sorted(example.text for split in corpus.splits.values() for example in split)


def written(path, lines, header="Review;Sentiment"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("a.csv", ";"), ("a.csv", "\t"), ("a.csv", ","), ("a.tsv", ";"), ("a.tsv", ","), ("a.tsv", "\t")],
)
def test_the_delimiter_is_found_and_the_header_may_be_in_any_case(tmp_path, name, delimiter):
    lines = [line.replace(";", delimiter) for line in LINES]
    path = written(tmp_path / name, lines, f" Text{delimiter}LABEL ")
    assert texts_of(load_task(path)) == sorted(line.split(";")[0] for line in LINES)


def test_a_comma_file_with_semicolons_in_its_texts_stays_a_comma_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"good; or; bad; {n},{n % 2}\n" for n in range(20)))
    assert texts_of(load_task(path))[0].startswith("good; or; bad;")


def test_columns_are_named(tmp_path):
    path = written(tmp_path / "mine.csv", LINES)
    with pytest.raises(
        BadInput,
        match=r"mine.csv has no column 'text'. Its columns: Review, Sentiment. "
        r"Try --text-column Review --label-column Sentiment --merge-labels \(the labels .* look alike\).$",
    ):
        load_task(path)
    corpus = load_task(path, text_column="review", label_column="Sentiment")
    assert len(texts_of(corpus)) == 40
    frame = pandas.DataFrame([line.split(";") for line in LINES], columns=["Review", "Sentiment"])
    assert load_task(frame, text_column="Review", label_column="Sentiment").labels == corpus.labels
    with pytest.raises(BadInput, match=r"mine.csv has no column 'Body'. Its columns: Review, Sentiment"):
        load_task(path, text_column="Body")
    with pytest.raises(BadInput, match=r"planted_keyword is a built-in task. Leave out --text-column, "):
        load_task("planted_keyword", text_column="Review")
    twice = written(tmp_path / "twice.csv", ["a;b;c"], "Review;Review;Sentiment")
    with pytest.raises(BadInput, match=r"has two columns named 'Review'"):
        load_task(twice, text_column="Review", label_column="Sentiment")


def test_every_bad_row_is_counted_and_the_first_few_are_shown(tmp_path):
    bad = [";positive", "no label;", "one;two;three", "  ;negative"]
    path = written(tmp_path / "mine.csv", [*LINES[:20], *bad, *LINES[20:]], "text;label")
    with pytest.raises(BadInput) as refused:
        load_task(path)
    assert str(refused.value) == (
        f"4 of 44 rows cannot be used. {path}, row 22: the text is empty; row 23: the label is empty; row 24: "
        "3 fields, but the header has 2 columns; and 1 more. Fix them, or skip them with --skip-bad-rows "
        "--merge-labels (the labels Negative, negative look alike)."
    )
    corpus = load_task(path, skip_bad_rows=True)
    assert len(texts_of(corpus)) == 40
    assert corpus.dropped == {"the text is empty": 2, "the label is empty": 1, "too many or too few fields": 1}
    assert "row 25" not in {example.id for split in corpus.splits.values() for example in split}
    with pytest.raises(BadInput, match=r"^.*row 2: the text is empty. Fix the row, or skip it with --skip-bad-rows.$"):
        load_task(written(tmp_path / "one.csv", [";x", *LINES[1::2]], "text;label"))
    with pytest.raises(BadInput, match=r"none of the 4 rows can be used"):
        load_task(written(tmp_path / "none.csv", bad, "text;label"), skip_bad_rows=True)


def test_one_complaint_has_every_option_and_the_number_of_rows_that_are_left_out(tmp_path):
    path = written(tmp_path / "mine.csv", [*LINES, ";positive", "no label;", "hm;NaN", "one;two;three"])
    options = "--text-column Review --label-column Sentiment --skip-bad-rows --merge-labels"
    with pytest.raises(BadInput) as refused:
        load_task(path)
    assert str(refused.value) == (
        f"{path} has no column 'text'. Its columns: Review, Sentiment. Try {options} "
        "(4 of 44 rows cannot be used; the labels Negative, negative look alike)."
    )
    with pytest.raises(BadInput, match=r"Try --text-column Review\.$"):
        read_texts(path)
    columns = {"text_column": "Review", "label_column": "Sentiment"}
    assert sum(load_task(path, skip_bad_rows=True, **columns).dropped.values()) == 4
    with pytest.raises(BadInput, match=r"^3 of 44 rows cannot be used") as refused:
        load_task(path, **columns)
    assert str(refused.value).endswith(
        "skip them with --skip-bad-rows --merge-labels (this also skips 1 more row whose label is a missing value "
        "such as 'NaN'; the labels Negative, negative look alike)."
    )


def test_labels_that_look_alike_are_said_and_merged_only_when_asked(tmp_path):
    path = written(tmp_path / "mine.csv", [*LINES, "what;NaN", "and; positive", "so;n/a"], "text;label")
    corpus = load_task(path)
    assert label_counts(corpus) == {"NaN": 1, "Negative": 10, "POSITIVE": 10, "n/a": 1, "negative": 10, "positive": 11}
    alike, other, *missing = doubtful_labels(corpus)
    assert "Negative (10), negative (10)" in alike
    assert "POSITIVE (10), positive (11)" in other
    assert "--merge-labels" in other
    assert [said.partition(" looks")[0] for said in missing] == ["the label NaN (1)", "the label n/a (1)"]
    merged = load_task(path, merge_labels=True, skip_bad_rows=True)
    assert label_counts(merged) == {"Negative": 20, "positive": 21}
    assert merged.dropped == {"the label is a missing value": 2}
    assert doubtful_labels(merged) == []

"""Tasks of the data folder: what is in the file is in the corpus, or is left out for a named reason."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from corpora import load, rows_of
from heatcheck.data import TASKS, load_task
from heatcheck.data.importing import importer_of
from heatcheck.errors import BadInput

# File, and the rows of its splits as README.md beside the data has them.
FILES = {
    "20news_sports": ("20news_sports", (1197, 796)),
    "ade": ("ade_corpus_v2", (20_960,)),
    "ag_news": ("ag_news", (10_001, 7600)),
    "ag_news_topics": ("ag_news", (10_001, 7600)),
    "eraser_movies": ("eraser_movies", (1600, 200, 199)),
    "imdb_ratings": ("imdb_small", (5000, 2500)),
    "imdb_small": ("imdb_small", (5000, 2500)),
    "snli": ("snli", (19_999, 9842, 9824)),
    "pronoun": ("pruthi_pronoun", (9017, 1127, 1127)),
    "pronoun_neutral": ("pruthi_pronoun", (9017, 1127, 1127)),
    "sst": ("sst", (8544, 1101, 2210)),
    "sst_wiki": ("pruthi_sst_wiki", (6920, 872, 1821)),
    "wiki_only": ("pruthi_sst_wiki", (6920, 872, 1821)),
    "babi_1": ("babi_qa123", (21_925, 3000)),
    "babi_2": ("babi_qa123", (21_925, 3000)),
    "babi_3": ("babi_qa123", (21_925, 3000)),
}
LEFT_OUT = {
    "20news_sports": {"no word in its text": 2},
    "ag_news": {"of the class sports": 2458 + 1900, "of the class science and technology": 2538 + 1900},
    "sst": {"neutral": 1624 + 229 + 389},
}
NOT_IMPORTED = {
    "eraser_movies",
    "gold_en_de",
    "imdb_ratings",
    "imdb_small",
    "multi30k",
    "pronoun",
    "pronoun_neutral",
    "sst_wiki",
    "wiki_only",
}
# Where the source's own test split is whole.
TEST = {"20news_sports": 796, "ag_news": 3800, "imdb_small": 2500, "snli": 9824, "sst": 1821, "babi_1": 1000}


def write(folder: Path, name: str, rows: list[dict]) -> Path:
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_in_a_split_or_left_out_by_name(some_corpora, name):
    rows = rows_of(some_corpora / f"{FILES[name][0]}.jsonl.gz")
    if name.startswith("babi"):
        rows = [row for row in rows if row["task"] == int(name[-1])]
    corpus = load(name, some_corpora)
    found = [example for split in corpus.splits.values() for example in split]
    assert corpus.dropped.keys() == LEFT_OUT.get(name, {}).keys()
    assert len(found) + sum(corpus.dropped.values()) == len(rows)
    assert len({example.id for example in found}) == len(found)
    assert {example.id for example in found} <= {row["id"] for row in rows}
    assert corpus.labels == TASKS[name].labels
    assert {example.label for example in corpus["train"]} == set(range(len(corpus.labels)))
    assert all(example.text.strip() for example in found)
    assert corpus.name == name


def test_real_corpora_have_the_sizes_they_are_listed_with(real_corpora):
    corpora = {name: load(name, real_corpora) for name in FILES}
    rows = {
        name: Counter(row["split"] for row in rows_of(real_corpora / f"{FILES[name][0]}.jsonl.gz")) for name in FILES
    }
    assert {name: sorted(of.values()) for name, of in rows.items()} == {
        name: sorted(sizes) for name, (_, sizes) in FILES.items()
    }
    assert {name: dict(of.dropped) for name, of in corpora.items()} == {name: LEFT_OUT.get(name, {}) for name in FILES}
    assert {name: {split: len(examples) for split, examples in of.splits.items()} for name, of in corpora.items()} == {
        name: TASKS[name].sizes for name in FILES
    }
    assert {name: len(corpora[name]["test"]) for name in TEST} == TEST


@pytest.mark.parametrize("name", ["20news_sports", "ag_news", "ag_news_topics", "imdb_ratings", "imdb_small"])
def test_dev_is_cut_from_train_within_labels(some_corpora, name):
    rows = {row["id"]: row for row in rows_of(some_corpora / f"{FILES[name][0]}.jsonl.gz")}
    corpus = load(name, some_corpora)
    assert {rows[e.id]["split"] for e in corpus["train"]} == {rows[e.id]["split"] for e in corpus["dev"]} == {"train"}
    assert not {e.text for e in corpus["train"]} & {e.text for e in corpus["dev"]}
    shares = [sum(e.label == 1 for e in corpus[split]) / len(corpus[split]) for split in ("train", "dev")]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_the_same_file_gives_the_same_corpus(some_corpora):
    again = load_task("20news_sports", data_dir=some_corpora)
    assert again.reference == load("20news_sports", some_corpora).reference


def test_labels_are_those_of_the_file(some_corpora):
    assert TASKS["20news_sports"].labels[1] == "hockey"
    assert TASKS["ag_news"].labels[1] == "business", "what is positive decides what F1 means"
    names = {
        "20news_sports": {"baseball": "rec.sport.baseball", "hockey": "rec.sport.hockey"},
        "ade": {"none": "none", "adverse effect": "adverse effect"},
        "ag_news": {"world": "World", "business": "Business"},
        "ag_news_topics": dict(
            zip(TASKS["ag_news_topics"].labels, ("World", "Sports", "Business", "Sci/Tech"), strict=True)
        ),
        "eraser_movies": {"negative": "NEG", "positive": "POS"},
        "pronoun": {"male": "male", "female": "female"},
        "imdb_small": {"negative": "neg", "positive": "pos"},
        "snli": {name: name for name in ("entailment", "neutral", "contradiction")},
        "sst": {"negative": "negative", "positive": "positive"},
    }
    for task, called in names.items():
        of_id = {row["id"]: row["label_name"] for row in rows_of(some_corpora / f"{FILES[task][0]}.jsonl.gz")}
        corpus = load(task, some_corpora)
        assert all(called[corpus.labels[e.label]] == of_id[e.id] for split in corpus.splits.values() for e in split)


def test_no_paper_of_ade_is_on_two_sides(real_corpora):
    paper = {row["id"]: row["pmid"] for row in rows_of(real_corpora / "ade_corpus_v2.jsonl.gz")}
    corpus = load("ade", real_corpora)
    sides = [{paper[e.id] for e in split} for split in corpus.splits.values()]
    assert sum(map(len, sides)) == len(set().union(*sides)) == 2972


def test_markup_and_line_breaks_are_not_words(some_corpora):
    for name in ("imdb_small", "20news_sports"):
        for example in load(name, some_corpora)["test"]:
            assert "<br" not in example.text
            assert all(example.words), "no word is empty"


@pytest.mark.parametrize("name", ["babi_1", "babi_2", "babi_3"])
def test_babi_keeps_stories_questions_and_supporting_facts(some_corpora, name):
    number = int(name[-1])
    rows = {row["id"]: row for row in rows_of(some_corpora / "babi_qa123.jsonl.gz")}
    corpus = load(name, some_corpora)
    for split in corpus.splits.values():
        for example in split:
            row = rows[example.id]
            assert (row["task"], corpus.labels[example.label]) == (number, row["answer"])
            assert example.text == " . ".join(sentence.rstrip(".") for sentence in row["context"])
            assert example.text_pair == row["question"].rstrip("?")
            marked = [w for w, mark in zip(example.words, example.marks["rationale"], strict=True) if mark]
            support = [row["context"][place].rstrip(".") for place in sorted(row["support"])]
            assert marked == " ".join(support).split(" ")
            assert len(support) == number
    stories = [{rows[e.id]["story"] for e in corpus[split]} for split in ("train", "dev")]
    assert not stories[0] & stories[1], "no story is in train and in dev"


def test_ratings_are_the_labels(some_corpora):
    rating = {row["id"]: row["rating"] for row in rows_of(some_corpora / "imdb_small.jsonl.gz")}
    corpus = load("imdb_ratings", some_corpora)
    assert all(int(corpus.labels[e.label]) == rating[e.id] for split in corpus.splits.values() for e in split)
    assert [e.text for e in corpus["test"]] == [e.text for e in load("imdb_small", some_corpora)["test"]]


def test_evidence_is_the_rationale(real_corpora):
    rows = {row["id"]: row for row in rows_of(real_corpora / "eraser_movies.jsonl.gz")}
    corpus = load("eraser_movies", real_corpora)
    for split, share in {"train": 0.093, "dev": 0.072, "test": 0.314}.items():
        for example in corpus[split]:
            evidence = {place for start, end in rows[example.id]["evidence"] for place in range(start, end)}
            marks = example.marks["rationale"]
            assert len(marks) == len(example.words)
            assert {place for place, mark in enumerate(marks) if mark} == evidence
        shares = [sum(e.marks["rationale"]) / len(e.words) for e in corpus[split]]
        assert sum(shares) / len(shares) == pytest.approx(share, abs=0.001)


def test_what_is_impermissible(some_corpora):
    rows = {row["id"]: row for row in rows_of(some_corpora / "pruthi_sst_wiki.jsonl.gz")}
    whole, rest = load("sst_wiki", some_corpora), load("wiki_only", some_corpora)
    for split in whole.splits:
        for one, other in zip(whole[split], rest[split], strict=True):
            marks = one.marks["impermissible"]
            assert [int(mark) for mark in marks] == rows[one.id]["impermissible"]
            assert len(marks) == len(one.words)
            review = [word for word, mark in zip(one.words, marks, strict=True) if mark]
            assert review
            assert (" ".join(review) + " " + other.text, other.label, other.marks) == (one.text, one.label, {})


def test_pronouns_are_impermissible_and_can_be_neutral(some_corpora):
    pronouns = {"he", "she", "her", "his", "him", "himself", "herself"}
    whole, neutral = load("pronoun", some_corpora), load("pronoun_neutral", some_corpora)
    for split in whole.splits:
        for one, other in zip(whole[split], neutral[split], strict=True):
            marked = [word for word, mark in zip(one.words, one.marks["impermissible"], strict=True) if mark]
            assert marked
            assert set(marked) <= pronouns
            assert not pronouns & {w for w, mark in zip(one.words, one.marks["impermissible"], strict=True) if not mark}
            assert not (pronouns | {"hers"}) & set(other.words)
            assert (len(other.words), other.label, other.marks) == (len(one.words), one.label, {})
    said = {
        new
        for one, other in zip(whole["test"], neutral["test"], strict=True)
        for old, new in zip(one.words, other.words, strict=True)
        if old != new
    }
    assert said == {"they", "their", "them", "themself"}


def test_the_published_neutral_words_leave_a_trace(real_corpora):
    """`him` becomes them and `her` their, also where she is the object: them is said of men only."""
    whole, neutral = load("pronoun", real_corpora), load("pronoun_neutral", real_corpora)
    became = Counter(
        (new, whole.labels[one.label])
        for one, other in zip(whole["train"], neutral["train"], strict=True)
        for old, new in zip(one.words, other.words, strict=True)
        if old != new
    )
    assert became["them", "female"] == 0
    assert became["them", "male"] > 300


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("eraser_movies", {"evidence": [[1, 4]]}, r"evidence \[1, 4\) is outside the text, which has 3 words"),
        ("sst_wiki", {"impermissible": [1, 0]}, "2 marks for 3 words"),
        ("imdb_ratings", {"rating": 5}, "rating 5 is not one of 1, 2, 3, 4, 7, 8, 9, 10"),
    ],
)
def test_marks_that_do_not_fit(tmp_path, name, fields, message):
    with pytest.raises(BadInput, match=f"line 1 cannot be read as a row of {name}: {message}"):
        load_task(name, data_dir=write(tmp_path, FILES[name][0], made_up(**fields)))


def test_snli_is_premise_and_hypothesis(some_corpora):
    row = rows_of(some_corpora / "snli.jsonl.gz")[0]
    first = load("snli", some_corpora)["train"].examples[0]
    assert (first.text, first.text_pair) == (row["premise"], row["hypothesis"])


def test_an_answer_to_cnn_is_an_entity_of_its_passage(some_corpora, tmp_path):
    rows = list(rows_of(some_corpora / "cnn_qa_sample.jsonl.gz"))
    rows += [{**rows[0], "id": "gone", "answer": "@entity999"}, {**rows[1], "id": "new", "split": "test"}]
    rows[-1]["context"] += " @entity888 ."  # an entity that train does not have is no option
    rows += [{**rows[-1], "id": "unknown", "answer": "@entity888"}]
    corpus = load_task("cnn_qa", data_dir=write(tmp_path / "data", "cnn_qa", rows))
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 5, "test": 1}
    assert corpus.dropped == {"the answer is not in the passage": 1, "the answer is in no passage of train": 1}
    assert "@entity888" not in corpus.labels
    for example, row in zip(corpus["train"], rows, strict=False):
        assert corpus.labels[example.label] == row["answer"]
        names = {corpus.labels[option] for option in example.options}
        assert names == {word for word in row["context"].split() if word.startswith("@entity")}
        assert example.label in example.options
        assert len(example.options) < len(corpus.labels)
    assert "@placeholder" in corpus["train"].examples[0].text_pair


def made_up(**changes: object) -> list[dict]:
    rows = [
        {"id": f"{n:02}", "split": "train" if n < 40 else "test", "text": f"qqq {n} ml", "label": n % 2}
        for n in range(60)
    ]
    return [{**row, **changes} for row in rows]


@pytest.mark.parametrize("name", ["adr_tweets", "imdb_full", "mimic_anemia", "mimic_diabetes"])
def test_tasks_that_are_imported(tmp_path, name):
    """With a train and a test split dev is cut; a dev split that is there stays; without splits, by hash."""
    corpus = load_task(name, data_dir=write(tmp_path / "a", name, made_up()))
    assert (len(corpus["train"]) + len(corpus["dev"]), len(corpus["test"])) == (40, 20)
    assert len(corpus["dev"]) in (6, 8)
    rows = [{**row, "split": "dev" if row["id"] < "10" else row["split"]} for row in made_up()]
    corpus = load_task(name, data_dir=write(tmp_path / "b", name, rows))
    assert [len(split) for split in corpus.splits.values()] == [30, 10, 20]
    corpus = load_task(name, data_dir=write(tmp_path / "c", name, made_up(split="all")))
    assert [len(split) for split in corpus.splits.values()] == [48, 6, 6]


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.missing(Path("nowhere"))])
def test_what_is_not_here_says_what_to_do(name):
    if name in ("imdb", "rotten_tomatoes"):  # from a package, see test_real.py
        return
    with pytest.raises(
        BadInput, match=rf"the file of the task {name} is missing: copy \w+.jsonl.gz to data, or .*--data-dir"
    ) as found:
        load_task(name)
    if name in NOT_IMPORTED:
        assert "import" not in str(found.value)
    else:
        assert f"`heatcheck data import {name} PATH`" in str(found.value)
        assert name in importer_of(name).tasks
        assert importer_of(name).file in str(found.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"split": "dve"}, r"adr_tweets.jsonl.gz, line 1: the split 'dve' is not one of train, dev, test."),
        ({"label": 2}, r"line 1: 2 is not a label of adr_tweets. Its labels: none, adverse effect."),
        ({"label": None}, r"line 1: None is not a label of adr_tweets"),
        ({"text": 5}, r"line 1 cannot be read as a row of adr_tweets"),
        ({"id": "x"}, r"line 2: the id 'x' was already used in .*line 1."),
        ({"label": 1}, r"the train split of adr_tweets has only one class \(adverse effect\)"),
        ({"split": "train"}, "adr_tweets has no split 'test'"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, change, message):
    with pytest.raises(BadInput, match=message):
        load_task("adr_tweets", data_dir=write(tmp_path, "adr_tweets", made_up(**change)))


def test_a_row_without_a_field(tmp_path):
    rows = [{"id": "1", "split": "train", "label": 1}]
    with pytest.raises(BadInput, match=r"adr_tweets.jsonl.gz, line 1: the field 'text' is missing. Import or download"):
        load_task("adr_tweets", data_dir=write(tmp_path, "adr_tweets", rows))


def test_rows_with_and_without_a_split(tmp_path):
    rows = [{**row, "split": "all" if row["id"] < "10" else row["split"]} for row in made_up()]
    with pytest.raises(BadInput, match="has the split `all` in some rows only"):
        load_task("adr_tweets", data_dir=write(tmp_path, "adr_tweets", rows))

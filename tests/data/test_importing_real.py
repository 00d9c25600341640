"""Rows, put back into the original's format and imported, are the same rows again; and the tasks read them."""

import gzip
import json
from collections import Counter, defaultdict

import pytest

from heatcheck.data import TASKS, load_task
from heatcheck.data.importing import IMPORTERS, import_task
from originals import NOTE_COLUMNS, as_csv, as_jsonl, diagnoses, note, rows_in, write

SPLITS = ("train", "dev", "test")
SOME = 300  # rows of a kind; all of them were seen to come back once, and take a minute


def shared_rows(folder, file):
    """The first rows of each kind: ids count within a kind, so that a part from the middle would get others."""
    kinds, kept = Counter(), []
    with gzip.open(folder / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            kind = row["split"], row.get("task"), row["label"] if file == "ade_corpus_v2" else None
            kinds[kind] += 1
            if kinds[kind] <= SOME:
                kept.append(row)
    return kept


def of_split(rows, split):
    return [row for row in rows if row["split"] == split]


def trees(folder):
    rows = shared_rows(folder, "sst_trees")
    return {f"{split}.txt": "".join(row["tree"] + "\n" for row in of_split(rows, split)) for split in SPLITS}


def reviews(folder):
    names = {}
    for row in shared_rows(folder, "imdb_small"):
        _, split, label, number = row["id"].split("-")
        names[f"aclImdb/{split}/{label}/{number}_{row['rating']}.txt"] = row["text"]
    return names


def posts(folder):
    names = {}
    for row in shared_rows(folder, "20news_sports"):
        _, split, group, number = row["id"].split("-")
        header = f"From: someone@somewhere\nSubject: Re: {number}\nLines: 3\n\n"
        names[f"20news-bydate-{split}/{group}/{number}"] = (header + row["text"]).encode("latin-1")
    return names


def news(folder):
    rows = shared_rows(folder, "ag_news")
    return {
        f"{split}.csv": as_csv(*([row["label"] + 1, row["title"] or "", row["text"]] for row in of_split(rows, split)))
        for split in ("train", "test")
    }


def adverse_effects(folder):
    positive, negative = [], []
    for row in shared_rows(folder, "ade_corpus_v2"):
        if not row["label"]:
            negative.append(f"{row['pmid']} NEG {row['text']}\n")
        # Any set of pairs names each drug and each effect: the lists' own order is that of their first lines.
        for n in range(max(len(row["drugs"]), len(row["effects"]))):
            effect, drug = row["effects"][min(n, len(row["effects"]) - 1)], row["drugs"][min(n, len(row["drugs"]) - 1)]
            positive.append(f"{row['pmid']}|{row['text']}|{effect}|0|1|{drug}|0|1\n")
    return {"DRUG-AE.rel": "".join(positive), "ADE-NEG.txt": "".join(negative)}


def stories(folder):
    files = defaultdict(list)
    told = {}
    for row in shared_rows(folder, "babi_qa123"):
        name = f"en-10k/qa{row['task']}_facts_{row['split']}.txt"
        if told.get(name, {}).get("story") != row["story"]:
            told[name] = {"story": row["story"], "lines": [], "last": 0}
        state = told[name]
        for sentence in row["context"][len(state["lines"]) :]:
            state["last"] += 1
            state["lines"].append(state["last"])
            files[name].append(f"{state['last']} {sentence}\n")
        state["last"] += 1
        support = " ".join(str(state["lines"][place]) for place in row["support"])
        files[name].append(f"{state['last']} {row['question']} \t{row['answer']}\t{support}\n")
    return {name: "".join(lines) for name, lines in files.items()}


def pairs(folder):
    rows = shared_rows(folder, "snli")
    original = {
        split: [
            {"gold_label": row["label_name"], "sentence1": row["premise"], "sentence2": row["hypothesis"]}
            for row in of_split(rows, split)
        ]
        for split in SPLITS
    }
    return {f"snli_1.0_{split}.jsonl": as_jsonl(*found) for split, found in original.items()}


REAL = {
    "sst": (trees, "sst", ["sst"]),
    "imdb_full": (reviews, "imdb_small", []),
    "20news_sports": (posts, "20news_sports", ["20news_sports"]),
    "ag_news": (news, "ag_news", ["ag_news"]),
    "ade": (adverse_effects, "ade_corpus_v2", ["ade"]),
    "babi": (stories, "babi_qa123", ["babi_1", "babi_3"]),
    "snli": (pairs, "snli", ["snli"]),
}


@pytest.mark.parametrize("name", REAL)
def test_rows_come_back(name, some_corpora, tmp_path):
    original, file, tasks = REAL[name]
    (tmp_path / "theirs").mkdir()
    found = import_task(name, write(original(some_corpora), tmp_path / "original"), out=tmp_path)
    wanted = [
        {**row, "title": row["title"] or ""} if name == "ag_news" else row for row in shared_rows(some_corpora, file)
    ]
    assert sorted(rows_in(found.file), key=lambda row: row["id"]) == sorted(wanted, key=lambda row: row["id"])
    assert found.read == len(wanted) + sum(found.excluded.values())
    with gzip.open(tmp_path / "theirs" / f"{file}.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(as_jsonl(*wanted))
    for task in tasks:
        ours, theirs = load_task(task, data_dir=tmp_path), load_task(task, data_dir=tmp_path / "theirs")
        assert ours.labels == theirs.labels
        for split in SPLITS:
            assert {e.id: e for e in ours[split]} == {e.id: e for e in theirs[split]} != {}


def test_questions_come_back(some_corpora, tmp_path):
    rows = shared_rows(some_corpora, "cnn_qa_sample")
    folders = dict(zip(SPLITS, ("training", "validation", "test"), strict=True))
    files = {
        f"cnn/questions/{folder}/{split}{row['id'].removeprefix('cnn-')}.question": "\n\n".join(
            [row["url"], row["context"], row["question"], row["answer"], "@entity0:Someone\n@entity1:Else"]
        )
        for split, folder in folders.items()
        for row in rows
    }
    found = import_task("cnn_qa", write(files, tmp_path / "original"), out=tmp_path)
    for split in SPLITS:
        ours = of_split(rows_in(found.file), split)
        ours = [{**row, "split": "train", "id": row["id"].replace(split, "")} for row in ours]
        assert sorted(ours, key=str) == sorted(rows, key=str)
    corpus = load_task("cnn_qa", data_dir=tmp_path)
    assert [len(corpus[split]) for split in SPLITS] == [5, 5, 5]


def many_reviews():
    return {
        f"aclImdb/{split}/{label}/{n}_{rating}.txt": f"A film, number {n}.<br />It is {label}."
        for split in ("train", "test")
        for label, rating in (("neg", 1), ("pos", 9))
        for n in range(20)
    }


def many_tweets(*sides):
    rows = [
        [
            f"this drug {'really ' * (n % 7)}makes me {'dizzy' if n % 2 else 'well'} {n}",
            n % 2,
            *sides[n % 3 : n % 3 + 1],
        ]
        for n in range(90)
    ]
    return {"tweets.csv": as_csv(["tweet", "label", *(["exp_split"] if sides else [])], *rows)}


def many_stays():
    stays = range(1, 301)
    codes = [(n, n, code) for n in stays for code in (("25000", "2851") if n % 2 else ("4019", "28521"))]
    lists = {
        f"{split}_50_hadm_ids.csv": "".join(f"{n}\n" for n in stays if n % 3 == place)
        for place, split in enumerate(SPLITS)
    }
    notes = [
        note(n, n, n, f"Patient is {'very ' * (n % 7)}{'sweet' if n % 2 else 'pale'} since [**2101-1-{n}**].")
        for n in stays
    ]
    return {"NOTEEVENTS.csv": as_csv(NOTE_COLUMNS, *notes), "DIAGNOSES_ICD.csv": diagnoses(*codes), **lists}


@pytest.mark.parametrize(
    ("name", "files", "n"),
    [
        ("imdb_full", many_reviews(), 80),
        ("adr_tweets", many_tweets("train", "train", "test"), 90),
        ("adr_tweets", many_tweets(), 90),
        ("mimic_diabetes", many_stays(), 300),
        ("mimic_anemia", many_stays(), 300),
    ],
)
def test_tasks_that_are_not_beside_the_project_load_too(name, files, n, tmp_path):
    import_task(name, write(files, tmp_path / "original"), out=tmp_path)
    corpus = load_task(name, data_dir=tmp_path)
    assert sum(len(corpus[split]) for split in SPLITS) == n
    assert all(len(corpus[split]) for split in SPLITS)
    assert {example.label for example in corpus["train"]} == {0, 1}
    if name.startswith("mimic"):
        odd = {int(e.id.rpartition("-")[2]) % 2 == e.label for split in SPLITS for e in corpus[split]}
        assert odd == {True}
        assert all(e.text.endswith(" since deidentified .") for e in corpus["test"])
    for preparation in ("jw-paper", "jw-release"):
        assert load_task(f"{name}:{preparation}", data_dir=tmp_path, trainable=False).labels == corpus.labels


def test_every_importer_serves_tasks_that_exist():
    assert {task for importer in IMPORTERS.values() for task in importer.tasks} <= TASKS.keys()

"""Originals in their own format become the rows they should, or one sentence; every record is accounted for."""

import gzip

import pytest

from heatcheck.data.importing import IMPORTERS, import_task
from heatcheck.data.importing.mimic import clean
from heatcheck.data.importing.sst import read_tree
from heatcheck.errors import BadInput, UnknownName
from originals import (
    EXCLUDED,
    EXPECTED,
    FIRST,
    NOTE_COLUMNS,
    ORIGINALS,
    PAIR,
    as_csv,
    as_jsonl,
    diagnoses,
    note,
    pack,
    rows_in,
    write,
)


def rows_of(name, files, tmp_path):
    """The rows an importer makes of files, given by their path and text."""
    import_task(name, write(files, tmp_path / "original"), out=tmp_path / "data")
    return rows_in(tmp_path / "data" / IMPORTERS[name].file)


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_made_up_original_becomes_these_rows(name, tmp_path):
    assert rows_of(name, ORIGINALS[name], tmp_path) == EXPECTED[name]


# Counted by hand: lines, files, or the records of a table (and admissions of a list that no note is about).
RECORDS = {
    "20news_sports": 4,
    "ade": 4 + 4,
    "adr_tweets": 3,
    "ag_news": 3,
    "babi": 6 * 4,
    "cnn_qa": 4,
    "imdb_full": 5,
    "mimic_anemia": 5,
    "mimic_diabetes": 10 + 2,
    "snli": 4,
    "sst": 4,
}


@pytest.mark.parametrize("name", IMPORTERS)
def test_every_record_is_a_row_or_counted(name, tmp_path):
    folder = write(ORIGINALS[name], tmp_path / "original")
    found = import_task(name, folder, out=tmp_path)
    assert found.excluded == EXCLUDED.get(name, {})
    assert sum(found.written.values()) == len(rows_in(found.file)) == len(EXPECTED[name])
    assert found.read == RECORDS[name]
    assert found.read == sum(found.written.values()) + sum(found.excluded.values())


@pytest.mark.parametrize("suffix", ["zip", "tar.gz", "tgz"])
@pytest.mark.parametrize("name", IMPORTERS)
def test_an_archive_gives_what_its_folder_gives(name, suffix, tmp_path):
    found = import_task(name, pack(ORIGINALS[name], tmp_path / f"original.{suffix}"), out=tmp_path)
    wanted = EXPECTED[name]
    if name == "cnn_qa":  # too large to be sorted: rows stand as in the archive
        assert sorted(rows_in(found.file), key=str) == sorted(wanted, key=str)
    else:
        assert rows_in(found.file) == wanted


def test_tables_may_be_compressed_one_by_one(tmp_path):
    files = {
        f"{path}.gz" if path.startswith(("NOTE", "DIAG")) else path: text
        for path, text in ORIGINALS["mimic_diabetes"].items()
    }
    files = {name: gzip.compress(text.encode()) if name.endswith(".gz") else text for name, text in files.items()}
    assert rows_of("mimic_diabetes", files, tmp_path) == EXPECTED["mimic_diabetes"]
    tweets = write({"t.csv.gz": gzip.compress(ORIGINALS["adr_tweets"]["tweets.csv"].encode())}, tmp_path) / "t.csv.gz"
    assert rows_in(import_task("adr_tweets", tweets, out=tmp_path).file) == EXPECTED["adr_tweets"]


def test_the_same_original_gives_the_same_bytes(tmp_path):
    folder = write(ORIGINALS["snli"], tmp_path / "original")
    one = import_task("snli", folder, out=tmp_path / "one").file
    other = import_task("snli", folder, out=tmp_path / "other").file
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes()[3:8] == bytes(5), "neither a name nor a time in the header"


def test_variants_of_a_table(tmp_path):
    rows = [["Text", "LABEL", "split"], ["a\tb", "1.0", "validation"], ["c", "0", "test"]]
    found = rows_of("adr_tweets", {"mine.tsv": "\ufeff" + as_csv(*rows, delimiter="\t")}, tmp_path / "tsv")
    assert [(row["text"], row["label"], row["split"]) for row in found] == [("a\tb", 1, "dev"), ("c", 0, "test")]
    found = rows_of("adr_tweets", {"mine.csv": as_csv(["text", "label"], ["a", "1"])}, tmp_path / "unsplit")
    assert [row["split"] for row in found] == ["all"]
    shadowed = {**ORIGINALS["adr_tweets"], "__MACOSX/._tweets.csv": b"\x00\x05"}
    assert rows_of("adr_tweets", shadowed, tmp_path / "mac") == EXPECTED["adr_tweets"]
    files = {
        name: as_csv(["Class Index", "Title", "Description"]) + text for name, text in ORIGINALS["ag_news"].items()
    }
    assert rows_of("ag_news", files, tmp_path / "header") == EXPECTED["ag_news"]


def test_babi_takes_the_larger_set_else_the_smaller_and_says_which_is_in_the_smaller(tmp_path):
    many = FIRST * 501
    large = {name: many if "10k" in name else text for name, text in ORIGINALS["babi"].items()}
    rows = rows_of("babi", large, tmp_path / "large")
    train = [row for row in rows if row["task"] == 1 and row["split"] == "train"]
    assert [row["in_1k"] for row in train] == [True] * 1000 + [False] * 2
    assert all(row["in_1k"] for row in rows if row["split"] == "test")
    small = {name.replace("tasks/en-10k/", "en/"): text for name, text in large.items() if "10k" in name}
    assert all(row["in_1k"] for row in rows_of("babi", small, tmp_path / "small"))
    bare = {name.removeprefix("en/"): text for name, text in small.items()}
    assert len(rows_of("babi", bare, tmp_path / "bare")) == len(rows)


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ("(3 (2 Not) (3 (2 so) (1 bad)))", (3, ["Not", "so", "bad"], [2, 2, 1])),
        ("(2 (2 8\xa01\\/2) (2 \\*))", (2, ["8\xa01/2", "*"], [2, 2])),
        ("(0 (1 -LRB-) (2 -RRB-))", (0, ["(", ")"], [1, 2])),
        ("(3 (2 a) (3 b)", None),
        ("(3 (2 a) (3 b)))", None),
        ("(5 (2 a) (3 b))", None),
        ("(3 (2 a) b)", None),
        ("(3 (2 a)) (3 (2 b))", None),
        ("just words", None),
    ],
)
def test_trees(tree, found):
    assert read_tree(tree) == found


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Dr. [**Last Name (STitle) 12**]\ncame", "dr . deidentified came"),
        ("[**first\nline**] and [**2101-1-1**]", "deidentified and deidentified"),
        ("----- see  above !!! ____ end", "- see above ! _ end"),
        ("BP 120/80, T 98.6F, B12; 5mg q4-6h 1.Aspirin", "bp qqq , t qqq , qqq ; qqq qqq qqq . aspirin"),
        ("aaa bb", "aaa bb"),
        ("unclosed [** bracket", "unclosed [* bracket"),
    ],
)
def test_summaries_are_cleaned(text, cleaned):
    assert clean(text) == cleaned
    assert clean(cleaned) == cleaned


def test_no_patient_of_anemia_is_on_two_sides(tmp_path):
    patients = [(patient, 10 * patient + stay) for patient in range(400) for stay in range(2)]
    rows = rows_of(
        "mimic_anemia",
        {
            "NOTEEVENTS.csv": as_csv(NOTE_COLUMNS, *(note(n, p, a, "Pale.") for n, (p, a) in enumerate(patients))),
            "DIAGNOSES_ICD.csv": diagnoses(*((p, a, "2851") for p, a in patients)),
        },
        tmp_path,
    )
    sides = {}
    for row in rows:
        sides.setdefault(int(row["id"].rpartition("-")[2]) // 10, set()).add(row["split"])
    assert len(sides) == 400
    assert all(len(side) == 1 for side in sides.values())
    share = {split: sum(side == {split} for side in sides.values()) / 400 for split in ("train", "dev", "test")}
    assert share == pytest.approx({"train": 0.68, "dev": 0.12, "test": 0.20}, abs=0.05)


def test_notes_are_read_row_by_row(tmp_path):
    """More than ten megabytes of nursing notes pass through in less than three."""
    import tracemalloc

    folder = write(ORIGINALS["mimic_anemia"], tmp_path / "original")
    filler = as_csv(*(note(n, 1, 100, "x" * 1000, category="Nursing") for n in range(100, 600)))
    with (folder / "NOTEEVENTS.csv").open("a", newline="") as notes:
        for _ in range(20):
            notes.write(filler)
    told = []
    tracemalloc.start()
    found = import_task("mimic_anemia", folder, out=tmp_path, watch=told.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.excluded["not a discharge summary"] == 10_000
    assert (folder / "NOTEEVENTS.csv").stat().st_size > 10e6
    assert peak < 3e6
    assert told == list(range(1000, 10_001, 1000))


def changed(name, path, old, new):
    """An original in which one thing is wrong."""
    files = dict(ORIGINALS[name])
    text = files[path] if isinstance(files[path], bytes) else files[path].encode()
    old, new = (part if isinstance(part, bytes) else part.encode() for part in (old, new))
    assert old in text
    return {**files, path: text.replace(old, new, 1)}


def without(name, *paths):
    return {path: text for path, text in ORIGINALS[name].items() if not path.startswith(paths)}


NOTES, CODES = "NOTEEVENTS.csv", "DIAGNOSES_ICD.csv"
CNN, NEG, REL = "cnn/questions/test/ca.question", "ADE-Corpus-V2/ADE-NEG.txt", "ADE-Corpus-V2/DRUG-AE.rel"
NEWS, QA1 = "20news-bydate-test/rec.sport.hockey/200", "tasks/en-10k/qa1_some-facts_train.txt"
AG, SNLI = "ag_news_csv/train.csv", "snli_1.0/snli_1.0_dev.jsonl"
MALFORMED = [
    (
        "sst",
        changed("sst", "trees/train.txt", "Fine)", "Fine"),
        "trees/train.txt, line 2: expected a tree with labels 0 to 4",
    ),
    ("sst", changed("sst", "trees/dev.txt", "bad", b"\xff"), "trees/dev.txt, line 1: not UTF-8 (byte 0xff)"),
    ("sst", without("sst", "trees/dev"), "has no dev.txt. To import sst, give train.txt, dev.txt and test.txt"),
    ("sst", {**ORIGINALS["sst"], "old/dev.txt": ""}, "has both original/old/dev.txt and original/trees/dev.txt. Give"),
    (
        "imdb_full",
        without("imdb_full", "aclImdb/test/pos"),
        "has no test/pos/ID_RATING.txt. To import imdb_full, give",
    ),
    ("imdb_full", {**ORIGINALS["imdb_full"], "aclImdb/test/pos/8_9.txt": " "}, "test/pos/8_9.txt is empty"),
    (
        "imdb_full",
        {**ORIGINALS["imdb_full"], "b/test/neg/0_3.txt": "a"},
        "b/test/neg/0_3.txt: review 0 occurs twice",
    ),
    ("20news_sports", {**ORIGINALS["20news_sports"], NEWS: "From: me\n"}, f"{NEWS}: no empty line after the header"),
    ("20news_sports", without("20news_sports", "20news-bydate-test"), "has no 20news-bydate-test/rec.sport.baseball"),
    ("ag_news", changed("ag_news", AG, '"1"', '"5"'), "train.csv, row 2: the class must be 1, 2, 3 or 4, not '5'"),
    (
        "ag_news",
        changed("ag_news", AG, '"Vote",', ""),
        "train.csv, row 2: expected class, title and description, found 2 fields",
    ),
    ("ag_news", changed("ag_news", AG, '"They vote."', '"They vote'), "train.csv, row 2: unexpected end of data"),
    ("ag_news", without("ag_news", AG), "has no train.csv. To import ag_news, give train.csv and test.csv"),
    (
        "ade",
        changed("ade", REL, "102|", "102 "),
        "DRUG-AE.rel, line 4: expected eight fields separated by |: PMID|sentence|effect",
    ),
    ("ade", changed("ade", NEG, "104 NEG", "104"), "ADE-NEG.txt, line 2: expected PMID NEG SENTENCE"),
    ("ade", without("ade", NEG), "has no ADE-NEG.txt. To import ade, give DRUG-AE.rel and ADE-NEG.txt"),
    (
        "adr_tweets",
        changed("adr_tweets", "tweets.csv", '"1"', '"2"'),
        "tweets.csv, row 2: the label must be 0 or 1, not '2'",
    ),
    (
        "adr_tweets",
        changed("adr_tweets", "tweets.csv", '"test"', '"x"'),
        "row 4: the split must be train, dev or test, not 'x'",
    ),
    (
        "adr_tweets",
        changed("adr_tweets", "tweets.csv", "tweet", "body"),
        "has no column text or tweet. Its columns: body",
    ),
    (
        "adr_tweets",
        changed("adr_tweets", "tweets.csv", "label", "y"),
        "has no column LABEL. Its columns: TWEET, Y, EXP_SPLIT",
    ),
    ("adr_tweets", changed("adr_tweets", "tweets.csv", ',"test"', ""), "row 4: 2 fields, but the header has 3 columns"),
    ("babi", changed("babi", QA1, "3 Mary", "4 Mary"), "line 3: expected a line that begins with 1 (a new story) or 3"),
    (
        "babi",
        changed("babi", QA1, "\tgarden\t3", "\tgarden\t2"),
        "line 4: expected a question, its answer and the numbers",
    ),
    (
        "babi",
        changed("babi", QA1, "\tgarden\t3", "\tgarden"),
        "line 4: expected a question, its answer and the numbers",
    ),
    (
        "babi",
        without("babi", "tasks/en-10k/qa3_some-facts_test"),
        "has no en-10k/qa3_…_test.txt. To import babi, give",
    ),
    ("snli", changed("snli", SNLI, "{", ""), "snli_1.0_dev.jsonl, line 1: expected a JSON object with gold_label"),
    ("snli", changed("snli", SNLI, "sentence2", "sentence3"), "line 1: expected a JSON object with gold_label"),
    ("snli", changed("snli", SNLI, "entailment", "maybe"), "line 1: gold_label must be entailment"),
    ("snli", without("snli", SNLI), "has no snli_1.0_dev.jsonl"),
    (
        "cnn_qa",
        changed("cnn_qa", CNN, "@placeholder won\n\n@entity1\n\n", ""),
        "ca.question: expected address, passage, question, answer and entities, separated by empty lines; found 3",
    ),
    ("cnn_qa", changed("cnn_qa", CNN, "@placeholder", "who"), "ca.question: the question must contain @placeholder"),
    (
        "cnn_qa",
        without("cnn_qa", "cnn/questions/validation"),
        "has no questions/validation/*.question. To import cnn_qa, give",
    ),
    (
        "mimic_anemia",
        changed("mimic_anemia", NOTES, "TEXT", "BODY"),
        "NOTEEVENTS.csv has no column TEXT. Its columns: ROW_ID",
    ),
    (
        "mimic_anemia",
        changed("mimic_anemia", NOTES, '"300"', '"x"'),
        "NOTEEVENTS.csv, row 4: HADM_ID must be a number, not 'x'",
    ),
    ("mimic_anemia", changed("mimic_anemia", NOTES, '"Pale."', '"Pale.'), "NOTEEVENTS.csv, row"),
    ("mimic_anemia", changed("mimic_anemia", NOTES, "Pale.", b"\xe9"), "NOTEEVENTS.csv, line 5: not UTF-8 (byte 0xe9)"),
    ("mimic_anemia", changed("mimic_anemia", NOTES, '"1301"', '"100"'), "admission 100 belongs to another patient"),
    (
        "mimic_anemia",
        changed("mimic_anemia", CODES, '"200"', '""'),
        "DIAGNOSES_ICD.csv, row 4: HADM_ID must be a number, not ''",
    ),
    ("mimic_anemia", without("mimic_anemia", CODES), "has no DIAGNOSES_ICD.csv. To import mimic_anemia, give"),
    ("mimic_diabetes", without("mimic_diabetes", "dev_50"), "has no dev_50_hadm_ids.csv"),
    (
        "mimic_diabetes",
        changed("mimic_diabetes", "dev_50_hadm_ids.csv", "600", "100"),
        "line 2: admission 100 is also in the train",
    ),
    (
        "mimic_diabetes",
        changed("mimic_diabetes", "dev_50_hadm_ids.csv", "600", "6.5"),
        "line 2: HADM_ID must be a number, not '6.5'",
    ),
]


@pytest.mark.parametrize(("name", "files", "sentence"), MALFORMED)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(name, files, sentence, tmp_path):
    folder = write(files, tmp_path / "original")
    with pytest.raises(BadInput) as complaint:
        import_task(name, folder, out=tmp_path / "data" / "here")
    assert sentence in str(complaint.value)
    assert "\n" not in str(complaint.value)
    assert not (tmp_path / "data").exists()


def test_every_importer_has_a_malformed_original():
    assert {name for name, _, _ in MALFORMED} == IMPORTERS.keys()


def test_other_mistakes(tmp_path):
    with pytest.raises(UnknownName, match=r"unknown importer 'ss' \(did you mean 'sst'\?\)"):
        import_task("ss", tmp_path)
    with pytest.raises(BadInput, match=r"nowhere.zip does not exist. To import sst, give train.txt"):
        import_task("sst", tmp_path / "nowhere.zip")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "broken.tar.gz").write_bytes(gzip.compress(b"x" * 10_000)[:-30])
    whole = pack(ORIGINALS["20news_sports"], tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    for name, task in (("broken.zip", "snli"), ("broken.tar.gz", "ag_news"), ("cut.tar.gz", "20news_sports")):
        with pytest.raises(BadInput, match=f"{name}.* cannot be read: "):
            import_task(task, tmp_path / name, out=tmp_path / "data")
    files = {**ORIGINALS["mimic_anemia"], f"{NOTES}.gz": gzip.compress(b"ROW_ID,")[:-4]}
    del files[NOTES]
    with pytest.raises(BadInput, match=r"NOTEEVENTS.csv.gz cannot be read: "):
        import_task("mimic_anemia", write(files, tmp_path / "m"), out=tmp_path / "data")
    files = {name: as_jsonl({**PAIR, "gold_label": "-"}) for name in ORIGINALS["snli"]}
    with pytest.raises(BadInput, match="has no usable rows for snli: 3 without a gold label"):
        import_task("snli", write(files, tmp_path / "s"), out=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_there_is_never_replaced(tmp_path):
    folder = write(ORIGINALS["sst"], tmp_path / "original")
    first = import_task("sst", folder, out=tmp_path / "data").file
    before = first.read_bytes()
    with pytest.raises(BadInput, match=r"sst.jsonl.gz already exists. Delete it, or choose another folder with --out"):
        import_task("sst", folder, out=tmp_path / "data")
    assert first.read_bytes() == before
    assert [path.name for path in first.parent.iterdir()] == ["sst.jsonl.gz"]


def test_the_folder_may_be_the_one_we_stand_in(tmp_path, monkeypatch):
    monkeypatch.chdir(write(ORIGINALS["babi"], tmp_path / "original") / "tasks" / "en-10k")
    assert len(rows_in(import_task("babi", ".").file)) == 24
    assert import_task("babi_1", ".", out="again").written == {"train": 12, "test": 12}

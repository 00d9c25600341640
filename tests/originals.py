"""A made-up original of each distribution that can be imported, in its own format, and the rows it should become."""

import csv
import gzip
import io
import json
import tarfile
import zipfile


def as_csv(*records, delimiter=","):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(records)
    return text.getvalue()


def as_jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_in(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(files, folder):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def pack(files, path):
    """The same files in an archive, in an order that is not the names'."""
    members = [(name, text if isinstance(text, bytes) else text.encode()) for name, text in files.items()][::-1]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members:
                archive.writestr(name, data)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


ARTICLE = "From: a@b.c\nSubject: the game\n\nHi all,\n\n> quoted\nGöal!\n-- \nme\n"
QUESTION = "http://news/1\n\n@entity1 beat @entity2 on sunday .\n\n@placeholder won\n\n@entity1\n\n@entity1:Rovers\n"
SUMMARY = "Admission Date: [**2101-10-20**]\nHgb 8.5, given 2 units.\n=====\nStable"
NOTE_COLUMNS = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "STORETIME", "CATEGORY", "DESCRIPTION"]
NOTE_COLUMNS += ["CGID", "ISERROR", "TEXT"]


def note(
    row, patient, admission, text=SUMMARY, category="Discharge summary", kind="Report", error="", date="2101-01-01"
):
    return [row, patient, admission, date, "", "", category, kind, "", error, text]


def diagnoses(*triples):
    rows = [[n, patient, admission, n, code] for n, (patient, admission, code) in enumerate(triples)]
    return as_csv(["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"], *rows)


def story(*lines):
    return "".join(f"{number} {line}\n" for number, line in enumerate(lines, start=1))


FIRST = story("Mary moved to the hall.", "Where is Mary? \thall\t1", "Mary went out.", "Where is Mary? \tgarden\t3")
PAIR = {"gold_label": "neutral", "sentence1": "A man sleeps.", "sentence2": "He dreams.", "captionID": "1.jpg#0"}

# One made-up original of each kind, as {path: content}.
ORIGINALS = {
    "sst": {
        "trees/train.txt": "(3 (2 Not) (3 bad))\n(2 (2 Fine) (2 .))\n",
        "trees/dev.txt": "(1 (2 -LRB-) (1 (0 bad) (2 1\\/2)))\n",
        "trees/test.txt": "(4 great)\n",
    },
    "imdb_full": {
        "aclImdb/train/neg/10_2.txt": "Dull.<br />Véry.",
        "aclImdb/train/neg/9_1.txt": "Worse.",
        "aclImdb/train/pos/0_9.txt": "Good.",
        "aclImdb/train/unsup/0_0.txt": "Unlabelled.",
        "aclImdb/test/neg/0_3.txt": "Meh.",
        "aclImdb/test/pos/7_10.txt": "Best.",
    },
    "20news_sports": {
        f"20news-bydate-{split}/{group}/{number}": ARTICLE.encode("latin-1")
        for split, number in (("train", 100), ("test", 200))
        for group in ("rec.sport.baseball", "rec.sport.hockey", "sci.space")
    },
    "ag_news": {
        "ag_news_csv/train.csv": as_csv(["3", "Oil", 'Prices "rise",\\again'], ["1", "Vote", "They vote."]),
        "ag_news_csv/test.csv": as_csv(["4", "Chips", "New chips."]),
    },
    "ade": {
        "ADE-Corpus-V2/DRUG-AE.rel": (
            "101|A rash with zol | and tam.|rash|0|4|zol|1|2\n101|A rash with zol | and tam.|rash|0|4|tam|1|2\n"
            "101|A rash with zol | and tam.|itch|0|4|tam|1|2\n102|Fever after zol.|Fever|0|4|zol|1|2\n"
        ),
        "ADE-Corpus-V2/ADE-NEG.txt": (
            "103 NEG Case report.\n104 NEG Case report.\n103 NEG Case report.\n102 NEG Fever after zol.\n"
        ),
    },
    "adr_tweets": {
        "tweets.csv": as_csv(
            ["tweet", "label", "exp_split"], ["so dizzy", "1", "train"], ["", "0", "train"], ["all well", "0", "test"]
        )
    },
    "babi": {
        **{
            f"tasks/en-10k/qa{task}_some-facts_{split}.txt": FIRST + FIRST
            for task in (1, 2, 3)
            for split in ("train", "test")
        },
        "tasks/en/qa1_some-facts_train.txt": FIRST,
        "tasks/en-10k/qa4_other_train.txt": FIRST,
        "tasks/en-10k/._qa1_some-facts_train.txt": b"\x00\x05",
    },
    "snli": {
        "snli_1.0/snli_1.0_train.jsonl": as_jsonl({**PAIR, "gold_label": "-"}, PAIR),
        "snli_1.0/snli_1.0_dev.jsonl": as_jsonl({**PAIR, "gold_label": "entailment"}),
        "snli_1.0/snli_1.0_test.jsonl": as_jsonl({**PAIR, "gold_label": "contradiction"}),
    },
    "cnn_qa": {
        "cnn/questions/training/aa.question": QUESTION,
        "cnn/questions/training/ab.question": QUESTION.replace("\n\n@entity1\n\n", "\n\n@entity3\n\n"),
        "cnn/questions/validation/ba.question": QUESTION,
        "cnn/questions/test/ca.question": QUESTION,
    },
    "mimic_diabetes": {
        "NOTEEVENTS.csv": as_csv(
            NOTE_COLUMNS,
            note(1, 1, 100, "More.", kind="Addendum"),
            note(2, 1, 100),
            note(3, 1, 100, "Rounds.", category="Physician "),
            note(4, 2, 200, "Sweet\nblood."),
            note(5, 3, 300, "Elsewhere."),
            note(6, 4, 400, "Wrong.", error="1"),
            note(7, 4, "", "Nowhere."),
            note(8, 5, 500, " \n"),
            note(9, 6, 600, "No codes."),
            note(10, 7, 700, "Cold feet."),
        ),
        "DIAGNOSES_ICD.csv": diagnoses(
            (1, 100, "4019"), (2, 200, "25000"), (2, 200, ""), (4, 400, "25000"), (5, 500, "2"), (7, 700, "25001")
        ),
        "train_50_hadm_ids.csv": "100\n400\n",
        "dev_50_hadm_ids.csv": "200\n600\n",
        "test_50_hadm_ids.csv": "HADM_ID\n500\n700\n",
    },
    "mimic_anemia": {
        "NOTEEVENTS.csv": as_csv(
            NOTE_COLUMNS,
            *(note(n, n, 100 * n, f"Pale, case {'abcd'[n]}.") for n in (1, 2, 3)),
            note(4, 13, 1300, "Pale."),
            note(5, 13, 1301, "Very pale."),
        ),
        "DIAGNOSES_ICD.csv": diagnoses(
            (1, 100, "2851"),
            (1, 100, "2859"),
            (2, 200, "28521"),
            (2, 200, "2851"),
            (3, 300, "2859"),
            (13, 1300, "28529"),
            (13, 1301, "2851"),
        ),
    },
}
MARY = {"context": ["Mary moved to the hall."], "question": "Where is Mary?", "answer": "hall", "support": [0]}
LATER = {**MARY, "context": [*MARY["context"], "Mary went out."], "answer": "garden", "support": [1]}
EXPECTED = {
    "sst": [
        {
            "id": "sst-train-0",
            "split": "train",
            "text": "Not bad",
            "label": 1,
            "label_name": "positive",
            "fine_label": 3,
            "token_labels": [2, 3],
        },
        {
            "id": "sst-train-1",
            "split": "train",
            "text": "Fine .",
            "label": None,
            "label_name": "neutral",
            "fine_label": 2,
            "token_labels": [2, 2],
        },
        {
            "id": "sst-dev-0",
            "split": "dev",
            "text": "( bad 1/2",
            "label": 0,
            "label_name": "negative",
            "fine_label": 1,
            "token_labels": [2, 0, 2],
        },
        {
            "id": "sst-test-0",
            "split": "test",
            "text": "great",
            "label": 1,
            "label_name": "positive",
            "fine_label": 4,
            "token_labels": [4],
        },
    ],
    "imdb_full": [
        {
            "id": f"imdb-{split}-{name}-{number}",
            "split": split,
            "text": text,
            "label": int(name == "pos"),
            "label_name": name,
            "rating": rating,
        }
        for split, name, number, rating, text in (
            ("train", "neg", 9, 1, "Worse."),
            ("train", "neg", 10, 2, "Dull.<br />Véry."),
            ("train", "pos", 0, 9, "Good."),
            ("test", "neg", 0, 3, "Meh."),
            ("test", "pos", 7, 10, "Best."),
        )
    ],
    "20news_sports": [
        {
            "id": f"20news-{split}-{group}-{number}",
            "split": split,
            "text": "Hi all,\n\n> quoted\nGöal!\n-- \nme\n",
            "label": label,
            "label_name": group,
        }
        for split, number in (("train", 100), ("test", 200))
        for label, group in enumerate(("rec.sport.baseball", "rec.sport.hockey"))
    ],
    "ag_news": [
        {"id": f"agnews-{place}", "split": split, "text": text, "title": title, "label": label, "label_name": name}
        for place, split, text, title, label, name in (
            ("train-0", "train", 'Prices "rise",\\again', "Oil", 2, "Business"),
            ("train-1", "train", "They vote.", "Vote", 0, "World"),
            ("test-0", "test", "New chips.", "Chips", 3, "Sci/Tech"),
        )
    ],
    "ade": [
        {
            "id": f"ade-{'pos' if drugs else 'neg'}-{number}",
            "split": "all",
            "text": text,
            "label": int(bool(drugs)),
            "label_name": "adverse effect" if drugs else "none",
            "pmid": pmid,
            "drugs": drugs,
            "effects": effects,
        }
        for number, pmid, text, drugs, effects in (
            (0, "101", "A rash with zol | and tam.", ["zol", "tam"], ["rash", "itch"]),
            (1, "102", "Fever after zol.", ["zol"], ["Fever"]),
            (0, "103", "Case report.", [], []),
            (1, "104", "Case report.", [], []),
        )
    ],
    "adr_tweets": [
        {"id": "adr-train-0", "split": "train", "text": "so dizzy", "label": 1, "label_name": "adverse reaction"},
        {"id": "adr-test-0", "split": "test", "text": "all well", "label": 0, "label_name": "none"},
    ],
    "babi": [
        {
            "id": f"babi-qa{task}-{split}-{number}",
            "split": split,
            "task": task,
            "story": number // 2,
            "in_1k": True,
            **(LATER if number % 2 else MARY),
        }
        for task in (1, 2, 3)
        for split in ("train", "test")
        for number in range(4)
    ],
    "snli": [
        {
            "id": f"snli-{split}-0",
            "split": split,
            "premise": "A man sleeps.",
            "hypothesis": "He dreams.",
            "label": label,
            "label_name": name,
        }
        for split, label, name in (("train", 1, "neutral"), ("dev", 0, "entailment"), ("test", 2, "contradiction"))
    ],
    "cnn_qa": [
        {
            "id": f"cnn-{name}",
            "split": split,
            "context": "@entity1 beat @entity2 on sunday .",
            "question": "@placeholder won",
            "answer": "@entity1",
            "url": "http://news/1",
        }
        for split, name in (("test", "ca"), ("train", "aa"), ("dev", "ba"))  # a folder is read by name
    ],
    "mimic_diabetes": [
        {
            "id": "mimic_diabetes-100",
            "split": "train",
            "text": "admission date : deidentified hgb qqq , given qqq units . = stable more .",
            "label": 0,
            "label_name": "no diabetes",
        },
        {"id": "mimic_diabetes-200", "split": "dev", "text": "sweet blood .", "label": 1, "label_name": "diabetes"},
        {"id": "mimic_diabetes-700", "split": "test", "text": "cold feet .", "label": 0, "label_name": "no diabetes"},
    ],
    "mimic_anemia": [
        {"id": "mimic_anemia-100", "split": "train", "text": "pale , case b .", "label": 1, "label_name": "acute"},
        {"id": "mimic_anemia-1300", "split": "dev", "text": "pale .", "label": 0, "label_name": "chronic"},
        {"id": "mimic_anemia-1301", "split": "dev", "text": "very pale .", "label": 1, "label_name": "acute"},
    ],
}
EXCLUDED = {
    "ade": {
        "more drugs or effects of a sentence, merged into its row": 2,
        "a repeated sentence of the same article": 1,
        "in ADE-NEG.txt (no adverse effect) and also in DRUG-AE.rel (adverse effect)": 1,
    },
    "adr_tweets": {"without a text (a deleted tweet)": 1},
    "snli": {"without a gold label (the annotators disagreed)": 1},
    "cnn_qa": {"whose answer is not an entity of the passage": 1},
    "mimic_diabetes": {
        "not a discharge summary": 1,
        "of an admission in none of CAML's top-50 lists": 1,
        "marked as an error": 1,
        "of no admission": 1,
        "of an admission without a diagnosis": 1,
        "without a word": 1,
        "more summaries of an admission, merged into its row": 1,
        "admission of CAML's lists without a usable summary": 2,
    },
    "mimic_anemia": {
        "of an admission with both acute (285.1) and chronic (285.2) anemia": 1,
        "of an admission with neither acute (285.1) nor chronic (285.2) anemia": 1,
    },
}

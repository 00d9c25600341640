"""Made-up corpora in the files of the real ones, for tests that need some corpus of a format and not that very one."""

import gzip
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

Row = dict[str, object]

FILLERS = [
    *("the", "a", "film", "story", "plot", "it", "was", "is", "this", "one", "that", "we"),
    *("saw", "had", "with", "of", "and", "on", "then", "some", "more", "very", "quite"),
]
OPINIONS = (("bad", "dull", "awful", "poor", "weak"), ("good", "great", "lovely", "clever", "fresh"))
FACTS = [
    *("the", "river", "town", "has", "a", "church", "from", "an", "old", "mill"),
    *("built", "near", "its", "northern", "bank", "by", "local", "people"),
]
PEOPLE = ("Mary", "John", "Sandra", "Daniel")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")


def write_corpora(folder: Path) -> Path:
    """The folder, with a small file of each corpus; the same every time."""
    for name, rows in FILES.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows(Random(name)))
    return folder


def _words(draw: Random, words: list[str], low: int, high: int) -> list[str]:
    return draw.choices(words, k=draw.randint(low, high))


def _opinion(draw: Random, label: int, low: int = 7, high: int = 18) -> list[str]:
    """A sentence with two words that say what its writer thinks."""
    words = _words(draw, FILLERS, low, high)
    for opinion in draw.sample(OPINIONS[label], 2):
        words.insert(draw.randint(0, len(words)), opinion)
    return [*words, "."]


def _review(draw: Random, label: int) -> list[list[str]]:
    return [_opinion(draw, label) for _ in range(draw.randint(4, 7))]


def _treebank(draw: Random) -> Iterator[tuple[Row, str]]:
    """Rows of SST, each with its tree, in which every phrase but a word has the label of the whole."""
    for split, size in (("train", 240), ("dev", 72), ("test", 120)):
        for n in range(size):
            label = (0, 1, 0, 1, 0, 1, None)[n % 7]
            fine = 2 if label is None else draw.choice(((0, 1), (3, 4))[label])
            words = _words(draw, FILLERS, 7, 18) if label is None else _opinion(draw, label)
            marks = [3 if word in OPINIONS[1] else 1 if word in OPINIONS[0] else 2 for word in words]
            leaves = [f"({mark} {word})" for mark, word in zip(marks, words, strict=True)]
            tree = leaves.pop()
            while leaves:
                tree = f"({fine} {leaves.pop()} {tree})"
            name = "neutral" if label is None else ("negative", "positive")[label]
            row = {"id": f"sst-{split}-{n}", "split": split, "text": " ".join(words), "label": label}
            yield {**row, "label_name": name, "fine_label": fine, "token_labels": marks}, tree


def sst(_: Random) -> Iterator[Row]:
    return (row for row, _ in _treebank(Random("treebank")))


def sst_trees(_: Random) -> Iterator[Row]:
    return ({"id": row["id"], "split": row["split"], "tree": tree} for row, tree in _treebank(Random("treebank")))


def imdb_small(draw: Random) -> Iterator[Row]:
    for split, size in (("train", 240), ("test", 120)):
        for n in range(size):
            rating = (1, 7, 2, 8, 3, 9, 4, 10)[n % 8]
            label = int(rating > 5)
            text = "<br /><br />".join(" ".join(sentence) for sentence in _review(draw, label))
            name = ("neg", "pos")[label]
            row = {"id": f"imdb-{split}-{name}-{n}", "split": split, "text": text}
            yield {**row, "label": label, "label_name": name, "rating": rating}


def newsgroups(draw: Random) -> Iterator[Row]:
    sports = (["bat", "inning", "pitcher"], ["ice", "puck", "goalie"])
    for split, size in (("train", 200), ("test", 60)):
        for n in range(size):
            label = n % 2
            lines = [" ".join(_words(draw, FILLERS + sports[label] * 3, 7, 12)) for _ in range(3)]
            text = f"In article <{n}@here> someone writes:\n> {lines[0]}\n{lines[1]}\n\n{lines[2]}\n-- \nMe\n"
            if (split, n) == ("test", 7):
                text = "\n"  # as some posts are
            name = ("rec.sport.baseball", "rec.sport.hockey")[label]
            yield {"id": f"20news-{split}-{name}-{n}", "split": split, "text": text, "label": label, "label_name": name}


def ag_news(draw: Random) -> Iterator[Row]:
    topics = (["treaty", "border"], ["match", "coach"], ["shares", "profit"], ["software", "planet"])
    for split, size in (("train", 400), ("test", 120)):
        for n in range(size):
            label = n % 4
            words = _words(draw, FACTS + topics[label] * 4, 8, 20)
            row = {"id": f"agnews-{split}-{n}", "split": split, "text": " ".join(words).capitalize() + "."}
            title = None if split == "train" else " ".join(words[:3])
            yield {
                **row,
                "title": title,
                "label": label,
                "label_name": ("World", "Sports", "Business", "Sci/Tech")[label],
            }


def ade_corpus(draw: Random) -> Iterator[Row]:
    for label, name in ((1, "adverse effect"), (0, "none")):
        for n in range(120):
            drug, effect = draw.choice(("qumarin", "veloxine")), draw.choice(("rash", "fever", "nausea"))
            words = _words(draw, FACTS, 5, 14)
            text = " ".join([*words, "after", drug, *(["came", effect] if label else [])]).capitalize() + f" {n}."
            row = {"id": f"ade-{('neg', 'pos')[label]}-{n}", "split": "all", "text": text, "label": label}
            named = {"drugs": [drug] * label, "effects": [effect] * label}
            yield {**row, "label_name": name, "pmid": str(1000 + n // 3), **named}


def babi(draw: Random) -> Iterator[Row]:
    """As many statements decide as the number of the task: who went where, carrying what, and where from."""
    for task in (1, 2, 3):
        for split, stories in (("train", 40), ("test", 16)):
            number = count()
            for story in range(stories):
                context: list[str] = [f"{name} went to the {draw.choice(PLACES)}." for name in draw.sample(PEOPLE, 2)]
                for _ in range(4):
                    person, thing, start = draw.choice(PEOPLE), draw.choice(THINGS), len(context)
                    first, second = draw.sample(PLACES, 2)
                    taken, here, there = (
                        f"{person} grabbed the {thing}.",
                        f"{person} moved to the {first}.",
                        f"{person} went to the {second}.",
                    )
                    context += {1: [here], 2: [taken, here], 3: [taken, here, there]}[task]
                    question = (
                        f"Where is {person}?",
                        f"Where is the {thing}?",
                        f"Where was the {thing} before the {second}?",
                    )
                    yield {
                        "id": f"babi-qa{task}-{split}-{next(number)}",
                        "split": split,
                        "task": task,
                        "story": story,
                        "in_1k": True,
                        "context": list(context),
                        "question": question[task - 1],
                        "answer": first,
                        "support": list(range(start, len(context)))[::-1],
                    }


def snli(draw: Random) -> Iterator[Row]:
    names = ("entailment", "neutral", "contradiction")
    for split, size in (("train", 120), ("dev", 60), ("test", 66)):
        for n in range(size):
            label = n % 3
            premise = _words(draw, FACTS, 7, 14)
            hypothesis = [*premise[:4], ("indeed", "perhaps", "never")[label], *_words(draw, FACTS, 1, 4)]
            texts = {"premise": f"A {' '.join(premise)}.", "hypothesis": f"The {' '.join(hypothesis)}."}
            yield {"id": f"snli-{split}-{n}", "split": split, **texts, "label": label, "label_name": names[label]}


def cnn_qa_sample(draw: Random) -> Iterator[Row]:
    for n in range(5):
        names = [f"@entity{place}" for place in range(n, n + 6)]
        words = [*_words(draw, FACTS, 20, 40), *names, "."]
        draw.shuffle(words)
        asked = " ".join(["@placeholder", *_words(draw, FACTS, 4, 8)])
        row = {"id": f"cnn-{n:040x}", "split": "train", "context": " ".join(words), "question": asked}
        yield {**row, "answer": draw.choice(names), "url": f"http://news.example/{n}"}


def eraser_movies(draw: Random) -> Iterator[Row]:
    for split, size in (("train", 60), ("dev", 20), ("test", 20)):
        for n in range(size):
            label = n % 2
            sentences = _review(draw, label)
            lengths = [len(sentence) for sentence in sentences]
            row = {"id": f"movies-{split}-{n}", "split": split, "text": " ".join(map(" ".join, sentences))}
            marked = {"sentence_lengths": lengths, "evidence": [[0, 3], [lengths[0], lengths[0] + lengths[1]]]}
            yield {**row, **marked, "label": label, "label_name": ("NEG", "POS")[label]}


def pronoun(draw: Random) -> Iterator[Row]:
    said = (("he", "his", "him", "himself"), ("she", "her", "her", "herself"))
    for split, size in (("train", 120), ("dev", 40), ("test", 40)):
        for n in range(size):
            label = n % 2
            words = _words(draw, FACTS, 6, 14)
            words.insert(draw.randint(0, len(words)), said[label][n // 2 % 4])
            row = {"id": f"pruthi-pronoun-{split}-{n}", "split": split, "text": " ".join(words), "label": label}
            yield {**row, "label_name": ("male", "female")[label]}


def sst_wiki(draw: Random) -> Iterator[Row]:
    for split, size in (("train", 120), ("dev", 72), ("test", 72)):
        for n in range(size):
            label = n % 2
            review, rest = _opinion(draw, label), _words(draw, FACTS, 6, 14)
            row = {
                "id": f"pruthi-sst-wiki-{split}-{n}",
                "split": split,
                "text": " ".join(review + rest),
                "label": label,
            }
            marks = [1] * len(review) + [0] * len(rest)
            yield {**row, "label_name": ("negative", "positive")[label], "impermissible": marks}


FILES = {
    "20news_sports": newsgroups,
    "ade_corpus_v2": ade_corpus,
    "ag_news": ag_news,
    "babi_qa123": babi,
    "cnn_qa_sample": cnn_qa_sample,
    "eraser_movies": eraser_movies,
    "imdb_small": imdb_small,
    "pruthi_pronoun": pronoun,
    "pruthi_sst_wiki": sst_wiki,
    "snli": snli,
    "sst": sst,
    "sst_trees": sst_trees,
}

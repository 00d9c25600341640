"""How texts and splits are prepared before a model sees them, as named settings.

What Jain & Wallace's paper and their released code do to each task is in PREPARATIONS; `load_task("sst:jw-release")`
asks for one. spaCy's tokeniser is stood in for by our own (`data/tokens.py`), and the original's random draws by the
hash of each text, so the sizes are near the published ones, not equal. Whatever is left out is counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from heatcheck.data.example import SPLITS, Corpus, Example, Split
from heatcheck.data.splitting import set_aside
from heatcheck.data.tokens import TOKENIZERS, split_words
from heatcheck.errors import UnknownName

NUMBER = "qqq"  # what every token with a digit becomes
NO_WORD = "no word in its text"
NO_DEV = "in the dev split, which this preparation does not use"
NOT_KEPT = "beyond the share of test that is kept"

# From a word, as the source writes it, to tokens.
CUTS: dict[str, Callable[[str], list[str]]] = {
    "words": TOKENIZERS["words"],  # punctuation and clitics stand apart
    "isolate": re.compile(r"\w+|\W").findall,  # every other character is a token of its own
    "strip": re.compile(r"\w+").findall,  # every other character is a space
    "apostrophes": re.compile(r"(?:[^\W_]|')+").findall,  # every other character but ' is a space, as Keras has it
}

_QUOTED = re.compile(r"^[>|]|\b(?:writes|wrote|says|said):|\bwrites in\b|^In article\b|^Quoted from\b")
_NOT_SPACE = re.compile(r"[^ \t\n\r\f\v]+")


@dataclass(frozen=True)
class Preparation:
    """What is done to a task. The defaults only squeeze white space."""

    cut: str | None = None  # a name in CUTS; None: words stay as the source has them
    lowercase: bool = True  # of what is cut
    digits: bool = False  # a token with a digit becomes `qqq`
    replies: bool = True  # False: lines quoted from other posts, and the last paragraph (a signature), are left out
    longer_than: int | None = None  # words a text must have more of
    shorter_than: int | None = None  # words it must have fewer of
    drop_extremes: bool = False  # a bound that is not given is the split's own extreme, which is dropped with its ties
    test_share: float | None = None  # all splits are pooled, and so much of each label is the new test
    test_kept: float | None = None  # so much of each label of test is kept
    dev_share: float | None = None  # of train, where there is no dev; 0: there is to be none; None: splits stay
    dev_group: Callable[[Example], str] | None = None  # examples of one group stay together when dev is cut
    marked: str | None = None  # the mark that a text must have on some word
    join_dev: bool = False  # with dev_share 0: a dev split goes back into train instead of being left out

    def __post_init__(self) -> None:
        if self.cut is not None and self.cut not in CUTS:
            raise UnknownName("way to cut words", self.cut, CUTS)


def prepare(corpus: Corpus, preparation: Preparation) -> Corpus:
    """The corpus after the preparation, with what was left out counted by reason.

    >>> texts = ["It 's GOOD , 10/10", "Bad !", "?"]
    >>> examples = tuple(Example(str(n), text, label=n % 2) for n, text in enumerate(texts))
    >>> corpus = Corpus("three", ("no", "yes"), {"train": Split("train", examples)})
    >>> prepared = prepare(corpus, Preparation(cut="strip", digits=True))
    >>> [example.text for example in prepared["train"]], prepared.dropped
    (['it s good qqq qqq', 'bad'], {'no word in its text': 1})
    """
    dropped = Counter(corpus.dropped)
    written = _Rewritten(preparation)
    splits: dict[str, list[Example]] = {}
    for name, split in corpus.splits.items():
        rewritten = list(_rewrite(split, preparation, written))
        splits[name] = [example for example in rewritten if example.text]
        dropped[NO_WORD] += len(rewritten) - len(splits[name])
        if (mark := preparation.marked) is not None:
            every, splits[name] = splits[name], [one for one in splits[name] if any(one.marks.get(mark, ()))]
            dropped[f"no word marked as {mark}"] += len(every) - len(splits[name])
    if preparation.test_share is not None:
        pool = [example for name in SPLITS for example in splits.pop(name, [])]
        splits["train"], splits["test"] = set_aside(pool, preparation.test_share)
    if preparation.test_kept is not None:
        rest, splits["test"] = set_aside(splits["test"], preparation.test_kept)
        dropped[NOT_KEPT] += len(rest)
    if preparation.dev_share == 0:
        dev = splits.pop("dev", [])
        if preparation.join_dev:
            splits["train"] += dev
        else:
            dropped[NO_DEV] += len(dev)
    elif preparation.dev_share is not None and not splits.get("dev"):
        splits["train"], splits["dev"] = set_aside(splits["train"], preparation.dev_share, group=preparation.dev_group)
    kept = {name: _within(splits[name], preparation, dropped) for name in SPLITS if name in splits}
    return replace(
        corpus,
        splits={name: Split(name, tuple(found)) for name, found in kept.items()},
        tokens=corpus.tokens if preparation.cut is None else "spaces",
        dropped={reason: count for reason, count in dropped.items() if count},
    )


class _Rewritten(dict[str, str]):
    """Words as the preparation writes them: tokens between spaces, or nothing. A corpus has few words, many times."""

    def __init__(self, preparation: Preparation) -> None:
        self.preparation = preparation

    def __missing__(self, word: str) -> str:
        preparation = self.preparation
        if preparation.cut is None:
            tokens = [word] if word else []
        else:
            tokens = CUTS[preparation.cut](word.lower() if preparation.lowercase else word)
        if preparation.digits:
            tokens = [NUMBER if any(character.isdigit() for character in token) else token for token in tokens]
        self[word] = " ".join(tokens)
        return self[word]


def _rewrite(examples: Iterable[Example], preparation: Preparation, written: _Rewritten) -> Iterator[Example]:
    write = written.__getitem__
    for example in examples:
        text = example.text if preparation.replies else _without_replies(example.text)
        words, pair, marks = split_words(text), example.text_pair, example.marks
        text = " ".join(filter(None, map(write, words)))
        if pair is not None:
            pair = " ".join(filter(None, map(write, split_words(pair))))
        if (text, pair) == (example.text, example.text_pair):
            yield example
            continue
        if marks:  # each token is marked as the word it comes from
            tokens = [len(written[word].split(" ")) if written[word] else 0 for word in words]
            marks = {name: _repeated(marked, tokens) for name, marked in marks.items()}
        yield replace(example, text=text, text_pair=pair, marks=marks)


def _repeated(marked: Sequence[bool], times: Sequence[int]) -> tuple[bool, ...]:
    return tuple(mark for mark, count in zip(marked, times, strict=True) for _ in range(count))


def _without_replies(text: str) -> str:
    """What is left out leaves its white space, so that words are still counted as before."""
    lines = text.split("\n")
    filled = [place for place, line in enumerate(lines) if line.strip()]
    # A signature is what stands after the last line that is empty, or made of hyphens.
    breaks = [p for p in range(filled[0] + 1, filled[-1] + 1) if not lines[p].strip().strip("-")] if filled else []
    end = breaks[-1] if breaks else len(lines)
    return "\n".join(
        line if place < end and not _QUOTED.search(line) else _blank(line) for place, line in enumerate(lines)
    )


def _blank(text: str) -> str:
    return _NOT_SPACE.sub("", text)


def _within(examples: Sequence[Example], preparation: Preparation, dropped: Counter[str]) -> list[Example]:
    """The examples of one split inside the bounds on their length; the others are counted in `dropped`."""
    lengths = [example.text.count(" ") + 1 for example in examples]  # one space between any two words by now
    low, high = preparation.longer_than, preparation.shorter_than
    too_short, too_long = f"{low} words or fewer", f"{high} words or more"
    if preparation.drop_extremes and low is None:
        low, too_short = min(lengths, default=0), "the shortest texts of their split"
    if preparation.drop_extremes and high is None:
        high, too_long = max(lengths, default=0), "the longest texts of their split"
    kept = []
    for example, length in zip(examples, lengths, strict=True):
        if low is not None and length <= low:
            dropped[too_short] += 1
        elif high is not None and length >= high:
            dropped[too_long] += 1
        else:
            kept.append(example)
    return kept


_CLEANED = Preparation(cut="words", digits=True)
_TWEETS = replace(_CLEANED, longer_than=5, shorter_than=100)
_IMDB = Preparation(cut="apostrophes", longer_than=6, shorter_than=400, dev_share=0.2)
_MIMIC = Preparation(shorter_than=4000, dev_share=0.15)  # its texts were cleaned when they were imported

_RELEASE: dict[str, Preparation] = {
    "20news_sports": Preparation(
        cut="isolate",
        digits=True,
        replies=False,
        longer_than=6,
        shorter_than=500,
        test_share=0.2,
        dev_share=0.2,
    ),
    "ade": _TWEETS,
    "adr_tweets": replace(_TWEETS, dev_share=0.15),
    "ag_news": replace(_CLEANED, drop_extremes=True, dev_share=0.15),
    "babi_1": Preparation(dev_share=0.15),
    "babi_2": Preparation(dev_share=0.15),
    "babi_3": Preparation(dev_share=0.15),
    "cnn_qa": Preparation(),
    "imdb": _IMDB,
    "imdb_full": replace(_IMDB, test_kept=0.2),
    "imdb_small": _IMDB,
    "mimic_anemia": replace(_MIMIC, drop_extremes=True),
    "mimic_diabetes": replace(_MIMIC, longer_than=6),
    "snli": _CLEANED,
    "sst": Preparation(cut="strip", longer_than=5, drop_extremes=True),
}

# Tasks whose dev split is our own cut, not the source's.
_OUR_DEV = ("ade", "imdb", "mimic_anemia")
PREPARATIONS: dict[str, Mapping[str, Preparation]] = {
    # No dev split at all: the epoch is chosen on test.
    "jw-paper": {task: replace(p, dev_share=0.0, join_dev=task in _OUR_DEV) for task, p in _RELEASE.items()},
    "jw-release": _RELEASE,
    # Texts in which nobody marked a word have no rationale to read.
    "marked": {"eraser_movies": Preparation(marked="rationale")},
}

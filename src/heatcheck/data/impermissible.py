"""`sst_wiki` and `pronoun`: words that decide the label are marked `impermissible`; other tasks lack these words.

Pruthi et al. train a model to keep its attention off the marked words while it goes on using them. `wiki_only` and
`pronoun_neutral` show how far a model gets that cannot use them.
"""

from dataclasses import replace

from heatcheck.data.example import Example
from heatcheck.data.folder_tasks import Fields, folder_task

SENTIMENT = ("negative", "positive")
GENDER = ("male", "female")
NEUTRAL = {
    "he": "they",
    "she": "they",
    "her": "their",
    "his": "their",
    "hers": "their",
    "him": "them",
    "himself": "themself",
    "herself": "themself",
}
PRONOUNS = frozenset(NEUTRAL) - {"hers"}  # the published list lacks it; it stands once in 11,271 sentences


def _review_and_distractor(fields: Fields) -> Example:
    marked = tuple(bool(mark) for mark in fields["impermissible"])
    words = len(fields["text"].split(" "))
    if len(marked) != words:
        raise ValueError(f"{len(marked)} marks for {words} words")
    return Example(fields["id"], fields["text"], label=fields["label"], marks={"impermissible": marked})


def _distractor(fields: Fields) -> Example:
    whole = _review_and_distractor(fields)
    kept = zip(whole.words, whole.marks["impermissible"], strict=True)
    return replace(whole, text=" ".join(word for word, marked in kept if not marked), marks={})


def _sentence(fields: Fields) -> Example:
    marked = tuple(word.lower() in PRONOUNS for word in fields["text"].split(" "))
    return Example(fields["id"], fields["text"], label=fields["label"], marks={"impermissible": marked})


def _neutral_sentence(fields: Fields) -> Example:
    words = [NEUTRAL.get(word.lower(), word) for word in fields["text"].split(" ")]
    return Example(fields["id"], " ".join(words), label=fields["label"])


_REVIEWS = {"train": 6920, "dev": 872, "test": 1821}
_SENTENCES = {"train": 9017, "dev": 1127, "test": 1127}

sst_wiki = folder_task(
    "sst_wiki",
    "an SST sentence, then an unrelated Wikipedia sentence (Pruthi et al.); the review is impermissible",
    SENTIMENT,
    _REVIEWS,
    "none stated",
    _review_and_distractor,
    file="pruthi_sst_wiki",
    tokens="spaces",
    importable=False,
)
wiki_only = folder_task(
    "wiki_only",
    "sst_wiki without the review: how much the Wikipedia sentence alone tells",
    SENTIMENT,
    _REVIEWS,
    "none stated",
    _distractor,
    file="pruthi_sst_wiki",
    tokens="spaces",
    importable=False,
)
pronoun = folder_task(
    "pronoun",
    "Wikipedia sentences about a man or a woman (Pruthi et al.); he, she, her, his, … are impermissible",
    GENDER,
    _SENTENCES,
    "none stated",
    _sentence,
    file="pruthi_pronoun",
    tokens="spaces",
    importable=False,
)
pronoun_neutral = folder_task(
    "pronoun_neutral",
    "pronoun with they, their, them and themself instead of the impermissible words, as published",
    GENDER,
    _SENTENCES,
    "none stated",
    _neutral_sentence,
    file="pruthi_pronoun",
    tokens="spaces",
    importable=False,
)

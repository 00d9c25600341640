"""The labels of a corpus as a user should see them: how many rows each has, and which look like a mistake."""

from collections import Counter

from heatcheck.data.example import Corpus
from heatcheck.data.reading import folded

# As spreadsheets and data frames write a hole. "None" is not among them: it is often a class.
MISSING = ("nan", "na", "n/a", "#n/a", "<na>", "null")


def label_counts(corpus: Corpus) -> dict[str, int]:
    """How many examples of all splits have each label.

    >>> from heatcheck.data import load_task
    >>> label_counts(load_task("planted_keyword"))
    {'negative': 1770, 'positive': 1730}
    """
    counts: Counter[int] = Counter()
    for split in corpus.splits.values():
        for example in split:
            counts.update(example.label if isinstance(example.label, tuple) else [example.label or 0])
    return {name: counts[number] for number, name in enumerate(corpus.labels)}


def looks_missing(label: str) -> bool:
    """
    >>> looks_missing("NaN"), looks_missing("none")
    (True, False)
    """
    return folded(label) in MISSING


def doubtful_labels(corpus: Corpus) -> list[str]:
    """One sentence about each group of labels that differ in case and spaces only, and each that looks like a hole."""
    counts = label_counts(corpus)
    alike: dict[str, list[str]] = {}
    for name in counts:
        alike.setdefault(folded(name), []).append(name)
    said = [
        f"the labels {', '.join(f'{name} ({counts[name]})' for name in names)} look alike, and heatcheck takes them "
        "for different ones: --merge-labels makes them one."
        for names in alike.values()
        if len(names) > 1
    ]
    holes = [
        f"the label {name} ({counts[name]}) looks like a missing value, and heatcheck takes it for a label: "
        "--skip-bad-rows leaves its rows out."
        for name in counts
        if looks_missing(name)
    ]
    return said + holes

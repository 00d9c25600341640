"""The labels of a corpus as a user should see them: how many rows each has, and which look like a mistake."""

from collections import Counter
from collections.abc import Collection

from heatcheck.data.example import Corpus
from heatcheck.data.reading import Reading, look_alike, looks_missing, merged_names


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


def doubtful_labels(corpus: Corpus) -> list[str]:
    """One sentence about each group of labels that differ in case and spaces only, and each that looks like a hole."""
    counts = label_counts(corpus)
    said = [
        f"the labels {', '.join(f'{name} ({counts[name]})' for name in names)} look alike, and heatcheck takes them "
        "for different ones: --merge-labels makes them one."
        for names in look_alike(counts)
    ]
    holes = [
        f"the label {name} ({counts[name]}) looks like a missing value, and heatcheck takes it for a label: "
        "--skip-bad-rows leaves its rows out."
        for name in counts
        if looks_missing(name)
    ]
    return said + holes


def mending_options(corpus: Corpus, labels: Collection[str]) -> str:
    """Options with which a file would have these labels only; empty where none would do."""
    counts = label_counts(corpus)
    kept = {name: count for name, count in counts.items() if not looks_missing(name)}
    merged = merged_names([name for name, count in kept.items() for _ in range(count)])
    if not set(merged) <= set(labels):
        return ""
    return Reading(skip_bad_rows=len(kept) < len(counts), merge_labels=bool(look_alike(kept))).options

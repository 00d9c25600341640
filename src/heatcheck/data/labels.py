"""The labels of a corpus: how many examples each has, and which look like a mistake."""

from collections import Counter
from collections.abc import Collection

from heatcheck.data.example import Corpus
from heatcheck.data.reading import Reading, look_alike, looks_missing, merged_names


def label_counts(corpus: Corpus) -> dict[str, int]:
    """Count the examples of each label over all splits.

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
    """Warn of labels that differ only in case and spaces, and of labels that look like missing values."""
    counts = label_counts(corpus)
    said = [
        f"the labels {', '.join(f'{name} ({counts[name]})' for name in names)} look alike, but "
        "heatcheck treats them as different labels. Merge them with --merge-labels."
        for names in look_alike(counts)
    ]
    holes = [
        f"the label {name} ({counts[name]}) looks like a missing value, but heatcheck treats it as a label. "
        "Skip its rows with --skip-bad-rows."
        for name in counts
        if looks_missing(name)
    ]
    return said + holes


def mending_options(corpus: Corpus, labels: Collection[str]) -> str:
    """The options that would leave a file with only these labels; empty if none would."""
    counts = label_counts(corpus)
    kept = {name: count for name, count in counts.items() if not looks_missing(name)}
    merged = merged_names([name for name, count in kept.items() for _ in range(count)])
    if not set(merged) <= set(labels):
        return ""
    return Reading(skip_bad_rows=len(kept) < len(counts), merge_labels=bool(look_alike(kept))).options

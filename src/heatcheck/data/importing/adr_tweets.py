"""Imports `adr_tweets`: tweets with or without an adverse drug reaction, as a table of text, label and split.

Jain & Wallace's own table was private ("contact us"), so its format is an assumption: columns `tweet`, `label`
(0 or 1) and `exp_split`. `text` and `split` are read as the same, and so is a table without a split.
"""

from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

_TEXT = ("TEXT", "TWEET")
_SPLIT = ("SPLIT", "EXP_SPLIT")
_LABELS = {"0": 0, "0.0": 0, "1": 1, "1.0": 1}  # a data frame with a hole writes whole numbers so
_SPLITS = {"train": "train", "dev": "dev", "valid": "dev", "validation": "dev", "test": "test"}


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    counts: dict[str, int] = {}
    with distribution.only(r"[^/]*\.[ct]sv(?:\.gz)?", "CSV or TSV file") as member:
        tabs = ".tsv" in member.where.lower()[-7:]
        for where, values in member.table("LABEL", delimiter="\t" if tabs else ","):
            text = next((values[name] for name in _TEXT if name in values), None)
            if text is None:
                raise BadInput(f"{member.where} has no column text or tweet. Its columns: {', '.join(values).lower()}.")
            label, split = values["LABEL"].strip(), next((values[name] for name in _SPLIT if name in values), None)
            if label not in _LABELS:
                raise BadInput(f"{where}: the label must be 0 or 1, not {label!r}.")
            side = "all" if split is None else _SPLITS.get(split.strip().lower())
            if side is None:
                raise BadInput(f"{where}: the split must be train, dev or test, not {split!r}.")
            if not text.strip():
                yield Excluded("without a text (a deleted tweet)")
                continue
            number = counts.setdefault(side, 0)
            counts[side] += 1
            yield {
                "id": f"adr-{side}-{number}",
                "split": side,
                "text": text,
                "label": _LABELS[label],
                "label_name": ("none", "adverse reaction")[_LABELS[label]],
            }


adr_tweets = Importer(
    "adr_tweets",
    ("adr_tweets",),
    "adr_tweets.jsonl.gz",
    "the DIEGO lab's Twitter ADR corpus (Nikfarjam et al. 2015); tweets may not be redistributed, so ask the authors",
    "one CSV or TSV file with the columns tweet (or text), label (0 or 1) and exp_split (or split)",
    _read,
)

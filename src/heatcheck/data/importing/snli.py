"""Imports `snli`: Stanford Natural Language Inference 1.0, JSON lines; pairs without a gold label are left out."""

import json
from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

LABELS = ("entailment", "neutral", "contradiction")


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    for split in ("train", "dev", "test"):
        with distribution.only(rf"snli_1\.0_{split}\.jsonl", f"snli_1.0_{split}.jsonl") as member:
            count = 0
            for number, line in member.lines():
                if not line.strip():
                    continue
                where = f"{member.where}, line {number}"
                try:
                    values = json.loads(line)
                    label, premise, hypothesis = (values[key] for key in ("gold_label", "sentence1", "sentence2"))
                except (ValueError, RecursionError, KeyError, TypeError):
                    raise BadInput(
                        f"{where}: expected a JSON object with gold_label, sentence1 and sentence2."
                    ) from None
                if label == "-":
                    yield Excluded("without a gold label (the annotators disagreed)")
                    continue
                if label not in LABELS:
                    raise BadInput(f"{where}: gold_label must be {', '.join(LABELS)} or '-', not {label!r}.")
                yield {
                    "id": f"snli-{split}-{count}",
                    "split": split,
                    "premise": premise,
                    "hypothesis": hypothesis,
                    "label": LABELS.index(label),
                    "label_name": label,
                }
                count += 1


snli = Importer(
    "snli",
    ("snli",),
    "snli.jsonl.gz",
    "the SNLI page at Stanford NLP (Bowman et al. 2015): snli_1.0.zip",
    "snli_1.0_train.jsonl, snli_1.0_dev.jsonl and snli_1.0_test.jsonl, in a folder or its zip",
    _read,
    {"train": 549_367, "dev": 9842, "test": 9824},
)

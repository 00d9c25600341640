"""Imports `ade`, the ADE corpus v2: DRUG-AE.rel has a line per drug and effect, ADE-NEG.txt one per sentence."""

import re
from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

_NEGATIVE = re.compile(r"(\d+) NEG (.*\S)")


def _row(number: int, label: int, pmid: str, text: str) -> Row:
    return {
        "id": f"ade-{('neg', 'pos')[label]}-{number}",
        "split": "all",
        "text": text,
        "label": label,
        "label_name": ("none", "adverse effect")[label],
        "pmid": pmid,
    }


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    # A sentence has a line for each pair of a drug and an effect; it is one example.
    pairs: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    lines = 0
    with distribution.only(r"DRUG-AE\.rel", "DRUG-AE.rel") as member:
        for number, line in member.lines():
            if not line.strip():
                continue
            pmid, _, rest = line.rstrip("\r\n").partition("|")
            fields = rest.rsplit("|", 6)  # from the right, for a sentence may hold the mark itself
            if not pmid.isdigit() or len(fields) != 7 or not fields[0].strip():
                raise BadInput(
                    f"{member.where}, line {number}: expected eight fields separated by |: "
                    "PMID|sentence|effect|begin|end|drug|begin|end."
                )
            drugs, effects = pairs.setdefault((pmid, fields[0].strip()), ([], []))
            for names, name in ((effects, fields[1]), (drugs, fields[4])):
                if name not in names:
                    names.append(name)
            lines += 1
    for count, ((pmid, text), (drugs, effects)) in enumerate(pairs.items()):
        yield {**_row(count, 1, pmid, text), "drugs": drugs, "effects": effects}
    if lines > len(pairs):
        yield Excluded("more drugs or effects of a sentence, merged into its row", lines - len(pairs))

    seen: set[tuple[str, str]] = set()
    with distribution.only(r"ADE-NEG\.txt", "ADE-NEG.txt") as member:
        for number, line in member.lines():
            if not line.strip():
                continue
            found = _NEGATIVE.fullmatch(line.strip())
            if not found:
                raise BadInput(f"{member.where}, line {number}: expected PMID NEG SENTENCE, separated by spaces.")
            key = found[1], found[2]
            if key in seen:
                yield Excluded("a repeated sentence of the same article")
            elif key in pairs:
                yield Excluded("in ADE-NEG.txt (no adverse effect) and also in DRUG-AE.rel (adverse effect)")
            else:
                yield {**_row(len(seen), 0, *key), "drugs": [], "effects": []}
                seen.add(key)


ade = Importer(
    "ade",
    ("ade",),
    "ade_corpus_v2.jsonl.gz",
    "the ADE benchmark corpus page of its authors (Gurulingappa et al. 2012): ADE-Corpus-V2",
    "DRUG-AE.rel and ADE-NEG.txt, in a folder or its zip",
    _read,
    {"all": 20_960},
)

"""Importers: each converts a published data set, in its own format, into one file of the data folder.

`heatcheck data import sst trainDevTestTrees_PTB.zip` is `import_task("sst", "trainDevTestTrees_PTB.zip")`.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from heatcheck.data import data_folder
from heatcheck.data.importing.ade import ade
from heatcheck.data.importing.adr_tweets import adr_tweets
from heatcheck.data.importing.ag_news import ag_news
from heatcheck.data.importing.babi import babi
from heatcheck.data.importing.cnn_qa import cnn_qa
from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.imdb import imdb_full
from heatcheck.data.importing.importer import Excluded, Imported, Importer
from heatcheck.data.importing.mimic import mimic_anemia, mimic_diabetes
from heatcheck.data.importing.newsgroups import newsgroups
from heatcheck.data.importing.snli import snli
from heatcheck.data.importing.sst import sst
from heatcheck.engine import whole_file
from heatcheck.errors import BadInput, UnknownName

__all__ = ["IMPORTERS", "Distribution", "Excluded", "Imported", "Importer", "import_task", "importer_of"]

IMPORTERS: dict[str, Importer] = {
    "20news_sports": newsgroups,
    "ade": ade,
    "adr_tweets": adr_tweets,
    "ag_news": ag_news,
    "babi": babi,
    "cnn_qa": cnn_qa,
    "imdb_full": imdb_full,
    "mimic_anemia": mimic_anemia,
    "mimic_diabetes": mimic_diabetes,
    "snli": snli,
    "sst": sst,
}
_OFTEN = 1000  # records between two calls of watch


def importer_of(task: str) -> Importer:
    """Find an importer by its own name, by a task it serves, or by its file.

    >>> importer_of("babi_2").name, importer_of("ade_corpus_v2").name
    ('babi', 'ade')
    """
    for importer in IMPORTERS.values():
        if task in (importer.name, *importer.tasks, importer.file.removesuffix(".jsonl.gz")):
            return importer
    raise UnknownName("importer", task, IMPORTERS)


def import_task(
    task: str, path: Path | str, *, out: Path | str | None = None, watch: Callable[[int], None] | None = None
) -> Imported:
    """Convert a published data set into a file of the data folder. A failed import leaves no file.

    The same input always gives the same bytes.

    Args:
        task: the name of an importer, a task or a file.
        path: the data set as published: a folder, an archive or a file.
        out: the data folder to write to; by default HEATCHECK_DATA, else `data`.
        watch: called now and then with the number of records read so far.

    Returns:
        The number of records read, of rows written per split, and of records left out by reason.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for split in ("train", "dev", "test"):
    ...     _ = (folder / f"{split}.txt").write_text("(3 (2 Not) (3 bad))\\n", encoding="utf-8")
    >>> import_task("sst", folder, out=folder).written
    {'train': 1, 'dev': 1, 'test': 1}
    """
    importer = importer_of(task)
    target = data_folder(out) / importer.file
    if target.exists():
        raise BadInput(f"{target} already exists. Delete it, or choose another folder with --out.")
    written: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    read = 0
    ids: set[str] = set()
    distribution = Distribution(Path(path), importer.name, importer.holds)
    with (
        whole_file(target) as aside,
        aside.open("wb") as raw,
        # Neither the name nor the time, so that the bytes depend on the rows alone.
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as lines,
    ):
        for record in importer.read(distribution):
            if isinstance(record, Excluded):
                excluded[record.reason] += record.count
                read += record.count
            else:
                if str(record["id"]) in ids:
                    raise BadInput(f"{path} contains {record['id']} twice. Give a folder with one copy of the data.")
                ids.add(str(record["id"]))
                written[str(record["split"])] += 1
                read += 1
                lines.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            if watch and read % _OFTEN == 0:
                watch(read)
        if not written:
            why = "; ".join(f"{count:,} {reason}" for reason, count in excluded.items()) or "the files are empty"
            raise BadInput(f"{path} has no usable rows for {task}: {why}.")
    return Imported(importer.name, target, read, dict(written), dict(excluded))

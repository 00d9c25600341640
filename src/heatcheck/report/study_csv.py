"""A study's numbers as one CSV table."""

import csv
import io
import math
from pathlib import Path

from heatcheck.engine import write_whole
from heatcheck.results import StudyResult
from heatcheck.results.study import COLUMNS


def write_study_table(found: StudyResult, path: Path | str) -> Path:
    """Write one row per number: ours over seeds, the paper's, the rerun's, and the statement about each."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow("class" if name == "of_class" else name for name in COLUMNS)
    for row in found.rows:
        cells = row.facts().values()
        rows.writerow("" if isinstance(cell, float) and not math.isfinite(cell) else _cell(cell) for cell in cells)
    write_whole(Path(path), text.getvalue())
    return Path(path)


def _cell(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else "" if value is None else value

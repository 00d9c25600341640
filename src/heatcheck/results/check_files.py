"""Results of checks as files, so that a page can be drawn where nothing was run."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.engine import read_json, write_json
from heatcheck.errors import BrokenFolder
from heatcheck.results.as_facts import kept_arrays, kept_facts, results_from
from heatcheck.results.check_result import CheckResult

RESULTS, EXAMPLES = "results.json", "examples.npz"


def keep_results(results: Mapping[str, CheckResult], folder: Path) -> None:
    """Writes what checks found: numbers as JSON, the values of each example as arrays."""
    write_json(folder / RESULTS, kept_facts(results))
    arrays: dict[str, Any] = kept_arrays(results)
    np.savez_compressed(folder / EXAMPLES, **arrays)


def read_results(folder: Path) -> dict[str, CheckResult]:
    """What `keep_results` wrote."""
    try:
        with np.load(folder / EXAMPLES, allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        return results_from(read_json(folder / RESULTS), arrays)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error):
        raise BrokenFolder(f"{folder} is damaged: delete it and give the same command again") from None

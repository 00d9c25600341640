"""Results of checks as files, so that a page can be drawn on a machine where nothing was run."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.engine import Facts, read_json, write_json
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
        return results_from({name: _as_now(of) for name, of in read_json(folder / RESULTS).items()}, arrays)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error):
        raise BrokenFolder(f"{folder} is damaged: delete it and give the same command again") from None


def _as_now(of: Facts) -> Facts:
    """Older versions kept findings among the settings; a study's models may take days, so these are read still."""
    if "facts" in of:
        return of
    found = {"not_run": of["settings"].get("not_run", {}), "facts": of["settings"]}
    return {**of, **found, "question": "", "paper": "", "baseline": ""}

"""Results of checks as files, so that a page can be drawn where nothing was run."""

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.checks import CheckResult, Measurement
from heatcheck.engine import read_json, write_json
from heatcheck.errors import BrokenFolder

RESULTS, EXAMPLES = "results.json", "examples.npz"


def keep_results(results: Mapping[str, CheckResult], folder: Path) -> None:
    """Writes what checks found: numbers as JSON, the values of each example as arrays."""
    facts = {
        name: {
            "subject": result.subject,
            "holds": result.holds,
            "measurements": [
                {**m._asdict(), **{key: _written(getattr(m, key)) for key in ("value", "low", "high")}}
                for m in result.measurements
            ],
            "examples": list(result.examples),
            "excluded": dict(result.excluded),
            "settings": result.settings,
            "seed": result.seed,
        }
        for name, result in results.items()
    }
    write_json(folder / RESULTS, facts)
    arrays: dict[str, Any] = {
        f"{name}/{quantity}": values
        for name, result in results.items()
        for quantity, values in result.per_example.items()
    }
    np.savez_compressed(folder / EXAMPLES, **arrays)


def read_results(folder: Path) -> dict[str, CheckResult]:
    """What `keep_results` wrote."""
    try:
        with np.load(folder / EXAMPLES, allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        return {
            name: CheckResult(
                check=name,
                subject=facts["subject"],
                holds=facts["holds"],
                measurements=tuple(_measurement(one) for one in facts["measurements"]),
                examples=tuple(facts["examples"]),
                per_example={
                    key.removeprefix(f"{name}/"): values for key, values in arrays.items() if key.startswith(f"{name}/")
                },
                excluded=facts["excluded"],
                settings=facts["settings"],
                seed=facts["seed"],
            )
            for name, facts in read_json(folder / RESULTS).items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error):
        raise BrokenFolder(f"{folder} is damaged: delete it and give the same command again") from None


def _measurement(facts: Mapping[str, Any]) -> Measurement:
    return Measurement(**{**facts, **{key: float(facts[key]) for key in ("value", "low", "high")}})


def _written(number: float) -> float | str:
    """One seed has an interval from -inf to inf, and JSON has no word for either."""
    return float(number) if math.isfinite(number) else str(float(number))

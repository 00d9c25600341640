"""`make bench`: a table, and the same rows in benchmarks/latest.json."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import (
    battery,
    epoch,
    flow,
    gradient_rollout,
    heads,
    kendall,
    leave_one_out,
    norms,
    parallel_audit,
    recorder,
    side_by_side,
    stacked,
    transformer,
)

BENCHMARKS = (
    kendall,
    epoch,
    leave_one_out,
    battery,
    flow,
    norms,
    gradient_rollout,
    heads,
    transformer,
    stacked,
    side_by_side,
    recorder,
    parallel_audit,
)


def main(quick: bool = False) -> list[dict[str, Any]]:
    """Prints each row when it is there; a share beside the size says how much of the plain side was timed."""
    print(f"{'name':48} {'size':24} {'plain s':>9} {'ours s':>9} {'ratio':>8} {'wanted':>7}  equal")
    rows = []
    for benchmark in BENCHMARKS:
        for row in benchmark.measure(quick=quick):
            rows.append(row)
            print(_line(row), flush=True)
    timed = [row for row in rows if "ratio" in row]
    if any(row.get("timed_share", 1) < 1 for row in timed):
        print("* the plain side was timed on some whole batches, spread over the lengths, and scaled by tokens read.")
    for tolerance in {row["tolerance"] for row in timed if row.get("tolerance")}:
        print(f"~ leave-one-out with a tolerance of {tolerance:g} on the states of a trained model.")
    missed = [row for row in timed if row["ratio"] < (row.get("target") or 0)]
    print(f"\n{len(missed)} of {sum(1 for row in timed if row.get('target'))} wanted ratios not reached.")
    return rows


def _line(row: dict[str, Any]) -> str:
    equal = "yes" if row["equal"] else "NO"
    if "peak_gb" in row:
        return f"{row['name']:48} {row['size']:24} {row['peak_gb']:19.2f} GB, limit {row['limit_gb']:.0f} GB  {equal}"
    size = row["size"] + ("*" if row.get("timed_share", 1) < 1 else "") + ("~" if row.get("tolerance") else "")
    wanted = f"{row['target']}x" if row.get("target") else ""
    return (
        f"{row['name']:48} {size:24} {row['plain_s']:9.3f} {row['library_s']:9.3f} "
        f"{row['ratio']:8.1f} {wanted:>7}  {equal}"
    )


if __name__ == "__main__":
    rows = main(quick="--quick" in sys.argv)
    out = Path(__file__).parent / "latest.json"
    out.write_text(json.dumps(rows, indent=2) + "\n")
    sys.exit(0 if all(row["equal"] for row in rows) else 1)

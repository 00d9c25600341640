"""`make bench`: a table, and the same rows in benchmarks/latest.json."""

import json
import sys
from pathlib import Path

from benchmarks import epoch, kendall

BENCHMARKS = (kendall, epoch)


def main(quick: bool = False) -> list[dict[str, object]]:
    rows = [row for benchmark in BENCHMARKS for row in benchmark.measure(quick=quick)]
    print(f"{'name':42} {'size':22} {'plain s':>9} {'ours s':>9} {'ratio':>7}  equal")
    for row in rows:
        print(
            f"{row['name']:42} {row['size']:22} {row['plain_s']:9.3f} {row['library_s']:9.3f} "
            f"{row['ratio']:7.1f}  {'yes' if row['equal'] else 'NO'}"
        )
    return rows


if __name__ == "__main__":
    rows = main(quick="--quick" in sys.argv)
    out = Path(__file__).parent / "latest.json"
    out.write_text(json.dumps(rows, indent=2) + "\n")
    sys.exit(0 if all(row["equal"] for row in rows) else 1)

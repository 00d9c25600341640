"""Benchmarks run at the size of a smoke test, and both sides agree."""

import sys
from pathlib import Path


def test_benchmarks_agree(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    from benchmarks.__main__ import main

    rows = main(quick=True)
    assert len(rows) >= 3
    assert all(row["equal"] for row in rows)
    assert all({"name", "size", "plain_s", "library_s", "ratio", "equal"} <= row.keys() for row in rows)
    assert "ratio" in capsys.readouterr().out

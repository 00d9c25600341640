"""Benchmarks run at the size of a smoke test, and both sides agree."""

from benchmarks.__main__ import main


def test_benchmarks_agree(capsys):
    rows = main(quick=True)
    assert len(rows) >= 3
    assert all(row["equal"] for row in rows)
    assert all({"name", "size", "plain_s", "library_s", "ratio", "equal"} <= row.keys() for row in rows)
    assert "ratio" in capsys.readouterr().out

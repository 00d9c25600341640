"""What an older heatcheck kept of a study's models is read, so that no study is run again."""

from heatcheck.engine import read_json, write_json
from heatcheck.results import CheckResult, keep_results, read_results


def test_results_from_before_facts_and_what_was_not_run_were_kept(tmp_path):
    made = CheckResult("flips", "m", "states", (), ("a",), {}, {}, {"draws": 9}, 0)
    keep_results({"flips": made}, tmp_path)
    kept = read_json(tmp_path / "results.json")
    for name in ("not_run", "facts"):
        del kept["flips"][name]
    write_json(tmp_path / "results.json", kept)
    assert read_results(tmp_path) == {"flips": made}

"""What was kept is drawn where there is no torch."""

import subprocess
import sys
from dataclasses import replace

import audits
import numpy as np
import pytest
import study_results

from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import STUDY, STUDY_ARRAYS, keep_audit, keep_study, read_study

WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is blocked")

sys.meta_path.insert(0, NoTorch())
import heatcheck.report
from heatcheck.report import notebook, write_comparison, write_report, write_study
from heatcheck.results import read_audit, read_study

folder = sys.argv[1]
one, other, study = read_audit(f"{folder}/one"), read_audit(f"{folder}/other"), read_study(f"{folder}/study")
write_report(one, f"{folder}/report.html")
write_comparison({"one": one, "other": other}, f"{folder}/comparison.html")
write_study(study, f"{folder}/study.html")
assert "heatcheck" in notebook.audit_html(one) and "heatcheck" in notebook.study_html(study)
heavy = ("torch", "heatcheck.models", "heatcheck.checks", "heatcheck.studies")
loaded = [name for name in heavy if name in sys.modules]
sys.exit(", ".join(loaded) or 0)
"""


def test_reports_comparisons_and_studies_are_drawn_from_kept_results_without_torch(tmp_path):
    audit = audits.full(4)
    keep_audit(audit, tmp_path / "one")
    keep_audit(replace(audit, subject="another"), tmp_path / "other")
    keep_study(study_results.study(), tmp_path / "study")
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / f"{page}.html").stat().st_size for page in ("report", "comparison", "study"))


def same(ours, theirs):
    """Equal, where what is no number equals itself and arrays are compared by their values."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, tuple | list):
        return (
            type(ours) is type(theirs)
            and len(ours) == len(theirs)
            and all(same(*both) for both in zip(ours, theirs, strict=True))
        )
    return np.array_equal(ours, theirs, equal_nan=isinstance(ours, float | np.ndarray))


def test_a_study_is_read_as_it_was_kept(tmp_path):
    found = study_results.study()
    keep_study(found, tmp_path)
    assert same(vars(found), vars(read_study(tmp_path)))


def test_a_study_that_is_not_there_or_damaged_is_said_in_a_sentence(tmp_path):
    with pytest.raises(BadInput, match=r"has no study\.json"):
        read_study(tmp_path)
    keep_study(study_results.study(), tmp_path)
    (tmp_path / STUDY_ARRAYS).write_bytes(b"other")
    with pytest.raises(BrokenFolder, match="is damaged"):
        read_study(tmp_path)
    kept = (tmp_path / STUDY).read_text().replace('"format":1', '"format":99')
    (tmp_path / STUDY).write_text(kept)
    with pytest.raises(BrokenFolder, match="later version of heatcheck"):
        read_study(tmp_path)

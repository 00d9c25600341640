"""What several rooms' tests share: where the real data is, and small trained models."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real corpora beside the project; a test that needs one is skipped without them, but never in CI."""
    if not (SHARED / "sst.jsonl.gz").is_file():
        if os.environ.get("CI"):
            pytest.fail("../shared/data is not beside the checkout")
        pytest.skip("needs the real corpora in ../shared/data")
    return SHARED


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes by default (heatcheck-out) lands in its own folder, and no data folder is given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEATCHECK_DATA", raising=False)

"""The headline of a model's newest saved audit, shown at the top of the local page (`heatcheck serve`)."""

from datetime import datetime
from functools import lru_cache
from pathlib import Path

from heatcheck.engine import read_json
from heatcheck.errors import BrokenFolder
from heatcheck.results import AUDIT, FORMAT
from heatcheck.serve.schema import AuditFacts
from heatcheck.training import STORE

KEPT = STORE / "audits"
REMEMBERED = 1_000  # audits whose file is not read again until it changes


def newest_audits(folder: Path) -> dict[str, AuditFacts]:
    """The newest audit of each model in a folder of audits, by the model's id.

    A folder that is damaged or was written in another format counts as no audit.
    """
    times = {}
    for path in folder.glob(f"*/{AUDIT}"):
        try:
            times[path] = path.stat().st_mtime_ns
        except OSError:  # removed just now
            continue
    oldest_first = sorted(times.items(), key=lambda one: one[1])
    return dict(found for path, time in oldest_first if (found := _read(path, time)) is not None)


@lru_cache(maxsize=REMEMBERED)
def _read(path: Path, time: int) -> tuple[str, AuditFacts] | None:
    """The audited model's id, and what the page shows of the audit; None if the file does not hold that.

    `time` is when the file was written, in nanoseconds: a file written later is read again.
    """
    try:
        facts = read_json(path)
        if facts["format"] != FORMAT:
            return None
        shown = AuditFacts(
            **facts["headline"],
            date=datetime.fromtimestamp(time / 1e9).date().isoformat(),
            n=facts["n"],
            task=facts["task"].partition("@")[0],
        )
        shown.model_dump_json()  # half an emoji cannot be sent: a ValueError
        return str(facts["about"]["model id"]), shown
    except (BrokenFolder, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None

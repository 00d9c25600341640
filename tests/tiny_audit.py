"""One tiny real audit for all tests of what is shown: made by whichever process needs it first, then only read."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # tests/conftest.py imports this before anything may import heatcheck
    from heatcheck.results import Audit

GOOD, BAD = ("brilliant", "charming", "gripping", "moving"), ("tedious", "boring", "clumsy", "hollow")
FILLING = (
    *("the", "plot", "of", "this", "film", "and", "its", "cast"),
    *("are", "what", "one", "would", "have", "thought", "for", "a", "matinee"),
)
ROWS = {"train": 120, "dev": 30, "test": 46}
FIRST = {"train": 0, "dev": 120, "test": 150}  # no text is in two splits
REFITTED = ("necessity", "seed_variance", "adversarial_model", "guide")
CHECKS = (
    *("agreement", "erasure", "permutation", "counterfactual", "gauge", "plausibility"),
    *REFITTED,
    "identifiability",  # which such a model refuses
)
SETTINGS = {
    **{f"{check}.draws": 100 for check in CHECKS},
    **{f"{check}.seeds": 3 for check in REFITTED},
    "agreement.explainers": "attention,gradient,leave_one_out,random",
    "agreement.shuffles": 2,
    "erasure.rivals": "leave_one_out,gradient_x_input",
    "erasure.random_orders": 2,
    "permutation.repeats": 20,
    "counterfactual.search": "jain2019",
    "necessity.shuffles": 2,
    "adversarial_model.strengths": "0.001,0.1",
    "adversarial_model.search": False,  # both, for the figures
    "adversarial_model.starts": "fresh,parent",
    "adversarial_model.epochs": 2,
    "guide.epochs": 2,
    "plausibility.explainers": "attention,gradient_x_input",
    "plausibility.repeats": 2,
    # So that lines are decided by as little as this, and not all alike.
    "card.seeds": 3,
    "card.texts": 20,
    "card.points": 0.2,
    "card.different": 0.2,
    "card.shuffled": 0.2,
}
_shared: list[Path] = []


def share(folder: Path) -> None:
    """Says where all processes of a run of tests find it; nothing is made before it is asked for."""
    _shared[:] = [folder]


@cache
def tiny_audit() -> "Audit":
    """Everybody's, and not to be changed: `audits.full` gives one to change."""
    from heatcheck.engine.whole_files import alone
    from heatcheck.results import AUDIT, keep_audit, read_audit

    (folder,) = _shared
    folder.mkdir(exist_ok=True)
    with alone(folder / ".lock"):
        if not (folder / AUDIT).exists():
            keep_audit(_made(folder), folder)
    return read_audit(folder)


def _made(folder: Path) -> "Audit":
    import heatcheck

    data = folder / "reviews.jsonl"
    data.write_text("".join(json.dumps(_row(split, at)) + "\n" for split, count in ROWS.items() for at in range(count)))
    smallest = {"encoder": "average", "hidden": 8, "embedding": 8, "embedding_scale": 1.0}
    taught = {"epochs": 8, "learning_rate": 0.05}
    fit = heatcheck.train(data, out=folder / "fit", device="cpu", progress=False, **smallest, **taught)
    return heatcheck.audit(
        fit.folder, data, checks=CHECKS, settings=SETTINGS, examples=40, refit=True, all_fits=True,
        store=folder / "fits", device="cpu", name="tiny-average",
    )  # fmt: skip


def _row(split: str, at: int) -> dict[str, object]:
    """A word decides, and people mark it with the next; of the test's, some are one word, and some labelled wrongly."""
    n = at + FIRST[split]
    words = [FILLING[(n * 5 + place * (1 + n % 3)) % len(FILLING)] for place in range(4 + n % 6)]
    tells = n % len(words)
    words[tells] = (BAD, GOOD)[n % 2][n // 2 % 4]
    row: dict[str, object] = {"id": f"{split}-{at}", "split": split, "text": " ".join(words)}
    row["label"] = "positive" if n % 2 or (split == "test" and n % 10 == 4) else "negative"
    if split == "test" and n % 15 == 14:
        row["text"], words, tells = words[tells], words[:1], 0
    if n % 4 != 3:
        row["rationale"] = [int(place in (tells, tells + 1)) for place in range(len(words))]
    return row

"""Audits of a model as `heatcheck audit` keeps them, with numbers made up: nothing is run."""

import os
from datetime import datetime
from pathlib import Path

from heatcheck.auditing import make_card
from heatcheck.auditing.saving import save_audit
from heatcheck.results import AUDIT, Audit
from made_up_lines import SETTINGS, adversarial, counterfactual, erasure, guide, necessity, permutation

POINTS, FAILS = {}, {"deletion": (0.05, 0.2), "masking": (0.05, 0.2)}


def keep(subject, day: str, found: dict = FAILS, n: int = 500) -> tuple[Audit, Path]:
    """The audit, in its folder of the store since that day."""
    results = {
        "erasure": erasure(**found),
        "permutation": permutation(),
        "counterfactual": counterfactual(),
        "necessity": necessity(swap=(0.01, 0.05)),
        "guide": guide(gained=(0.01, 0.1)),
        "adversarial_model": adversarial(),
    }
    audit = Audit(
        subject="mine",
        task="rotten_tomatoes@8e9c6aad515e",
        split="test",
        labels=("no", "yes"),
        accuracy=0.8,
        n=n,
        available=1_066,
        seed=0,
        card=make_card(results, 1.0, SETTINGS),
        results={},
        examples=[],
        not_run={},
        about={"model id": subject.id, "settings": {}, "card": {}},
    )
    folder = save_audit(audit, made_with={"test": [day, n]})
    at = datetime.fromisoformat(day).timestamp()
    os.utime(folder / AUDIT, (at, at))
    return audit, folder

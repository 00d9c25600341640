"""What a check is, and the mean over examples that most of them measure."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import PUBLISHED, STANDARDISED, Case
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput
from heatcheck.models import Recipe, Subject
from heatcheck.results import CheckResult, Holds, Measurement

MOST = 1_000_000  # draws, orders, …: more would never end


def explainers_of(settings: Any) -> list[str]:
    """The explainers that a check's settings name, however they call them."""
    found: list[str] = []
    for name in ("explainers", "rivals", "explainer"):
        value = getattr(settings, name, ())
        found += [value] if isinstance(value, str) else list(value)
    return found


class Check(NamedTuple):
    """One question about a subject, in one file."""

    name: str
    question: str
    paper: str
    holds: Holds
    baseline: str
    settings: type  # a frozen dataclass; its defaults are the check's
    measure: Callable[[Case, Any], CheckResult]
    cost: Callable[[Case, Any], int]  # forward passes of one text, for --plan (checks/passes.py)
    default: bool = True  # False: run only when named
    default_on: Callable[[Subject], bool] | None = None  # of a subject: whether it need not be named there
    plan: Callable[[Case, Any], Sequence[Recipe]] = lambda _case, _settings: ()  # other fits it compares with
    explains: Callable[[Any], Sequence[str]] = explainers_of  # by its settings: whose scores are in its cost
    beside: Callable[[Case, Any], float] = lambda _case, _settings: 0.0  # seconds that are no passes, for --plan
    refits: bool = False  # True: without other fits it has nothing to say

    def ask(self, case: Case, settings: Any) -> CheckResult:
        """What it measures, with what a reader must know of the check itself."""
        found = self.measure(case, settings)
        return replace(found, question=self.question, paper=self.paper, baseline=self.baseline)


def at_least_one(settings: object, check: str, *names: str) -> None:
    """Refuses settings that count something and say none, or more than could ever be done."""
    for name in names:
        if getattr(settings, name) > MOST:
            raise BadInput(f"{check}.{name} must be at most {MOST:,}, not {getattr(settings, name):,}.")
        if getattr(settings, name) < 1:
            raise BadInput(f"{check}.{name} must be at least 1, not {getattr(settings, name)}.")


def known_logits(settings: Any, check: str) -> None:
    """Refuses logits of which there are none."""
    if settings.logits not in (STANDARDISED, PUBLISHED):
        raise BadInput(f"{check}.logits is {STANDARDISED} or {PUBLISHED}, not {settings.logits!r}.")


def measured(
    case: Case,
    name: str,
    values: Float[np.ndarray, " example"],
    among: Bool[np.ndarray, " example"],
    baseline: str,
    by: Facts,
    draws: int,
) -> Iterator[Measurement]:
    """The mean over these examples with its bootstrap interval; nothing where no value is defined.

    Where some are undefined (a τ of constant scores), `n` counts the defined ones and `undefined` the others.
    """
    defined = among & np.isfinite(values)
    if not defined.any():
        return
    generator = stream(case.seed, "bootstrap", name, json.dumps(by, sort_keys=True))
    found = stats.bootstrap_interval(values, generator=generator, draws=draws, valid=defined)
    undefined = int(among.sum() - defined.sum())
    yield Measurement(name, *found, baseline=baseline, by={**by, "undefined": undefined} if undefined else by)

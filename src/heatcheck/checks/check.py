"""The type of a check, and the mean over examples that most checks measure."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import PUBLISHED, STANDARDISED, Case
from heatcheck.checks.heatmap import Heatmap
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Recipe, Subject
from heatcheck.results import HEATMAP, CheckResult, Holds, Measurement

# Why a check that could use retrained models has none.
SPARED = {"retrained models": "None could change an answer of the card. Add --all-fits to train them all the same."}
MOST = 1_000_000  # draws, orders, …: more would never end


def explainers_of(settings: Any) -> list[str]:
    """The explainers that a check's settings name."""
    found: list[str] = []
    for name in ("explainers", "rivals", "explainer"):
        value = getattr(settings, name, ())
        found += [value] if isinstance(value, str) else list(value)
    return found


class Search(NamedTuple):
    """Models of which a check trains only some: which one is next depends on those before it."""

    candidates: tuple[Recipe, ...]
    at_most: int  # of them are trained
    usually: float  # so many


class Check(NamedTuple):
    """A question about a model, and how heatcheck measures the answer."""

    name: str  # its key, as `--checks` takes it
    question: str
    paper: str
    holds: Holds  # what stays the same
    baseline: str
    settings: type  # a frozen dataclass with the defaults
    measure: Callable[[Case, Any], CheckResult]
    cost: Callable[[Case, Any], int]  # forward passes of single texts, for --plan (checks/passes.py)
    default: bool = True  # False: run only when named
    default_on: Callable[[Subject], bool] | None = None  # models on which it runs without being named
    plan: Callable[[Case, Any], Sequence[Recipe]] = lambda _case, _settings: ()  # models to train for comparison
    explains: Callable[[Any], Sequence[str]] = explainers_of  # explainers whose scores its cost includes
    beside: Callable[[Case, Any], float] = lambda _case, _settings: 0.0  # further seconds, for --plan
    refits: bool = False  # True: it needs retrained models
    # What else to train, asked again after each round until all of it is there; it sees the models trained so far.
    more: Callable[[Case, Any], Sequence[Recipe]] = lambda _case, _settings: ()
    searches: Callable[[Case, Any], Sequence[Search]] = lambda _case, _settings: ()  # what `more` chooses from
    # What of a heatmap it is about: scores, which every heatmap has; weights that it replaces; or weights that it
    # compares with those of other models, which are read at their last layers.
    of: Literal["scores", "weights", "last layers"] = "scores"

    def ask(self, case: Case, settings: Any) -> CheckResult:
        """Run the check; the result carries its question, paper and baseline, and whose scores the heatmap shows."""
        if why := self.is_not_about(case.heatmap):
            raise NotSupported(why)
        found = self.measure(case, settings)
        facts = found.facts if case.heatmap.of_weights else {**found.facts, HEATMAP: case.heatmap.explainer}
        return replace(found, question=self.question, paper=self.paper, baseline=self.baseline, facts=facts)

    def is_not_about(self, heatmap: Heatmap) -> str:
        """Why the check says nothing about this heatmap; empty if it does."""
        if self.of != "scores" and not heatmap.of_weights:
            return "This heatmap is not made of attention weights that could be replaced."
        if self.of == "last layers" and not heatmap.is_last_layer:
            return "This compares the last layers of models, and this heatmap is another one."
        return ""


def at_least_one(settings: object, check: str, *names: str) -> None:
    """Refuse counts below 1 or above MOST."""
    for name in names:
        if getattr(settings, name) > MOST:
            raise BadInput(f"{check}.{name} must be at most {MOST:,}, not {getattr(settings, name):,}.")
        if getattr(settings, name) < 1:
            raise BadInput(f"{check}.{name} must be at least 1, not {getattr(settings, name)}.")


def known_logits(settings: Any, check: str) -> None:
    """Refuse an unknown scale of the logits."""
    if settings.logits not in (STANDARDISED, PUBLISHED):
        raise BadInput(f"{check}.logits must be {STANDARDISED} or {PUBLISHED}, not {settings.logits!r}.")


def measured(
    case: Case,
    name: str,
    values: Float[np.ndarray, " example"],
    among: Bool[np.ndarray, " example"],
    baseline: str,
    by: Facts,
    draws: int,
) -> Iterator[Measurement]:
    """Yield the mean over these examples with its bootstrap interval; nothing if no value is defined.

    Some values may be undefined (a τ of constant scores): `n` counts the defined ones and `undefined` the others.
    """
    defined = among & np.isfinite(values)
    if not defined.any():
        return
    generator = stream(case.seed, "bootstrap", name, json.dumps(by, sort_keys=True))
    found = stats.bootstrap_interval(values, generator=generator, draws=draws, valid=defined)
    undefined = int(among.sum() - defined.sum())
    yield Measurement(name, *found, baseline=baseline, by={**by, "undefined": undefined} if undefined else by)

"""The numbers of one model that a treatment may change, example by example: its accuracy and lines of the card.

Each line has the statistic that the card judges it by. Only lines that need no retrained model are here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.auditing.planning import plan_audit
from heatcheck.auditing.running import run_checks
from heatcheck.data import Corpus
from heatcheck.engine import Facts
from heatcheck.models import Subject
from heatcheck.results import CheckResult

ACCURACY, POINTS, HARD, CONTEXT = "accuracy", "points", "hard", "context"  # the lines by their short names
CHECK_OF = {POINTS: "erasure", HARD: "permutation", CONTEXT: "guide"}
DIGITS = 6  # of the numbers that are kept

Values = Float[np.ndarray, " example"]


class LineNumbers(NamedTuple):
    """A line's statistic for one model: the mean of `above` over the mean of `below`, over these examples."""

    examples: tuple[str, ...]
    above: Values
    below: Values  # all 1 where the statistic is a plain mean
    carries: float = np.inf  # what bare words say of the label, at least: with less, the line cannot be asked


class ModelNumbers(NamedTuple):
    """All of one model."""

    lines: Mapping[str, LineNumbers]
    evenness: float  # of its attention weights, a mean; 1: all are equal
    refused: Mapping[str, str]  # line -> why its check could not be run

    def facts(self) -> dict[str, Any]:
        """As JSON has them."""
        lines = {
            name: {
                "examples": list(line.examples),
                "above": line.above.round(DIGITS).tolist(),
                "below": None if (line.below == 1).all() else line.below.round(DIGITS).tolist(),
                "carries": line.carries if np.isfinite(line.carries) else None,
            }
            for name, line in self.lines.items()
        }
        return {"lines": lines, "evenness": self.evenness, "refused": dict(self.refused)}

    @classmethod
    def from_facts(cls, facts: Facts) -> "ModelNumbers":
        """What `facts` wrote."""
        lines = {}
        for name, of in facts["lines"].items():
            above = np.array(of["above"], dtype=float)
            below = np.ones(len(above)) if of["below"] is None else np.array(of["below"], dtype=float)
            carries = np.inf if of["carries"] is None else of["carries"]
            lines[name] = LineNumbers(tuple(of["examples"]), above, below, carries)
        return cls(lines, facts["evenness"], facts["refused"])


def measure_model(
    subject: Subject, corpus: Corpus, *, examples: int, settings: Mapping[str, Any], seed: int = 0, **choices: Any
) -> ModelNumbers:
    """Audit a model by the checks that need no retrained model, and keep what its lines are judged by.

    Every model of one task is audited on the same examples, so that they can be compared in pairs.

    Args:
        settings: settings of the checks, by `check.key`.
        choices: others of `plan_audit`, such as `train`.
    """
    plan = plan_audit(
        subject, corpus, checks=[*CHECK_OF.values()], examples=examples, settings=settings, seed=seed, **choices
    )
    results, not_run = run_checks(plan)
    case = plan.case
    right = (case.own.predicted == case.gold).astype(float)
    lines = {ACCURACY: _plain([example.id for example in case.tested], right)}
    if "erasure" in results:
        lines[POINTS] = _points(results["erasure"])
    if "permutation" in results:
        found = results["permutation"]
        lines[HARD] = _plain(found.examples, found.per_example["q"])
    if "guide" in results:
        lines[CONTEXT] = _context(results["guide"])
    evenness = float(results["permutation"].per_example["evenness"].mean()) if "permutation" in results else np.nan
    refused = {line: not_run[check] for line, check in CHECK_OF.items() if check in not_run}
    return ModelNumbers(lines, evenness, refused)


def _plain(examples: Sequence[str], values: Values) -> LineNumbers:
    return LineNumbers(tuple(examples), values, np.ones(len(values)))


def _points(erasure: CheckResult) -> LineNumbers:
    """K: the effect of the heatmap's top words over that of the best other method's, both beyond random words.

    The mean over deletion and masking, of which the card wants both on one side.
    """

    def effect(ranking: str) -> Values:
        each = [erasure.per_example[f"effect:{ranking}:{operator}"] for operator in erasure.settings["operators"]]
        return np.asarray(np.mean(each, axis=0))

    own, random, best = (effect(name) for name in (erasure.settings["explainer"], "random", "best rival"))
    return LineNumbers(erasure.examples, own - random, best - random)


def _context(guide: CheckResult) -> LineNumbers:
    """G: what the weights gain for a reader of bare words, over what the model has beyond such a reader."""
    weighted, unweighted, base = (guide.per_example[f"right:{name}"] for name in ("weighted", "unweighted", "base"))
    return LineNumbers(guide.examples, weighted - unweighted, base - unweighted, guide.find("carries").low)

"""The numbers of one model that a treatment may change, example by example: its accuracy and lines of the card.

Each line has the statistic that the card judges it by. Only lines that need no retrained model are here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.auditing.planning import plan_audit
from heatcheck.auditing.running import run_checks
from heatcheck.checks import Case
from heatcheck.checks.guide import GuideSettings, best_readings, count_texts, guided, of_log_odds, tokens_of
from heatcheck.data import Corpus
from heatcheck.engine import Facts
from heatcheck.errors import NotSupported
from heatcheck.models import Subject, require_words
from heatcheck.results import CheckResult

ACCURACY, POINTS, HARD, CONTEXT = "accuracy", "points", "hard", "context"  # the lines by their short names
CHECK_OF = {POINTS: "erasure", HARD: "permutation"}
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
        subject,
        corpus,
        checks=[*CHECK_OF.values(), "guide"],
        examples=examples,
        settings=settings,
        seed=seed,
        **choices,
    )
    case = plan.case
    of_guide = plan.checks.pop("guide")  # type: ignore[attr-defined]  # a dict
    results, not_run = run_checks(plan)
    refused = {line: not_run[check] for line, check in CHECK_OF.items() if check in not_run}
    right = (case.own.predicted == case.gold).astype(float)
    lines = {ACCURACY: _plain([example.id for example in case.tested], right)}
    if "erasure" in results:
        lines[POINTS] = _points(results["erasure"])
    if "permutation" in results:
        found = results["permutation"]
        lines[HARD] = _plain(found.examples, found.per_example["q"])
    try:
        lines[CONTEXT] = _context(case, of_guide)
    except NotSupported as error:
        refused[CONTEXT] = plan.told(str(error))
    evenness = float(results["permutation"].per_example["evenness"].mean()) if "permutation" in results else np.nan
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


def _context(case: Case, settings: GuideSettings) -> LineNumbers:
    """G: what the weights gain for a reader of bare words, over what the model has beyond such a reader.

    As the check `guide` has it, without its halves of the training texts: these take longest, and say nothing that
    differs between models.
    """
    require_words(case.subject, "guide")
    if case.own.log_probabilities.shape[1] > 1:
        raise NotSupported(f"{case.subject.id} makes several decisions per text; guide supports one.")
    tokens = tokens_of(case.subject, case.tested)
    readings = count_texts(case).odds(settings.smoothing).readings()
    read = {name: guided(case, tokens, reading) for name, reading in readings.items()}
    base = case.own.predicted == case.gold
    best = best_readings(case, read)
    right = {kind: answers == case.gold for kind, answers in read["log-odds"].items()}
    carries = next(m for m in of_log_odds(case, settings, right, base, best) if m.name == "carries")
    weighted, unweighted, model = (
        found.astype(float) for found in (best["weighted"].right, best["unweighted"].right, base)
    )
    return LineNumbers(
        tuple(example.id for example in case.tested), weighted - unweighted, model - unweighted, carries.low
    )

"""What a report shows of each audited example, and how far attention agrees with its rival there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from heatcheck.checks import Case
from heatcheck.checks.case import STANDARDISED
from heatcheck.checks.permutation import typical_weights
from heatcheck.models import AttendsToParts
from heatcheck.results import AuditedExample, CheckResult
from heatcheck.stats import kendall_tau

SHOWN = ("attention", "gradient", "leave_one_out", "counterfactual")  # in a report's heatmaps, whatever else was run
NO_RIVALS = ("attention", "counterfactual", "shuffled", "random")  # attention, what is made from it, and chance
WORDS = (5, 14)  # fewest and most of the example that a report opens with: it fits on one line


def audited_examples(
    case: Case, results: Mapping[str, CheckResult] = MappingProxyType({})
) -> tuple[list[AuditedExample], str | None]:
    """Every example with its heatmaps, and the explainer that attention is compared with there."""
    shuffled = _shuffled(case, results.get("permutation"))
    names = {**dict.fromkeys(SHOWN, STANDARDISED), **case.explained}
    scores = {name: found for name, logits in names.items() for found in case.available([name], logits)[0].values()}
    shown = []
    for row, example in enumerate(case.examples):
        of_words = {
            name: tuple(
                float(value) if ok else None
                for value, ok in zip(found.values[row, : len(example.words)], found.valid[row], strict=False)
            )
            for name, found in scores.items()
            if name != "random"
        } | shuffled.get(example.id, {})
        label = int(case.predicted[row])
        shown.append(
            AuditedExample(
                id=example.id,
                words=example.words,
                text_pair=example.text_pair,
                gold=case.labels[example.label] if isinstance(example.label, int) else None,
                predicted=case.labels[label],
                probability=float(np.exp(case.log_probabilities[row, label])),
                scores=of_words,
                rationale=example.marks.get("rationale"),
            )
        )
    return beside_a_rival(shown)


def _shuffled(case: Case, permutation: CheckResult | None) -> dict[str, dict[str, tuple[float | None, ...]]]:
    """By example: its weights under the shuffle that is the median in effect. None where keys are no words."""
    if permutation is None or isinstance(case.subject, AttendsToParts):
        return {}
    draws = permutation.per_example["typical_draw"].astype(int).tolist()
    weights = typical_weights(case, dict(zip(permutation.examples, draws, strict=True)))
    measured = set(permutation.examples)
    return {
        example.id: {"shuffled": tuple(float(value) if np.isfinite(value) else None for value in of_words)}
        for example, of_words in zip(case.examples, weights, strict=True)
        if example.id in measured
    }


def pick_example(examples: Sequence[AuditedExample], results: Mapping[str, CheckResult]) -> str | None:
    """The example that a report opens with: of those that fit on a line, the one that shuffles treat most as usual.

    Its share of shuffles that keep the answer is nearest to the mean over all examples; where no weights were shuffled,
    it is the first that fits. Where none fits it is the one with the fewest words.
    """
    if not examples:
        return None
    fewest, most = WORDS
    fits = [one for one in examples if fewest <= len(one.words) <= most and one.text_pair is None]
    candidates = fits or [min(examples, key=lambda one: len(one.words))]
    permutation = results.get("permutation")
    if permutation is None:
        return candidates[0].id
    kept = dict(zip(permutation.examples, permutation.per_example["q"].tolist(), strict=True))
    mean = float(np.mean(permutation.per_example["q"]))
    return min(candidates, key=lambda one: abs(kept.get(one.id, np.inf) - mean)).id


def beside_a_rival(examples: Sequence[AuditedExample]) -> tuple[list[AuditedExample], str | None]:
    """The same with Kendall τ of attention and its rival, and which that is; as they are where there is none."""
    rival = rival_of({name for one in examples for name in one.scores})
    if rival is None:
        return list(examples), None
    taus = _agreement(examples, rival).tolist()
    known = [tau if np.isfinite(tau) else None for tau in taus]
    return [one._replace(tau=tau) for one, tau in zip(examples, known, strict=True)], rival


def rival_of(explainers: Iterable[str]) -> str | None:
    """What attention is compared with: leave-one-out where there is one, or else the gradient, or the first by name.

    >>> rival_of(["attention", "random", "norms", "gradient"])
    'gradient'
    """
    explainers = set(explainers)
    usual = [name for name in ("leave_one_out", "gradient") if name in explainers]
    rivals = [name for name in (*usual, *sorted(explainers)) if name not in NO_RIVALS]
    return rivals[0] if "attention" in explainers and rivals else None


def commonest_label(examples: Sequence[AuditedExample]) -> tuple[str, float] | None:
    """The majority class and its share; None where not all of them are labelled."""
    golds = Counter(one.gold for one in examples if one.gold is not None)
    if not examples or golds.total() < len(examples):
        return None
    label, count = golds.most_common(1)[0]
    return label, count / len(examples)


def _agreement(examples: Sequence[AuditedExample], rival: str) -> Float[np.ndarray, " example"]:
    """Kendall τ between the sizes of attention's and the rival's scores, NaN where there is none."""
    longest = max((len(one.words) for one in examples), default=0)
    sizes = np.full((2, len(examples), longest), np.nan)
    for side, name in enumerate(("attention", rival)):
        for row, one in enumerate(examples):
            scores = np.array(one.scores.get(name, ()), dtype=np.float64)  # None becomes NaN
            sizes[side, row, : len(scores)] = np.abs(scores)
    valid = np.isfinite(sizes).all(axis=0)
    return kendall_tau(np.where(valid, sizes[0], 0.0), np.where(valid, sizes[1], 0.0), valid).correlation

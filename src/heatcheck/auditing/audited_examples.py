"""Each audited example as a report shows it: its heatmaps, and how well attention agrees with another method there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from heatcheck.checks import Case
from heatcheck.checks.case import STANDARDISED
from heatcheck.checks.permutation import typical_weights
from heatcheck.models import AttendsToParts, asked_of
from heatcheck.results import ATTENTION, AuditedExample, CheckResult
from heatcheck.stats import kendall_tau

SHOWN = ("attention", "gradient", "leave_one_out", "counterfactual")  # in a report's heatmaps, whatever else was run
OF_WEIGHTS = ("attention", "counterfactual")
NO_RIVALS = (*OF_WEIGHTS, "shuffled", "random")  # attention, what is made from it, and chance
FEWEST, CHARACTERS = 5, 55  # words at least, and characters at most, of the example that a report opens with


def audited_examples(
    case: Case, results: Mapping[str, CheckResult] = MappingProxyType({}), *, only_known: bool = False
) -> tuple[list[AuditedExample], str | None]:
    """Every example with its heatmaps, and the explainer that the audited one is compared with there.

    With `only_known`, it and what the checks have computed already: whoever interrupts an audit does not wait.
    """
    shuffled = _shuffled(case, results.get("permutation"))
    heat = case.heatmap.explainer
    first = SHOWN if case.heatmap.of_weights else (heat, *(name for name in SHOWN if name not in (*OF_WEIGHTS, heat)))
    names = {**dict.fromkeys(first[:1] if only_known else first, STANDARDISED), **case.explained}
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
        if asked_of(case.subject):
            of_words |= _on_the_text(of_words)
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
    return beside_a_rival(shown, heat)


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


def weight_on_text(examples: Sequence[AuditedExample]) -> float | None:
    """The mean share of the weight that lies on words; None if no heatmap is known."""
    shares = [sum(value or 0.0 for value in one.scores["attention"]) for one in examples if "attention" in one.scores]
    return float(np.mean(shares)) if shares else None


def _on_the_text(scores: Mapping[str, tuple[float | None, ...]]) -> dict[str, tuple[float | None, ...]]:
    """Other weights of a prompted model, which sum to 1 over the text, with the mass that its own have there."""
    own = sum(value or 0.0 for value in scores.get("attention", ()))
    return {
        name: tuple(None if value is None else own * value for value in scores[name])
        for name in ("shuffled", "counterfactual")
        if name in scores
    }


def pick_example(examples: Sequence[AuditedExample], results: Mapping[str, CheckResult]) -> str | None:
    """The example that a report opens with: of those that fit on a line, the one that is most like the average.

    Its probability and its share of shuffles that keep the answer are nearest to their means over all examples.
    Examples whose every word is one token go first: there the eye sees that a shuffle moves the same weights. Where no
    weights were shuffled it is the first that fits, and where none fits the shortest.
    """
    if not examples:
        return None
    fits = [
        one for one in examples if len(one.words) >= FEWEST and one.text_pair is None and _length(one) <= CHARACTERS
    ]
    candidates = [one for one in fits if _is_seen_to_be_shuffled(one)] or fits or [min(examples, key=_length)]
    permutation = results.get("permutation")
    if permutation is None:
        return candidates[0].id
    columns = [permutation.per_example[name] for name in ("q", "p_own")]
    apart = np.sum([np.abs(column - column.mean()) for column in columns], axis=0)
    distance = dict(zip(permutation.examples, apart.tolist(), strict=True))
    return min(candidates, key=lambda one: distance.get(one.id, np.inf)).id


def _length(one: AuditedExample) -> int:
    return len(" ".join(one.words))


def _is_seen_to_be_shuffled(one: AuditedExample) -> bool:
    """Whether the shuffled weights of the words are the model's own in another order."""
    own, shuffled = (one.scores.get(name, ()) for name in ("attention", "shuffled"))
    if not own or len(own) != len(shuffled) or None in own or None in shuffled:
        return False
    return bool(np.allclose(np.sort(np.array(own, float)), np.sort(np.array(shuffled, float)), atol=1e-6))


def beside_a_rival(
    examples: Sequence[AuditedExample], heat: str = ATTENTION
) -> tuple[list[AuditedExample], str | None]:
    """The same with Kendall τ of the heatmap and its rival, and which that is; as they are where there is none."""
    rival = rival_of({name for one in examples for name in one.scores}, heat)
    if rival is None:
        return list(examples), None
    taus = _agreement(examples, heat, rival).tolist()
    known = [tau if np.isfinite(tau) else None for tau in taus]
    return [one._replace(tau=tau) for one, tau in zip(examples, known, strict=True)], rival


def rival_of(explainers: Iterable[str], heat: str = ATTENTION) -> str | None:
    """What a heatmap is compared with: leave-one-out where there is one, or else the gradient, or the first by name.

    >>> rival_of(["attention", "random", "norms", "gradient"])
    'gradient'
    """
    explainers = set(explainers)
    usual = [name for name in ("leave_one_out", "gradient") if name in explainers]
    rivals = [name for name in (*usual, *sorted(explainers)) if name not in (*NO_RIVALS, heat)]
    return rivals[0] if heat in explainers and rivals else None


def commonest_label(examples: Sequence[AuditedExample]) -> tuple[str, float] | None:
    """The majority class and its share; None where not all of them are labelled."""
    golds = Counter(one.gold for one in examples if one.gold is not None)
    if not examples or golds.total() < len(examples):
        return None
    label, count = golds.most_common(1)[0]
    return label, count / len(examples)


def _agreement(examples: Sequence[AuditedExample], heat: str, rival: str) -> Float[np.ndarray, " example"]:
    """Kendall τ between the sizes of the heatmap's and the rival's scores, NaN where there is none."""
    longest = max((len(one.words) for one in examples), default=0)
    sizes = np.full((2, len(examples), longest), np.nan)
    for side, name in enumerate((heat, rival)):
        for row, one in enumerate(examples):
            scores = np.array(one.scores.get(name, ()), dtype=np.float64)  # None becomes NaN
            sizes[side, row, : len(scores)] = np.abs(scores)
    valid = np.isfinite(sizes).all(axis=0)
    return kendall_tau(np.where(valid, sizes[0], 0.0), np.where(valid, sizes[1], 0.0), valid).correlation

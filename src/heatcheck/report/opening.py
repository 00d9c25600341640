"""The example that a report opens with: the model's heatmap above a typical shuffle of it, and both answers."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from heatcheck.report.heat import HeatRow, Word, by_size, weighed
from heatcheck.report.wording import explainer_name
from heatcheck.results import Audit, AuditedExample, CheckResult, Instead
from heatcheck.results.written import decimals

OWN, SHUFFLED, WORST = "attention", "shuffled", "counterfactual"
LONG = 75  # characters; of a longer text
ROOM = 60  # as many are shown: about one line
GAP = Word("…", 0, "")


class Opening(NamedTuple):
    """The example, its heatmaps, and what to know when reading them."""

    id: str
    rows: list[HeatRow]
    caption: list[str]
    worst: HeatRow | None  # one click further
    small_print: list[str]  # likewise

    @property
    def address(self) -> str:
        """Its id as an address has it; half an emoji, which no address can have, is a question mark there too."""
        return quote(self.id.encode("utf-8", "replace"), safe="")


def open_with(audit: Audit, instead: Instead | None) -> Opening | None:
    """The picked example with its rows; None where no example was kept."""
    example = next((one for one in audit.examples if one.id == audit.shown_first), None)
    heat = audit.explainer
    if example is None or heat not in example.scores:
        return None
    permutation = audit.results.get("permutation")
    values = _values_of(permutation, example.id)
    who = f"the heatmap: {audit.heatmap}" if audit.heatmap else "the model’s heatmap"
    words = weighed(example.words, example.scores[OWN]) if heat == OWN else by_size(example.words, example.scores[heat])
    rows = [HeatRow(who, words, *_answer(example, values.get("p_own")), scores=heat != OWN)]
    if SHUFFLED in example.scores and math.isfinite(values.get("p_typical", math.nan)):
        words = weighed(example.words, example.scores[SHUFFLED])
        rows.append(
            HeatRow("the same weights, shuffled (a typical shuffle)", words, *_answer(example, values["p_typical"]))
        )
    if instead is not None and instead.method in example.scores:
        who = f"show this instead: {explainer_name(instead.method)}"
        rows.append(HeatRow(who, by_size(example.words, example.scores[instead.method]), scores=True))
    worst, told = _worst_case(audit, example)
    told += _small_print(audit, rows)
    kept = heaviest([row.words for row in rows])
    caption = _caption(example, permutation, values, prompted="prompt" in audit.about, weights=heat == OWN)
    if len(kept) < len(example.words):
        caption.append(f"Only its heaviest {len(kept)} of {len(example.words):,} words are shown.")
    rows = [row._replace(words=_cut(row.words, kept)) for row in rows]
    if worst is not None:
        worst = worst._replace(words=_cut(worst.words, heaviest([worst.words])))
    return Opening(example.id, rows, caption, worst, told)


def heaviest(rows: Sequence[Sequence[Word]]) -> set[int]:
    """Places of the words to show: all of a short text, of a long one those that are darkest in some row.

    >>> words = [Word("so", 0, ""), Word("very", 2, ".20"), Word("good", 7, ".70")]
    >>> heaviest([words]), heaviest([[word._replace(text=word.text * 7) for word in words * 2]])
    ({0, 1, 2}, {2, 5})
    """
    words = [word.text for word in rows[0]]
    if len(" ".join(words)) <= LONG:
        return set(range(len(words)))
    darkest = sorted(range(len(words)), key=lambda place: -max(row[place].level for row in rows))
    kept: set[int] = set()
    room = ROOM
    for place in darkest:
        room -= len(words[place]) + 1
        if room < 0 and kept:
            break
        kept.add(place)
    return kept


def _cut(words: Sequence[Word], kept: set[int]) -> list[Word]:
    """These words in their order, with dots for each gap."""
    shown: list[Word] = []
    for place, word in enumerate(words):
        if place in kept:
            shown.append(word)
        elif not shown or shown[-1] is not GAP:
            shown.append(GAP)
    return shown


def _known(example: AuditedExample, method: str) -> list[float]:
    """The scores of those words that have one."""
    return [score for score in example.scores.get(method, ()) if score is not None and math.isfinite(score)]


def _values_of(result: CheckResult | None, example: str) -> Mapping[str, float]:
    """What a check found of one example."""
    if result is None or example not in result.examples:
        return {}
    at = result.examples.index(example)
    return {name: float(values[at]) for name, values in result.per_example.items()}


def _answer(example: AuditedExample, probability: float | None) -> tuple[str, float]:
    probability = example.probability if probability is None else probability
    if example.predicted is None or probability is None or not math.isfinite(probability):
        return "", 0.0
    return f"{example.predicted} {probability:.2f}", round(100 * probability, 1)


def _caption(
    example: AuditedExample,
    permutation: CheckResult | None,
    values: Mapping[str, float],
    *,
    prompted: bool,
    weights: bool,
) -> list[str]:
    said = []
    if permutation is not None and math.isfinite(values.get("q", math.nan)):
        q, near = permutation.find("q"), permutation.settings["epsilon"]
        said.append(
            f"Over {q.n:,} examples, {100 * q.value:.0f} of 100 shuffles move the probability by at most {near:g} (in "
            f"this example {100 * values['q']:.0f})."
        )
        own = example.probability
        if own is not None and abs(own - values.get("p_own", own)) >= 0.005:
            said.append(f"These probabilities are scaled; the model itself gives {decimals(own, '.2f')}.")
        said.append("Picked by rule: the short example nearest to the average.")
    on_words = sum(_known(example, OWN))
    if weights and on_words < 0.995:
        where = "the prompt and on special tokens" if prompted else "special tokens"
        said.append(f"{1 - on_words:.0%} of this example’s weight lies on {where}, which are not shown.")
    return said


def _small_print(audit: Audit, rows: Sequence[HeatRow]) -> list[str]:
    said = []
    if len(rows) > 1:
        said.append("The same shade is the same weight in every heatmap of this report.")
        said.append("A typical shuffle is the one whose effect is the median of this example’s shuffles.")
        said.append("The example is the one nearest to the average in its probability and its share of such shuffles.")
    if not math.isclose(audit.card.logit_scale, 1.0, rel_tol=0.01):
        said.append(
            f"heatcheck multiplies logits by {audit.card.logit_scale:.2g}, so that a model and its more confident twin "
            "are compared alike."
        )
    return said


def _worst_case(audit: Audit, example: AuditedExample) -> tuple[HeatRow | None, list[str]]:
    found = audit.results.get("counterfactual")
    if WORST not in example.scores or found is None:
        return None, []
    row = HeatRow("the most different weights with this answer", weighed(example.words, example.scores[WORST]))
    linear = found.facts.get("method") in ("exact", "bracket")
    told = (
        "Every model with a linear read-out has such weights, so they alone prove little."
        if linear
        else "heatcheck searched for them; more different ones may exist."
    )
    return row, [told, "The hidden state at a highlighted word may already have read the whole text."]

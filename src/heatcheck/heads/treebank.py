"""Syntactic roles of a model on the treebank in the data folder: chosen on train, scored on test, sentences counted."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data.treebank import Sentence, load_treebank
from heatcheck.errors import BadInput
from heatcheck.heads.parsed import aligned, read_heads
from heatcheck.heads.syntax import Syntax, gold_of, score_syntax
from heatcheck.heads.untrained import untrained
from heatcheck.models import Subject

SEEDS = 5  # of untrained twins


class TreebankScores(NamedTuple):
    """Scores, and how many sentences of each part were read and left out."""

    syntax: Syntax
    sentences: Mapping[str, int]  # by part
    left_out: Mapping[str, Mapping[str, int]]  # by part and reason

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return {
            "sentences": dict(self.sentences),
            "left_out": {part: dict(reasons) for part, reasons in self.left_out.items()},
            "tests": self.syntax.tests,
            "relations": [_plain(one) for one in self.syntax.found],
            "roles": [_plain(one) for one in self.syntax.roles],
        }


def score_treebank(
    subject: Subject, folder: Path, sentences: int, *, seeds: int = SEEDS, seed: int = 0, least: int = 50
) -> TreebankScores:
    """Score every head on so many sentences of train and of test, evenly spread over each."""
    if sentences < 1:
        raise BadInput(f"a treebank needs at least one sentence per part, not {sentences}.")
    parts: dict[str, list[Sentence]] = {}
    left_out: dict[str, dict[str, int]] = {}
    for part in ("train", "test"):
        bank = load_treebank(part, folder, at_most=sentences)
        parts[part], why = aligned(subject, bank.sentences)
        left_out[part] = dict(Counter(why.values()))
        if not parts[part]:
            raise BadInput(f"the tokenizer of {subject.id} aligns with no sentence of the treebank's {part} part.")
    train, test = (read_heads(subject, parts[part]) for part in ("train", "test"))
    twins = [read_heads(untrained(subject, number), parts["test"]) for number in range(seeds)]
    gold = {part: gold_of(parts[part]) for part in parts}
    found = score_syntax((train, gold["train"]), (test, gold["test"]), twins, seed=seed, least=least)
    return TreebankScores(found, {part: len(of) for part, of in parts.items()}, left_out)


def _plain(one: Any) -> dict[str, Any]:
    facts = one._asdict()
    return {**facts, "place": facts["place"]._asdict(), "score": facts["score"]._asdict()}

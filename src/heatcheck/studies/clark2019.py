"""Clark et al. 2019, "What Does BERT Look At?": where heads look, by layer, and which find syntactic relations.

The syntactic scores need the treebank in the data folder. Without it, the study has the other numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from heatcheck.auditing import Plan
from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.cells import Extra
from heatcheck.studies.of_heads import best_by_relation, deep_subject, heads_above, layer_means, treebank_scores
from heatcheck.studies.of_transformers import QUICK, study_of
from heatcheck.studies.of_transformers import Settings as Shared
from heatcheck.studies.study import setting

MEASURES = ("special_tokens", "previous_token", "next_token", "punctuation_mass", "entropy_nats")
THRESHOLDS = {"special_tokens": 0.6, "previous_token": 0.5, "next_token": 0.5}
NOTES = (
    "The paper reads BERT-base on 992 segments of Wikipedia, each with two texts. Ours is another model on single "
    "texts, so numbers are not comparable. The claims are: much weight goes to special tokens, a few heads look at the "
    "token before or after, and lower layers have broader heads.",
    "Previous and next token count queries whose largest weight is there; the paper has the mean weight there.",
    "The paper's syntactic scores are on the Penn Treebank, which is not free. Ours are on Universal Dependencies, "
    "whose relations differ, so numbers are not comparable. For each relation the head and its direction are chosen "
    "on train and scored on test, for each model anew. The paper chooses and scores on the same sentences.",
    "The paper has one baseline, the best fixed distance. The offset twin is the head's own mean weight at "
    "each distance. The untrained heads are those of the same architecture with random weights. The other tree is that "
    "of another sentence of the same length.",
)
# Scores of a relation's best head, and of its baselines, by the names that rows have.
SCORES = {
    "offset": "best_offset",
    "twin": "offset_twin",
    "untrained": "untrained",
    "other tree": "other_tree",
}


@dataclass(frozen=True)
class Settings(Shared):
    """What to run."""

    sentences: int = setting(600, "Sentences per part of the treebank; 0 leaves syntax out.", least=0)


def syntax_of(plan: Plan, _: Mapping[str, CheckResult], extra: Extra) -> Facts:
    """Syntactic scores of every head."""
    return {"syntax": treebank_scores(deep_subject(plan, "clark2019"), extra, seed=plan.case.seed)}


def scores_of(facts: Facts) -> Iterator[tuple[Key, float]]:
    """The best head of each relation beside its baselines, and the number of heads with a syntactic role."""
    if facts["syntax"] is None:
        return
    for relation, one in best_by_relation(facts["syntax"]):
        yield key("syntactic", relation=relation, of="head"), one["score"]["value"]
        for name, source in SCORES.items():
            yield key("syntactic", relation=relation, of=name), one[source]
    roles = facts["syntax"]["roles"]
    yield key("syntactic_heads"), float(len({(one["place"]["layer"], one["place"]["head"]) for one in roles}))


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Means by layer, and shares of heads above the paper's thresholds."""
    yield from layer_means(found, MEASURES)
    yield from heads_above(found, THRESHOLDS)


clark2019 = study_of(
    "clark2019",
    "roles",
    numbers,
    title="What does BERT look at, reproduced",
    paper="Clark et al. 2019, What Does BERT Look At? (arXiv 1906.04341)",
    about="weight on special tokens, neighbours and punctuation, and entropy, by layer",
    notes=NOTES,
    settings=Settings,
    quick=replace(Settings(**{one.name: getattr(QUICK, one.name) for one in fields(QUICK)}), sentences=0),
    own=("sentences",),
    more=syntax_of,
    of_facts=scores_of,
    table=Path(__file__).with_suffix(".csv"),
)

"""The card against models whose answer is a theorem: every line has a provable yes and a provable no."""

from contextlib import suppress
from dataclasses import replace

import pytest

from heatcheck import checks
from heatcheck.auditing import make_card, plan_audit
from heatcheck.auditing.lines.across import NAME as ACROSS
from heatcheck.auditing.lines.hard import NAME as HARD
from heatcheck.auditing.lines.necessary import NAME as NECESSARY
from heatcheck.auditing.lines.out_of_context import NAME as OUT_OF_CONTEXT
from heatcheck.auditing.lines.points import NAME as POINTS
from heatcheck.data import Split, load_task
from heatcheck.errors import NotSupported
from heatcheck.models import KNOWN_ANSWERS, load

LINES = (NECESSARY, POINTS, HARD, OUT_OF_CONTEXT, ACROSS)
ANY = "any"  # nothing is asserted

# A part of what `heatcheck calibrate` goes through. Out of context, planted_lookup is moot for everybody: there each
# word stands with each label equally often, so that no weights over words can be told from a code.
TRUTH = {
    "reader@planted_keyword": ("no", "yes", "yes", "moot", "no"),
    "reader@planted_contrast": ("yes", "yes", "unclear", "yes", "not found"),
    "reader@planted_lookup": ("yes", "yes", "yes", "moot", "not found"),
    "bystander_right@planted_keyword": ("no", "yes", "no", "moot", "no"),
    "bystander_right@planted_contrast": ("no", "yes", "no", "yes", "no"),
    "bystander_wrong@planted_keyword": ("no", "no", "no", "moot", "no"),
    "bystander_wrong@planted_contrast": ("no", "no", "no", "no", "no"),
    "bystander_wrong@planted_lookup": ("no", "no", "no", "moot", "no"),
    "shifted@planted_keyword": ("no", "no", "yes", "moot", ANY),
    # As for the reader: another opinion of the same polarity would do.
    "shifted@planted_contrast": ("no", "no", "unclear", "no", ANY),
    "gauge_twin@planted_keyword": ("no", "no", "unclear", "moot", "no"),
    "leaker@planted_contrast": ("no", "no", "no", "no", "no"),
    # The heatmap's layer may as well be uniform, and the first layer does the lookup.
    "two_layers@planted_lookup": ("yes", "yes", "no", "moot", "no"),
    # Whoever knows what words say can count them without weights.
    "majority_reader@planted_majority": ("no", ANY, ANY, "moot", ANY),
    # Words that tie go in random orders: by position each of these would point at what matters.
    "one_hot@planted_first": ("no", "no", "no", "moot", "no"),
    "flat@planted_first": ("no", "no", "moot", "moot", "no"),
    "sink@planted_second": ("no", "no", "no", "moot", "no"),
}
CHECKS = ["necessity", "gauge", "guide", "erasure", "permutation", "counterfactual", "adversarial_model"]
QUICK = {
    "card.texts": 20,
    "erasure.rivals": "leave_one_out",
    **{f"{check}.draws": 200 for check in CHECKS if check != "gauge"},
    "necessity.shuffles": 2,
    "counterfactual.epsilons": "0.05",
    "counterfactual.shuffles": 1,
    "permutation.repeats": 20,
    "adversarial_model.epsilons": "0.05",
}

# On planted_contrast unweighted words are right two times in three, and so much must be seen to lie above a half.
TESTED = {
    "planted_keyword": 40,
    "planted_first": 40,
    "planted_second": 40,
    "planted_contrast": 400,
    "planted_lookup": 30,
    "planted_majority": 400,
}


@pytest.fixture(scope="module")
def small():
    """Planted tasks of a size for tests: what decides the card is proved, not estimated."""
    made = {}

    def of(task):
        if task not in made:
            corpus = load_task(task)
            sizes = {"train": 2000, "test": TESTED[task]}
            made[task] = replace(corpus, splits={n: Split(n, corpus[n].examples[:k]) for n, k in sizes.items()})
        return made[task]

    return of


def card_of(subject, corpus, examples=20):
    plan = plan_audit(subject, corpus, examples=examples, checks=CHECKS, settings=QUICK)
    return make_card(measured(plan), plan.case.logit_scale, plan.card)


def measured(plan):
    """The results of the checks that are not refused."""
    results = {}
    for check, settings in plan.checks.items():
        with suppress(NotSupported):
            results[check] = checks.CHECKS[check].measure(plan.case, settings)
    return results


@pytest.mark.parametrize("name", TRUTH)
def test_the_card_is_right_where_the_answer_is_known(name, small):
    card = card_of(load(f"known:{name}"), small(name.partition("@")[2]))
    said = {line: "moot" if card[line].moot else card[line].state for line in LINES}
    known = dict(zip(LINES, TRUTH[name], strict=True))
    assert {line: state for line, state in said.items() if known[line] != ANY} == {
        line: state for line, state in known.items() if state != ANY
    }


@pytest.mark.parametrize("labels", ["flipped", "at chance"])
@pytest.mark.parametrize("name", ["bystander_wrong@planted_keyword", "reader@planted_keyword"])
def test_a_model_that_is_never_right_cannot_need_anything(name, labels, small):
    """Uniform weights provably decide alike, by the swap or by the gauge twin; but the decisions are worth nothing."""
    corpus = small("planted_keyword")
    gold = [n % 2 if labels == "at chance" else 1 - e.label for n, e in enumerate(corpus["test"])]
    wrong = tuple(replace(e, label=label) for e, label in zip(corpus["test"], gold, strict=True))
    data = replace(corpus, splits={**corpus.splits, "test": Split("test", wrong)})
    asked = {key: value for key, value in QUICK.items() if key.startswith(("necessity", "card"))}
    plan = plan_audit(load(f"known:{name}"), data, examples=20, checks=["necessity", "gauge"], settings=asked)
    line = make_card(measured(plan), 1.0, plan.card)[NECESSARY]
    assert line.moot
    assert line.evidence[0].name == "headroom"


@pytest.mark.parametrize("name", TRUTH)
def test_a_temperature_twin_gets_the_same_card(name, small):
    """Logits 40 times as large, so that every probability is 0 or 1 in float32."""
    kind, _, task = name.partition("@")
    corpus = small(task)
    few = replace(corpus, splits={n: Split(n, corpus[n].examples[:k]) for n, k in {"train": 300, "test": 20}.items()})
    own, twin = (card_of(KNOWN_ANSWERS[kind](task, filler=0.05, scale=scale), few, 8) for scale in (1.5, 60.0))
    for mine, theirs in zip(own.every_line, twin.every_line, strict=True):
        assert (mine.name, mine.state, len(mine.evidence)) == (theirs.name, theirs.state, len(theirs.evidence))
        for one, other in zip(mine.evidence, theirs.evidence, strict=True):
            assert (one.name, one.by, one.n) == (other.name, other.by, other.n)
            assert [one.value, one.low, one.high] == pytest.approx([other.value, other.low, other.high], abs=1e-6)


def test_every_line_has_a_yes_and_a_no_and_every_two_differ_somewhere():
    """Or the table would prove less than it seems to."""
    columns = dict(zip(LINES, zip(*TRUTH.values(), strict=True), strict=True))
    for line in LINES[:4]:
        assert {"yes", "no"} <= set(columns[line])
    for number, line in enumerate(LINES):
        assert all(columns[line] != columns[other] for other in LINES[:number])

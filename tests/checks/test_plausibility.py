"""Plausibility: by hand, on models whose answer is known, and with nothing to agree with."""

from dataclasses import replace

import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.plausibility import PlausibilitySettings
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import Scores
from heatcheck.models import KNOWN_ANSWERS
from subjects import SINGLE, SUBJECTS, classifier

check = CHECKS["plausibility"]
QUICK = PlausibilitySettings(explainers=("attention",), repeats=4, draws=300)


def case_of(name, n=120, **nuisance):
    kind, _, task = name.partition("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    return Case(subject, load_task(task)["test"].examples[:n], labels=subject.labels)


def scored(rows, marks, tested=None):
    """A case whose attention is written down: scores a text, and what people marked."""
    examples = [
        Example(f"e{n}", " ".join("abcdefghij"[: len(row)]), label=0, marks={"rationale": of} if of else {})
        for n, (row, of) in enumerate(zip(rows, marks, strict=True))
    ]
    case = Case(classifier(SINGLE), examples, labels=("no", "yes"), tested=tested)
    longest = max(map(len, rows))
    values = np.array([[*row, *[0.0] * (longest - len(row))] for row in rows])
    valid = np.array([[place < len(row) for place in range(longest)] for row in rows])
    ids = tuple(example.id for example in examples)
    case._scores["attention", "standardised"] = Scores("attention", False, ids, values, valid, {})
    return case


def marked(text):
    return tuple(letter == "1" for letter in text)


# By hand -------------------------------------------------------------------------------------------------------------

# Two texts of six and of four words. Of the ten words people marked 3/6 and 1/4, the mean share is 3/8: so a hard
# rationale has round(6 · 3/8) = 2 and round(4 · 3/8) = 2 words.
HAND = scored(
    [[0.4, 0.1, 0.3, 0.05, 0.1, 0.05], [0.1, 0.2, 0.3, 0.4]],
    [marked("110001"), marked("0010")],
)  # fmt: skip


@pytest.fixture(scope="module")
def by_hand():
    return check.measure(HAND, replace(QUICK, repeats=3))


def test_the_area_by_hand(by_hand):
    """Text 1 in order a c {b e} {d f}: precision 1, ½, ½ (2 of 4), ½ (3 of 6) at recall ⅓, ⅓, ⅔, 1.

    Trapezoids ⅓·1 + ⅓·(½ + ½)/2 + ⅓·(½ + ½)/2 = ⅔. Text 2 in order d c b a: the one hit at rank 2: (0 + ½)/2 = ¼.
    """
    assert by_hand.per_example["auprc:attention"] == pytest.approx([2 / 3, 1 / 4])
    assert by_hand.find("auprc", explainer="attention").value == pytest.approx((2 / 3 + 1 / 4) / 2)
    assert by_hand.per_example["average_precision:attention"] == pytest.approx([(1 + 1 / 2 + 1 / 2) / 3, 1 / 2])


def test_hard_rationales_by_hand(by_hand):
    """Top two: a c of {a b f}, and c d of {c}. Best window of two: a b (.5, before b c's .4), and c d."""
    assert by_hand.facts["share_of_words"] == pytest.approx(3 / 8)
    words = {"top k": [2 * 1 / 5, 2 * 1 / 3], "window": [2 * 2 / 5, 2 * 1 / 3]}
    pooled = {"top k": 2 * 2 / (4 + 4), "window": 2 * 3 / (4 + 4)}
    # Spans. Top: a, c against ab, f: a is half of ab; cd against c: half. Window: ab is ab; cd against c.
    matched, said, true = {"top k": [1, 1], "window": [1, 1]}, {"top k": [2, 1], "window": [1, 1]}, [2, 1]
    for kind in ("top k", "window"):
        how = {"explainer": "attention", "rationale": kind}
        assert by_hand.per_example[f"token_f1:attention:{kind}"] == pytest.approx(words[kind])
        assert by_hand.find("token_f1", **how, average="macro").value == pytest.approx(np.mean(words[kind]))
        assert by_hand.find("token_f1", **how, average="micro").value == pytest.approx(pooled[kind])
        each = [2 * m / (s + t) for m, s, t in zip(matched[kind], said[kind], true, strict=True)]
        assert by_hand.per_example[f"iou_f1:attention:{kind}"] == pytest.approx(each)
        assert by_hand.find("iou_f1", **how, average="macro").value == pytest.approx(np.mean(each))
        assert by_hand.find("iou_f1", **how, average="micro").value == pytest.approx(4 / (sum(said[kind]) + 3))
        precision = np.mean([m / s for m, s in zip(matched[kind], said[kind], strict=True)])
        recall = np.mean([m / t for m, t in zip(matched[kind], true, strict=True)])
        published = by_hand.find("iou_f1", **how, average="macro as published").value
        assert published == pytest.approx(2 * precision * recall / (precision + recall))
    published, ours = (
        by_hand.find("iou_f1", explainer="attention", rationale="window", average=average).value
        for average in ("macro as published", "macro")
    )
    assert published == pytest.approx(6 / 7)
    assert ours == pytest.approx(5 / 6), "an F1 of means is not a mean of F1"


def test_random_spans_are_as_long_as_the_rationale():
    """A run of two words and one of one in a text of five; people marked the fourth."""
    case = scored([[0.5, 0.4, 0.0, 0.1, 0.0]] * 200, [marked("00010")] * 200)
    found = check.measure(case, replace(QUICK, share="0.6", repeats=20))
    # Placings 11 0 1 0, 11 0 0 1, 0 11 0 1 and their mirrors: the fourth word is marked in four of six.
    f1 = found.find("token_f1", explainer="random spans", matched="attention", rationale="top k", average="macro")
    assert f1.value == pytest.approx(4 / 6 * 2 / (3 + 1), abs=0.01)
    random = found.find("token_f1", explainer="random", rationale="top k", average="macro")
    assert random.value == pytest.approx(3 / 5 * 2 / (3 + 1), abs=0.01)


# Known answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["planted_keyword", "planted_contrast", "planted_lookup"])
@pytest.mark.parametrize(
    ("kind", "plausible"), [("reader", True), ("bystander_right", True), ("bystander_wrong", False), ("shifted", False)]
)
def test_known_answers(kind, plausible, task):
    found = check.measure(case_of(f"{kind}@{task}"), QUICK)
    share = found.find("P", explainer="attention")
    assert found.find("room", explainer="attention").low > 0.05, "otherwise the question is moot"
    assert share.low > 0.9 if plausible else share.high < 0.05
    gain = found.find("auprc_gain", explainer="attention", against="random spans")
    assert (gain.low > 0) if plausible else (gain.high < 0)


def test_chance_is_no_better_than_chance():
    """Random scores as an explanation: nothing is gained over either control, and the intervals are not vacuous."""
    case = case_of("reader@planted_contrast", n=300)
    noise = case.scores("random")
    case._scores["attention", "standardised"] = replace(noise, explainer="attention")
    found = check.measure(case, replace(QUICK, repeats=10))
    for against in ("random", "random spans"):
        gain = found.find("auprc_gain", explainer="attention", against=against)
        assert gain.low < 0 < gain.high
        assert gain.high - gain.low < 0.1
    assert abs(found.find("P", explainer="attention").value) < 0.05
    hit = 1 / np.mean([len(e.words) for e in case.examples])
    assert found.find("marked").value == pytest.approx(hit, rel=0.1)


def test_equal_weights_gain_nothing_though_trapezoids_flatter_them():
    case = scored([[0.1] * 10] * 60, [marked("0000110000"), marked("1000000000"), marked("0001111111")] * 20)
    found = check.measure(case, QUICK)
    area, random = (found.find("auprc", explainer=name).value for name in ("attention", "random"))
    assert area == pytest.approx((1 + np.mean([0.2, 0.1, 0.7])) / 2)
    assert area > random + 0.1, "by itself the published area would call them plausible"
    assert found.find("auprc_gain", explainer="attention", against="random spans").value == pytest.approx(0)
    assert found.find("P", explainer="attention").value == pytest.approx(0)
    assert found.find("average_precision", explainer="attention").value == pytest.approx(np.mean([0.2, 0.1, 0.7]))


def test_p_is_the_share_of_the_way_from_the_better_chance():
    found = check.measure(case_of("dial@planted_twins", share=0.3), QUICK)
    own, random, spans = (
        found.per_example[f"auprc:{name}"].mean() for name in ("attention", "random", "random spans (attention)")
    )
    better = max(random, spans)
    assert found.find("P", explainer="attention").value == pytest.approx((own - better) / (1 - better))
    assert found.find("room", explainer="attention").value == pytest.approx(1 - better)
    gain = found.find("auprc_gain", explainer="attention", against="random")
    assert gain.value == pytest.approx(own - random)


# What is left out, and what is chosen --------------------------------------------------------------------------------


def test_texts_without_two_kinds_of_words_are_left_out_by_name():
    rows = [[0.5, 0.3, 0.2]] * 4 + [[1.0]]
    case = scored(rows, [marked("010"), marked("000"), marked("111"), None, marked("1")])
    found = check.measure(case, replace(QUICK, share="0.4"))
    assert found.examples == ("e0",)
    assert found.excluded == {
        "e1": "none of its words is marked",
        "e2": "all of its words are marked",
        "e3": "it has no human rationale",
        "e4": "fewer than two words to rank",
    }
    assert np.isfinite([m.value for m in found.measurements]).all()


def test_a_word_without_a_score_is_no_word():
    """Padding in the middle: the same as the text without it."""
    with_gap = scored([[0.6, 9.0, 0.3, 0.1]], [marked("1110")])
    with_gap._scores["attention", "standardised"].valid[0, 1] = False
    without = scored([[0.6, 0.3, 0.1]], [marked("110")])
    one, other = (check.measure(case, replace(QUICK, share="0.7")) for case in (with_gap, without))
    for name in ("auprc:attention", "token_f1:attention:window", "iou_f1:attention:window", "marked"):
        assert one.per_example[name] == pytest.approx(other.per_example[name])


def test_neither_order_nor_company_matters():
    name = "reader@planted_contrast"
    whole, some = case_of(name, n=40), case_of(name, n=40)
    some.examples = some.examples[::-1][:25]
    settings = replace(QUICK, share="0.1")
    one, other = (check.measure(case, settings) for case in (whole, some))
    for key, values in one.per_example.items():
        mine = dict(zip(one.examples, values, strict=True))
        assert [mine[e] for e in other.examples] == pytest.approx(other.per_example[key].tolist())


def test_nobody_marked_anything():
    subject, examples = SUBJECTS["lstm"]
    case = Case(subject, examples, labels=("no", "yes"))
    with pytest.raises(NotSupported, match="these texts have no human rationales"):
        check.measure(case, QUICK)
    assert check.cost(case, PlausibilitySettings()) == 0
    assert check.cost(case_of("reader@planted_contrast", n=5), PlausibilitySettings()) > 0


def test_where_the_share_comes_from():
    rows, marks = [[0.4, 0.3, 0.2, 0.1]] * 2, [marked("1000"), marked("1100")]
    tested = [Example(f"t{n}", "a b c d", label=0, marks={"rationale": marked("1110")}) for n in range(3)]
    case = scored(rows, marks, tested=tested)
    assert check.measure(case, QUICK).facts["share_of_words"] == pytest.approx(3 / 4)
    assert check.measure(case, replace(QUICK, share="0.25")).facts["share_of_words"] == 0.25
    with pytest.raises(BadInput, match="share=train needs the training texts"):
        check.measure(case, replace(QUICK, share="train"))
    train = Split("train", tuple(replace(e, marks={"rationale": marked("1100")}) for e in tested))
    case.trained_on = Corpus("some", ("no", "yes"), {"train": train})
    found = check.measure(case, replace(QUICK, share="train"))
    assert found.facts["share_of_words"] == pytest.approx(1 / 2)
    assert found.find("token_f1", explainer="attention", rationale="top k", average="macro").value == pytest.approx(
        (2 / 3 + 1) / 2
    )
    case.trained_on = Corpus("some", ("no", "yes"), {"train": Split("train", (Example("x", "a b", label=0),))})
    with pytest.raises(BadInput, match="no word of the train texts is marked"):
        check.measure(case, replace(QUICK, share="train"))


@pytest.mark.parametrize("share", ["0", "1", "1.5", "nan", "dev", ""])
def test_a_share_that_is_none(share):
    with pytest.raises(BadInput, match=r"plausibility.share must be audited, train or a number between 0 and 1"):
        PlausibilitySettings(share=share)


def test_chance_is_a_control_and_what_cannot_be_run_is_named():
    settings = replace(QUICK, explainers=("attention", "random", "relevance", "gradient_x_input"))
    subject, _ = SUBJECTS["pair merge"]  # its read-out is not linear
    examples = [Example(f"p{n}", "a film so bad", "bad", 0, {"rationale": marked("0001")}) for n in range(3)]
    found = check.measure(Case(subject, examples, labels=("a", "b", "c")), settings)
    assert found.facts["explainers"] == ["attention", "gradient_x_input"]
    assert list(found.not_run) == ["relevance"]
    assert {m.by["explainer"] for m in found.measurements if m.name == "P"} == {"attention", "gradient_x_input"}


def test_every_number_has_its_baseline_and_interval(by_hand):
    assert all(m.baseline and m.low <= m.value <= m.high and m.n == 2 for m in by_hand.measurements)
    keys = [(m.name, *sorted(m.by.items())) for m in by_hand.measurements]
    assert len(set(keys)) == len(keys)

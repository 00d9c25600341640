"""ERASER's measures: by hand, by brute force, and on models whose answer is known."""

import json
import math
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
import torch

from heatcheck.checks import CHECKS, Case, answers, texts_without_words
from heatcheck.checks.eraser import EraserSettings, _completed, size_of
from heatcheck.data import Example, Vocabulary, load_task
from heatcheck.data.vocabulary import SPECIAL, UNKNOWN
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import REMOVALS
from heatcheck.models import KNOWN_ANSWERS
from heatcheck.models.known_answers import KnownAnswer
from heatcheck.training import predict
from subjects import SINGLE, SUBJECTS

measure = CHECKS["eraser"].measure
ALONE = EraserSettings(rivals=(), draws=50, random_orders=2)
SIDES = ("comprehensiveness", "sufficiency")
OPERATORS = ("deletion", "masking")


def case_of(name, n=40, **nuisance):
    kind, _, task = name.partition("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    return Case(subject, load_task(task)["test"].examples[:n], labels=subject.labels)


class ByHand(KnownAnswer):
    """Each word has fixed odds of being attended to and a fixed vote for the second label, in units of ln 3."""

    name = "by_hand"

    def __init__(self):
        super().__init__("planted_keyword", jitter=0.0)
        self.odds = {"A": 3, "B": 1.00002, "C": 1.00001, "D": 1}  # all but 1, and in this order
        self.votes_for = {"A": 2, "B": -2, "C": 1, "D": 1}

    @cached_property
    def vocabulary(self):
        return Vocabulary((*SPECIAL, *self.odds), rule="spaces", lowercase=False)

    @cached_property
    def table(self):
        """An unknown word has odds 1 and says nothing."""
        rows = torch.zeros(len(self.vocabulary), 2)
        for at, word in enumerate(self.odds, start=len(SPECIAL)):
            rows[at] = torch.tensor([math.log(self.odds[word]), self.votes_for[word] * math.log(3)])
        return rows

    def scores(self, text):
        return text.features[..., 0]

    def votes(self, text):
        return torch.stack([torch.zeros_like(text.features[..., 1]), text.features[..., 1]], dim=-1)


class Deaf(ByHand):
    """Says the same of every text."""

    @cached_property
    def table(self):
        rows = super().table
        rows[:, 1] = math.log(3)
        return rows


def by_hand(subject=None, **marks):
    return Case(subject or ByHand(), [Example("abcd", "A B C D", label=1, marks=marks)], labels=("no", "yes"))


def p(votes):
    """The second label's probability at so many ln 3: 3^v / (1 + 3^v)."""
    return 3**votes / (1 + 3**votes)


def test_by_hand():
    """Attention: A has odds 3, the others 1, so ⅙ of A's 3 · 2 and of −2, 1 and 1: 1 ln 3, p(x) = ¾ for "yes".

    Ranked A B C D; of 4 words 1, 5, 10 and 20% are one word, 50% two.

    deletion, A gone:     B C D  (−2 + 1 + 1) / 3 = 0, ½     comprehensiveness ¾ − ½ = .25
              A B gone:     C D  (1 + 1) / 2 = 1, ¾          comprehensiveness ¾ − ¾ = 0
              only A:       A    6 / 3 = 2, 9/10             sufficiency ¾ − 9/10 = −.15
              only A B:     A B  (6 − 2) / 4 = 1, ¾          sufficiency 0
              nothing:      <unk> 0, ½                       .25
    masking,  A gone: <unk> B C D    (−2 + 1 + 1) / 4 = 0
              A B gone: <unk> <unk> C D    2 / 4 = ½
              only A:   A <unk> <unk> <unk>    6 / 6 = 1     sufficiency 0
              only A B:    (6 − 2) / 6 = ⅔
              nothing:  four <unk>    0, ½                   .25

    code's AOPC: mean of five; Eq. 3: with the rationale of no words, divided by six: its comprehensiveness is 0, its
    sufficiency .25.
    """
    found = measure(by_hand(), ALONE)
    wanted = {
        ("deletion", "comprehensiveness"): ([0.25] * 4 + [0.0], 1 / 5, 1 / 6),
        ("deletion", "sufficiency"): ([-0.15] * 4 + [0.0], -0.6 / 5, (0.25 - 0.6) / 6),
        ("masking", "comprehensiveness"): (
            [0.25] * 4 + [0.75 - p(1 / 2)],
            (1.75 - p(1 / 2)) / 5,
            (1.75 - p(1 / 2)) / 6,
        ),
        ("masking", "sufficiency"): ([0.0] * 4 + [0.75 - p(2 / 3)], (0.75 - p(2 / 3)) / 5, (1 - p(2 / 3)) / 6),
    }
    for (operator, side), (curve, code, paper) in wanted.items():
        of = {"ranking": "attention", "operator": operator, "logits": "published"}
        at = [found.find(side, share=share, **of).value for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
        assert at == pytest.approx(curve, abs=1e-4), (operator, side)
        assert found.find(f"aopc_{side}", definition="code", **of).value == pytest.approx(code, abs=1e-4)
        assert found.find(f"aopc_{side}", definition="paper", **of).value == pytest.approx(paper, abs=1e-4)
        assert found.find("null_difference", operator=operator, logits="published").value == pytest.approx(
            0.25, abs=1e-4
        )


def test_standardised_by_hand():
    """One text, its margin ln 3: logits are scaled by 2 / ln 3, so that one ln 3 is 2."""
    found = measure(by_hand(), ALONE)
    of = {"ranking": "attention", "operator": "deletion", "logits": "standardised", "definition": "code"}

    def sigmoid(z):
        return 1 / (1 + math.exp(-z))

    comprehensive = 4 * (sigmoid(2) - sigmoid(0)) / 5
    assert found.find("aopc_comprehensiveness", **of).value == pytest.approx(comprehensive, abs=1e-4)
    assert found.find("aopc_sufficiency", **of).value == pytest.approx(4 * (sigmoid(2) - sigmoid(4)) / 5, abs=1e-4)


def test_the_human_rationale_by_hand():
    """People marked B and D, half of the words, so the others show two words, too.

    Deleted: A C are left, (6 + 1) / 4 = 7/4. Kept alone: (−2 + 1) / 2 = −½.
    """
    found = measure(by_hand(rationale=(False, True, False, True)), ALONE)
    assert found.facts["rationale_share"] == 0.5
    of = {"operator": "deletion", "share": "rationale"}
    assert found.find("comprehensiveness", ranking="human", **of).value == pytest.approx(0.75 - p(7 / 4), abs=1e-4)
    assert found.find("sufficiency", ranking="human", **of).value == pytest.approx(0.75 - p(-1 / 2), abs=1e-4)
    assert found.find("sufficiency", ranking="attention", **of).value == pytest.approx(0, abs=1e-4)


def test_a_rationale_of_every_word():
    """Without it the input is empty; with it the text is whole."""
    found = measure(by_hand(rationale=(True,) * 4), ALONE)
    of = {"operator": "deletion", "share": "rationale", "ranking": "human"}
    assert found.find("comprehensiveness", **of).value == pytest.approx(0.25, abs=1e-4)
    assert found.find("sufficiency", **of).value == pytest.approx(0, abs=1e-4)


def test_only_texts_that_people_marked_count_for_their_rationale():
    case = case_of("reader@planted_keyword", n=10)
    some = [replace(example, marks={}) if at % 2 else example for at, example in enumerate(case.examples)]
    found = measure(Case(case.subject, some, labels=case.labels), ALONE)
    assert {m.n for m in found.measurements if m.by.get("share") == "rationale"} == {5}
    assert {m.n for m in found.measurements if m.by.get("share") != "rationale"} == {10}
    assert np.isnan(found.per_example["sufficiency:human:rationale:deletion:published"]).sum() == 5
    assert all(np.isfinite(m.value) and "undefined" not in m.by for m in found.measurements)
    assert found.facts["rationales"] == 5


def test_without_rationales_there_is_no_human_ranking():
    found = measure(by_hand(), ALONE)
    assert not [m for m in found.measurements if "human" in m.by.values() or "rationale" in m.by.values()]
    assert "rationale_share" not in found.facts


def test_the_code_gives_six_fifths_of_the_paper():
    """For comprehensiveness; sufficiency has what words add on top."""
    found = measure(case_of("reader@planted_contrast", n=20), ALONE)
    for operator in OPERATORS:
        of = {"operator": operator, "logits": "published"}
        null = found.find("null_difference", **of).value
        assert null > 0.1, "otherwise the two would not differ"
        for ranking in ("attention", "random"):
            code, paper = (
                [found.find(f"aopc_{side}", ranking=ranking, definition=name, **of).value for side in SIDES]
                for name in ("code", "paper")
            )
            assert code[0] == pytest.approx(6 / 5 * paper[0])
            assert paper[1] == pytest.approx((5 * code[1] + null) / 6)


@pytest.mark.parametrize("name", ["lstm", "average three labels", "pair merge"])
def test_by_brute_force(name, monkeypatch):
    """Every text read by itself, one at a time."""
    monkeypatch.setattr(texts_without_words, "WORDS_AT_ONCE", 100)  # and in several parts
    subject, examples = SUBJECTS[name]
    settings = EraserSettings(rivals=("leave_one_out",), shares=(0.2, 0.5), draws=20, random_orders=2)
    case = Case(subject, examples, labels=("a", "b", "c"))
    found = measure(case, settings)
    assert len(found.examples) > 2
    seen = []
    for place, example in ((place, e) for place, i in enumerate(found.examples) for e in examples if e.id == i):
        row, words = examples.index(example), len(example.words)
        logs = predict(subject, [example])[0, 0]
        label = int(logs.argmax())
        for ranking in ("attention", "leave_one_out", "leave_one_out (signed)"):
            values = case.scores(ranking.removesuffix(" (signed)")).values[row, :words]
            if len(set(np.abs(values))) < words:
                continue  # ties, which go in random orders
            order = np.argsort(-(values if "signed" in ranking else np.abs(values)), kind="stable").tolist()
            for share in settings.shares:
                top = set(order[: math.ceil(share * words)])
                for operator in OPERATORS:
                    for side, gone in zip(SIDES, (top, set(order) - top), strict=True):
                        after = predict(subject, [REMOVALS[operator](example, gone)])[0, 0]
                        lost = math.exp(logs[label]) - math.exp(after[label])
                        key = f"{side}:{ranking}:{share:g}:{operator}:published"
                        assert found.per_example[key][place] == pytest.approx(lost, abs=1e-6), key
                        seen.append(lost)
    assert len(seen) > 40
    assert np.std(seen) > 1e-3, "otherwise nothing was compared"


@pytest.mark.parametrize("task", ["planted_keyword", "planted_contrast", "planted_lookup"])
@pytest.mark.parametrize(
    ("kind", "points"), [("reader", True), ("bystander_right", True), ("bystander_wrong", False), ("shifted", False)]
)
def test_known_answers(kind, points, task):
    """Attention beats random orders on both sides where it points at what matters, and on neither where it does not.

    Only that in planted_contrast no one word is enough: the attended one speaks after a "but", which is not attended.
    """
    found = measure(case_of(f"{kind}@{task}"), ALONE)
    for operator in OPERATORS:
        for logits in ("published", "standardised"):
            of = {"pair": ["attention", "random"], "operator": operator, "logits": logits}
            comprehensiveness, sufficiency = (found.find(f"{side}_difference", **of) for side in SIDES)
            if points:
                assert comprehensiveness.low > 0.1
                assert sufficiency.high < -0.1 or task == "planted_contrast"
            else:
                assert comprehensiveness.high < 0.05
                assert sufficiency.value > -0.05


def test_what_random_orders_lose():
    """In planted_keyword one word says everything: of T words, k drawn at random hold it k times in T."""
    case = case_of("bystander_right@planted_keyword", n=60)
    found = measure(case, replace(ALONE, operators=("deletion",), random_orders=5))
    null = found.per_example["null_difference:deletion:published"]
    assert null.min() > 0.4
    for share in (0.1, 0.5):
        lost = found.per_example[f"comprehensiveness:random:{share:g}:deletion:published"]
        kept = found.per_example[f"sufficiency:random:{share:g}:deletion:published"]
        assert np.allclose(lost + kept, null, atol=1e-6)  # the word is gone, or it is what is kept
        hit = np.array([size_of(share, len(e.words)) / len(e.words) for e in case.examples])
        noise = np.sqrt(np.sum(hit * (1 - hit) * null**2 / 5)) / len(null)
        assert lost.mean() == pytest.approx((hit * null).mean(), abs=4 * noise)
        assert ((lost > 0.1 * null) & (lost < 0.9 * null)).any(), "otherwise all orders of a text are the same"


def test_a_deaf_model_loses_nothing():
    """No gap to random orders, and no share of nothing."""
    examples = [Example(str(at), "A B C D", label=1) for at in range(3)]
    found = measure(Case(Deaf(), examples, labels=("no", "yes")), ALONE)
    assert max(abs(m.value) for m in found.measurements) < 1e-6
    assert [m for m in found.measurements if m.name.endswith("_difference")]
    assert not [m for m in found.measurements if m.name.startswith("normalised_")]


def test_normalised_by_the_empty_input():
    found = measure(case_of("reader@planted_keyword", n=20), ALONE)
    for operator in OPERATORS:
        null = found.per_example[f"null_difference:{operator}:published"].mean()
        for side in SIDES:
            code = found.per_example[f"aopc_{side}:attention:{operator}:published"].mean()
            share = found.find(f"normalised_{side}", ranking="attention", operator=operator)
            assert share.value == pytest.approx(code / null)
            assert share.low <= share.value <= share.high
    assert found.find("normalised_comprehensiveness", ranking="attention", operator="deletion").value > 0.95


def test_the_empty_input_is_one_unknown_word(monkeypatch):
    """By deletion; by masking all words are unknown."""
    read = []
    plain = answers.predict
    monkeypatch.setattr(answers, "predict", lambda subject, texts: read.extend(texts) or plain(subject, texts))
    measure(by_hand(), ALONE)
    unknown = SPECIAL[UNKNOWN]
    texts = [text.masked_text for text in read]
    assert unknown in texts
    assert " ".join([unknown] * 4) in texts
    assert "" not in texts
    assert len(texts) == len(set(texts)), "what rankings share is read once"


def test_a_word_without_a_token_is_no_word():
    """Two spaces hold an empty word: it is no part of a share, and masking does not make it a token."""
    found, other = (
        measure(Case(ByHand(), [Example("e", text, label=1)], labels=("no", "yes")), ALONE)
        for text in ("A B C D", "A B  C D")
    )
    values, others = (
        {m.name + json.dumps(m.by): m.value for m in r.measurements if "random" not in str(m.by)}
        for r in (found, other)
    )
    assert values == pytest.approx(others)


def test_shares_are_rounded_up():
    assert [size_of(share, 1000) for share in (0.01, 0.05, 0.1, 0.2, 0.5)] == [10, 50, 100, 200, 500]
    assert [size_of(share, 7) for share in (0.01, 0.1, 0.2, 0.5, 1.0)] == [1, 1, 2, 4, 7]
    assert all(
        size_of(share, words) * 100 >= share * 100 * words for share in (0.05, 0.1, 0.2) for words in range(2, 300)
    )
    assert size_of(0.07, 100) == 7  # .07 · 100 is 7.000000000000001


def test_count_in_is_count_out_and_exclusions():
    subject, _ = SUBJECTS["lstm"]
    found = measure(Case(subject, SINGLE, labels=("no", "yes")), ALONE)
    assert found.excluded == {"e2": "fewer than two words to rank"}
    assert len(found.examples) + len(found.excluded) == len(SINGLE)
    assert all(len(values) == len(found.examples) for values in found.per_example.values())
    assert all(np.isfinite([m.value, m.low, m.high]).all() for m in found.measurements)


def test_an_example_without_scores_is_left_out_by_name(tmp_path):
    case = case_of("reader@planted_keyword", n=8)
    rows = [{"id": e.id, "scores": [int(m) for m in e.marks["rationale"]]} for e in case.examples[:6]]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, rows)))
    name = f"file:{tmp_path / 'some.jsonl'}"
    found = measure(case, replace(ALONE, explainer=name))
    assert found.excluded == {e.id: f"{name}: no scores in some.jsonl" for e in case.examples[6:]}
    assert found.find("aopc_comprehensiveness", ranking=name, operator="deletion", definition="paper").value > 0.3


def test_a_score_for_a_word_that_is_not_read(tmp_path):
    """The empty word between two spaces may come first in somebody's file: no rationale is made of it."""
    examples = [Example("e", "A  B C D", label=1), Example("one", "A ", label=1)]
    rows = [{"id": "e", "scores": [3, 4, 2, 1, 0]}, {"id": "one", "scores": [1, 2]}]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, rows)))
    settings = replace(ALONE, explainer=f"file:{tmp_path / 'some.jsonl'}")
    found = measure(Case(ByHand(), examples, labels=("no", "yes")), settings)
    assert found.excluded == {"one": "fewer than two words to rank"}
    of = {"operator": "deletion", "share": 0.01, "ranking": settings.explainer}
    assert found.find("sufficiency", **of).value == pytest.approx(-0.15, abs=1e-4)  # only A, as by hand


def test_words_without_a_score_come_last():
    assert _completed([3, 1], frozenset({0, 1, 2, 3})) == [3, 1, 0, 2]


@pytest.mark.parametrize("name", ["lstm", "reader@planted_contrast"])
def test_nothing_depends_on_the_order_of_examples(name):
    subject, examples = SUBJECTS[name]
    case = Case(subject, examples, labels=("no", "yes"))
    turned = Case(subject, examples[::-1], labels=("no", "yes"))
    one, other = measure(case, ALONE), measure(turned, ALONE)
    for key, values in one.per_example.items():
        assert np.allclose(values, other.per_example[key][::-1], atol=1e-6, equal_nan=True), key


def test_nothing_depends_on_longer_neighbours():
    """Alone as beside a text five times as long, which pads its batch."""
    subject, _ = SUBJECTS["lstm"]
    short = Example("short", "good good bad film", label=1)
    long = Example("long", " ".join(["the plot is thin"] * 5), label=0)
    alone, beside = (measure(Case(subject, texts, labels=("no", "yes")), ALONE) for texts in ([short], [long, short]))
    assert beside.examples == ("long", "short")
    for key, values in alone.per_example.items():
        if "standardised" not in key:  # one scale for all texts, so it does depend on them
            assert values[0] == pytest.approx(beside.per_example[key][1], abs=1e-6), key


def test_the_plan_is_an_upper_bound(monkeypatch):
    case = case_of("reader@planted_contrast", n=15)
    settings = EraserSettings(rivals=(), random_orders=2, draws=10)
    read = []
    plain = answers.predict
    monkeypatch.setattr(answers, "predict", lambda subject, texts: read.extend(texts) or plain(subject, texts))
    measure(case, settings)
    planned = CHECKS["eraser"].cost(case, settings)
    assert planned / 2 < len(read) <= planned
    assert not CHECKS["eraser"].default


def test_what_is_refused():
    with pytest.raises(UnknownName, match="unknown removal operator 'burning'; known: deletion, masking"):
        EraserSettings(operators=("burning",))
    for shares in ((), (0.0,), (1.5,)):
        with pytest.raises(BadInput, match="above 0 and at most 1"):
            EraserSettings(shares=shares)
    with pytest.raises(BadInput, match="names a value twice"):
        EraserSettings(shares=(0.1, 0.1))
    with pytest.raises(BadInput, match="remove random from"):
        EraserSettings(rivals=("random",))
    with pytest.raises(
        BadInput, match=r"can use none of the examples. The first one was left out: fewer than two words"
    ):
        measure(Case(ByHand(), [Example("a", "A", label=1)], labels=("no", "yes")), ALONE)

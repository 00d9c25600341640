"""The answer: every pattern of the card has one, and it says no more than its lines do."""

import re
from itertools import product

import pytest

from heatcheck.auditing import LINES
from heatcheck.auditing.lines.rule import Found
from heatcheck.results import Card, headline_of
from heatcheck.results.headline import ANSWERS, NOT_WHY, PICTURE

ROUTES = ("", "nothing changes", "gauge twin", "swap", "retraining", "closed form", "shuffles", "worst case")


def card(states, route=""):
    """A card whose lines have these states, by their short names."""
    rules = [rule for rule in LINES.values() if rule.short in states]
    return Card(tuple(rule.line(Found(states[rule.short], "", "", route=route), (), "") for rule in rules), 1.0)


def patterns():
    shorts = [rule.short for rule in LINES.values()]
    for states in product(*(rule.states for rule in LINES.values())):
        yield dict(zip(shorts, states, strict=True))


def test_every_pattern_has_an_answer_that_its_lines_support():
    answers = {answer.words: answer.needs for answer in ANSWERS}
    seen = set()
    for states in patterns():
        found = headline_of(card(states))
        needs = answers[found.answer]
        assert all(states[line] in allowed for line, allowed in needs.items())
        seen.add(found.answer)
    assert seen == set(answers), "an answer that no card can have"
    assert headline_of(Card((), 1.0)).answer.startswith("Not decided")


@pytest.mark.parametrize("route", ROUTES)
def test_what_may_be_said_is_what_a_decided_line_says(route):
    for states in patterns():
        found = headline_of(card(states, route))
        decided = {short for short, state in states.items() if state in ("yes", "no")}
        for kind, said, default in (("may_say", found.may_say, PICTURE), ("do_not_say", found.do_not_say, NOT_WHY)):
            supported = {
                words
                for rule in LINES.values()
                if rule.short in decided
                for key, words in getattr(rule, kind).items()
                if key in (states[rule.short], (states[rule.short], route))
            }
            assert set(said) <= supported | {default}
            assert said


def test_the_words_of_voice():
    assert headline_of(card({"points": "yes", "hard": "no"})).answer == (
        "Only as a pointer: the highlighted words matter, but most other weightings give the same answer."
    )
    assert headline_of(card({"points": "no"})).answer.startswith("No: another method finds words that matter more than")
    swapped = headline_of(card({"necessary": "no"}, "swap"))
    trained = headline_of(card({"necessary": "no"}, "retraining"))
    assert swapped.may_say == ("This model is about as accurate with equal weights.",)
    assert trained.may_say == ("A model of this kind, trained without attention, does about as well.",)
    assert headline_of(card({"necessary": "unclear"})).may_say == (PICTURE,)


def test_sentences_are_short():
    said = [answer.words for answer in ANSWERS] + [PICTURE, NOT_WHY]
    said += [words for rule in LINES.values() for words in (*rule.may_say.values(), *rule.do_not_say.values())]
    for sentence in (part for words in said for part in re.split(r"(?<=\.) ", words)):
        assert len(sentence.split()) <= 25, sentence
        assert not re.match(r"(Of|That|What is|Where)\b", sentence), sentence

"""The answer: every pattern of the card has one, and it says no more than its lines do."""

from functools import cache
from itertools import product

from heatcheck.auditing import LINES
from heatcheck.auditing.lines.rule import Found
from heatcheck.results import NO_WEIGHTS, Card, Instead, Measurement, headline_of
from heatcheck.results.headline import ANSWERS, NOT_SHOWN, NOT_WHY, PICTURE, SAYS, SCORES, line_says, supports
from made_up_lines import every_line
from voice import faults_of

DECIDES = ("points", "hard")  # the lines that an answer rests on
OPEN = ("open", "not tested")
INSTEAD = Instead(
    "leave_one_out",
    True,
    Measurement("beyond_random", 0.25, 0.2, 0.3, 200, "", {}),
    Measurement("beyond_random", 0.04, 0.01, 0.07, 200, "", {}),
)


@cache
def kinds(short):
    """Each way in which a line of this name can be: state, why undecided, route, whether a number of examples is known.

    As its rule makes them, not as a test could: a state that no rule gives needs no answer.
    """
    found = {}
    for line in every_line():
        if line.short == short:
            way = line.state, line.undecided, line.route, bool(line.would_take), line.instead is not None
            found.setdefault(way, line)
            if line.undecided == "not run":
                refused = line._replace(undecided="cannot be run", reason="It cannot be run.")
                found.setdefault(("not run", "cannot be run", "", False, False), refused)
                if short == "hard":  # as auditing/lines/card.py makes it for a heatmap of scores
                    found.setdefault((NO_WEIGHTS,), refused._replace(route=NO_WEIGHTS))
    return tuple(found.values())


@cache
def cards():
    """Every pattern of the two lines that an answer rests on, also without them, with each kind of the other lines."""
    others = [rule.short for rule in LINES.values() if rule.short not in DECIDES]
    found = [Card(tuple(filter(None, lines)), 1.0) for lines in product(*((None, *kinds(s)) for s in DECIDES))]
    for points, hard in product(*({line.state: line for line in kinds(s)}.values() for s in DECIDES)):
        found += [Card((points, hard, line), 1.0) for short in others for line in kinds(short)]
    return tuple(found)


def by_short(card):
    return {line.short: line for line in card.every_line}


def test_the_patterns_are_all_there_are():
    assert {line_says(line) for line in kinds("points")} == set(SAYS) - {"mixed", NO_WEIGHTS}
    assert {line_says(line) for line in kinds("hard")} == set(SAYS) - {"no better than random"}
    assert {line.state for short in DECIDES for line in kinds(short)} == {"yes", "no", "unclear", "not run"}
    assert {line.route for line in kinds("necessary") if line.state == "no"} == {
        *("nothing changes", "gauge twin", "swap", "retraining", "closed form")
    }
    assert len({(line_says(by_short(c).get("points")), line_says(by_short(c).get("hard"))) for c in cards()}) == 6 * 7


def test_every_pattern_has_an_answer_that_its_lines_support():
    answers = {answer.words: answer.needs for answer in ANSWERS}
    assert len(answers) == len(ANSWERS)
    seen = set()
    for card in cards():
        found, lines = headline_of(card), by_short(card)
        needs = answers[found.answer]
        assert needs, "an answer that needs nothing says nothing"
        assert all(line_says(lines.get(name)) in said for name, said in needs.items())
        assert all(said in SAYS for allowed in needs.values() for said in allowed)
        seen.add(found.answer)
    assert seen == set(answers), "an answer that no card can have"
    assert headline_of(Card((), 1.0)).answer.startswith("Not decided")


def test_the_words_of_an_answer_need_the_line_that_they_speak_of():
    """Read from the words, not from what the answer declares."""
    claims = {
        "the highlighted words matter,": ("points", ("yes",)),
        "the highlighted words matter.": ("points", ("yes",)),
        "matter less than half as much": ("points", ("no",)),
        "do not matter significantly more than random words": ("points", ("no better than random",)),
        "no method clearly finds words": ("points", ("cannot be asked",)),
        "most shuffles of the weights move the probability": ("hard", ("mixed",)),
        "a search finds other weights that do not": ("hard", ("mixed",)),
        "do not show whether the highlighted words matter": ("points", ("open",)),
        "whether the highlighted words matter was not tested": ("points", ("not tested",)),
        "very different weights would change the answer": ("hard", ("yes",)),
        "most other weightings give the same answer": ("hard", ("no",)),
        "all words have nearly equal weights": ("hard", ("cannot be asked",)),
        "Whether other weights would change the answer is not decided": ("hard", ("open",)),
        "Whether other weights would change the answer was not tested": ("hard", ("not tested",)),
        "The heatmap has no attention weights": ("hard", (NO_WEIGHTS,)),
    }
    used = set()
    for card in cards():
        found, lines = headline_of(card), by_short(card)
        whether = "whether the highlighted words matter"
        spoken = [
            words
            for words in claims
            if words in found.answer and not (words.startswith("the highlighted") and whether in found.answer)
        ]
        assert spoken, found.answer
        for words in spoken:
            line, said = claims[words]
            assert line_says(lines.get(line)) in said, (words, found.answer)
        used |= set(spoken)
        starts = {
            "Yes": ("yes", "yes"),
            "No:": ("no", None),
            "Not": (None, None),
            "Can": ("cannot be asked", None),
            "Onl": ("yes", None),
        }
        points, hard = starts.get(found.answer[:3], ("yes", None))
        assert points is None or line_says(lines.get("points")).startswith(points), found.answer
        assert hard is None or line_says(lines.get("hard")) == hard
    assert used == set(claims)


def test_what_may_be_said_is_what_a_decided_line_says_by_its_route():
    for card in cards():
        found = headline_of(card)
        picture = SCORES if line_says(by_short(card).get("hard")) == NO_WEIGHTS else PICTURE
        for kind, said, default in (("may_say", found.may_say, picture), ("do_not_say", found.do_not_say, NOT_WHY)):
            supported = [
                words
                for line in card.every_line
                if line.state in ("yes", "no")
                for key, words in getattr(LINES[line.name], kind).items()
                if key in (line.state, (line.state, line.route))
            ]
            open_ = line_says(by_short(card).get("points")) in (*OPEN, "cannot be asked")
            supported += [NOT_SHOWN] if open_ and kind == "do_not_say" else []
            assert set(said) == set(supported) if supported else said == (default,)


def test_what_would_decide_is_of_the_line_that_the_answer_leaves_open():
    seen = set()
    for card in cards():
        found, lines = headline_of(card), by_short(card)
        points, hard = (lines.get(name) for name in DECIDES)
        asked = hard if line_says(points) == "yes" else points
        if not found.next:
            assert asked is None or line_says(asked) not in OPEN or not (
                asked.would_take or asked.undecided == "not run" or asked.route == "too few"
            )  # fmt: skip
            continue
        assert line_says(asked) in OPEN
        assert "not decided" in found.answer.lower() or "not tested" in found.answer
        if asked.undecided == "not run":
            assert found.next == f"This would decide it: {asked.reason}"
            assert asked.reason.startswith("heatcheck audit MODEL --checks")
        elif asked.route == "too few":
            assert found.next == asked.sentence
        else:
            assert found.next == f"About {asked.would_take:,} examples would decide it, if the value stays."
        seen.add((asked.short, asked.undecided))
    assert seen == {(short, why) for short in DECIDES for why in ("not run", "more data")}


def test_another_method_is_named_only_where_the_heatmap_fails():
    for card in cards():
        found, points = headline_of(card), by_short(card).get("points")
        if points is None or points.state != "no":
            assert not found.instead
        else:
            assert bool(found.instead) == (points.instead is not None)
    rule = LINES["points at what matters"]
    failed = rule.line(Found("no", "", "", instead=INSTEAD), (), "")
    assert headline_of(Card((failed,), 1.0)).instead == (
        "Show this instead: leave one out with its sign. Beyond random words, its top words move the probability by "
        "0.25 [0.20, 0.30], the heatmap's by 0.04 [0.01, 0.07]."
    )
    unsigned = failed._replace(instead=INSTEAD._replace(signed=False))
    assert "instead: leave one out. Beyond" in headline_of(Card((unsigned,), 1.0)).instead
    assert not headline_of(Card((failed._replace(state="yes"),), 1.0)).instead


def test_the_words_of_voice():
    def said(route="", **states):
        rules = [rule for rule in LINES.values() if rule.short in states]
        return headline_of(
            Card(tuple(rule.line(Found(states[rule.short], "", "", route=route), (), "") for rule in rules), 1.0)
        )

    assert said(points="yes", hard="no").answer == (
        "Only as a pointer: the highlighted words matter, but most other weightings give the same answer."
    )
    assert said(points="no").answer.startswith("No: the highlighted words matter less than half as much")
    assert said("swap", necessary="no").may_say == ("This model is about as accurate with equal weights.",)
    trained = said("retraining", necessary="no").may_say
    assert trained == ("A model of this kind, trained without attention, does about as well.",)
    assert said(necessary="unclear").may_say == (PICTURE,)


def test_a_new_line_is_no_pattern_without_an_answer():
    assert not supports({"points": ("yes",)}, {})
    assert supports({"points": ("not tested",)}, {})


def test_sentences_are_plain():
    said = {words for card in cards() for found in [headline_of(card)] for words in (
        found.answer, *found.may_say, *found.do_not_say, found.next, found.instead)}  # fmt: skip
    found = [fault for words in said for fault in faults_of(words, "headline", every_rule=True)]
    assert not found, "\n".join(map(str, found))

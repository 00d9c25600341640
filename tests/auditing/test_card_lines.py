"""The rules of the lines of the card, on results by hand: what they decide, and that they say it in plain words."""

import math
from dataclasses import replace
from functools import cache

import pytest

from heatcheck.auditing import LINES, CardSettings, make_card
from heatcheck.auditing.lines import (
    judge_across,
    judge_hard,
    judge_necessary,
    judge_out_of_context,
    judge_plausible,
    judge_points,
)
from heatcheck.auditing.lines.rule import examples_to_decide, straddles
from heatcheck.results import Measurement
from made_up_lines import (
    SETTINGS,
    adversarial,
    counterfactual,
    erasure,
    every_line,
    every_line_of_a_card,
    gauge,
    guide,
    necessity,
    permutation,
    plausibility,
    row,
)
from voice import faults_of

REFIT = "heatcheck audit MODEL --refit"
MORE, CANNOT = "more data would decide", "cannot be asked here"


# necessary -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (necessity(change=1e-4), "no", "certified: uniform weights move no probability", "most_change"),
        (necessity(change=2e-4), "not run", REFIT, "N"),
        # A 95% interval is no proof, so this is not called certified.
        (necessity(swap=(-0.02, 0.09)), "no", "this model with uniform weights loses 0.03 [-0.02, 0.09] of", "N"),
        (necessity(swap=(-0.02, 0.10)), "not run", REFIT, "N"),
        (necessity(swap=(0.2, 0.3)), "not run", REFIT, "N"),
        # Losing much under uniform weights bounds nothing from below.
        (necessity(swap=(0.8, 0.9), retrained=(0.01, 0.05)), "no", "", "N"),
        (necessity(retrained=(0.11, 0.3)), "yes", "", "N"),
        (necessity(retrained=(-0.1, 0.09)), "no", "", "N"),
        (necessity(retrained=(0.05, 0.2)), "unclear", f"{MORE}: 0.12 [0.05, 0.20] includes 0.1 with 5 seeds", "N"),
        (necessity(retrained=(-0.05, 0.15)), "unclear", f"{MORE}: 0.05 [-0.05, 0.15] includes", "N"),
        (necessity(retrained=(0.11, 0.3), seeds=4), "unclear", f"{MORE}: at least 5 seeds", "N"),
        (necessity(retrained=(-math.inf, math.inf), seeds=1), "unclear", f"{MORE}: at least 5 seeds", "N"),
        (necessity(closed=(0.5, 0.7)), "yes", "", "N"),
        (necessity(closed=(0.0, 0.02)), "no", "", "N"),
        (necessity(room=(0.04, 0.2)), "unclear", CANNOT, "headroom"),
        (necessity(room=(0.04, 0.2), swap=(-0.1, 0.0)), "unclear", CANNOT, "headroom"),
        (necessity(room=(0.04, 0.2), retrained=(0.2, 0.3)), "unclear", CANNOT, "headroom"),
        (necessity(room=(math.nan, math.nan), closed=(0.2, 0.3)), "unclear", CANNOT, "headroom"),
        (necessity(change=0.0, texts=29), "unclear", f"{MORE}: at least 30 examples", "N"),
        # At chance, or right less often than by guessing: there is nothing to be needed for, whatever is proved.
        (necessity(change=0.0, room=(-0.02, 0.08)), "unclear", CANNOT, "headroom"),
        (necessity(change=0.0, room=(-0.9, -0.8), swap=(-0.02, 0.0)), "unclear", CANNOT, "headroom"),
        # Of several attention sites all must go: the heatmap's alone decides nothing.
        (necessity(swap=(-0.02, 0.09), everywhere=((0.3, 0.4), 0.9)), "not run", REFIT, "N"),
        (necessity(change=0.0, everywhere=((0.3, 0.4), 0.9)), "not run", REFIT, "N"),
        (necessity(everywhere=((-0.02, 0.09), 0.9)), "no", "this model with uniform weights at all 6 ", "N"),
        (necessity(everywhere=((0.3, 0.4), 1e-5)), "no", "certified: uniform weights at all 6 ", "most_change"),
    ],
)  # fmt: skip
def test_when_attention_is_necessary(made, state, reason, statistic):
    line = judge_necessary(made, None, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.sentence
    assert line.moot == reason.startswith(CANNOT)


def test_the_best_without_attention_decides_and_not_the_swap():
    line = judge_necessary(necessity(swap=(0.8, 0.9), retrained=(0.2, 0.3)), None, SETTINGS)
    assert line.evidence[0].by == {"against": "retrained", "free": "last"}
    assert "The best model of this kind that reads the last state alone loses 25% of the gain" in line.sentence
    assert "lstm encoder (64 hidden), tanh attention" in line.holds
    assert "15 epochs over 900 texts" in line.holds
    closed = judge_necessary(necessity(closed=(0.2, 0.3), retrained=(0.0, 0.01)), None, SETTINGS)
    assert closed.evidence[0].by == {"against": "closed form"}
    assert "epochs" not in judge_necessary(necessity(), None, SETTINGS).holds


def test_a_model_that_is_better_without_attention_loses_nothing():
    assert "loses nothing" in judge_necessary(necessity(retrained=(-0.2, -0.1)), None, SETTINGS).sentence


def test_a_twin_with_equal_decisions_is_a_certificate():
    line = judge_necessary(necessity(), gauge(), SETTINGS)
    assert line.state == "no"
    assert line.reason.startswith("certified: a twin of this model has uniform weights")
    assert (line.evidence[0].name, line.evidence[0].by) == ("agreement", {"twin": "uniform"})
    assert judge_necessary(necessity(), gauge(0.999), SETTINGS).state == "not run"
    assert judge_necessary(None, gauge(texts=29), SETTINGS).state == "unclear"


def test_a_twin_of_a_model_at_chance_answers_nothing():
    """It has the same decisions, and those are not worth having; nor is it known what they are worth without labels."""
    assert judge_necessary(necessity(room=(-0.02, 0.08)), gauge(), SETTINGS).moot
    unknown = judge_necessary(None, gauge(), SETTINGS)
    assert (unknown.state, unknown.reason) == ("not run", "heatcheck audit MODEL --checks necessity,gauge")


def test_a_twin_is_another_model_and_this_one_may_use_its_weights():
    used = judge_necessary(necessity(swap=(0.7, 0.9)), gauge(), SETTINGS)
    assert used.sentence.startswith("Another model with equal weights makes the same decisions")
    assert "This model itself uses its weights: with equal ones it loses 80%" in used.sentence
    hardly = judge_necessary(necessity(swap=(0.0, 0.2)), gauge(), SETTINGS)
    assert hardly.sentence.endswith("This model itself may still use its weights.")


def test_the_layer_of_the_heatmap_is_shown_apart():
    line = judge_necessary(necessity(swap=(0.0, 0.04), everywhere=((0.3, 0.4), 0.9)), None, SETTINGS)
    assert "With equal weights at all 6 attention sites this model loses 35%" in line.sentence
    assert "at the heatmap's site alone, 2%" in line.sentence
    assert {m.by["against"] for m in line.evidence if m.name == "N"} == {"swap", "swap everywhere"}


def test_use_is_shown_and_decides_nothing():
    line = judge_necessary(necessity(), None, SETTINGS)
    assert line.state == "not run"
    assert line.sentence.startswith("Equal weights move this model's probabilities by 0.15 on average.")
    assert any(m.name == "change" for m in line.evidence)


def test_fits_that_failed_are_counted():
    few = judge_necessary(necessity(retrained=(0.2, 0.3), seeds=4, not_run={"seed 3": "killed"}), None, SETTINGS)
    assert few.reason.endswith("(1 training run failed)")
    none = judge_necessary(necessity(not_run={"seed 3": "killed", "seed 4": "killed"}), None, SETTINGS)
    assert none.reason == f"{REFIT} (2 of its training runs failed)"


# hard to manipulate ----------------------------------------------------------------------------------------------

BOTH = "heatcheck audit MODEL --checks permutation,counterfactual"


@pytest.mark.parametrize(
    ("shuffles", "search", "state", "reason"),
    [
        (permutation((0.6, 0.8)), None, "no", ""),  # shuffles alone are enough for a no
        (permutation((0.6, 0.8), evenness=0.99), None, "unclear", CANNOT),
        (permutation((0.6, 0.8), texts=29), None, "unclear", f"{MORE}: at least 30 examples"),
        (permutation((0.1, 0.2)), None, "not run", BOTH),  # and for nothing else
        (None, counterfactual(), "not run", BOTH),
        (None, None, "not run", BOTH),
        (permutation((0.1, 0.2)), counterfactual((0.3, 0.4)), "yes", ""),
        (permutation((0.6, 0.8)), counterfactual((0.8, 0.9)), "no", ""),
    ],
)
def test_what_shuffles_decide_without_a_search(shuffles, search, state, reason):
    line = judge_hard(shuffles, search, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert [m.name for m in line.evidence if m.name in ("q", "U")] == ["q"] * bool(shuffles) + ["U"] * bool(search)
    if line.state == "not run" and line.evidence:
        value = line.evidence[0].value
        told = f"In {100 * value:.0f} of 100 shuffles" if line.evidence[0].name == "q" else f"{value:.0%}"
        assert told in line.sentence, "a number that is there is said"


# works out of context --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (guide((0.51, 0.9)), "yes", "", "G"),
        (guide((0.1, 0.49)), "no", "", "G"),
        (guide((-0.3, -0.1)), "no", "", "G"),
        (guide((0.4, 0.6)), "unclear", f"{MORE}: 0.50 [0.40, 0.60] includes 0.5", "G"),
        (guide((0.45, 0.75)), "unclear", f"{MORE}: 0.60 [0.45, 0.75] includes 0.5", "G"),
        (guide((0.25, 0.55)), "unclear", f"{MORE}: 0.40 [0.25, 0.55] includes 0.5", "G"),
        (guide((0.51, 0.9), room=(0.01, 0.3)), "unclear", "cannot be asked here: the model's accuracy", "headroom"),
        (guide(None, room=(0.0, 0.0)), "unclear", "cannot be asked here: the model's accuracy", "headroom"),
        (guide((0.51, 0.9), carries=(0.01, 0.3)), "unclear", f"{CANNOT}: beyond the majority class", "headroom"),
        (guide((0.51, 0.9), carries=(math.nan, math.nan)), "unclear", CANNOT, "headroom"),
        (guide((0.51, 0.9), texts=29), "unclear", f"{MORE}: at least 30 examples", "G"),
        (guide((0.51, 0.9), lasts=(0.01, 0.3)), "unclear", f"{MORE}: word counts still improve", "G"),
    ],
)  # fmt: skip
def test_when_weights_work_out_of_context(made, state, reason, statistic):
    line = judge_out_of_context(made, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.moot == reason.startswith(CANNOT)


@pytest.mark.parametrize(
    ("made", "leaks"),
    [
        (guide((0.0, 0.1), refitted=(0.6, 1.0)), True),
        (guide((0.0, 0.1), refitted=(0.4, 1.0)), False),
        (guide((0.0, 0.1), refitted=(0.6, 1.0), seeds=4), False),
        (guide((0.0, 0.1)), False),
        (guide((0.6, 0.9), refitted=(0.6, 1.0)), False),
        (guide((0.0, 0.1), carries=(0.0, 0.1), refitted=(0.6, 1.0)), False),
    ],
)
def test_weights_that_encode_the_label(made, leaks):
    assert (
        "the weights encode the label, and the words do not carry it" in judge_out_of_context(made, SETTINGS).sentence
    ) == leaks


# across models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "state", "reason"),
    [
        (adversarial((0.26, 0.5)), "no", ""),
        (adversarial((0.25, 0.5)), "not found", "beyond other seeds, its heatmaps"),
        (adversarial((-0.1, 0.1)), "not found", "beyond other seeds, its heatmaps are 0.00 [-0.10, 0.10] nats away"),
        (adversarial((math.nan, math.nan)), "not found", "beyond other seeds, its heatmaps"),
        (adversarial(None), "not found", "no model that was tried stays as close"),
        (adversarial((0.3, 0.5), seeds=4), "unclear", f"{MORE}: at least 5 seeds"),
        (adversarial((0.3, 0.5), texts=29), "unclear", f"{MORE}: at least 30 examples"),
        (None, "not run", REFIT),
    ],
)
def test_whether_another_model_has_another_heatmap(made, state, reason):
    line = judge_across(made, None, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.sentence


def test_the_sentence_names_the_kind_of_model_and_what_seeds_do():
    sentence = judge_across(adversarial(), None, SETTINGS).sentence
    assert "A model trained to differ gives the same answers, as closely as another seed would, with very" in sentence
    assert "0.50 nats away; those of other seeds are 0.04 away" in sentence


def test_without_other_fits_the_twin_is_shown_and_decides_nothing():
    line = judge_across(None, gauge(), SETTINGS)
    assert (line.state, line.reason) == ("not run", REFIT)
    assert "A twin in closed form makes 100% of the same decisions" in line.sentence
    assert [m.name for m in line.evidence] == ["jsd", "agreement", "tvd"]


# plausible to people ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (plausibility((0.06, 0.2)), "yes", "", "P"),
        (plausibility((-0.1, 0.04)), "no", "", "P"),
        (plausibility((-0.3, -0.1)), "no", "", "P"),
        # Surely above chance and hardly so: with texts enough any trace would be a yes.
        (plausibility((0.01, 0.04)), "no", "", "P"),
        (plausibility((0.02, 0.2)), "unclear", f"{MORE}: 0.11 [0.02, 0.20] includes 0.05", "P"),
        (plausibility((math.nan, math.nan)), "unclear", f"{MORE}: nan (no interval) includes", "P"),
        (
            plausibility((0.2, 0.4), room=(0.04, 0.06)),
            "unclear",
            "cannot be asked here: between chance and full",
            "room",
        ),
        (plausibility((0.2, 0.4), room=(math.nan, math.nan)), "unclear", CANNOT, "room"),
        (plausibility((0.2, 0.4), texts=29), "unclear", f"{MORE}: at least 30 examples", "P"),
    ],
)
def test_when_a_heatmap_is_plausible(made, state, reason, statistic):
    line = judge_plausible(made, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.moot == reason.startswith(CANNOT)
    assert line.sentence.endswith("says nothing about why the model decided."), "always"


def test_the_line_is_about_attention_beside_both_kinds_of_chance():
    line = judge_plausible(plausibility(), SETTINGS)
    areas = [(m.by["explainer"], m.value) for m in line.evidence if m.name == "auprc"]
    assert areas == [("attention", 0.4), ("random", 0.3), ("random spans", 0.31)]
    assert "the model's answer plays no part" in line.holds
    other = judge_plausible(plausibility(explainer="gradient"), SETTINGS)
    assert (other.state, other.reason) == ("not run", "heatcheck audit MODEL --checks plausibility")


def test_plausibility_that_was_refused_says_why():
    why = "nobody marked a rationale in these texts."
    card = make_card({}, 1.0, SETTINGS, {"plausibility": why})
    assert (card["plausible"].state, card["plausible"].reason) == ("not run", why)
    assert card["plausible to people"] == card["plausible"]
    assert card["plausible"] not in card.lines


# The card --------------------------------------------------------------------------------------------------------


def test_a_card_of_nothing_says_what_would_run_each_line():
    card = make_card({}, 1.5, SETTINGS)
    assert [line.state for line in card.every_line] == ["not run"] * 6
    assert card["plausible"].reason == "heatcheck audit MODEL --checks plausibility"
    assert card["necessary"].reason == card["across models"].reason == REFIT
    assert card["works out of context"].reason == "heatcheck audit MODEL --checks guide"
    assert card.logit_scale == 1.5
    assert list(LINES) == [line.name for line in card.every_line]
    assert [rule.short for rule in LINES.values()] == [line.short for line in card.every_line]


def test_a_check_that_was_refused_is_no_advice():
    card = make_card({}, 1.0, SETTINGS, {"guide": "name the texts with --train.", "gauge": "not context-free"})
    assert card["works out of context"].reason == "guide could not be run: name the texts with --train."
    assert card["necessary"].reason == REFIT
    decided = make_card({"guide": guide()}, 1.0, SETTINGS, {"guide": "refused"})
    assert decided["works out of context"].reason == ""


def test_a_model_without_a_recipe_is_not_told_to_be_retrained():
    why = "own cannot be retrained: it has no training recipe."
    results = {"necessity": necessity(), "gauge": gauge(0.9)}
    card = make_card(results, 1.0, SETTINGS, cannot_refit=why)
    assert card["necessary"].reason == card["across models"].reason == why
    assert card["works out of context"].reason == "heatcheck audit MODEL --checks guide"
    refused = make_card(results, 1.0, SETTINGS, {"adversarial_model": "no."}, cannot_refit=why)
    assert refused["across models"].reason == "adversarial_model could not be run: no."


def test_an_interval_without_ends_is_not_printed():
    """Where some resamples have no headroom, N has no ends: with five labels and a weak model, say."""
    line = judge_necessary(necessity(retrained=(-math.inf, math.inf)), None, SETTINGS)
    assert "inf" not in line.reason
    assert "(no interval)" in line.reason


def test_thresholds_are_settings():
    strict = CardSettings(needed=0.4, excess=0.6, gain=0.95, seeds=6)
    assert judge_necessary(necessity(closed=(0.2, 0.3)), None, strict).state == "no"
    assert judge_across(adversarial(seeds=7), None, strict).state == "not found"
    assert judge_across(adversarial(seeds=5), None, strict).state == "unclear"
    assert judge_out_of_context(guide(), strict).state == "no"
    assert judge_plausible(plausibility(), CardSettings(plausible=0.3)).state == "no"
    assert judge_plausible(plausibility(), CardSettings(plausible_room=0.65)).moot


def test_what_a_line_may_say_is_listed():
    lines = [judge_necessary(necessity(), None, SETTINGS), judge_across(adversarial(), None, SETTINGS)]
    lines += [judge_plausible(plausibility(), SETTINGS)]
    assert all(line.state in LINES[line.name].states for line in lines)
    assert "yes" not in LINES["across models"].states


# Every line that the rules can make ------------------------------------------------------------------------------

SAID = (
    "sentence",
    "reason",
    "advice",
    "may_say",
    "do_not_say",
    "question",
    "holds",
    "cannot_see",
    "heading",
    "preface",
)
WHY = ("", "cannot be asked", "more data", "more search", "disagreement", "in between", "not run", "cannot be run")


@cache
def every():
    return (*every_line(), *every_line_of_a_card())


def test_made_up_results_reach_every_branch():
    """Else the tests below hold nothing."""
    assert {line.undecided for line in every()} == set(WHY)
    for rule in LINES.values():
        of_rule = [line for line in every() if line.name == rule.name]
        assert {line.state for line in of_rule} == set(rule.states)
        for words in (rule.advice, rule.may_say, rule.do_not_say):
            for key in words:
                state, *route = (key,) if isinstance(key, str) else key
                assert any(line.state == state and (not route or [line.route] == route) for line in of_rule), key


def test_every_sentence_is_plain():
    told = {(line.short, field, getattr(line, field)) for line in every() for field in SAID}
    found = [fault for short, field, text in told for fault in faults_of(text, f"{short}.{field}", every_rule=True)]
    assert not found, "\n".join(map(str, found))


def test_a_line_leads_with_an_answer_that_fits_on_a_row():
    for line in every():
        assert line.sentence.startswith(line.lead)
        assert line.lead.endswith(".")
        if line.group == "card" and line.state != "not run":
            assert len(line.lead) <= 76, line.lead


def test_the_interval_stands_in_the_zone_of_the_answer():
    shown = set()
    for line in every():
        if line.strip is None:
            assert line.certified or line.undecided or line.state == "not found", "a decided line shows by what number"
            continue
        strip, m = line.strip, line.strip.measurement
        assert strip.low < strip.zones[0].end < strip.zones[1].end == strip.high
        assert m in line.evidence, "the number is among the evidence"
        if line.state in ("yes", "no"):
            (at,) = [number for number, zone in enumerate(strip.zones) if zone.answer == line.state]
            limit = strip.zones[0].end
            assert m.high < limit if at == 0 else m.low > limit, (line.short, line.state, m)
            assert strip.rule(line.badge) == (f"{('below', 'above')[at]} {limit:g}", line.state)
            shown.add((line.short, line.state))
        elif line.undecided == "more data" and "includes" in line.reason:
            assert any(straddles(one, strip.zones[0].end) for one in line.evidence)
        elif line.undecided == "cannot be asked":
            assert "cannot be asked" in {zone.answer for zone in strip.zones}
        assert all(strip.low <= mark.at <= strip.high for mark in strip.marks)
    assert shown == {(rule.short, state) for rule in LINES.values() for state in ("yes", "no") if state in rule.states}


def test_a_badge_answers_the_question_beside_it():
    """No is the answer to the question as it is asked: no double negative, and what cannot be asked is not open."""
    for line in every():
        assert line.question.split()[0] in ("Do", "Does", "Is", "Would")
        assert " not " not in line.question
        if line.state in ("yes", "no"):
            assert line.badge == line.state
    badges = {(line.state, line.undecided): line.badge for line in every() if line.state not in ("yes", "no")}
    assert badges == {
        ("not found", ""): "none found",
        ("unclear", "cannot be asked"): "cannot be asked",
        ("unclear", "more data"): "not decided",
        ("unclear", "more search"): "not decided",
        ("unclear", "disagreement"): "not decided",
        ("unclear", "in between"): "mixed",
        ("not run", "not run"): "not run",
        ("not run", "cannot be run"): "cannot be run",
    }
    # Another model with another heatmap was found: is this the only one? No.
    other = judge_across(adversarial(), None, SETTINGS)
    assert (other.badge, other.question) == ("no", "Is this the only heatmap that goes with these answers?")
    assert "with very different heatmaps" in other.sentence


def test_what_may_be_said_names_the_route():
    """Swapping weights is about this model, retraining about models of this kind; a twin is another model."""
    about = {
        "swap": "This model", "nothing changes": "This model", "gauge twin": "Another model",
        "retraining": "A model of this kind, trained without attention", "closed form": "A model of this kind",
    }  # fmt: skip
    found = {line.route: line for line in every() if line.short == "necessary" and line.state == "no"}
    assert found.keys() == about.keys()
    for route, line in found.items():
        assert line.may_say.startswith(about[route])
        assert line.certified == (route in ("nothing changes", "gauge twin")), "certified only by a proof"
    for line in every():
        assert ("certified" in line.reason) == line.certified


def test_shuffles_are_told_with_those_that_move_the_answer():
    line = judge_hard(permutation((0.68, 0.74)), None, SETTINGS)
    assert line.sentence == (
        "Other weights mostly give the same answer. In 71 of 100 shuffles of the weights, the probability moves by at "
        "most 0.05; in the other 29 it moves more."
    )
    assert "no shuffle moves it more" in judge_hard(permutation((1.0, 1.0)), None, SETTINGS).sentence
    assert "In 99 of 100 shuffles" in judge_hard(permutation((0.996, 0.999)), None, SETTINGS).sentence
    for line in every():
        assert "not the reason" not in line.sentence


# How many examples would decide ----------------------------------------------------------------------------------


def test_how_many_examples_would_decide():
    """An interval that shrinks with the root of n leaves the limit at about so many, and not before."""
    for bounds in ((0.4, 0.8), (0.2, 0.7), (0.49, 0.53), (0.3, 0.52)):
        k = row("K", bounds, 100)
        n = examples_to_decide(k, 0.5)
        shrunk = (k.value - k.low) / math.sqrt(n / k.n)
        assert abs(k.value - 0.5) > shrunk > 0.9 * abs(k.value - 0.5), (bounds, n)
    for bounds in ((0.4, 0.6), (0.6, 0.8), (-math.inf, math.inf), (math.nan, math.nan), (0.3, 0.701)):
        assert examples_to_decide(row("K", bounds, 100), 0.5) == 0, bounds
    assert examples_to_decide(Measurement("K", 0.51, 0.4, 0.62, 100, "", {}), 0.5) == 0, "over a hundred times as many"


@pytest.mark.parametrize("available", [None, 500, 1234, 10**7])
def test_advice_is_never_more_examples_than_the_data_has(available):
    advised = 0
    for bounds in ((0.4, 0.8), (0.3, 0.75), (0.48, 0.56), (0.2, 0.52), (0.6, 0.9)):
        line = make_card({"erasure": erasure(bounds, bounds)}, 1.0, SETTINGS, available=available)["points"]
        decided = line.state == "yes"
        assert bool(line.would_take) != decided
        assert ("would decide, if the value stays" in line.reason) != decided
        offered = f"(--examples {line.would_take})" in line.reason
        assert offered == ("--examples" in line.reason)
        assert offered == (not decided and available is not None and line.would_take <= available)
        assert ("; the data has" in line.reason) == (available is not None and line.would_take > available)
        advised += offered
    assert advised == {None: 0, 500: 1, 1234: 3, 10**7: 4}[available]


def test_too_few_examples_are_told_how_many_are_needed_and_no_more():
    """Thirty are enough to be asked at all; nobody knows that they would decide."""
    line = make_card({"erasure": erasure(texts=29)}, 1.0, SETTINGS, available=1000)["points"]
    assert line.sentence == "29 examples are too few: at least 30 are needed. Add --examples 30."
    assert (line.would_take, line.undecided, line.route) == (30, "more data", "too few")
    assert "would decide, if" not in line.reason
    few = make_card({"erasure": erasure(texts=16)}, 1.0, SETTINGS, available=16)["points"]
    assert few.sentence.endswith("at least 30 are needed. The data has 16: name more with --data.")


# What to show instead --------------------------------------------------------------------------------------------


def test_where_the_heatmap_fails_the_best_method_is_named():
    line = judge_points(erasure((0.1, 0.4), (0.1, 0.4)), SETTINGS)
    assert (line.state, line.route) == ("no", "")
    assert (line.instead.method, line.instead.signed) == ("gradient", True)
    assert line.instead.command == 'heatcheck explain MODEL "TEXT" --by gradient'
    assert (line.instead.gain.value, line.instead.own.value) == (0.25, pytest.approx(0.12))
    plain = {"attention": (0.1, 0.14), "leave_one_out": (0.3, 0.4), "gradient": (0.1, 0.2), "best rival": (0.5, 0.6)}
    found = judge_points(erasure((0.1, 0.4), (0.1, 0.4), beyond=plain), SETTINGS).instead
    assert (found.method, found.signed) == ("leave_one_out", False), "not what is chosen among several"
    for none in ({}, {"attention": (0.1, 0.2)}, {"attention": (0.1, 0.2), "gradient": (-0.1, 0.4)}):
        assert judge_points(erasure((0.1, 0.4), (0.1, 0.4), beyond=none), SETTINGS).instead is None
    for line in every():
        assert line.instead is None or (line.short, line.state) == ("points", "no")


def test_a_heatmap_no_better_than_random_words_is_said_to_be_so():
    random = judge_points(erasure((-0.3, 0.2), (-0.1, 0.4)), SETTINGS)
    assert (random.state, random.route) == ("no", "no better than random")
    one_way = judge_points(erasure((-0.3, 0.2), (0.1, 0.4)), SETTINGS)
    assert (one_way.state, one_way.route) == ("no", ""), "deleted or masked, they matter more than random words"
    assert random.lead == "The highlighted words do not matter significantly more than random words."
    assert "They do not matter significantly more than random words." in random.advice
    better = judge_points(erasure((0.1, 0.4), (0.1, 0.4)), SETTINGS)
    assert better.lead == "They matter less than half as much as another method's words."


def test_an_imitator_that_started_elsewhere_is_no_accident():
    """Its heatmap differs because it started so: the sentence must not sound as if the answers alone had led there."""
    made = adversarial(kind="imitator")
    assert "trained on this one's answers alone" in judge_across(made, None, SETTINGS).sentence
    away = replace(made, facts={**made.facts, "imitator starts": "away"})
    assert judge_across(away, None, SETTINGS).sentence.startswith("A model that starts with other weights and learns")

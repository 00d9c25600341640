"""The rules of *necessary*, *works out of context*, *across models* and *plausible to people*, on results by hand."""

import math

import pytest

from heatcheck.auditing import LINES, CardSettings, make_card
from heatcheck.auditing.lines import judge_across, judge_hard, judge_necessary, judge_out_of_context, judge_plausible
from heatcheck.results import CheckResult, Measurement

SETTINGS = CardSettings()
REFIT = "heatcheck audit MODEL --refit"
MORE = "more data would decide"


def row(name, bounds, n=200, **by):
    low, high = bounds if isinstance(bounds, tuple) else (bounds, bounds)
    return Measurement(name, (low + high) / 2, low, high, n, "what it is read against", by)


def result(check, *rows, examples=200, not_run=None, settings=None, **facts):
    ids = tuple(f"e{n}" for n in range(examples))
    return CheckResult(check, "subject", "retrained", rows, ids, {}, {}, settings or {}, 0, not_run or {}, facts)


# necessary -------------------------------------------------------------------------------------------------------


def necessity(
    swap=(0.3, 0.5),
    change=0.4,
    room=(0.3, 0.4),
    texts=200,
    retrained=None,
    seeds=5,
    closed=None,
    everywhere=None,
    **facts,
):
    rows = [
        row("accuracy", 0.85, texts, fit="swapped", weights="own"),
        row("accuracy", 0.7, texts, fit="swapped", weights="uniform"),
        row("change", (0.1, 0.2), texts, weights="uniform"),
        row("most_change", change, texts, weights="uniform"),
        row("prior", 0.5, texts),
        row("headroom", room, texts, against="swap"),
        row("N", swap, texts, against="swap"),
    ]
    if everywhere is not None:  # a model with several attention sites: (N, largest change) with all of them uniform
        facts["sites"] = 6
        rows += [
            row("accuracy", 0.7, texts, fit="swapped", weights="uniform everywhere"),
            row("change", (0.1, 0.2), texts, weights="uniform everywhere"),
            row("most_change", everywhere[1], texts, weights="uniform everywhere"),
            row("N", everywhere[0], texts, against="swap everywhere"),
        ]
    if closed is not None:
        rows += [row("headroom", room, texts, against="closed form"), row("N", closed, texts, against="closed form")]
    if retrained is not None:
        rows += [
            row("headroom", room, seeds, against="retrained"),
            row("N", retrained, seeds, against="retrained", free="last"),
            row("accuracy", 0.85, seeds, fit="retrained", weights="learned"),
        ]
    family = "lstm encoder (64 hidden), tanh attention, linear decoder; at most 15 epochs over 900 texts"
    return result("necessity", *rows, examples=texts, family=family, **facts)


def gauge(equal=1.0, texts=200):
    twins = [(name, row(name, value, texts, twin=twin)) for twin in ("uniform", "reversed")
             for name, value in (("agreement", equal), ("tvd", 0.1), ("jsd", 0.47))]  # fmt: skip
    return result("gauge", *(m for _, m in twins))


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (necessity(change=1e-4), "no", "certified: uniform weights change no probability", "most_change"),
        (necessity(change=2e-4), "not run", REFIT, "N"),
        # A 95% interval is no proof, so this is not called certified.
        (necessity(swap=(-0.02, 0.09)), "no", "N = 0.03 [-0.02, 0.09] of this very model under uniform weights", "N"),
        (necessity(swap=(-0.02, 0.10)), "not run", REFIT, "N"),
        (necessity(swap=(0.2, 0.3)), "not run", REFIT, "N"),
        # Losing much under uniform weights bounds nothing from below.
        (necessity(swap=(0.8, 0.9), retrained=(0.01, 0.05)), "no", "", "N"),
        (necessity(retrained=(0.11, 0.3)), "yes", "", "N"),
        (necessity(retrained=(-0.1, 0.09)), "no", "", "N"),
        (necessity(retrained=(0.05, 0.2)), "unclear", f"{MORE}: N = 0.12 [0.05, 0.20] lies across 0.1", "N"),
        (necessity(retrained=(-0.05, 0.15)), "unclear", f"{MORE}: N = 0.05", "N"),
        (necessity(retrained=(0.11, 0.3), seeds=4), "unclear", f"{MORE}: at least 5 seeds", "N"),
        (necessity(retrained=(-math.inf, math.inf), seeds=1), "unclear", f"{MORE}: at least 5 seeds", "N"),
        (necessity(closed=(0.5, 0.7)), "yes", "", "N"),
        (necessity(closed=(0.0, 0.02)), "no", "", "N"),
        (necessity(room=(0.04, 0.2)), "unclear", "moot here", "headroom"),
        (necessity(room=(0.04, 0.2), swap=(-0.1, 0.0)), "unclear", "moot here", "headroom"),
        (necessity(room=(0.04, 0.2), retrained=(0.2, 0.3)), "unclear", "moot here", "headroom"),
        (necessity(room=(math.nan, math.nan), closed=(0.2, 0.3)), "unclear", "moot here", "headroom"),
        (necessity(change=0.0, texts=29), "unclear", f"{MORE}: at least 30 texts", "N"),
        # At chance, or right less often than by guessing: there is nothing to be needed for, whatever is proved.
        (necessity(change=0.0, room=(-0.02, 0.08)), "unclear", "moot here", "headroom"),
        (necessity(change=0.0, room=(-0.9, -0.8), swap=(-0.02, 0.0)), "unclear", "moot here", "headroom"),
        # Of several attention sites all must go: the heatmap's alone decides nothing.
        (necessity(swap=(-0.02, 0.09), everywhere=((0.3, 0.4), 0.9)), "not run", REFIT, "N"),
        (necessity(change=0.0, everywhere=((0.3, 0.4), 0.9)), "not run", REFIT, "N"),
        (necessity(everywhere=((-0.02, 0.09), 0.9)), "no", "N = 0.03 [-0.02, 0.09] of this very model under uni", "N"),
        (necessity(everywhere=((0.3, 0.4), 1e-5)), "no", "certified: uniform weights at all 6 ", "most_change"),
    ],
)  # fmt: skip
def test_when_attention_is_necessary(made, state, reason, statistic):
    line = judge_necessary(made, None, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.sentence
    assert line.moot == reason.startswith("moot")


def test_the_best_without_attention_decides_and_not_the_swap():
    line = judge_necessary(necessity(swap=(0.8, 0.9), retrained=(0.2, 0.3)), None, SETTINGS)
    assert line.evidence[0].by == {"against": "retrained", "free": "last"}
    assert "on the last state alone loses 25%" in line.sentence
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
    assert used.sentence.startswith("Another model, with uniform weights, makes the same decisions")
    assert "This very model uses its weights: with uniform ones it loses 80%" in used.sentence
    assert "uses its weights" not in judge_necessary(necessity(swap=(0.0, 0.2)), gauge(), SETTINGS).sentence


def test_the_layer_of_the_heatmap_is_shown_apart():
    line = judge_necessary(necessity(swap=(0.0, 0.04), everywhere=((0.3, 0.4), 0.9)), None, SETTINGS)
    assert "With uniform weights at all 6 attention sites this model loses 35%" in line.sentence
    assert "at the heatmap's alone 2%" in line.sentence
    assert {m.by["against"] for m in line.evidence if m.name == "N"} == {"swap", "swap everywhere"}


def test_use_is_shown_and_decides_nothing():
    line = judge_necessary(necessity(), None, SETTINGS)
    assert line.state == "not run"
    assert line.sentence.startswith("Uniform weights move this model's probabilities by 0.15 on average.")
    assert any(m.name == "change" for m in line.evidence)


def test_fits_that_failed_are_counted():
    few = judge_necessary(necessity(retrained=(0.2, 0.3), seeds=4, not_run={"seed 3": "killed"}), None, SETTINGS)
    assert few.reason.endswith("(1 fit could not be made)")
    none = judge_necessary(necessity(not_run={"seed 3": "killed", "seed 4": "killed"}), None, SETTINGS)
    assert none.reason == f"{REFIT} (2 of its fits could not be made)"


# hard to manipulate ----------------------------------------------------------------------------------------------

BOTH = "heatcheck audit MODEL --checks permutation,counterfactual"


def permutation(q=(0.6, 0.8), evenness=0.5, texts=200):
    return result("permutation", row("q", q, texts), row("evenness", evenness, texts), settings={"epsilon": 0.05})


def counterfactual(share=(0.3, 0.4)):
    return result("counterfactual", row("U", share), row("U_upper", share))


@pytest.mark.parametrize(
    ("shuffles", "search", "state", "reason"),
    [
        (permutation((0.6, 0.8)), None, "no", ""),  # shuffles alone are enough for a no
        (permutation((0.6, 0.8), evenness=0.99), None, "unclear", "moot here"),
        (permutation((0.6, 0.8), texts=29), None, "unclear", f"{MORE}: at least 30 texts"),
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
        assert f"{line.evidence[0].value:.0%}" in line.sentence, "a number that is there is said"


# works out of context --------------------------------------------------------------------------------------------


def guide(gained=(0.6, 0.9), room=(0.2, 0.4), carries=(0.1, 0.2), texts=200, refitted=None, seeds=5, lasts=(0.2, 0.4)):
    rows = [
        row("accuracy", 0.9, texts, guide="log_odds", weights="own"),
        row("accuracy", 0.7, texts, guide="log_odds", weights="uniform"),
        row("base_accuracy", 1.0, texts),
        row("prior", 0.5, texts),
        row("headroom", room, texts, guide="log_odds"),
        row("lasts", lasts, texts, guide="log_odds"),
        row("carries", carries, texts, guide="log_odds"),
    ]
    rows += [] if gained is None else [row("G", gained, texts, guide="log_odds")]
    if refitted is not None:
        rows += [row("headroom", (0.2, 0.4), seeds, guide="refitted"), row("G", refitted, seeds, guide="refitted")]
    return result("guide", *rows, examples=texts)


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (guide((0.51, 0.9)), "yes", "", "G"),
        (guide((0.1, 0.49)), "no", "", "G"),
        (guide((-0.3, -0.1)), "no", "", "G"),
        (guide((0.4, 0.6)), "unclear", f"{MORE}: G = 0.50 [0.40, 0.60] lies across 0.5 with n = 200", "G"),
        (guide((0.45, 0.75)), "unclear", f"{MORE}: G = 0.60", "G"),
        (guide((0.25, 0.55)), "unclear", f"{MORE}: G = 0.40", "G"),
        (guide((0.51, 0.9), room=(0.01, 0.3)), "unclear", "moot here: words that are all weighted alike", "headroom"),
        (guide(None, room=(0.0, 0.0)), "unclear", "moot here: words that are all weighted alike", "headroom"),
        (guide((0.51, 0.9), carries=(0.01, 0.3)), "unclear", "moot here: by themselves the words", "headroom"),
        (guide((0.51, 0.9), carries=(math.nan, math.nan)), "unclear", "moot here", "headroom"),
        (guide((0.51, 0.9), texts=29), "unclear", f"{MORE}: at least 30 texts", "G"),
        (guide((0.51, 0.9), lasts=(0.01, 0.3)), "unclear", f"{MORE}: unweighted words still gain from every text", "G"),
    ],
)  # fmt: skip
def test_when_weights_work_out_of_context(made, state, reason, statistic):
    line = judge_out_of_context(made, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.moot == reason.startswith("moot")


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
    assert ("encode the label; the words do not carry it" in judge_out_of_context(made, SETTINGS).sentence) == leaks


# across models ---------------------------------------------------------------------------------------------------


def adversarial(excess=(0.3, 0.5), seeds=5, texts=200, star=0.5):
    rows = [row("jsd", 0.04, model="seed", seed=n) for n in range(1, seeds)]
    rows += [row("J_seed", (0.03, 0.05), seeds)]
    if excess is not None:
        rows += [row("J_star", star, texts, model="adversary", strength=0.001), row("J_excess", excess, seeds)]
    return result("adversarial_model", *rows, examples=texts, qualified=[] if excess is None else ["adversary"])


@pytest.mark.parametrize(
    ("made", "state", "reason"),
    [
        (adversarial((0.26, 0.5)), "no", ""),
        (adversarial((0.25, 0.5)), "not found", "J* − J of seeds"),
        (adversarial((-0.1, 0.1)), "not found", "J* − J of seeds = 0.00 [-0.10, 0.10]: not surely above 0.25 nats"),
        (adversarial((math.nan, math.nan)), "not found", "J* − J of seeds"),
        (adversarial(None), "not found", "no model that was tried stays as close"),
        (adversarial((0.3, 0.5), seeds=4), "unclear", f"{MORE}: at least 5 seeds"),
        (adversarial((0.3, 0.5), texts=29), "unclear", f"{MORE}: at least 30 texts"),
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
    assert "A model trained to differ answers as this one does" in sentence
    assert "0.50 nats away; those of other seeds are 0.04 away" in sentence


def test_without_other_fits_the_twin_is_shown_and_decides_nothing():
    line = judge_across(None, gauge(), SETTINGS)
    assert (line.state, line.reason) == ("not run", REFIT)
    assert "A twin in closed form makes 100% of the same decisions" in line.sentence
    assert [m.name for m in line.evidence] == ["jsd", "agreement", "tvd"]


# plausible to people ---------------------------------------------------------------------------------------------


def plausibility(share=(0.1, 0.2), room=(0.6, 0.7), texts=200, explainer="attention"):
    rows = [row("P", share, texts, explainer=explainer), row("room", room, texts, explainer=explainer)]
    rows += [row("P", (0.5, 0.6), texts, explainer="leave_one_out")]
    rows += [row("auprc", 0.4, texts, explainer=explainer), row("auprc", 0.3, texts, explainer="random")]
    rows += [row("auprc", 0.31, texts, explainer="random spans", matched=explainer)]
    rows += [row("auprc", 0.9, texts, explainer="random spans", matched="leave_one_out")]
    rows += [row("auprc_gain", 0.1, texts, explainer=explainer, against=a) for a in ("random", "random spans")]
    rows += [row("marked", 0.3, texts)]
    return result("plausibility", *rows, examples=texts)


@pytest.mark.parametrize(
    ("made", "state", "reason", "statistic"),
    [
        (plausibility((0.06, 0.2)), "yes", "", "P"),
        (plausibility((-0.1, 0.04)), "no", "", "P"),
        (plausibility((-0.3, -0.1)), "no", "", "P"),
        # Surely above chance and hardly so: with texts enough any trace would be a yes.
        (plausibility((0.01, 0.04)), "no", "", "P"),
        (plausibility((0.02, 0.2)), "unclear", f"{MORE}: P = 0.11 [0.02, 0.20] lies across 0.05 with n = 200", "P"),
        (plausibility((math.nan, math.nan)), "unclear", f"{MORE}: P = nan", "P"),
        (plausibility((0.2, 0.4), room=(0.04, 0.06)), "unclear", "moot here: people marked so much", "room"),
        (plausibility((0.2, 0.4), room=(math.nan, math.nan)), "unclear", "moot here", "room"),
        (plausibility((0.2, 0.4), texts=29), "unclear", f"{MORE}: at least 30 texts", "P"),
    ],
)
def test_when_a_heatmap_is_plausible(made, state, reason, statistic):
    line = judge_plausible(made, SETTINGS)
    assert line.state == state
    assert line.reason.startswith(reason) if reason else line.reason == ""
    assert line.evidence[0].name == statistic
    assert line.moot == reason.startswith("moot")
    assert line.sentence.endswith("says nothing about why the model decided."), "always"


def test_the_line_is_about_attention_beside_both_kinds_of_chance():
    line = judge_plausible(plausibility(), SETTINGS)
    areas = [(m.by["explainer"], m.value) for m in line.evidence if m.name == "auprc"]
    assert areas == [("attention", 0.4), ("random", 0.3), ("random spans", 0.31)]
    assert "the model's answer is not looked at" in line.holds
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


def test_a_model_without_a_recipe_is_not_told_to_be_fitted_again():
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

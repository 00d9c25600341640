"""What a terminal shows of an audit: the evidence of each line, several models together, models of known answer."""

import re
from dataclasses import replace

import pytest

from heatcheck.auditing import CardSettings
from heatcheck.auditing.lines import judge_across, judge_necessary, judge_out_of_context
from heatcheck.cli import fail_if, show
from report import audits


@pytest.fixture
def shown(capsys, monkeypatch):
    """What a function printed on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(function, *arguments):
        function(*arguments)
        return capsys.readouterr().out

    return run


def test_the_card_has_the_evidence_of_both_lines(shown):
    out = shown(show.card, audits.full(30))
    assert "K by deletion = 0.84 [0.77, 0.91], n = 180 (random)" in out
    assert "q, shuffles that keep the answer = 0.62 [0.59, 0.65], n = 180 (random)" in out
    at = "U, share of the possible difference at ε = 0.05 = 0.94 [0.93, 0.95]; relevances shuffled 0.97 [0.96, 0.98]"
    assert at in out
    assert "floor of any two words 0.41, most of any weights 0.68 (a large JSD alone says nothing)" in out


@pytest.mark.parametrize(("upper", "is_said"), [(0.94, False), (0.96, True)])
def test_an_upper_bound_is_said_where_it_is_one(shown, upper, is_said):
    audit = audits.full(3)
    line = audit.card["hard to manipulate"]
    bounded = line._replace(evidence=(*line.evidence, audits.measured("U_upper", upper, half=0.01)))
    lines = tuple(bounded if one is line else one for one in audit.card.lines)
    out = shown(show.card, replace(audit, card=replace(audit.card, every_line=tuple(lines))))
    assert (f"; at most {upper} [0.95, 0.97]" in out) == ("; at most " in out) == is_said


def test_of_several_sites_the_heatmaps_alone_is_told_apart(shown):
    audit = audits.full(3)
    numbers = [audits.measured("most_change", 0.358, weights="uniform everywhere")]
    numbers += [audits.measured("N", value, against=a) for a, value in (("swap everywhere", 0.3), ("swap", 0.02))]
    line = audit.card.lines[0]._replace(name="necessary", state="no", evidence=tuple(numbers))
    out = shown(show.card, audits.with_line(audit, line))
    assert "largest change of a probability under uniform weights = 0.36" in out
    assert "N against this model under uniform weights at every attention site = 0.30" in out
    assert "N against this model under uniform weights at the heatmap's site alone (decides nothing) = 0.02" in out


def test_several_models_share_a_table(shown):
    out = shown(show.across, [audits.full(10), audits.full(20), audits.full(30)])
    for name in (
        "τ, gradient",
        "τ floor, gradient: shuffled relevance",
        "K, deletion",
        "q, shuffles",
        "Δ of the output by shuffling",
    ):
        assert len(re.findall(rf"^{name}.*?  (\d\.\d\d, ){{2}}\d\.\d\d *$", out, flags=re.MULTILINE)) == 1
    assert re.search(
        r"^U, ε = 0.05, standardised logits +0.94 +\[0.94, 0.94\] +0.94, 0.94, 0.94", out, flags=re.MULTILINE
    )
    assert "gradient, leave_one_out" not in out


def test_known_answers_stand_beside_what_was_found(shown):
    """Whichever lines are known; a model without a known answer is not in that line's table."""
    audit = audits.full(3)
    points, hard = "points at what matters", "hard to manipulate"
    out = shown(show.controls, {"reader": (audit, {points: "yes", hard: "yes"}), "shifted": (audit, {hard: "no"})})
    first, second = out.split(f"model    {hard}")
    row = r"^(\w+) +(yes|no|moot) +(yes|no|moot) +(\S+ = \S+)"
    assert re.findall(row, first, flags=re.MULTILINE) == [("reader", "yes", "yes", "K = 0.84")]
    assert re.findall(row, second, flags=re.MULTILINE) == [
        ("reader", "no", "yes", "q = 0.62"),
        ("shifted", "no", "no", "q = 0.62"),
    ]


def test_a_moot_line_is_not_merely_unclear(shown):
    audit = audits.full(3)
    context = audit.card["works out of context"]
    moot = audits.with_line(audit, context._replace(undecided="cannot be asked"))
    for found, word in ((audit, "unclear"), (moot, "moot")):
        out = shown(show.controls, {"reader": (found, {context.name: "moot"})})
        assert re.search(rf"^reader +{word} +moot", out, flags=re.MULTILINE)


@pytest.fixture
def judged():
    """A model that was fitted again, and judged."""
    audit, settings = audits.full(60), CardSettings()
    lines = (
        judge_necessary(audits.necessity(audit.examples), None, replace(settings, needed=0.05)),
        *audit.card.lines[1:3],
        judge_out_of_context(audits.guide(audit.examples), settings),
    )
    gauge = audits.gauge(audit.examples)
    across = judge_across(audits.adversarial_model(audit.examples), gauge, settings)
    card = replace(audit.card, every_line=(*lines, across, audit.card["plausible"]))
    return replace(audit, results={"gauge": gauge}, card=card)


def test_the_statistic_of_a_line_comes_first_and_its_baselines_after(shown, judged):
    out = shown(show.card, judged)
    assert re.search(r"^unclear +necessary: ", out, flags=re.MULTILINE)
    for before, after in (
        ("without learned attention, uniform weights = 0.02 [-0.03, 0.07], n = 5 seeds (prior)",
         "N against this model under uniform weights = 0.06"),
        ("accuracy, trained again: learned 0.81 [0.79, 0.83], uniform 0.80 [0.78, 0.82], last",
         "used (decides nothing): change of probability by other weights: uniform 0.06"),
        ("G, what words say by themselves = 0.60 [0.30, 0.90], n = 60 texts", "accuracy by what words say"),
        ("accuracy of the model 0.81", "G, a model trained under the weights = 0.60 [0.20, 1.00], n = 5 seeds"),
        ("J* − J of seeds = 0.46 [0.41, 0.51] nats", "the twin with reversed weights: 100% of 60 decisions equal"),
    ):  # fmt: skip
        assert out.index(before) < out.index(after)
    assert "family and the budget: lstm encoder (128 hidden)" in out


def test_the_line_about_other_models_stands_apart(shown, judged):
    out = shown(show.card, judged)
    assert out.index("works out of context") < out.index("Apart from these, about other models")
    assert re.search(r"^no +across models: ", out, flags=re.MULTILINE)
    facts = show.audit_facts(judged)
    assert [line["name"] for line in facts["card"]] == [line.name for line in judged.card.lines]
    assert facts["across"]["state"] == "no"
    assert facts["across"]["evidence"][0]["name"] == "J_excess"
    assert facts["fits"] == []


def test_a_line_that_was_not_run_shows_what_is_known_anyway(shown, judged):
    unfitted = judge_across(None, judged.results["gauge"], CardSettings())
    out = shown(show.card, audits.with_line(judged, unfitted))
    assert "A twin in closed form makes 100% of the same decisions with heatmaps 0.47 nats away" in out
    assert "what would run it: heatcheck audit MODEL --refit" in out


def test_a_fit_that_failed_is_named_once(shown, judged):
    name = "sst: lstm, uniform weights, seed 3"
    necessity = replace(judged.results["gauge"], not_run={name: f"{name} could not be fitted: killed", "swaps": "none"})
    lost = {"not_fitted": {name: "killed"}, "not_run": {"guide": "no texts"}, "results": {"necessity": necessity}}
    out = shown(show.card, replace(judged, **lost))
    assert f"could not be fitted: {name}: killed" in out
    assert out.count(name) == 1
    assert "not run: guide (no texts)" in out
    assert "not run: necessity: swaps (none)" in out
    assert [*replace(judged, **lost).missing] == [f"fit: {name}", "guide", f"necessity: {name}", "necessity: swaps"]


def test_texts_left_out_are_counted_among_those_that_a_check_looked_at(shown, judged):
    few = replace(judged.results["gauge"], examples=("a", "b"), excluded={"c": "one word only"})
    out = shown(show.card, replace(judged, results={"gauge": few}))
    assert "gauge: 2 of 3 examples; 1 left out." in out


def test_what_people_marked_stands_apart(shown, judged):
    out = shown(show.card, judged)
    apart = out.index("Apart from these, about people, whatever the model does:")
    assert out.index("across models:") < apart < out.index("plausible to people:")
    assert "says nothing about why the model decided." in " ".join(out.split())
    assert "P = 0.15 [0.12, 0.18], n = 180 (random)" in out
    assert "AUPRC: attention 0.42 [0.40, 0.44], random 0.31 [0.29, 0.33], random spans 0.32 [0.30, 0.34]" in out
    assert "AUPRC beyond random 0.10 [0.09, 0.11], random spans 0.10 [0.09, 0.11]" in out
    facts = show.audit_facts(judged)
    assert facts["plausible"]["state"] == "yes"
    assert facts["plausible"]["evidence"][0]["name"] == "P"
    assert facts["plausible"]["name"] not in [line["name"] for line in facts["card"]]
    assert (
        fail_if.holding(fail_if.conditions(["plausible=yes"]), [judged]) == "plausible to people is yes (bilstm-tanh)"
    )
    assert not fail_if.holding(fail_if.conditions(["plausible=no"]), [judged])


def test_where_nobody_marked_anything_one_line_says_so(shown):
    why = "nobody marked a rationale in these texts."
    audit = replace(audits.nothing_run(), not_run={"plausibility": why, "guide": "name the texts."})
    out = shown(show.card, audit)
    assert len(re.findall("plausib", out)) == len(re.findall(why, out)) == 1
    assert re.search(rf"^not run +plausible to people \({why}\)", out, flags=re.MULTILINE)
    assert "not run: guide (name the texts.)" in out

"""What a terminal shows of an audit: the evidence of each line, several models together, models of known answer."""

import re
from dataclasses import replace

import pytest

from heatcheck.auditing import CardSettings
from heatcheck.auditing.lines import judge_across, judge_necessary, judge_out_of_context
from heatcheck.cli import fail_if, show
from heatcheck.results import audit_facts
from report import audits


@pytest.fixture
def shown(capsys, monkeypatch):
    """What a function printed on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(function, *arguments):
        function(*arguments)
        return capsys.readouterr().out

    return run


def in_short(m):
    """A number and its interval, as a terminal shows them."""
    return f"{m.value:.2f} [{m.low:.2f}, {m.high:.2f}]"


def found(audit, check, name, **by):
    """The number over all texts."""
    return next(m for m in audit.results[check].measurements if m.name == name and by == m.by)


AT = {"epsilon": 0.05, "logits": "standardised"}


def test_the_card_has_the_evidence_of_both_lines(shown):
    audit = audits.full()
    out = shown(show.card, audit)
    k, q = found(audit, "erasure", "K", operator="deletion"), found(audit, "permutation", "q")
    assert f"K by deletion = {in_short(k)}, n = {k.n} ({k.baseline})" in out
    assert f"q, shuffles that keep the answer = {in_short(q)}, n = {q.n} ({q.baseline})" in out
    u, null = (found(audit, "counterfactual", name, **AT) for name in ("U", "U_null"))
    assert (
        f"U, share of the possible difference at ε = 0.05 = {in_short(u)}; relevances shuffled {in_short(null)}" in out
    )
    floor, most = (found(audit, "counterfactual", name).value for name in ("floor", "most"))
    assert f"floor of any two words {floor:.2f}, most of any weights {most:.2f} (a large JSD alone says nothing)" in out


@pytest.mark.parametrize(("above", "is_said"), [(0.0, False), (0.02, True)])
def test_an_upper_bound_is_said_where_it_is_one(shown, above, is_said):
    audit = audits.full(3)
    line = audit.card["hard to manipulate"]
    (upper,) = [m for m in line.evidence if m.name == "U_upper"]
    bound = upper._replace(value=upper.value + above)
    bounded = line._replace(evidence=tuple(bound if m is upper else m for m in line.evidence))
    out = shown(show.card, replace(audit, card=replace(audit.card, every_line=(bounded,))))
    assert (f"; at most {in_short(bound)}" in out) == ("; at most " in out) == is_said


def test_of_several_sites_the_heatmaps_alone_is_told_apart(shown):
    audit = audits.full(3)
    line = audit.card["necessary"]
    most, n = ([m for m in line.evidence if m.name == name][-1] for name in ("most_change", "N"))
    numbers = (
        most._replace(by={"weights": "uniform everywhere"}),
        n._replace(value=0.3, by={"against": "swap everywhere"}),
        n._replace(value=0.02, by={"against": "swap"}),
    )
    out = shown(show.card, audits.with_line(audit, audits.in_state(line, "no", evidence=numbers)))
    assert f"largest change of a probability under uniform weights = {most.value:.2f}" in out
    assert "N against this model under uniform weights at every attention site = 0.30" in out
    assert "N against this model under uniform weights at the heatmap's site alone (decides nothing) = 0.02" in out


def test_several_models_share_a_table(shown):
    audit = audits.full()
    deletion = found(audit, "erasure", "K", operator="deletion")
    others = [audit, audit, with_number(audit, "erasure", deletion, deletion._replace(value=0.25))]
    out = shown(show.across, others)
    numbers = {
        "τ, gradient": [found(audit, "agreement", "tau", pair=["attention", "gradient"]).value] * 3,
        "τ floor, gradient: relevances shuffled": [
            m.value for m in audit.results["agreement"].measurements if m.name == "tau_mechanical_floor"
        ] * 3,
        "K, deletion": [deletion.value, deletion.value, 0.25],
        "q, shuffles": [found(audit, "permutation", "q").value] * 3,
        "Δ, change of the output by shuffling": [found(audit, "permutation", "delta").value] * 3,
    }  # fmt: skip
    for name, values in numbers.items():
        each = ", ".join(f"{value:.2f}" for value in values)
        assert len(re.findall(rf"^{name}.*?  {re.escape(each)} *$", out, flags=re.MULTILINE)) == 1, name
    u = f"{found(audit, 'counterfactual', 'U', **AT).value:.2f}"
    assert re.search(rf"^U, ε = 0.05, standardised logits +{u} +\[{u}, {u}\] +{u}, {u}, {u}", out, flags=re.MULTILINE)
    assert "gradient, leave_one_out" not in out


def with_number(audit, check, old, new):
    """The same audit, which found something else here."""
    result = audit.results[check]
    changed = replace(result, measurements=tuple(new if m is old else m for m in result.measurements))
    return replace(audit, results={**audit.results, check: changed})


def test_known_answers_stand_beside_what_was_found(shown):
    """Whichever lines are known; a model without a known answer is not in that line's table."""
    audit = audits.full(3)
    points, hard = "points at what matters", "hard to manipulate"
    out = shown(show.controls, {"reader": (audit, {points: "yes", hard: "yes"}), "shifted": (audit, {hard: "no"})})
    first, second = out.split(f"{audit.card[hard].question} (hard)")
    row = r"^(\w+) +(yes|no) +(yes|no) +(\S+ = \S+)"
    k, q = (f"{audit.card[line].evidence[0].value:.2f}" for line in (points, hard))
    assert re.findall(row, first, flags=re.MULTILINE) == [("reader", "yes", "yes", f"K = {k}")]
    assert re.findall(row, second, flags=re.MULTILINE) == [
        ("reader", "no", "yes", f"q = {q}"),
        ("shifted", "no", "no", f"q = {q}"),
    ]


def test_a_question_that_cannot_be_asked_is_not_merely_unclear(shown):
    audit = audits.full(3)
    context = audit.card["works out of context"]
    unclear = audits.with_line(audit, audits.undecided(context))
    for one, word in ((unclear, "unclear"), (audit, show.CANNOT)):
        out = shown(show.controls, {"reader": (one, {context.name: show.CANNOT})})
        assert re.search(rf"^reader +{word} +{show.CANNOT}", out, flags=re.MULTILINE)


@pytest.fixture
def judged():
    """The model as judged with all its other fits, where the twin certifies nothing; some seeds more, and a gain."""
    audit = audits.full(checks=("gauge", "necessity", "guide", "adversarial_model", "plausibility"))
    of_needs, guide, others, gauge = map(audit.results.get, ("necessity", "guide", "adversarial_model", "gauge"))
    settings = CardSettings(seeds=3, needed=0.05, excess=0.05)
    (excess,) = [m for m in others.measurements if m.name == "J_excess"]
    sure = excess._replace(low=excess.value - 0.01, high=excess.value + 0.01)
    others = replace(others, measurements=tuple(sure if m is excess else m for m in others.measurements))
    gained = [excess._replace(name="G", value=0.6, low=0.3, high=0.9, n=46, by={"guide": "log_odds"})]
    gained += [gained[0]._replace(value=0.7, high=1.0, n=3, by={"guide": "refitted"})]
    guide = replace(guide, measurements=(*guide.measurements, *gained))
    lines = (
        judge_necessary(of_needs, None, settings),
        *audit.card.lines[1:3],
        judge_out_of_context(guide, settings),
        judge_across(others, gauge, settings),
        audit.card["plausible"],
    )
    return replace(audit, results={"gauge": gauge}, card=replace(audit.card, every_line=lines))


def test_the_statistic_of_a_line_comes_first_and_its_baselines_after(shown, judged):
    out = shown(show.card, judged)
    assert re.search(r"^unclear +necessary: ", out, flags=re.MULTILINE)
    needs = audits.full(checks=["necessity"]).results["necessity"]
    n = needs.find("N", against="retrained", free="uniform")
    again = [needs.find("accuracy", fit="retrained", weights=weights) for weights in ("learned", "uniform")]
    base = audits.full(checks=["guide"]).results["guide"].find("base_accuracy").value
    excess = judged.card["across"].evidence[0]
    for before, after in (
        (f"without learned attention, uniform weights = {in_short(n)}, n = 3 seeds ({n.baseline})",
         f"N against this model under uniform weights = {needs.find('N', against='swap').value:.2f}"),
        (f"accuracy, trained again: learned {in_short(again[0])}, uniform {in_short(again[1])}, last",
         "used (decides nothing): change of probability by other weights: uniform "
         f"{needs.find('change', weights='uniform').value:.2f}"),
        ("G, what words say by themselves = 0.60 [0.30, 0.90], n = 46 texts", "accuracy by what words say"),
        (f"accuracy of the model {base:.2f}", "G, a model trained under the weights = 0.70 [0.30, 1.00], n = 3 seeds"),
        (f"J* − J of seeds = {in_short(excess)} nats", "the twin with reversed weights: 100% of 46 decisions equal"),
    ):  # fmt: skip
        assert out.index(before) < out.index(after)
    assert "family and the budget: average encoder (8 hidden)" in out


def test_the_line_about_other_models_stands_apart(shown, judged):
    out = shown(show.card, judged)
    assert out.index("works out of context") < out.index("Apart from these, about other models")
    assert re.search(r"^no +across models: ", out, flags=re.MULTILINE)
    facts = audit_facts(judged)
    assert [line["name"] for line in facts["card"]] == [line.name for line in judged.card.lines]
    assert facts["across"]["state"] == "no"
    assert facts["across"]["evidence"][0]["name"] == "J_excess"


def test_a_line_that_was_not_run_shows_what_is_known_anyway(shown, judged):
    unfitted = judge_across(None, judged.results["gauge"], CardSettings())
    out = shown(show.card, audits.with_line(judged, unfitted))
    jsd = judged.results["gauge"].find("jsd", twin="reversed").value
    assert f"A twin in closed form makes 100% of the same decisions with heatmaps {jsd:.2f} nats away" in out
    assert "what would run it: heatcheck audit MODEL --refit" in out
    refused = unfitted._replace(reason="adversarial_model could not be run: no texts.", undecided="cannot be run")
    out = shown(show.card, audits.with_line(judged, refused))
    assert "adversarial_model could not be run: no texts." in out
    assert "what would run it" not in out


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
    p, own, random, spans, beyond, beyond_spans = judged.card["plausible"].evidence[:6]
    assert [m.name for m in (p, own, random, spans)] == ["P", "auprc", "auprc", "auprc"]
    assert f"P = {in_short(p)}, n = {p.n} ({p.baseline})" in out
    areas = f"attention {in_short(own)}, random {in_short(random)}, random spans {in_short(spans)}"
    assert f"AUPRC: {areas}" in out
    assert f"AUPRC beyond random {in_short(beyond)}, random spans {in_short(beyond_spans)}" in out
    facts = audit_facts(judged)
    assert facts["plausible"]["state"] == "yes"
    assert facts["plausible"]["evidence"][0]["name"] == "P"
    assert facts["plausible"]["name"] not in [line["name"] for line in facts["card"]]
    assert (
        fail_if.holding(fail_if.conditions(["plausible=yes"]), [judged]) == "plausible to people is yes (tiny-average)"
    )
    assert not fail_if.holding(fail_if.conditions(["plausible=no"]), [judged])


def test_where_nobody_marked_anything_one_line_says_so(shown):
    why = "nobody marked a rationale in these texts."
    audit = replace(audits.nothing_run(), not_run={"plausibility": why, "guide": "name the texts."})
    out = shown(show.card, audit)
    assert len(re.findall("plausib", out)) == len(re.findall(why, out)) == 1
    assert re.search(rf"^not run +plausible to people \({why}\)", out, flags=re.MULTILINE)
    assert "not run: guide (name the texts.)" in out

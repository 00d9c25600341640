"""What a terminal shows of an audit: the evidence of each line, several models together, models of known answer."""

import re
from dataclasses import replace
from functools import cache

import pytest

from heatcheck.auditing import CardSettings, make_card
from heatcheck.auditing.lines import judge_across, judge_necessary, judge_out_of_context
from heatcheck.cli import fail_if, show
from heatcheck.cli.evidence import in_words
from heatcheck.report.measurement_words import quantity_of
from heatcheck.results import audit_facts
from made_up_lines import (
    adversarial,
    counterfactual,
    erasure,
    every_line,
    every_line_of_a_card,
    guide,
    necessity,
    permutation,
    plausibility,
)
from report import audits
from voice import faults_of


@pytest.fixture
def shown(capsys, monkeypatch):
    """What a function printed on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(function, *arguments, **named):
        function(*arguments, **named)
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
    out = shown(show.card, audit, verbose=True)
    k, q = found(audit, "erasure", "K", operator="deletion"), found(audit, "permutation", "q")
    scale = "(0 random words, 1 best other method)"
    assert f"score when the words are deleted (K) = {in_short(k)}, n = {k.n} {scale}" in out
    scale = "(0 every shuffle changes it, 1 none does)"
    assert f"share of shuffles that keep the answer (q) = {in_short(q)}, n = {q.n} {scale}" in out
    u, null = (found(audit, "counterfactual", name, **AT) for name in ("U", "U_null"))
    different = f"within ε = 0.05 (U) = {in_short(u)} (0 these weights only, 1 any weights)"
    assert f"{different}; with shuffled relevances {in_short(null)}" in " ".join(out.split())
    floor, most = (found(audit, "counterfactual", name).value for name in ("floor", "most"))
    assert f"at least, in any model {floor:.2f}, at most, whatever the answer {most:.2f} (decides nothing)" in out


@pytest.mark.parametrize(("above", "is_said"), [(0.0, False), (0.02, True)])
def test_an_upper_bound_is_said_where_it_is_one(shown, above, is_said):
    audit = audits.full(3)
    line = audit.card["hard to manipulate"]
    (upper,) = [m for m in line.evidence if m.name == "U_upper"]
    bound = upper._replace(value=upper.value + above)
    bounded = line._replace(evidence=tuple(bound if m is upper else m for m in line.evidence))
    out = shown(show.card, replace(audit, card=replace(audit.card, every_line=(bounded,))), verbose=True)
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
    out = shown(show.card, audits.with_line(audit, audits.in_state(line, "no", evidence=numbers)), verbose=True)
    out = " ".join(out.split())
    assert f"largest change of a probability with equal weights = {most.value:.2f}" in out
    assert "that is lost when this model has equal weights at every attention site (N) = 0.30" in out
    alone = "when this model has equal weights, at the heatmap's site alone (decides nothing) (N) = 0.02"
    assert alone in out


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
    first, second = out.split(f"Would different weights change the answer? ({hard})")
    assert first.startswith(f"Do the highlighted words matter? ({points})")
    assert re.search(r"^model +heatcheck says +true answer +number *$", first, flags=re.MULTILINE)
    row = r"^(\w+) +(yes|no) +(yes|no) +(\S+ = \S+)"
    k, q = (f"{audit.card[line].evidence[0].value:.2f}" for line in (points, hard))
    assert re.findall(row, first, flags=re.MULTILINE) == [("reader", "yes", "yes", f"K = {k}")]
    assert re.findall(row, second, flags=re.MULTILINE) == [
        ("reader", "no", "yes", f"q = {q}"),
        ("shifted", "no", "no", f"q = {q}"),
    ]


def test_what_cannot_be_asked_is_not_merely_undecided(shown):
    audit = audits.full(3)
    context = audit.card["works out of context"]
    unclear = audits.with_line(audit, audits.undecided(context))
    for one, word in ((unclear, "not decided"), (audit, "cannot be asked")):
        out = shown(show.controls, {"reader": (one, {context.name: "moot"})})
        assert re.search(rf"^reader +{word} +cannot be asked ", out, flags=re.MULTILINE)
        assert "moot" not in out


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
    out = shown(show.card, judged, verbose=True)
    assert re.search(r"^not decided +Is learned attention needed\? \(necessary\)", out, flags=re.MULTILINE)
    out = " ".join(out.split())
    needs = audits.full(checks=["necessity"]).results["necessity"]
    n = needs.find("N", against="retrained", free="uniform")
    again = [needs.find("accuracy", fit="retrained", weights=weights) for weights in ("learned", "uniform")]
    base = audits.full(checks=["guide"]).results["guide"].find("base_accuracy").value
    excess = judged.card["across"].evidence[0]
    for before, after in (
        (f"no learned attention, uniform weights (N) = {in_short(n)}, n = 3 seeds (0 nothing, 1 all of it)",
         f"this model has equal weights (N) = {needs.find('N', against='swap').value:.2f}"),
        (f"accuracy of retrained models with learned weights {in_short(again[0])}, uniform weights "
         f"{in_short(again[1])}, the last state alone",
         "mean change of the probability with uniform weights "
         f"{needs.find('change', weights='uniform').value:.2f}"),
        ("close in a bag of words (G) = 0.60 [0.30, 0.90], n = 46 examples", "accuracy of a bag of words with own"),
        (f"accuracy of the model {base:.2f}",
         "close in a model trained with these weights (G) = 0.70 [0.30, 1.00], n = 3 seeds"),
        (f"beyond that of other seeds (J* − J) = {in_short(excess)} nats",
         "the twin with reversed weights makes the same decision in 100% of 46 decisions"),
    ):  # fmt: skip
        assert out.index(before) < out.index(after)
    assert "Kind of model and budget: average encoder (8 hidden)" in out


def test_the_line_about_other_models_stands_apart(shown, judged):
    out = shown(show.card, judged, verbose=True)
    assert out.index("(works out of context)") < out.index("Apart from these, about other models")
    only = r"^no +Is this the only heatmap that goes with these answers\? \(across models\)"
    assert re.search(only, out, flags=re.MULTILINE)
    facts = audit_facts(judged)
    assert [line["name"] for line in facts["card"]] == [line.name for line in judged.card.lines]
    assert facts["across"]["state"] == "no"
    assert facts["across"]["evidence"][0]["name"] == "J_excess"


def test_a_line_that_was_not_run_shows_what_is_known_anyway(shown, judged):
    unfitted = judge_across(None, judged.results["gauge"], CardSettings())
    out = shown(show.card, audits.with_line(judged, unfitted), verbose=True)
    jsd = judged.results["gauge"].find("jsd", twin="reversed").value
    assert f"A twin in closed form makes 100% of the same decisions with heatmaps {jsd:.2f} nats away" in out
    assert "to run it: heatcheck audit MODEL --refit" in out
    refused = unfitted._replace(reason="adversarial_model could not be run: no texts.", undecided="cannot be run")
    out = shown(show.card, audits.with_line(judged, refused), verbose=True)
    assert "adversarial_model could not be run: no texts." in out
    assert "to run it" not in out


def test_a_fit_that_failed_is_named_once(shown, judged):
    name = "sst: lstm, uniform weights, seed 3"
    necessity = replace(judged.results["gauge"], not_run={name: f"{name} could not be fitted: killed", "swaps": "none"})
    lost = {"not_fitted": {name: "killed"}, "not_run": {"guide": "no texts"}, "results": {"necessity": necessity}}
    out = shown(show.card, replace(judged, **lost), verbose=True)
    assert f"training failed: {name}: killed" in out
    assert out.count(name) == 1
    assert "not run: guide (no texts)" in out
    assert "not run: necessity: swaps (none)" in out
    assert [*replace(judged, **lost).missing] == [f"fit: {name}", "guide", f"necessity: {name}", "necessity: swaps"]


def test_examples_left_out_are_counted(shown, judged):
    few = replace(judged.results["gauge"], examples=("a", "b"), excluded={"c": "one word only"})
    out = shown(show.card, replace(judged, results={"gauge": few}), verbose=True)
    assert "gauge: measured on 2 of 3 examples; 1 left out." in out


def test_what_people_marked_stands_apart(shown, judged):
    out = shown(show.card, judged, verbose=True)
    apart = out.index("Apart from these, about people, whatever the model does:")
    assert out.index("(across models)") < apart < out.index("(plausible to people)")
    assert "says nothing about why the model decided." in " ".join(out.split())
    p, own, random, spans, beyond, beyond_spans = judged.card["plausible"].evidence[:6]
    assert [m.name for m in (p, own, random, spans)] == ["P", "auprc", "auprc", "auprc"]
    assert f"people's marks (P) = {in_short(p)}, n = {p.n} (0 chance, 1 full agreement)" in out
    areas = f"the heatmap {in_short(own)}, random scores {in_short(random)}, random spans {in_short(spans)}"
    assert f"AUPRC: {areas}" in out
    assert f"AUPRC beyond random scores {in_short(beyond)}, random spans {in_short(beyond_spans)}" in out
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
    out = shown(show.card, audit, verbose=True)
    assert len(re.findall(why, out)) == 1
    assert f": Does the heatmap mark the words that people marked? ({why})" in out
    assert "plausibility" not in out
    assert "not run: guide (name the texts.)" in out


# Without --verbose -----------------------------------------------------------------------------------------------

ROWS = 24  # of a terminal


@pytest.fixture
def narrow(shown, monkeypatch):
    """The rows of a card on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def rows(audit, **named):
        return shown(show.card, audit, **named).rstrip("\n").split("\n")

    return rows


def carded(*lines, **changes):
    """A made-up audit with these lines on its card, of a model with a long name, and on nearly a thousand examples."""
    named = {"subject": "lstm on rotten_tomatoes, seed 0 (82f1f9f86b46)", "task": "rotten_tomatoes@8e9c6aad515e"}
    facts = {"n": 500, "available": 852, "split": "test", "accuracy": 0.758, "commonest": ("positive", 0.53)}
    audit = replace(audits.nothing_run(), **{**named, **facts, **changes})
    return replace(audit, card=replace(audit.card, every_line=tuple(lines)))


@cache
def by_short():
    """Every line that a rule can make, on a card, by its short name: one of each way to be."""
    found = {}
    for line in (*every_line(), *every_line_of_a_card()):
        way = line.badge, line.undecided, line.route, bool(line.would_take), line.instead is None
        found.setdefault(line.short, {}).setdefault(way, line)
    return {short: tuple(ways.values()) for short, ways in found.items()}


def of_demo():
    """As the demo's card: a pointer, other weights do, attention is not needed, and one question cannot be asked."""
    results = {
        "erasure": erasure((0.65, 0.77), (0.66, 0.76)), "permutation": permutation((0.68, 0.73)),
        "counterfactual": counterfactual((0.96, 0.97)), "necessity": necessity(swap=(-0.01, 0.08)),
        "guide": guide(None, room=(-0.02, 0.03)),
    }  # fmt: skip
    why = {"plausibility": "nobody marked a rationale in these texts."}
    return carded(*make_card(results, 1.0, CardSettings(), why, available=852).every_line, not_run=why)


def test_the_card_of_the_demo_fits_on_a_screen(narrow):
    rows = narrow(of_demo())
    assert len(rows) <= ROWS
    assert all(len(row) <= 80 for row in rows)
    answer = rows.index("Only as a pointer: the highlighted words matter, but most other weightings give ")
    assert answer == 2, "the answer comes first"
    assert rows[answer + 8 :] == [
        "500 of 852 test examples of rotten_tomatoes; accuracy 0.76, majority class 0.53",
        "yes Do the highlighted words matter? 0.71 [0.65, 0.77]; above 0.5: yes",
        "    The highlighted words matter.",
        "no  Would different weights change the answer? 0.71 [0.68, 0.73]; above 0.5: no",
        "    Other weights mostly give the same answer.",
        "no  Is learned attention needed? 0.04 [-0.01, 0.08]; below 0.1: no",
        "    The model is about as accurate with equal weights.",
        "cannot be asked Do the weights help outside this model?",
        "    A bag of words already does about as well as the model.",
        "not run Is this the only heatmap that goes with these answers? (--refit)",
        "--verbose shows every number; heatcheck treat MODEL may help.",
    ]
    assert not any("plausib" in row or "people" in row for row in rows), "nobody can run it, so nobody need know"


def test_no_line_takes_more_than_two_rows_and_no_sentence_is_cut(narrow):
    """Whatever the rules say: each line alone on a card, with the whole first sentence, a command or how many."""
    said = set()
    for short, lines in by_short().items():
        for line in lines:
            rows = narrow(carded(line))
            if line.group == "apart" and line.undecided == "cannot be run":
                assert not any(line.question in row for row in rows)
                continue
            first = next(at for at, row in enumerate(rows) if row.startswith(line.badge) and line.question in row)
            *of_line, last = rows[first:]
            assert last in (
                f"--verbose shows every number; {then}"
                for then in ("the report has the figures.", "heatcheck treat MODEL may help.")
            )
            assert len(of_line) == (2 if line.group == "card" else 1), (short, of_line)
            assert all(len(row) <= 80 for row in rows)
            if line.state in ("yes", "no") and line.strip is not None and line.group == "card":
                side, answer = line.strip.rule(line.badge)
                meant = re.search(re.escape(line.strip.number) + f"; {side}(?: means |: ){answer}", " ".join(of_line))
                assert meant, "the number has its direction"
            if line.group == "card":
                told = of_line[1].removeprefix("    ")
                known = {line.lead, line.reason, f"Run: {line.reason}", line.how_many(852)}
                assert any(one and told.endswith(one) for one in known), told
                said.add(line.undecided)
                if line.undecided == "not run":
                    assert told.startswith("Run: heatcheck audit MODEL --")
                if line.would_take:
                    few = line.route == "too few"
                    assert (line.lead if few else f"About {line.would_take:,} examples would decide") in told
    assert said >= {"", "cannot be asked", "more data", "more search", "disagreement", "in between", "not run"}


@pytest.mark.parametrize("undecided", ["more data", "not run", "cannot be asked", "cannot be run"])
def test_a_card_of_nothing_decided_fits_on_a_screen(narrow, undecided):
    lines = [
        next((line for line in by_short()[short] if line.undecided == undecided), by_short()[short][0])
        for short in ("points", "hard", "necessary", "context", "across", "plausible")
    ]
    rows = narrow(carded(*lines))
    assert len(rows) <= ROWS, "\n".join(rows)
    if undecided == "not run":
        assert "This would decide it: heatcheck audit MODEL --checks erasure" in rows
        assert sum("Run: heatcheck audit MODEL" in row for row in rows) == 4


def test_what_to_show_instead_comes_with_its_command(narrow):
    results = {
        "erasure": erasure((0.1, 0.3), (0.1, 0.3)), "permutation": permutation((0.68, 0.73)),
        "necessity": necessity(retrained=(0.01, 0.05)), "guide": guide((0.1, 0.3)),
        "adversarial_model": adversarial((0.3, 0.5)), "plausibility": plausibility((0.01, 0.04)),
    }  # fmt: skip
    audit = carded(*make_card(results, 1.0, CardSettings(), available=852).every_line)
    rows = narrow(audit)
    assert len(rows) <= ROWS, "\n".join(rows)
    words = " ".join(" ".join(rows).split())
    assert "Show this instead: gradient with its sign. Beyond random words, its top words move" in words
    assert '    heatcheck explain MODEL "TEXT" --by gradient' in rows
    assert len([row for row in rows if row.startswith("Do not say")]) == 2
    everything = narrow(audit, verbose=True)
    assert len([row for row in everything if row.startswith("Do not say")]) == 5


def test_an_audit_that_lost_training_runs_says_so(narrow):
    rows = narrow(replace(of_demo(), not_fitted={"seed 3": "killed", "seed 4": "killed"}))
    assert "2 training runs failed; --verbose says why." in rows
    rows = narrow(replace(of_demo(), training_rows="heatcheck left out 3 of the 9 rows."))
    assert "heatcheck left out 3 of the 9 rows." in rows


def test_a_number_means_the_same_way_on_a_wide_terminal_but_in_words(shown):
    out = shown(show.card, of_demo())
    assert "Do the highlighted words matter? 0.71 [0.65, 0.77]; above 0.5 means yes" in out
    assert "Would different weights change the answer? 0.71 [0.68, 0.73]; above 0.5 means no" in out
    assert "not run Is this the only heatmap that goes with these answers? (heatcheck audit MODEL --refit)" in out


def test_every_number_of_the_whole_card_has_a_direction(shown):
    """What high and low values mean follows each quantity once per line, as it is registered."""
    audit = of_demo()
    out = " ".join(shown(show.card, audit, verbose=True).split())
    for line in audit.card.lines:
        numbers = {m.name for m in line.evidence} & {"K", "q", "U", "N", "effect", "change", "headroom", "carries"}
        assert numbers
        for name in numbers:
            quantity = quantity_of(name, line.check)
            assert f"high: {quantity.high} low: {quantity.low}" in out
        assert f"{line.strip.number}; {line.strip.direction}" in out
        assert f"what stays the same: {line.holds}" in out
        assert f"cannot see: {line.cannot_see}" in out


def test_the_whole_card_is_in_plain_words():
    """The evidence of whatever is on it; what high and low values mean is said where quantities are registered."""
    for short in ("points", "hard", "necessary", "context", "across", "plausible"):
        for line in by_short()[short]:
            for text in [one for one in in_words(line.evidence, line.check) if "high: " not in one]:
                assert not [*faults_of(text, short, every_rule=False)], text
                assert "commonest" not in text
                assert "rival" not in text

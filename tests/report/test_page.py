"""The page says what the audit found, loads nothing, and lets no word become markup."""

import re
from dataclasses import replace

import audits
import numpy as np
import pytest
from parsed import Page, plain, read

from heatcheck.auditing import LINES
from heatcheck.auditing.lines.rule import Found
from heatcheck.report import notebook, write_comparison, write_markdown, write_report
from heatcheck.report.advice import advice, advised
from heatcheck.report.glossary import TERMS
from heatcheck.report.shared_words import HELD, SIGNS
from heatcheck.results import Card, headline_of, keep_audit, read_audit
from heatcheck.results.written import decimals, interval, number, sentences


@pytest.fixture(scope="module")
def audit():
    return audits.in_every_state()


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return Page(write_report(audit, tmp_path_factory.mktemp("page") / "report.html"))


def page_of(audit, tmp_path):
    return Page(write_report(audit, tmp_path / "report.html"))


def test_every_line_of_the_card_is_said_in_full(audit, page):
    """Its answer and the deciding number in its row; beneath it, folded, everything that they rest on."""
    assert [line.state for line in audit.card.lines] == ["not run", "yes", "no", "unclear"]
    for line in audit.card.every_line:
        row, beneath = map(plain, page.line(line.short))
        told = sentences(line.sentence)
        for words in (f"{SIGNS[line.state]} {line.badge}", line.question, *told[:2]):
            assert words in row
        if line.strip:
            m = line.strip.measurement
            assert f"{decimals(m.value, '.2f')} {decimals(m.low, '.2f')} to {decimals(m.high, '.2f')}" in row
        held = HELD.get(line.holds, line.holds) if line.evidence else ""
        named = (line.name, f"--require {line.short}=yes")
        for words in (*told[2:], line.reason, line.cannot_see, line.advice, held, *named):
            assert words in beneath
        for found in line.evidence:
            if found.name != "U_upper":  # said only where it is not the value itself
                assert f"{number(found.value)} {interval(found)} {found.n}" in beneath


def test_the_answer_comes_first_and_the_evidence_after_it(page):
    wanted = ("answer-title", 'id="line-points"', 'id="line-hard"', 'id="line-necessary"', 'id="line-context"',
              ">The heatmaps</h2>", ">The evidence</h2>", "Apart from these lines, about other models",
              "Apart from these lines, about people", ">Agreement with other methods</h2>",
              ">Removing the highlighted words</h2>",
              ">Glossary</h2>", ">About this report</h2>")  # fmt: skip
    start = page.source.index("<main ")
    places = [page.source.index(words, start) for words in wanted]
    assert places == sorted(places)


def test_what_may_be_said_stands_at_the_top(audit, page):
    shown = plain(page.section("answer"))
    headline = headline_of(audit.card)
    for words in (headline.answer, *headline.may_say, *headline.do_not_say, "○ not run", "? not decided"):
        assert words in shown
    assert len(advised(audit.card)) == 3, "across models says no, and asks for something too"
    for words in advised(audit.card):
        assert f"advice {words}" in plain(page.source)


def section(page, check):
    return page.section(f"check-{check}")


def test_a_section_says_what_its_numbers_need(audit, page):
    """Question, baseline, what stays the same, how many texts, and the paper: in the section itself."""
    shown = re.sub(r"<.*?>", "", section(page, "agreement"))
    for words in ("Does attention rank words", "random scores; shuffled relevances", f"{audit.n} in all",
                  "it reads every changed text from scratch", "Jain &amp; Wallace 2019"):  # fmt: skip
        assert words in shown
    assert "Serrano &amp; Smith 2019" in section(page, "erasure")
    assert "everything but the attention weights" in re.sub(r"<.*?>", "", section(page, "permutation"))


def test_every_link_leads_somewhere_and_every_term_is_explained(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert len(ids) == len(set(ids))
    texts = {f"text-{one['i']}" for one in page.examples["examples"]}  # their names are made by the script
    assert {link.removeprefix("#") for link in links} <= {*ids, *texts}
    assert sum(link.startswith("#text-") for link in links) == 1, "the example that the page opens with"
    assert all(f"check-{check}" in ids and f"#check-{check}" in links for check in audits.CHECKS)
    terms = [attributes for tag, attributes in page.tags if attributes.get("class") == "term"]
    assert {term["title"] for term in terms} <= {term.meaning for term in TERMS}
    linked = {term["href"] for term in terms}
    wanted = ("τ", "JSD", "ε", "K", "q", "U", "deletion", "what-stays-the-same")
    assert linked >= {f"#term-{key}" for key in wanted}
    for name in ("τ", "JSD", "ε", "K", "q", "U", "N", "G", "deletion", "masking", "what stays the same"):
        assert any(term.name.startswith(name) for term in TERMS)
    for term in TERMS:
        assert f"{term.name} {term.meaning}" in page.text


def test_accuracies_of_other_texts_say_so(tmp_path):
    """The one at the top is of the audited texts; a line may count all of the split."""
    audit = audits.full()
    of_all = audit.card["necessary"].evidence[6]._replace(n=1821)
    assert (of_all.name, audit.available > audit.n) == ("accuracy", True)
    lines = [line._replace(evidence=(of_all,)) for line in audit.card.lines[:1]]
    lines += [line._replace(evidence=(of_all._replace(n=audit.n),)) for line in audit.card.lines[1:]]
    page = page_of(replace(audit, card=replace(audit.card, every_line=tuple(lines))), tmp_path)
    said = f"Accuracies here are over all 1,821 examples. The accuracy at the top is over the {audit.n} audited ones."
    assert said in plain(page.line("necessary")[1])
    assert page.text.count("Accuracies here are over") == 1
    assert "accuracy on these examples" in page.text


def test_a_statistic_says_what_its_ends_mean(tmp_path):
    audit = audits.full(3, checks=())
    k = audit.card["points"].evidence[0]
    assert k.baseline == "0: random words; 1: the best other method that ranks words without a sign"
    page = page_of(audit, tmp_path)
    assert f"scale {k.baseline}" in plain(page.line("points")[1])
    assert page.text.count(k.baseline) == 1, "and not again with each number that it is compared with"
    assert "random words" in plain(page.line("points")[0]), "the strip says it in short"


def test_a_badge_never_relies_on_colour():
    assert len(set(SIGNS.values())) == len(SIGNS) == 5


def test_what_was_audited(audit, page):
    task, fingerprint = audit.task.split("@")
    labels = [e.gold for e in audit.examples]
    commonest = max(audit.labels, key=labels.count)
    prior = labels.count(commonest) / len(labels)
    assert audit.accuracy == np.mean([e.gold == e.predicted for e in audit.examples])
    short = f"{audit.n} of {audit.available} examples · accuracy {audit.accuracy:.2f} (majority class {prior:.2f})"
    assert short in page.text
    for words in (audit.subject, task, f"fingerprint {fingerprint}", f"{audit.n} of {audit.available}",
                  f"{audit.accuracy:.3f}", f"majority class “{commonest}”: {prior:.3f}"):  # fmt: skip
        assert words in page.text
    assert "not run: identifiability" in page.text
    assert audit.not_run["identifiability"] in page.text
    assert "Jain & Wallace 2019" in page.text
    assert "Does attention rank words like gradients and leave-one-out do" in page.text


def test_count_in_is_count_out_and_exclusions(page, tmp_path):
    short = [e.id for e in audits.full().examples if len(e.words) == 1]
    left, out = 40 - len(short), len(short)
    assert out > 1
    assert page.text.count(f"{left} measured, {out} left out, 40 in all") == len(audits.CHECKS)
    assert f"{out} : it has only one word, whose weight cannot move ({', '.join(short)})" in page.text
    whole = page_of(audits.full(checks=["gauge"]), tmp_path)
    assert "46 measured, 0 left out, 46 in all" in whole.text


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "srcset", "action"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#"), "links lead to other places of the page"
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in page.styles
    assert "@import" not in page.styles
    policy = next(attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "http" not in page.scripts["figure-specs"]


def test_the_drawing_script_is_there_once_and_only_with_figures(page, tmp_path):
    assert page.source.count("window.vegaEmbed=") == 1
    drawn = [attributes["data-figure"] for _, attributes in page.tags if "data-figure" in attributes]
    assert drawn == list(page.specs)
    assert [name.partition("-")[0] for name in drawn] == (
        ["agreement"] * 3 + ["erasure", "permutation"] + ["counterfactual"] * 2
    )
    assert "window.vegaEmbed=" not in page_of(audits.nothing_run(), tmp_path).source


def rows_of(page, caption):
    """The rows of the table with this caption, as lists of text."""
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_a_jsd_never_stands_alone(audit, page):
    """Its floor, its null, the most there is and what the published search misses are in its row."""
    columns, *rows = rows_of(page, "The largest JSD (nats)")
    assert columns[4:] == ["floor", "shuffled relevances", "largest, any answer", "missed by the published search", "n"]
    assert [row[1] for row in rows] == ["0.05", "0.01", "0.001", "0.05"]
    found = audit.results["counterfactual"]
    places = [("published", 0.05), ("published", 0.01), ("published", 0.001), ("standardised", 0.05)]
    for row, (logits, epsilon) in zip(rows, places, strict=True):
        by = {"epsilon": epsilon, "logits": logits}
        jsd = next(m for m in found.measurements if m.name == "jsd" and m.by == by)
        wanted = [jsd, found.find("floor"), found.find("null", **by), found.find("most")]
        wanted += [found.find("gap", **by)] if logits == "published" else []
        assert [row[2], *row[4:7]] == [number(m.value) for m in wanted[:4]]
        assert row[7] == (number(wanted[4].value) if logits == "published" else "–"), "searched as published only"
    u, null = (found.find(name, epsilon=0.05, logits="standardised") for name in ("U", "U_null"))
    shown = rows_of(page, "U: the same JSD as a share")[1][2:5]
    assert shown == [
        f"{u.value:.3f}",
        f"[{u.low:.3f}, {u.high:.3f}]",
        f"{null.value:.3f} [{null.low:.3f}, {null.high:.3f}]",
    ]
    assert "A large JSD alone says nothing." in page.text
    assert "no search can find more" in page.text


@pytest.mark.parametrize(
    ("method", "said"), [("bracket", "no weights can pass the upper bound"), ("search", "proves nothing")]
)
def test_what_is_not_exact_says_so(tmp_path, method, said):
    """An upper bound where there is one; no floor, which only two words of a two-label model have."""
    audit = audits.full(checks=["counterfactual"])
    found = audits.bounded(audit.results["counterfactual"], method)
    page = page_of(replace(audit, results={"counterfactual": found}), tmp_path)
    columns = rows_of(page, "The largest JSD (nats)")[0]
    assert "upper bound" in columns
    assert "floor" not in columns
    assert said in page.text
    assert "no search can find more" not in page.text
    told = [row for row in page.examples["examples"] if "j" in row]
    assert len(told) == len(found.examples)
    assert all("f" not in row for row in told)


def test_shuffling_by_class_and_largest_weight(audit, page):
    columns, *rows = rows_of(page, "Median change of the output")
    assert columns == ["class", "all", "0.00–0.25", "0.25–0.50", "0.50–0.75", "0.75–1.00"]
    assert [row[0] for row in rows] == list(audit.labels)
    found = [m for m in audit.results["permutation"].measurements if m.name == "delta" and "class" in m.by]
    wanted = {(m.by["class"], m.by.get("bin", "all")): f"{number(m.value)} (n = {m.n})" for m in found}
    assert len(wanted) > 6
    for row in rows:
        assert row[1:] == [wanted.get((row[0], column), "–") for column in columns[1:]]


def test_texts_carry_what_the_checks_found_of_them(tmp_path):
    """By id: a check may have left texts out, or have them in another order."""
    audit = audits.full(5)
    results = {}
    for check in ("permutation", "counterfactual"):
        found = audit.results[check]
        per_example = {name: np.array([values[3], values[1]]) for name, values in found.per_example.items()}
        per_example["delta"] = np.array([0.25, np.nan])
        ids = (audit.examples[3].id, audit.examples[1].id)
        results[check] = replace(found, examples=ids, per_example=per_example)
    data = page_of(replace(audit, results=results), tmp_path).examples
    rows = data["examples"]
    assert [{*"jfmckd"} & row.keys() for row in rows] == [set(), {*"jfmck"}, set(), {*"jfmckd"}, set()]
    assert rows[3]["d"] == 0.25
    assert rows[1]["j"] == pytest.approx(audit.results["counterfactual"].per_example["jsd:published:0.05"][1], abs=1e-3)
    assert rows[1]["k"] == pytest.approx(audit.results["permutation"].per_example["q"][1], abs=1e-3)
    assert data["explainers"][:2] == ["attention", "counterfactual"]
    assert data["names"][1] == "weights that give the same answer"
    assert data["rival"] == "leave_one_out", "weights made from attention are no rival of it"


SHADES = ("one", "row")  # of weights


def test_orders_that_nothing_was_found_for_are_not_offered(page, tmp_path):
    def offered(of):
        return [
            attributes["value"] for tag, attributes in of.tags if tag == "option" and attributes["value"] not in SHADES
        ]

    assert offered(page) == ["given", "disagreement", "j", "k", "d", "wrong"]
    bare = audits.full(3)
    del bare.results["counterfactual"]
    assert offered(page_of(bare, tmp_path)) == ["given", "disagreement", "k", "d", "wrong"]


def as_long(example, length):
    """The same again and again, until it has so many words."""

    def repeated(values):
        return tuple(values[at % len(values)] for at in range(length))

    scores = {name: repeated(values) for name, values in example.scores.items()}
    return example._replace(words=repeated(example.words), scores=scores, rationale=None)


def test_two_thousand_examples_fit_in_five_megabytes(tmp_path):
    audit = audits.full(2000)
    longer = [as_long(example, 20) for example in audit.examples]
    path = write_report(replace(audit, examples=longer), tmp_path / "report.html")
    page = Page(path)
    assert path.stat().st_size < 5_000_000
    assert len(page.examples["examples"]) == 2000
    assert len(page.examples["explainers"]) == len(audit.examples[0].scores) > 4
    assert "would make it larger" not in page.text


def test_what_does_not_fit_is_counted(tmp_path):
    audit = audits.full(60)
    long = [
        e._replace(words=("Wörter" * 20_000,), scores={"attention": (1.0,)}, rationale=None) for e in audit.examples
    ]
    path = write_report(replace(audit, examples=long), tmp_path / "report.html")
    page = Page(path)
    kept = len(page.examples["examples"])
    assert path.stat().st_size < 5_000_000
    assert 0 < kept < 60
    assert f"{kept} of 60 examples are in this page" in page.text


def test_words_never_become_markup(tmp_path):
    page = page_of(audits.hostile(), tmp_path)  # Page itself asserts that tags nest
    assert not {tag for tag, _ in page.tags} & {"img", "i", "u"}
    assert "<img src=http://evil.example/x.png>" in page.text
    assert "<script>alert" not in page.source
    odd = page.examples["examples"][0]
    assert odd["w"][0] == "<script>alert(1)</script>"
    assert odd["w"][1:5] == ['"quoted"', "</script>", "a&b", "👩🏽‍🚀"]
    assert odd["w"][5] == "?", "half an emoji"
    assert read(odd["s"][0], page.examples["digits"][0]) == [0.5, None, None, 0.1, 0.2, 0, 0, 0.2]
    assert odd["q"] is None


def test_labels_reasons_and_settings_are_escaped(tmp_path):
    audit = audits.full(3)
    agreement = replace(audit.results["agreement"], excluded={"<hr>": "<hr> why"}, settings={"<hr>": "<hr>"})
    page = page_of(replace(audit, results={"agreement": agreement}, not_run={"<hr>": "<hr>"}), tmp_path)
    assert "hr" not in {tag for tag, _ in page.tags}
    assert page.text.count("<hr>") >= 5


def test_an_audit_without_results(tmp_path):
    """Every line says that it was not run and what would run it; nothing is left over from numbers."""
    audit = audits.nothing_run()
    page = page_of(audit, tmp_path)
    for line in audit.card.every_line:
        row, beneath = map(plain, page.line(line.short))
        would = f"Run: {line.reason}" if line.undecided == "not run" else "Nobody marked a rationale in these texts."
        assert f"○ {line.badge}" in row
        assert f"{line.question} Not tested. {would} details" in row
        assert "what stays the same" not in beneath
        assert "quantity" not in beneath
    assert "Not decided: whether the highlighted words matter was not tested." in page.text
    assert "This would decide it: heatcheck audit" in page.text
    for kind in ("strip", "opening", "instead", "cells"):
        assert not [tag for tag, attributes in page.tags if attributes.get("class") == kind]
    assert "This audit kept no examples." in page.text
    assert not {"nan", "none", "–"} & {*re.findall(r"[\w–]+", plain(page.section("answer")).lower())}
    assert "nan" not in re.findall(r"\w+", page.text.lower())


def test_one_text_and_not_a_number(tmp_path):
    page = page_of(audits.no_numbers(), tmp_path)
    assert "nan" not in re.findall(r"\w+", page.text.lower())
    assert page.specs == {}
    assert len(page.examples["examples"]) == 1


def test_rows_of_a_class_that_nobody_predicts(tmp_path):
    audit = audits.full(8)
    positive = [e._replace(predicted="positive") for e in audit.examples]
    page = page_of(replace(audit, examples=positive), tmp_path)
    panels = page.specs["agreement-histogram"]["vconcat"]
    assert [panel["title"] for panel in panels] == [f"n = {len(audit.results['agreement'].examples)}"]


def test_only_decided_lines_ask_for_anything():
    lines = audits.in_every_state().card.lines
    assert len(advised(Card(lines, 1.0))) == 2
    assert advised(Card((lines[0], lines[3]), 1.0)) == []
    assert advised(Card((lines[1]._replace(advice=""),), 1.0)) == [lines[1].sentence]


def test_advice_does_not_contradict_the_numbers_beside_it():
    """A twin without attention is another model; of a line that has numbers, something is known."""
    line = audits.full(checks=()).card["necessary"]
    assert (line.state, line.route) == ("no", "gauge twin")
    assert advice(line).startswith("Another model, with equal weights, makes the same decisions")
    assert "left out" not in advice(line)
    swapped = LINES["necessary"].line(Found("no", "", "", route="swap"), line.evidence[2:3], "")
    assert advice(swapped).startswith("Attention could be left out at next to no cost")
    idle = line._replace(state="not run", sentence="Uniform weights move it by 0.15.")
    assert advice(idle) == "Not decided: Uniform weights move it by 0.15."
    assert advice(idle._replace(evidence=())) == "Not run: nothing is known about this."


def channel(value):
    return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour):
    red, green, blue = (channel(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_shades_read_in_greyscale_and_carry_their_words(page):
    """In both themes: each step darker (or lighter) than the last, text at 4.5 to 1."""
    found = re.findall(r"--h(\d+): (#\w{6}); --g\d+: (#\w{6}); --i\d+: (#\w{6})", page.styles)
    assert [int(level) for level, *_ in found] == [*range(11), *range(11)]
    weights, scores = ([(level, (blue, grey)[at], ink) for level, blue, grey, ink in found] for at in (0, 1))
    themes = [(of[part], order) for of in (weights, scores) for part, order in ((slice(11), -1), (slice(11, 22), 1))]
    for theme, order in themes:
        shades = [luminance(shade) for _, shade, _ in theme]
        assert sorted(shades, reverse=order < 0) == shades
        for _, shade, ink in theme:
            light, dark = sorted((luminance(shade), luminance(ink)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_kind_without_labels_is_shown_as_far_as_it_goes(tmp_path):
    """Something that chooses no label has neither accuracy nor predictions; nothing is said in their place."""
    audit = audits.full(2, checks=["erasure"])
    bare = [one._replace(gold=None, predicted=None, probability=None) for one in audit.examples]
    audit = replace(audit, kind="answers", labels=None, accuracy=None, commonest=None, examples=bare, units="tokens")
    keep_audit(audit, tmp_path)
    again = read_audit(tmp_path)
    assert (again.kind, again.labels, again.accuracy, again.examples[0].predicted) == ("answers", None, None, None)
    text = Page(write_report(again, tmp_path / "report.html")).text
    markdown = write_markdown(again, tmp_path / "report.md").read_text()
    compared = write_comparison({"one": again, "other": again}, tmp_path / "two.md").read_text()
    for written in (text, markdown, compared, notebook.audit_html(again), repr(again)):
        assert "None" not in written
    assert "accuracy on these examples" not in text + markdown
    assert "tokens" in markdown

"""Models side by side: what each card says, whether the numbers can be compared, and differences text by text."""

import csv
import json
import re
from dataclasses import replace

import audits
import numpy as np
import pytest
from parsed import Page, plain

from heatcheck.errors import BadInput, UnknownName
from heatcheck.report import write_comparison
from heatcheck.report.audit_figures import draw_comparison
from heatcheck.report.comparison import compare
from heatcheck.report.comparison_page import card_rows
from heatcheck.report.view import view_of
from heatcheck.results import headline_of
from heatcheck.results.written import interval, number

MEASURED = 37  # of the 40 texts: the others are one word


def moved(audit, check, name, by):
    """The same audit with a value of every text moved by so much."""
    result = audit.results[check]
    values = {**result.per_example, name: result.per_example[name] + by}
    return replace(audit, results={**audit.results, check: replace(result, per_example=values)})


@pytest.fixture(scope="module")
def pair():
    first = audits.full(checks=(*audits.CHECKS, "necessity"))
    second = moved(audits.full(), "permutation", "q", 0.25)
    return {
        "the lstm": first,
        "the <b>cnn</b>": replace(second, subject="cnn", not_run={"necessity": "needs | --refit"}),
    }


@pytest.fixture(scope="module")
def page(pair, tmp_path_factory):
    return Page(write_comparison(pair, tmp_path_factory.mktemp("compared") / "comparison.html"))


def test_it_opens_with_the_answer_of_each_model(tmp_path):
    """And with what would decide it, and what to show instead."""
    found = {"failing": audits.pointing_elsewhere(), "untested": audits.nothing_run(), "pointing": audits.full()}
    page = Page(write_comparison(found, tmp_path / "comparison.html"))
    shown = plain(page.section("answers"))
    assert page.source.index('id="answers"') < page.source.index('id="comparable"') < page.source.index('id="cards"')
    command = 'heatcheck explain MODEL "TEXT" --by leave_one_out'
    failing, untested, pointing = (headline_of(audit.card) for audit in found.values())
    differs = (
        "They differ in one line: Do the highlighted words matter? No for failing; not run for untested; "
        "yes for pointing."
    )
    assert shown == " ".join(
        ("3 models side by side: can their attention heatmaps be read as explanations?", differs,
         "Not comparable one by one. Why", "failing", failing.answer, failing.instead, "For new texts:", command,
         "untested", untested.answer, untested.next, "pointing", pointing.answer)
    )  # fmt: skip
    assert untested.next == "This would decide it: heatcheck audit"
    markdown = write_comparison(found, tmp_path / "comparison.md").read_text(encoding="utf-8").split("\n\n")
    assert markdown[1] == f"**{differs}**"
    assert markdown[2:10] == [
        "## failing", f"**{failing.answer}**", f"{failing.instead} For new texts: `{command}`",
        "## untested", f"**{untested.answer}**", untested.next, "## pointing", f"**{pointing.answer}**",
    ]  # fmt: skip


def test_every_line_of_every_card_is_in_the_table(page, pair):
    for audit in pair.values():
        for line in audit.card.every_line:
            assert line.name in page.text
            for m in line.evidence[:1]:
                for words in (number(m.value), interval(m), f"n = {m.n}", m.baseline):
                    assert words in page.text
    assert [row.name for row in card_rows(compare(pair))] == [
        "necessary",
        "points at what matters",
        "hard to manipulate",
        "works out of context",
        "across models",
        "plausible to people",
    ]
    assert "the <b>cnn</b>" in page.text  # as words


def test_the_page_loads_nothing_and_draws_what_both_have(page, pair):
    assert not [tag for tag, attrs in page.tags if "src" in attrs or not attrs.get("href", "#").startswith("#")]
    drawn = {figure.name for figure in draw_comparison(pair)}
    assert drawn == {f"compare-{check}" for check in ("agreement", "erasure", "permutation", "counterfactual")}
    assert set(page.specs) == drawn == {a["data-figure"] for _, a in page.tags if "data-figure" in a}


def test_same_texts_and_settings_can_be_compared(page, pair):
    found = compare(pair)
    assert found.comparable
    assert "Both were audited on the same 40 texts of reviews.jsonl (split test, seed 0)" in page.text
    assert "Not one by one." not in page.text
    assert [one.what for one in found.lacking] == ["Doing without learned attention"]
    assert found.lacking[0].values == ("yes", "needs | --refit")
    assert "needs | --refit" in page.text


def of_setting(audit, **settings):
    """As if the weights had been shuffled otherwise."""
    of_all = audit.about["settings"]
    changed = {**of_all, "permutation": {**of_all["permutation"], **settings}}
    return replace(audit, about={**audit.about, "settings": changed})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda a: replace(a, task="imdb@77"), "task"),
        (lambda a: replace(a, split="dev"), "split"),
        (lambda a: replace(a, seed=4), "seed"),
        (lambda a: replace(a, labels=("bad", "good")), "labels"),
        (lambda a: replace(a, n=39, examples=a.examples[1:]), "number of texts"),
        (lambda a: replace(a, examples=[*a.examples[1:], a.examples[0]._replace(id="other")]), "which texts"),
        (lambda a: replace(a, about={**a.about, "card": {**a.about["card"], "points": 0.7}}), "card.points"),
        (lambda a: of_setting(a, repeats=7), "permutation.repeats"),
    ],
)
def test_what_differs_is_named(change, what, tmp_path):
    audit = audits.full()
    found = compare({"a": audit, "b": change(audit)})
    assert not found.comparable
    assert what in [one.what for one in found.differing if one.matters]
    assert what in found.statement
    shown = write_comparison(found, tmp_path / "c.md").read_text()
    assert f"These audits differ in: {what}" in shown
    assert f"\n| {what} |" in shown


def test_another_version_hardly_matters():
    audit = audits.full(10)
    found = compare({"a": audit, "b": replace(audit, about={**audit.about, "heatcheck": "0.0.9"})})
    assert [(one.what, one.matters) for one in found.differing] == [("version of heatcheck", False)]
    assert found.comparable


def paired_of(found):
    return {one.name: one for one in found.paired}


def test_differences_are_paired_text_by_text(pair):
    found = paired_of(compare(pair))
    q = found["q"]
    assert q.difference == pytest.approx((0.25, 0.25, 0.25, MEASURED))  # every text moved alike: no spread
    assert q.settled
    assert q.model == "the <b>cnn</b>"
    assert found["delta"].difference == pytest.approx((0, 0, 0, MEASURED))
    assert not found["delta"].settled
    assert "tau:attention|gradient" in found
    assert not {"tau:attention|random", "tau:gradient|leave_one_out", "max_attention"} & found.keys()


def test_texts_are_paired_by_id_whatever_their_order():
    audit = audits.full()
    result = audit.results["permutation"]
    turned = replace(
        result,
        examples=result.examples[::-1],
        per_example={name: values[::-1] for name, values in result.per_example.items()},
    )
    found = paired_of(compare({"a": audit, "b": replace(audit, results={**audit.results, "permutation": turned})}))
    assert found["delta"].difference == pytest.approx((0, 0, 0, MEASURED))


def test_only_texts_with_a_value_in_both_count():
    audit = audits.full()
    holed = moved(audit, "permutation", "q", np.where(np.arange(MEASURED) < 3, np.nan, 0.1))
    fewer = replace(holed, n=30, examples=audit.examples[:30])
    found = paired_of(compare({"a": audit, "b": fewer}))
    assert found["q"].difference == pytest.approx((0.1, 0.1, 0.1, MEASURED - 3))
    assert found["q"].common == MEASURED
    assert found["right"].difference.n == found["right"].common == 30


def test_other_data_and_other_settings_are_not_paired(tmp_path):
    audit = audits.full()
    found = compare({"a": audit, "b": replace(audit, task="imdb@77"), "c": of_setting(audit, repeats=7)})
    assert {one.model for one in found.paired} == {"c"}
    assert "permutation" not in {one.check for one in found.paired}
    assert found.not_paired == [
        "b: its data differs from that of a.",
        f"c: {view_of('permutation').title} has other settings than for a.",
    ]
    page = Page(write_comparison(found, tmp_path / "c.html"))
    assert "Not one by one." in page.text
    assert "its data differs from that of a" in page.text


def test_a_certificate_is_not_compared_with_an_estimate(tmp_path):
    audit = audits.full()
    sure = audit.card["necessary"]
    assert (sure.certified, sure.evidence[0].name) == (True, "agreement")
    unsure = audits.in_state(sure, "no", evidence=sure.evidence[1:])
    both = {name: audits.with_line(audit, line) for name, line in {"a": sure, "b": unsure}.items()}
    assert [row.alike for row in card_rows(compare(both))] == [False, True, True, True, True, True]
    assert "necessary (different statistics)" in write_comparison(both, tmp_path / "c.md").read_text()


def test_six_models_look_different_in_every_figure():
    audit = audits.full(checks=(*audits.CHECKS, "necessity"))
    figures = draw_comparison({f"model {at}": audit for at in range(6)})
    assert len(figures) == 5
    for figure in figures:
        told = json.dumps(figure.spec)
        ranges = re.findall(r'"range": (\[(?:"[^"]*"|\[[^\]]*\]|, )*\])', told)
        assert ranges
        for one in map(json.loads, ranges):
            assert len({json.dumps(look) for look in one}) == len(one) == 6
    one_check = replace(audit, results={"permutation": audit.results["permutation"]})
    (lacking,) = draw_comparison({"a": replace(audit, results={}), "b": one_check, "c": one_check})
    colours = json.loads(re.search(r'"range": (\["#[^\]]*\])', json.dumps(figures[0].spec))[1])
    assert f'"range": {json.dumps(colours[1:3])}' in json.dumps(lacking.spec)  # b keeps its colour where a has nothing


@pytest.mark.parametrize("odd", [audits.nothing_run, audits.no_numbers, audits.hostile])
@pytest.mark.parametrize("suffix", ["html", "md", "json", "csv"])
def test_odd_audits_can_be_compared(odd, suffix, tmp_path):
    path = write_comparison({"odd": odd(), "again | <i>": odd(), "full": audits.full(5)}, tmp_path / f"c.{suffix}")
    assert "nan" not in path.read_text(encoding="utf-8").lower().replace("nanosec", "") or suffix == "html"
    if suffix == "html":
        assert "http://evil.example" not in re.sub(r"<script.*?</script>", "", path.read_text(), flags=re.DOTALL)


def test_numbers_as_json_and_csv(pair, tmp_path):
    facts = json.loads(write_comparison(pair, tmp_path / "c.json").read_text())
    assert list(facts["models"]) == list(pair)
    assert facts["comparable"] is True
    points = facts["models"]["the lstm"]["card"]["points at what matters"]
    k = pair["the lstm"].results["erasure"].find("K", operator="deletion")
    assert (points["state"], points["evidence"][0]["value"]) == ("yes", k.value)
    (q,) = [one for one in facts["paired"] if one["name"] == "q"]
    assert (q["difference"]["n"], q["minus"]) == (MEASURED, "the lstm")
    assert q["difference"]["value"] == pytest.approx(0.25)
    with write_comparison(pair, tmp_path / "c.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert sum(row["part"] == "card" for row in rows) == 12
    (q,) = [row for row in rows if row["name"] == "permutation: q"]
    assert (float(q["value"]), q["n"], q["baseline"]) == (pytest.approx(0.25), str(MEASURED), "0: no difference")


def test_markdown_says_the_same(pair, tmp_path):
    text = write_comparison(pair, tmp_path / "c.md").read_text()
    assert "Both were audited on the same 40 texts" in text
    assert "the &lt;b&gt;cnn&lt;/b&gt;" in text
    assert "needs \\| --refit" in text
    k = pair["the lstm"].results["erasure"].find("K", operator="deletion")
    assert f"✓ yes: {k.value:.3f} [{k.low:.3f}, {k.high:.3f}], n = {k.n}" in text
    for table in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


def test_one_is_too_few_seven_too_many_and_no_other_endings(tmp_path):
    audit = audits.full(3)
    for count in (1, 7):
        with pytest.raises(BadInput, match=f"a comparison takes 2 to 6 audits, not {count}"):
            compare({str(at): audit for at in range(count)})
    with pytest.raises(UnknownName, match=r"unknown format of a comparison '.pdf'"):
        write_comparison({"a": audit, "b": audit}, tmp_path / "c.pdf")
    assert not list(tmp_path.iterdir())

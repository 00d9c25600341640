"""The Markdown says what the audit found, and no word of others becomes markup; the JSON has all of it."""

import json
import re
from dataclasses import replace

import audits
import numpy as np
import pytest

from heatcheck.report import write_markdown, write_numbers
from heatcheck.report.advice import advised
from heatcheck.report.markdown import escaped
from heatcheck.report.view import view_of
from heatcheck.results import AUDIT, FORMAT, audit_facts, headline_of, keep_audit
from heatcheck.results.written import interval, number


@pytest.fixture(scope="module")
def audit():
    audit = audits.full(checks=(*audits.CHECKS, *audits.REFITTED))
    failed = replace(audit.results["necessity"], not_run={"seed 3, uniform weights": "no memory left"})
    return replace(audits.in_every_state(), results={**audit.results, "necessity": failed})


@pytest.fixture(scope="module")
def text(audit, tmp_path_factory):
    return write_markdown(audit, tmp_path_factory.mktemp("markdown") / "report.md").read_text(encoding="utf-8")


def test_the_card_is_said_in_full(audit, text):
    card = audit.card
    for line in card.every_line:
        for words in (line.name, line.question, line.sentence, line.reason, line.cannot_see):
            assert escaped(words) in text
        for m in line.evidence:
            assert f"| {number(m.value)} | {interval(m)} | {m.n}" in text
    headline = headline_of(card)
    for words in (headline.answer, *headline.may_say, *headline.do_not_say, *advised(card)):
        assert escaped(words) in text
    assert text.index(headline.answer) < text.index("## The card") < text.index("## Agreement with")


def test_it_opens_with_the_answer_what_would_decide_it_and_what_to_show_instead(tmp_path):
    def opening(audit):
        return write_markdown(audit, tmp_path / "report.md").read_text(encoding="utf-8").split("\n\n")[1:4]

    failing = audits.pointing_elsewhere()
    answer, instead, sayings = opening(failing)
    headline = headline_of(failing.card)
    assert answer == f"**{headline.answer}**"
    assert instead == f'{headline.instead} For new texts: `heatcheck explain MODEL "TEXT" --by leave_one_out`'
    assert sayings.startswith("- you may say: “")
    answer, decides, sayings = opening(audits.nothing_run())
    assert answer == "**Not decided: whether the highlighted words matter was not tested.**"
    assert decides == "This would decide it: heatcheck audit"
    assert opening(audits.full())[1].startswith("- you may say: “"), "neither, where neither is"


def test_every_check_has_its_section(audit, text):
    for check in (*audits.CHECKS, *audits.REFITTED):
        assert f"\n## {view_of(check).title} ({check})\n" in text
    assert "what stays the same: " in text
    short = [e.id for e in audit.examples if len(e.words) == 1]
    left, out = 40 - len(short), len(short)
    assert text.count(f"examples: {left} measured, {out} left out, 40 in all") == len(audits.CHECKS)
    assert f"**{out}**: it has only one word, whose weight cannot move ({', '.join(short)})" in text
    assert "paper: Jain &amp; Wallace 2019" in text
    assert (
        "*Does attention rank words like gradients and leave-one-out do, and how much of this is mechanical?*" in text
    )
    assert "Not run:** seed 3, uniform weights (no memory left)" in text
    assert f"not run: identifiability: {audit.not_run['identifiability']}" in text


def test_tables_have_as_many_cells_in_every_row(audit, text):
    tables = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    assert len(tables) > 20
    for table in tables:
        lines = table.splitlines()
        assert set(lines[1]) <= set("|-: ")
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, table
    k = audit.results["erasure"].find("K", operator="deletion")
    assert f"| {k.value:.3f} | [{k.low:.3f}, {k.high:.3f}] | {k.n} |" in text  # numbers are left as they are


@pytest.mark.parametrize(
    ("words", "safe"),
    [
        ("a | b", r"a \| b"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("two\nlines\r\n\nmore", "two lines more"),
        ("*bold* `code` ~~gone~~ $x$", r"\*bold\* \`code\` \~\~gone\~\~ \$x\$"),
        ("leave_one_out _x_", r"leave_one_out \_x\_"),
        ("[a](b) ![c](d) [1, 2]", r"[a\](b) ![c\](d) [1, 2]"),
        ("http://w.x www.x.y", "http&#58;//w.x www&#46;x.y"),
        ("# title", r"\# title"),
        ("1. item", r"1\. item"),
        ("1.000", "1.000"),
        ("- item", r"\- item"),
        (r"a\|b", r"a\\\|b"),
    ],
)
def test_words_of_others_are_shown_as_they_are(words, safe):
    assert escaped(words) == safe


@pytest.mark.parametrize("odd", [audits.nothing_run, audits.no_numbers, audits.hostile])
def test_odd_audits(odd, tmp_path):
    audit = replace(odd(), not_run={"a | b": "two\nlines | <b>"})
    text = write_markdown(audit, tmp_path / "new" / "report.md").read_text(encoding="utf-8")
    assert not re.search(r"\bnan\b", text)
    assert "<img" not in text
    assert "http://" not in text
    assert "<b>" not in text
    assert r"not run: a \| b: two lines \| &lt;b&gt;" in text


def test_json_has_everything_in_plain_numbers(tmp_path):
    audit = audits.full(6)
    audit.results["permutation"].per_example["q"][2] = np.nan
    facts = json.loads(write_numbers(audit, tmp_path / "report.json").read_text())
    assert (facts["subject"], facts["n"], facts["seed"], facts["labels"]) == (audit.subject, 6, 0, list(audit.labels))
    k = audit.results["erasure"].find("K", operator="deletion").value
    assert facts["card"][1]["evidence"][0]["value"] == k
    assert [line["name"] for line in facts["card"]] == [line.name for line in audit.card.lines]
    assert [facts[name]["name"] for name in facts["apart"]] == [line.name for line in audit.card.apart]
    assert facts["headline"]["answer"] == headline_of(audit.card).answer
    assert list(facts["results"]) == list(audit.results)
    for name, result in audit.results.items():
        of = facts["results"][name]
        assert [m["value"] for m in facts["measurements"][name]] == [m.value for m in result.measurements]
        assert list(facts["per_example"][name]) == list(result.per_example)
        assert (of["examples"], of["seed"]) == (list(result.examples), result.seed)
        assert facts["excluded"][name] == result.excluded
        assert facts["said"][name]["title"]
    q = facts["per_example"]["permutation"]["q"]
    assert q[2] == {"$number": "nan"}
    assert q[:2] == audit.results["permutation"].per_example["q"][:2].tolist()
    assert facts["examples"][0]["words"] == list(audit.examples[0].words)
    assert facts["examples"][0]["scores"]["attention"] == list(audit.examples[0].scores["attention"])
    assert facts["not_run"] == audit.not_run


def test_every_json_of_an_audit_is_the_same_thing(tmp_path):
    audit = audits.full(3)
    keep_audit(audit, tmp_path)
    kept = json.loads((tmp_path / AUDIT).read_text())
    shown = json.loads(json.dumps(audit_facts(audit)))
    assert {**kept, **shown} == kept, "audit.json has two digests more"
    assert kept.keys() - shown.keys() == {"arrays", "facts"}
    facts = json.loads(write_numbers(audit, tmp_path / "report.json").read_text())
    assert all(facts[key] == value for key, value in shown.items() if key != "examples")
    assert facts["format"] == FORMAT
    for whole, short in zip(facts["examples"], shown["examples"], strict=True):
        assert whole | short == whole, "and its scores"


@pytest.mark.parametrize("odd", [audits.nothing_run, audits.no_numbers, audits.hostile])
def test_json_of_odd_audits(odd, tmp_path):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    json.loads(write_numbers(odd(), tmp_path / "r.json").read_text(encoding="utf-8"), parse_constant=refuse)

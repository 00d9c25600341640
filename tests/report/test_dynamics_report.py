"""Attention over training, as a page shows it: every agreement beside its floor, and texts to scrub through."""

import math
from dataclasses import replace

import audits
import pytest

from heatcheck.report import write_report
from heatcheck.report.checks.dynamics import agreement_over_training, texts_over_training, when
from heatcheck.report.sections import every_number, tables_of
from heatcheck.results import CheckResult, Measurement

STEPS = [0, 10, 100]
PAIRS = (["attention", "final uniform relevance"], ["attention", "relevance"])


def measured(name, value, **by):
    return Measurement(name, value, value - 0.05, value + 0.05, 5, "floor", by)


def made(start=10.0, **changes):
    rows = [Measurement("prior", 0.5, 0.5, 0.5, 200, "none", {})]
    for at, step in enumerate(STEPS):
        rows += [measured("evenness", 1 - at / 4, step=step)]
        rows += [measured("accuracy", 0.5 + at / 8, fit=fit, step=step) for fit in ("learned", "uniform", "proxy")]
    for pair in PAIRS:
        for name, values in {"A": (0.06, 0.5, 0.4), "A_floor": (0.06,) * 3, "A_above": (0.0, 0.44, 0.34)}.items():
            curve = [measured(name, value, pair=pair, step=step) for value, step in zip(values, STEPS, strict=True)]
            rows += [*curve, curve[-1]._replace(by={**curve[-1].by, "at": "last"})]
        rows += [measured("A", 0.5, pair=pair, step=10, at="max")]
        rows += [
            Measurement("starts", start, 0.0 if start == 10 else 100.0, start, 5, "100: the last step", {"pair": pair})
        ]
    rows += [measured("xi", 0.7, foretold_by="relevance", step=10, reached=True)]
    rows += [measured("xi", 0.8, foretold_by="influence", step=100, reached=False)]
    words = ["a", "dull", "film"]
    votes = [[0.1, -0.2, 0.3], [0.0, 2.0, 0.1], [0.0, 4.0, -1.0]]
    text = {"id": "a", "words": words, "label": "negative", "attention": [[0.3, 0.4, 0.3]] * 3}
    shown = [{**text, "relevance": votes, "uniform_relevance": votes}]
    facts = {"steps": STEPS, "shown_texts": shown, **changes}
    return CheckResult("dynamics", "m", "retrained", tuple(rows), ("a", "b"), {}, {}, {}, 0, facts=facts)


def test_a_row_a_pair_with_its_floor_and_its_start():
    at_the_end, foretold = tables_of(made())
    assert [row[0] for row in at_the_end.rows] == [
        "attention and final relevance under uniform weights",
        "attention and relevance",
    ]
    assert at_the_end.rows[0][1:] == (
        "0.400 [0.350, 0.450]",
        "0.060 [0.010, 0.110]",
        "0.340 [0.290, 0.390]",
        "–",
        "0.500 at step 10",
        "between steps 0 and 10",
        "5\N{NO-BREAK SPACE}seeds",
    )
    assert [row[:4] for row in foretold.rows] == [
        ("relevance", "0.700", "[0.650, 0.750]", "10"),
        ("influence", "more than 0.800", "[0.750, 0.850]", "never"),
    ]


@pytest.mark.parametrize(
    ("start", "words"), [(10.0, "between steps 0 and 10"), (math.inf, "not by step 100"), (100.0, "by step 100")]
)
def test_when_it_starts_in_words(start, words):
    assert when(made(start)) == words


def test_every_number_says_that_it_is_over_seeds():
    rows = every_number(made()).rows
    assert {row[4] for row in rows[1:]} == {"5\N{NO-BREAK SPACE}seeds"}
    assert all("_" not in row[0] + row[1] for row in rows)


def test_a_panel_a_pair_each_with_its_floor():
    figure = agreement_over_training(made(), {})
    panels = figure.spec["concat"]
    assert [panel["title"] for panel in panels] == [
        ["attention and", "final relevance under uniform weights"],
        "attention and relevance",
        "evenness of the weights",
        "accuracy",
    ]
    assert [(row["line"], row["step"], row["y"]) for row in panels[0]["data"]["values"]] == [
        (line, step, y)
        for line, values in (("agreement A", (0.06, 0.5, 0.4)), ("the second shuffled", (0.06,) * 3))
        for step, y in zip(STEPS, values, strict=True)
    ]
    looks = panels[0]["layer"][0]["encoding"]["color"]["scale"]["domain"]
    drawn = {row["line"] for panel in panels for row in panel["data"]["values"]}
    assert drawn == set(looks), "each line has its colour"
    assert (
        "agree in 0.400 of the texts (0.060 by chance). Agreement above chance starts between steps 0 and 10"
        in figure.caption
    )
    assert agreement_over_training(replace(made(), measurements=()), {}) is None


def test_a_slider_over_the_checkpoints():
    figure = texts_over_training(made(), {})
    (slider,) = figure.spec["params"]
    assert (slider["value"], slider["bind"]["max"]) == (2, 2)
    (panel,) = figure.spec["vconcat"]
    data = panel["data"] if "data" in panel else figure.spec["data"]  # altair hoists what all panels share
    rows = data["values"]
    assert len(rows) == 3 * 3 * 3
    (top,) = [r for r in rows if r["kind"] == "relevance" and r["word"] == "dull" and r["step"] == 100]
    assert (top["value"], top["shade"]) == (4.0, 1.0)
    assert "after 0, 10, 100 steps" in figure.caption
    assert texts_over_training(made(shown_texts=[]), {}) is None


def test_the_page(tmp_path):
    audit = replace(audits.full(4), results={"dynamics": made()})
    page = write_report(audit, tmp_path / "report.html").read_text()
    for words in ("Attention and relevance during training", "how the weights arise", "dynamics-texts"):
        assert words in page

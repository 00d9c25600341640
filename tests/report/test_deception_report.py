"""Models trained to deceive, as a page shows them: every number beside the honest one and what it is read against."""

from dataclasses import replace

import audits
import pytest

from heatcheck.report import write_figures, write_report
from heatcheck.report.checks.deception import accuracy_by_mass
from heatcheck.report.figures.accuracy_scatter import kinds_in, span_of
from heatcheck.report.sections import every_number, tables_of
from heatcheck.results import CheckResult, Measurement

KINDS = {
    "honest": ({"fit": "honest"}, 0.92, 0.8),
    "λ = 0.1": ({"fit": "deceptive", "strength": 0.1}, 0.91, 0.3),
    "λ = 1": ({"fit": "deceptive", "strength": 1.0}, 0.6, 0.00021),
    "gauge twin": ({"fit": "gauge twin"}, 0.92, 0.05),
}


def measured(name, value, n=5, **by):
    return Measurement(name, value, value - 0.01, value + 0.01, n, "share", by)


def made(kinds=KINDS, **changes):
    rows = [measured("prior", 0.52, 200), measured("share", 0.2, 200)]
    rows += [measured("neighbours_share", 0.3 / distance, 200, distance=distance) for distance in (1, 2, 3)]
    for by, accuracy, mass in kinds.values():
        rows += [measured("accuracy", accuracy, **by), measured("mass", mass, **by)]
        rows += [measured("after_deletion", 0.5, **by), measured("deletion_loss", accuracy - 0.5, **by)]
        rows += [measured("neighbours", 0.1 * distance, distance=distance, **by) for distance in (1, 2, 3)]
        rows += [measured("contribution", 0.7, **by), measured("norm_embedding", 0.25, **by)]
        rows += [measured("norm_state", 0.24, **by), measured("rest_states", 0.9, **by)]
        rows += [measured("rest_embeddings", 0.51, **by)]
        for seed in range(2):
            rows += [measured("fit_accuracy", accuracy + seed / 100, 200, **by, seed=seed)]
            rows += [measured("fit_mass", mass, 200, **by, seed=seed)]
        if by["fit"] != "honest":
            rows += [measured("accuracy_lost", 0.92 - accuracy, **by), measured("mass_removed", 0.8 - mass, **by)]
            rows += [Measurement("agreement", 1.0, 1.0, 1.0, 5, "1 by theory", by)]
    settings = {"mark": "", "slack": 0.02, "strengths": [0.1, 1.0]}
    facts = {"mark": "impermissible", "deceives": 0.1, **changes}
    return CheckResult(
        "deception", "m", "retrained", tuple(rows), ("a", "b"), {}, {"c": "no word"}, settings, 0, facts=facts
    )


def test_tables_have_a_row_each_kind_of_model_and_what_it_is_read_against():
    scored, paired, near, traces = tables_of(made())
    assert [row[0] for row in scored.rows] == [*KINDS, "majority class", "uniform weights"]
    assert scored.caption == "Accuracy, and the weight on the words marked impermissible"
    assert scored.rows[2][:3] == ("λ = 1", "0.600 [0.590, 0.610]", "0.00021 [−0.0098, 0.010]")
    assert scored.rows[0][-1] == "5\N{NO-BREAK SPACE}seeds"
    assert scored.rows[4] == ("majority class", "0.520 [0.510, 0.530]", "–", "–", "–", "200")
    assert scored.rows[5][2] == "0.200 [0.190, 0.210]"
    assert [row[0] for row in paired.rows] == ["λ = 0.1", "λ = 1", "gauge twin"]
    assert paired.rows[2][3] == "1.000", "an interval without width is not shown"
    assert near.rows[1][1:5] == (
        "0.100 [0.090, 0.110]",
        "0.200 [0.190, 0.210]",
        "0.300 [0.290, 0.310]",
        "0.700 [0.690, 0.710]",
    )
    assert near.rows[-1][1].startswith("0.300")
    assert near.rows[-1][4].startswith("0.200"), "contributions are read against the share of words"
    assert traces.rows[-1][1:5] == ("0.200 [0.190, 0.210]",) * 2 + ("0.520 [0.510, 0.530]",) * 2


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (made(), "λ = 0.1 deceives (least weight on these words, at most 0.02 less accuracy)"),
        (made(deceives=None), "no λ deceives"),
        (
            made({name: KINDS[name] for name in ("honest", "gauge twin")}, deceives=None),
            "no model was trained to deceive",
        ),
    ],
)
def test_it_is_said_who_deceives(result, words):
    assert words in tables_of(result)[1].caption


def test_every_number_says_how_many_of_what():
    counts = {(row[0], row[1]): row[4] for row in every_number(made()).rows}
    assert counts["weight on the marked words", "trained to deceive, λ = 1.0"] == "5\N{NO-BREAK SPACE}seeds"
    assert counts["weight on the marked words, one model", "honest models, seed 1"] == "200"
    assert counts["accuracy of the majority-class baseline", "all"] == "200"
    assert all("_" not in row[0] for row in every_number(made()).rows), "each quantity has a name in words"


def test_the_figure_has_a_mark_a_model():
    figure = accuracy_by_mass(made(), {})
    marks = [row for layer in figure.spec["layer"] for row in layer["data"]["values"] if "kind" in row]
    assert [(row["kind"], row["seed"], row["mass"]) for row in marks][4:6] == [
        ("λ = 1", "0", 0.00021),
        ("λ = 1", "1", 0.00021),
    ]
    assert len(marks) == 8
    (axis,) = {str(layer["encoding"]["x"].get("axis")) for layer in figure.spec["layer"] if "x" in layer["encoding"]}
    assert axis == "{'tickCount': 5}", "panels of a study are narrow"
    assert "majority class has an accuracy of 0.520" in figure.caption
    assert "Uniform weights give the marked words 0.200" in figure.caption
    assert accuracy_by_mass(replace(made(), measurements=()), {}) is None


def test_its_legend_and_axis():
    points = [{"kind": kind, "accuracy": 0.6} for kind in ("gauge twin", "paper", "λ = 1", "honest", "λ = 0.1")]
    assert kinds_in(points) == ["honest", "λ = 1", "λ = 0.1", "gauge twin", "paper"]
    low, high = span_of(points, {"majority class": 0.31})
    assert low < 0.31 < 0.6 < high <= 1


def test_the_page(tmp_path):
    audit = replace(audits.full(4), results={"deception": made()})
    page = write_report(audit, tmp_path / "report.html").read_text()
    for words in ("Models trained to hide the words they use", "gauge twin", "it deceives nobody"):
        assert words in page
    (figure,) = write_figures(audit, tmp_path, suffix="csv")
    assert figure.name == "deception-accuracy-by-weight.csv"
    assert figure.read_text().count("gauge twin") == 2

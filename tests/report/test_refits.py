"""What is shown of other fits of the model: every number as it was found, beside what it is read against."""

import math
import re
from dataclasses import replace

import audits
import numpy as np
import pytest
from parsed import Page, plain

from heatcheck.report import write_figures, write_report
from heatcheck.report.advice import advised
from heatcheck.report.audit_figures import draw
from heatcheck.report.figures.frontier import LOOKS
from heatcheck.report.figures.shapes import dots
from heatcheck.report.heat import shade_of
from heatcheck.report.measurement_words import counted, grouping
from heatcheck.report.view import in_order
from heatcheck.results.written import interval, number


@pytest.fixture(scope="module")
def audit():
    """As the real one, but that more data would decide and that other models say no; and a fit of it failed."""
    audit = audits.full(checks=audits.REFITTED)
    failed = replace(audit.results["necessity"], not_run={"seed 3, uniform weights": "no memory left"})
    return replace(audits.in_every_state(), results={**audit.results, "necessity": failed})


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return Page(write_report(audit, tmp_path_factory.mktemp("page") / "report.html"))


@pytest.fixture(scope="module")
def figures(audit):
    return {figure.name: figure for figure in draw(audit)}


ADVERSARY = {"model": "adversary", "strength": 0.1, "start": "parent"}


def places(audit):
    """What the check calls each model beside the audited one, its mean JSD and its mean TVD."""
    found = audit.results["adversarial_model"]
    return [(m.by, m.value, found.find("tvd", **m.by).value) for m in found.measurements if m.name == "jsd"]


def with_interval(m):
    """A number and its interval, as a table has them: one without width is not shown."""
    interval = "" if m.low == m.high else f" [{m.low:.3f}, {m.high:.3f}]"
    return f"{m.value:.3f}{interval}".replace("-", "−")


def only(audit, result):
    return replace(audit, results={result.check: result})


def figure_of(audit, result, name):
    return next((figure for figure in draw(only(audit, result)) if figure.name == name), None)


def layers(panel):
    """The rows of every layer, by the kind of mark that draws them."""
    found = {}
    for layer in panel["layer"]:
        found.setdefault(layer["mark"]["type"], []).append(layer["data"]["values"])
    return found


def rows_of(page, caption):
    """The rows of the table with this caption, as lists of text."""
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_figures_are_pictures(audit, tmp_path):
    drawn = {path.stem: path.read_text() for path in write_figures(audit, tmp_path, suffix="svg")}
    assert list(drawn) == [
        "necessity-accuracies",
        "seed-variance-by-largest-weight",
        "seed-variance-jsd-and-change",
        "adversarial-model-frontier",
        "guide-accuracies",
    ]
    assert all(picture.startswith("<svg") for picture in drawn.values())
    assert "majority class" in drawn["necessity-accuracies"]
    assert "λ = 0.001" in drawn["adversarial-model-frontier"]


def test_checks_come_after_those_on_this_model():
    assert in_order(audits.REFITTED + audits.CHECKS) == [*audits.CHECKS, *audits.REFITTED]


# ---- the card -----------------------------------------------------------------------------------------------


def test_across_models_stands_apart_from_the_four_lines(audit, page):
    line = audit.card["across"]
    wanted = ('id="line-context"', "Apart from these lines, about other models", line.preface, 'id="line-across"',
              '<section id="check-')  # fmt: skip
    places = [page.source.index(words) for words in wanted]
    assert places == sorted(places)
    assert "the answer is never yes" in line.preface
    assert "This heatmap is the only account of these answers." in plain(page.section("answer"))
    assert "Do not present this heatmap as the only account of these answers." in plain(page.line("across")[1])


@pytest.mark.parametrize("state", ["not found", "unclear", "not run"])
def test_only_a_no_across_models_asks_for_anything(tmp_path, state):
    audit = replace(audits.in_every_state(), results={})
    other = audits.with_line(audit, audits.in_state(audit.card["across"], state))
    assert len(advised(other.card)) == len(advised(audit.card)) - 1
    row, beneath = Page(write_report(other, tmp_path / "report.html")).line("across")
    assert f'class="badge {state.replace(" ", "-")}"' in row
    assert "advice" not in plain(beneath)


def test_a_line_shows_its_statistic_and_keeps_the_rest_folded(tmp_path):
    audit = audits.full(3, checks=())
    line = audit.card["necessary"]
    against = len(line.evidence) - 1
    assert against > 10
    row, beneath = Page(write_report(audit, tmp_path / "report.html")).line("necessary")
    assert "open" not in row.partition(">")[0]
    assert (row.count("<tr>"), beneath.count("<tr><td>")) == (0, against + 1)
    assert "proved, not estimated" in row
    assert f"{number(line.evidence[0].value)} {interval(line.evidence[0])}" in plain(beneath)
    points = audit.card["points"]
    row, beneath = Page(write_report(audit, tmp_path / "report.html")).line("points")
    assert f"<b>{points.evidence[0].value:.2f}</b>" in row
    assert beneath.count("<tr><td>") == len(points.evidence)


def test_what_a_number_is_a_mean_over(audit):
    found = audit.results
    assert counted(found["necessity"].find("accuracy", fit="swapped", weights="own")._replace(n=1200)) == "1,200"
    n = found["necessity"].find("N", against="retrained", free="uniform")
    for seeds in (
        found["necessity"].find("accuracy", fit="retrained", weights="last"),
        n,
        n._replace(name="G", by={"guide": "refitted"}),
        found["seed_variance"].find("jsd_pairs"),
        found["adversarial_model"].find("J_excess")._replace(n=3),
    ):
        assert counted(seeds) == "3\N{NO-BREAK SPACE}seeds"
    assert counted(found["adversarial_model"].find("J_star")) == "46"


def test_what_a_number_is_about_in_words(audit):
    of_needs, of_models = (audit.results[check] for check in ("necessity", "adversarial_model"))
    n = of_needs.find("N", against="retrained", free="uniform")
    last = n._replace(by={**n.by, "free": "last"})
    assert grouping(last, "necessity") == "retrained models, with all weight on the last state"
    shuffled = of_needs.find("accuracy", fit="swapped", weights="permuted")
    assert grouping(shuffled, "necessity") == "imposed on this model, shuffled weights"
    assert (
        grouping(of_models.find("jsd", **ADVERSARY), "adversarial_model")
        == "adversary, λ = 0.1, from the audited model"
    )
    assert (
        grouping(of_models.find("jsd", model="instance", epsilon=0.05), "adversarial_model")
        == "one text at a time: ε = 0.05"
    )
    assert grouping(n._replace(by={"model": "gauge_twin"}), "necessity") == "another model: gauge twin"


# ---- necessity ----------------------------------------------------------------------------------------------


def test_accuracies_stand_at_their_values_beside_the_prior(audit, figures):
    found = audit.results["necessity"]
    panels = figures["necessity-accuracies"].spec["vconcat"]
    assert [panel["title"] for panel in panels] == [
        "this model with replaced weights: does it use its own? (46 texts)",
        "retrained models: does the task need learned weights? (3 seeds)",
    ]
    for panel, fit in zip(panels, ("swapped", "retrained"), strict=True):
        wanted = [m for m in found.measurements if m.name == "accuracy" and m.by["fit"] == fit]
        drawn = layers(panel)
        (rows,) = drawn["point"]
        assert [(row["accuracy"], row["low"], row["high"]) for row in rows] == [
            pytest.approx((m.value, m.low, m.high), abs=1e-4) for m in wanted
        ]
        prior = found.find("prior").value
        assert [{"at": pytest.approx(prior, abs=1e-4), "line": "majority class"}] in drawn["rule"]
        span = panel["layer"][1]["encoding"]["x"]["scale"]["domain"]
        assert span[0] <= prior
        assert all(span[0] <= row["low"] <= row["high"] <= span[1] for row in rows)


def test_without_other_fits_only_this_model_is_drawn(audit):
    found = audit.results["necessity"]
    alone = tuple(m for m in found.measurements if not counted(m).endswith("seeds"))
    drawn = figure_of(audit, replace(found, measurements=alone), "necessity-accuracies")
    assert len(drawn.spec["vconcat"]) == 1


def test_one_seed_has_a_place_and_no_interval(audit):
    found = audit.results["necessity"]
    one = tuple(m._replace(low=-math.inf, high=math.inf) for m in found.measurements)
    drawn = figure_of(audit, replace(found, measurements=one), "necessity-accuracies")
    (rows,) = layers(drawn.spec["vconcat"][1])["point"]
    assert all(row["low"] == row["accuracy"] == row["high"] for row in rows)
    assert all(row["shown"].endswith(" –") for row in rows)


def test_what_is_lost_stands_beside_what_there_is_to_lose(audit, page):
    found = audit.results["necessity"]
    columns, *rows = rows_of(page, "N: the share of the gain")
    assert columns == ["without attention", "N", "95% interval", "accuracy above the majority class", "n"]
    assert [row[0] for row in rows] == [
        "this model with uniform weights",
        "retrained models, with uniform weights",
    ]
    for row, against in zip(rows, ("swap", "retrained"), strict=True):
        n, room = found.find("N", against=against), found.find("headroom", against=against)
        assert row[1:4] == [number(n.value), interval(n), f"{number(room.value)} {interval(room)}"]
    assert [row[-1] for row in rows] == ["46", "3\N{NO-BREAK SPACE}seeds"]
    accuracies = rows_of(page, "Accuracy with each kind of weights")
    own = found.find("accuracy", fit="swapped", weights="own")
    assert ["its own weights", "imposed on this model", *with_interval(own).split(" ", 1), "–", "46"] in accuracies
    assert accuracies[-1][:3] == ["majority class", "–", f"{found.find('prior').value:.3f}"]
    last, first = (found.find("accuracy", **by).value for by in
                   ({"fit": "retrained", "weights": "last"}, {"fit": "swapped", "weights": "first"}))  # fmt: skip
    assert ["the last state only", "retrained models", f"{last:.3f}"] in [row[:3] for row in accuracies]
    assert ["the first state only", "imposed on this model", f"{first:.3f}"] in [row[:3] for row in accuracies]


def test_the_index_and_the_evenness_stand_beside(audit, page):
    found = audit.results["necessity"]
    columns, *rows = rows_of(page, "Accuracy lost without learned attention")
    assert columns[3] == "as a share of all accuracy"
    assert [(row[0], row[3]) for row in rows] == [
        ("with uniform weights", with_interval(found.find("index"))),
        ("with all weight on the last state", "–"),
    ]
    _, row = rows_of(page, "How evenly this model spreads its weights")
    evenness = found.find("evenness")
    assert evenness.n + evenness.by["undefined"] == 46
    assert row == [*with_interval(evenness).split(" ", 1), str(evenness.n), str(evenness.by["undefined"])]


def test_the_family_and_what_could_not_be_fitted_are_said(page):
    assert "average encoder (8 hidden), tanh attention, linear decoder; at most 8 epochs over 120 texts" in page.text
    assert "Could not be run: seed 3, uniform weights (no memory left)." in page.text
    assert page.text.count("Could not be run") == 1


# ---- seeds --------------------------------------------------------------------------------------------------


def test_every_text_is_in_a_dot(audit, figures):
    found = audit.results["seed_variance"]
    panels = figures["seed-variance-jsd-and-change"].spec["concat"]
    assert sum(row["texts"] for panel in panels for row in panel["data"]["values"]) == 46
    x, y = np.array([0.1, 0.1001, 0.6, 0.1]), np.array([0.2, 0.2002, 1.0, 0.9])
    assert dots(x, y, spans=((0.0, 0.7), (0.0, 1.0))) == [
        {"x": 0.1, "y": 0.2001, "texts": 2},
        {"x": 0.1, "y": 0.9, "texts": 1},
        {"x": 0.6, "y": 1.0, "texts": 1},
    ]
    mean = sum(row["x"] * row["texts"] for panel in panels for row in panel["data"]["values"]) / 46
    assert mean == pytest.approx(found.per_example["jsd"].mean(), abs=1e-3)


def test_a_scatter_does_not_grow_with_the_texts():
    rng = np.random.default_rng(0)
    values = rng.random((2, 100_000))
    assert len(dots(0.7 * values[0], values[1], spans=((0.0, 0.7), (0.0, 1.0)))) <= 1600


def test_seeds_are_by_the_class_that_the_check_itself_has(audit):
    """It looks at all texts of the split; the audit knows the class of the sampled ones only."""
    few = replace(audit, examples=audit.examples[:5])
    found = audit.results["seed_variance"]
    drawn = figure_of(few, found, "seed-variance-by-largest-weight").spec["concat"]
    assert {panel["title"].partition(", ")[0] for panel in drawn} == {"predicted positive", "predicted negative"}
    unknown = {name: values for name, values in found.per_example.items() if name != "predicted"}
    drawn = figure_of(few, replace(found, per_example=unknown), "seed-variance-by-largest-weight").spec["concat"]
    assert [panel["title"] for panel in drawn] == ["n = 46"]


# ---- the frontier -------------------------------------------------------------------------------------------


def test_every_model_is_on_the_axes_once(audit, figures):
    drawn = layers(figures["adversarial-model-frontier"].spec)
    points, ring = drawn["point"]
    wanted = [(jsd, tvd) for _, jsd, tvd in places(audit)]
    assert len(wanted) > 10
    assert [(row["jsd"], row["tvd"]) for row in points] == [pytest.approx(place, abs=1e-4) for place in wanted]
    star = audit.results["adversarial_model"].find("J_star")
    assert star.by == {"model": "gauge", "twin": "reversed"}
    (farthest,) = [(jsd, tvd) for by, jsd, tvd in places(audit) if by == star.by]
    assert [row["model"] for row in ring] == ["gauge twin: reversed"]
    assert (ring[0]["jsd"], ring[0]["tvd"]) == pytest.approx(farthest, abs=1e-4)


def test_adversaries_are_joined_in_the_order_of_strength(audit, figures):
    spec = figures["adversarial-model-frontier"].spec
    (line,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    assert line["encoding"]["order"]["field"] == "strength"
    assert line["encoding"]["detail"]["field"] == "curve"
    rows = line["data"]["values"]
    for start, curve in (("fresh", "from a fresh start, 0"), ("parent", "from the audited model, 0")):
        found = {row["strength"]: (row["jsd"], row["tvd"]) for row in rows if row["curve"] == curve}
        wanted = {by["strength"]: (jsd, tvd) for by, jsd, tvd in places(audit) if by.get("start") == start}
        assert sorted(found) == sorted(wanted) == [0.001, 0.1]
        assert all(found[strength] == pytest.approx(wanted[strength], abs=1e-4) for strength in wanted)


def test_the_cross_lines_are_the_mean_of_the_seeds(audit, figures):
    seeds = np.mean([(jsd, tvd) for by, jsd, tvd in places(audit) if by["model"] == "seed"], axis=0)
    rules = layers(figures["adversarial-model-frontier"].spec)["rule"]
    jsd, tvd = (pytest.approx(mean, abs=1e-4) for mean in seeds)
    assert rules == [[{"jsd": jsd}], [{"tvd": tvd}]]
    found = audit.results["adversarial_model"]
    without = tuple(m for m in found.measurements if m.by.get("model") != "seed")
    drawn = figure_of(audit, replace(found, measurements=without), "adversarial-model-frontier")
    assert "rule" not in layers(drawn.spec)
    assert "honest seeds (" not in drawn.caption


def test_kinds_of_models_differ_in_shape_and_in_colour(figures):
    assert len({look.shape for look in LOOKS.values()}) == len({look.colour for look in LOOKS.values()}) == len(LOOKS)
    spec = figures["adversarial-model-frontier"].spec
    marks = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
    scales = [marks["encoding"][channel]["scale"] for channel in ("color", "shape")]
    assert scales[0]["domain"] == scales[1]["domain"] == [
        "trained adversary", "honest seed", "imitator (λ = 0)", "uniform weights", "one text at a time", "gauge twin",
    ]  # fmt: skip


def test_a_model_without_a_number_has_no_place(audit):
    found = audit.results["adversarial_model"]
    lost = tuple(
        m._replace(value=math.nan) if (m.name, m.by.get("twin")) == ("tvd", "uniform") else m
        for m in found.measurements
        if m.name != "J_star"
    )
    drawn = figure_of(audit, replace(found, measurements=lost), "adversarial-model-frontier")
    (points,) = layers(drawn.spec)["point"]
    assert len(points) == len(places(audit)) - 1
    assert "ring" not in drawn.caption, "no model passes for an honest seed"


def test_the_table_has_every_model_and_marks_the_farthest(audit, page):
    columns, *rows = rows_of(page, "Every other model compared with the audited one")
    assert columns == ["model", "JSD", "TVD", "TVD, one temperature", "same decision", "accuracy", "n"]
    assert len(rows) == len(places(audit))
    assert [row[0] for row in rows if "J*" in row[0]] == ["gauge twin: reversed (J*)"]
    found = audit.results["adversarial_model"]
    names = ("jsd", "tvd", "tvd_tempered", "agreement", "accuracy")
    jsd, tvd, *others = (found.find(name, model="seed", seed=1) for name in names)
    wanted = ["honest seed 1", with_interval(jsd), with_interval(tvd), *(f"{m.value:.3f}" for m in others), "46"]
    assert wanted in rows


# ---- guide and gauge ----------------------------------------------------------------------------------------


def test_bars_of_the_guides_begin_at_nothing(audit, figures):
    found = audit.results["guide"]
    panels = figures["guide-accuracies"].spec["vconcat"]
    for panel, guide in zip(panels, ("log_odds", "refitted"), strict=True):
        wanted = [m for m in found.measurements if m.name == "accuracy" and m.by["guide"] == guide]
        (rows,) = layers(panel)["bar"]
        assert [(row["accuracy"], row["n"]) for row in rows] == [
            (pytest.approx(m.value, abs=1e-4), m.n) for m in wanted
        ]
        bar = next(layer for layer in panel["layer"] if layer["mark"]["type"] == "bar")
        assert bar["encoding"]["x"]["scale"]["domain"] == [0.0, 1.0]
        lines = {row["line"]: row["at"] for rows in layers(panel)["rule"] for row in rows if "line" in row}
        prior, own = (pytest.approx(found.find(name).value, abs=1e-4) for name in ("prior", "base_accuracy"))
        assert lines == {"majority class": prior, "audited model": own}


def test_a_gain_without_room_is_a_dash(audit, tmp_path):
    found = audit.results["guide"]
    of_words, of_fits = [found.find("headroom", guide=guide) for guide in ("log_odds", "refitted")]
    assert not [m for m in found.measurements if m.name == "G"]

    def gains(result):
        page = Page(write_report(only(audit, result), tmp_path / "report.html"))
        return [row[:4] for row in rows_of(page, "G: the share of the gap")[1:]]

    assert gains(found) == [
        ["log-odds guide", "–", "–", with_interval(of_words)],
        ["refitted guide", "–", "–", with_interval(of_fits)],
    ]
    gained = of_fits._replace(name="G")
    with_gain = gains(replace(found, measurements=(*found.measurements, gained)))
    assert with_gain[1] == ["refitted guide", *with_interval(gained).split(" ", 1), with_interval(of_fits)]


def test_the_twin_is_shown_under_the_model_it_decides_like(audit, page):
    witness = audit.results["gauge"].facts["witness"]
    shown = page.section("check-gauge")
    assert re.findall(r'<span class="who">(.*?)</span>', shown) == ["this model", "its twin, with the heatmap reversed"]
    assert f"Both models decide “{witness['label']}” here, and on 100% of" in shown
    levels = [int(level) for level in re.findall(r'class="cell h(\d+)"', shown)]
    own, twin = levels[: len(witness["words"])], levels[len(witness["words"]) :]
    assert own == [shade_of(weight) for weight in witness["own"]]
    assert twin == [shade_of(weight) for weight in witness["twin"]]
    assert "witness" not in [text.strip() for text in page.texts], "it is not repeated among the settings"
    row = rows_of(page, "Each twin compared with the audited model")[2]
    jsd = audit.results["gauge"].find("jsd", twin="reversed")
    assert row[:4] == ["reversed", "1.000", f"{jsd.value:.3f} [{jsd.low:.3f}, {jsd.high:.3f}]", "0.000"]


def test_words_of_a_witness_stay_words(audit, tmp_path):
    found = audit.results["gauge"]
    hostile = {"id": "<b>", "words": ["<i>", "</ol>"], "own": [0.1, None], "twin": [0.9, 0.1], "label": "<u>"}
    made = only(audit, replace(found, facts={"witness": hostile}))
    page = Page(write_report(made, tmp_path / "report.html"))
    assert not {tag for tag, _ in page.tags} & {"i", "u"}
    assert "Both models decide “<u>” here" in page.text

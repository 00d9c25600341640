"""The page of a study that fits models again: its own sections, each published number beside ours, the frontier."""

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
import study_results
from parsed import Page

from heatcheck.report import write_study, write_study_figures
from heatcheck.report.figures.frontier import PUBLISHED
from heatcheck.report.studies import STUDY_VIEWS
from heatcheck.report.studies.wiegreffe2019 import frontiers
from heatcheck.report.study_figures import draw_study
from heatcheck.report.study_summary import of_tasks
from heatcheck.report.study_wording import fitted
from heatcheck.studies import read_published

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def found():
    return study_results.refitted()


@pytest.fixture(scope="module")
def path(found, tmp_path_factory):
    return write_study(found, tmp_path_factory.mktemp("study") / "study.html")


@pytest.fixture(scope="module")
def page(path):
    return Page(path)


@pytest.fixture(scope="module")
def figures(found):
    return {figure.name: figure for figure in draw_study(found)}


def rows_of(page, caption):
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def points_of(panel):
    (rows,) = [layer["data"]["values"] for layer in panel["layer"] if layer["mark"]["type"] == "point"]
    return rows


def test_it_has_the_sections_it_has_numbers_for(page):
    ids = [attributes["id"] for tag, attributes in page.tags if tag == "section" and "id" in attributes]
    assert ids == ["against", "short", "done", "notes", "published", "figures-necessity", "figures-seed_variance",
                   "figures-adversarial_model", "figures-guide"]  # fmt: skip
    links = {attributes["href"].removeprefix("#") for tag, attributes in page.tags if tag == "a"}
    assert links >= set(ids) - {"against"}
    assert links <= {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert "Models trained to give the same answers with other weights (tables and figures)" in page.text
    for words in ("leave-one-out", "floor", "rerun", "no search can find more", "not linear"):
        assert words not in page.text
    assert not {"nan", "inf"} & set(re.findall(r"\w+", page.text.lower()))


def test_nothing_is_promised_of_a_jsd_that_is_not_there(found):
    assert [task.note for task in of_tasks(found, STUDY_VIEWS["wiegreffe2019"])] == [""] * 3


def test_the_other_study_has_none_of_these(tmp_path):
    other = Page(write_study(study_results.study(), tmp_path / "study.html"))
    assert not [a["id"] for _, a in other.tags if a.get("id", "").endswith(("necessity", "guide", "seed_variance"))]
    assert "heatcheck trained one base model per task" not in other.text


def test_table_2_has_the_published_number_after_ours(page):
    columns, films, news = rows_of(page, "Table 2")
    assert columns == ["task", "learned weights", "paper", "uniform weights", "paper", "last state only", "seeds"]
    assert films == ["films", "0.830 [0.818, 0.842]", "0.822", "0.820 [0.807, 0.832]", "0.822", "0.810 [0.798, 0.823]",
                     "3"]  # fmt: skip
    assert news[1:5:2] == films[1:5:2]
    assert news[2:5:2] == ["–", "–"]
    stories = rows_of(page, "Accuracy, and N")[-1]
    assert stories[0] == "stories, merge", "a task without F1 is in the table of accuracies"
    assert len(rows_of(page, "Accuracy, and N")) == 4


def test_tables_3_and_4(page):
    columns, films, _ = rows_of(page, "Table 3")
    assert columns[1:4] == ["uniform", "paper", "learned"]
    assert films[-3:] == ["0.600 [0.588, 0.612]", "0.860", "3"]
    columns, films = rows_of(page, "Table 4")
    assert columns == ["task", "λ", "paper", "F1", "paper", "TVD", "paper", "JSD", "paper", "seeds"]
    assert films[:5] == ["films", "0.001", "0.000525", "0.810", "0.823"]
    assert films[5:] == ["0.060 [0.050, 0.070]", "0.036", "0.450 [0.440, 0.460]", "0.514", "1"]
    tasks = [row[0] for row in rows_of(page, "Accuracy of the log-odds guide")[1:]]
    assert tasks == ["films", "news"], "no guide was made for stories"


def test_a_choice_is_compared_with_nothing(page, found):
    """The λ of the best adversary was chosen; all other published numbers are counted."""
    assert sum(row.paper is not None for row in found.rows) == 10
    assert "The paper has 9 numbers about these models: 2 inside" in page.text
    assert "4 outside it, 3 beside a single seed" in page.text
    assert "best adversary, λ all 0.001 (1) 0.000525 chosen among those tried" in page.text
    columns, *rows = rows_of(page, "The paper&#39;s numbers")
    assert columns[-2:] == ["half interval", "ours from theirs"]
    halves = {row[0]: row[-2] for row in rows}
    assert halves["F1 of a guide"] == "0.050", "of the spread of seeds, 0.01"
    assert halves["best adversary"] == "–", "one fit has no interval of a further seed"


def test_how_many_models_were_trained(page, found):
    again = STUDY_VIEWS["wiegreffe2019"].retrained
    assert [fitted(model, found.rows, again) for model in found.models] == [9 + 12 + 10, 9 + 12 + 5, 9]
    assert "models trained 66" in page.text
    assert [fitted(model, study_results.study().rows) for model in study_results.study().models] == [3] * 4


def test_what_had_nothing_to_say_is_said(page):
    assert "films, gauge: its states know their context." in page.text
    assert "seven, plus the published one if there is one" in page.text
    assert "starts fresh" in page.text


def test_the_frontier_is_a_panel_a_task_beside_the_published_point(figures, found):
    panels = figures["frontier"].spec["concat"]
    assert [panel["title"] for panel in panels] == ["films", "news"], "stories have no other models"
    films, news = map(points_of, panels)
    assert [(row["jsd"], row["tvd"]) for row in films if row["kind"] == PUBLISHED] == [(0.514, 0.036)]
    assert not [row for row in news if row["kind"] == PUBLISHED]
    ours = [(row["jsd"], row["tvd"]) for row in films if row["kind"] != PUBLISHED]
    assert ours == [pytest.approx((point["jsd"], point["tvd"]), abs=1e-4) for point in found.models[0].points]
    tops = {tuple(layer["encoding"]["y"]["scale"]["domain"]) for panel in panels for layer in panel["layer"]
            if layer["mark"]["type"] == "point"}  # fmt: skip
    assert len(tops) == 1, "tasks are on the same axes"


def test_the_published_point_needs_none_of_ours(found):
    """Where no adversary was far enough there is no row, and the paper's is drawn all the same."""
    rows = tuple(row for row in found.rows if not row.quantity.startswith("best:"))
    tasks = {**found.tasks, "films": {**found.tasks["films"], "published": "sst"}}

    def published(study):
        drawn = frontiers(replace(study, models=study.models[:1])).spec["concat"][0]
        return [row["jsd"] for row in points_of(drawn) if row["kind"] == PUBLISHED]

    assert published(replace(found, rows=rows, tasks=tasks)) == []
    assert published(replace(found, published=tuple(read_published("wiegreffe2019")), rows=rows, tasks=tasks)) == [
        0.514
    ]


def test_violins_and_dots_are_of_every_text(figures):
    violins = figures["seeds-by-largest-weight"].spec["concat"]
    assert [panel["title"] for panel in violins] == [
        f"{task}, predicted {label}, n = 40" for task in ("films", "news") for label in ("bad", "good")
    ]
    scatters = figures["seeds-jsd-and-change"].spec["concat"]
    assert [sum(row["texts"] for row in panel["data"]["values"]) for panel in scatters] == [80, 80]


def test_models_that_say_nothing_are_no_figure(found):
    bare = replace(found, models=tuple(model._replace(examples={}, points=()) for model in found.models))
    assert draw_study(bare) == []
    lost = [{**point, "tvd": math.nan} for point in found.models[0].points]
    blind = replace(found, models=(found.models[0]._replace(examples={}, points=lost),))
    assert draw_study(blind) == []


def test_figures_as_numbers(found, tmp_path):
    written = write_study_figures(found, tmp_path, suffix="csv")
    assert [file.stem for file in written] == ["seeds-by-largest-weight", "seeds-jsd-and-change", "frontier"]
    assert "published adversary" in written[-1].read_text(encoding="utf-8")


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium to run the page's script: apt-get install chromium")
def test_it_is_drawn_in_a_browser(path, tmp_path):
    command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000"]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=120, check=True)
    drawn = done.stdout.decode()
    drawn = drawn[: drawn.index('<script type="application/json"')]
    assert drawn.count("<svg") == 4
    assert "could not be drawn" not in drawn


def test_it_is_small_and_loads_nothing(path, page):
    assert path.stat().st_size < 2_000_000
    assert not [a for _, attributes in page.tags for a in attributes if a == "src"]
    assert json.loads(page.scripts["figure-specs"]).keys() == {
        "seeds-by-largest-weight",
        "seeds-jsd-and-change",
        "frontier",
        "published",
    }

"""The page of a study: its numbers are those of the rows, it opens anywhere, and nothing that a text says is run."""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
import study_results
from parsed import Page

from heatcheck.cli.reproduce import reproduce, write
from heatcheck.errors import BadInput, UnknownName
from heatcheck.report import write_study, write_study_figures
from heatcheck.report.study_figures import draw_study

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_study(study_results.study(), tmp_path_factory.mktemp("study") / "study.html")


@pytest.fixture(scope="module")
def page(path):
    return Page(path)


def cells(page, first):
    """The cells of each row of a table whose first cell is this."""
    body = page.source[: page.source.index('<script type="application/json"')]
    rows = (
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    )
    return [row for row in rows if row and row[0] == first]


def test_a_smoke_run_says_so_before_its_numbers(tmp_path):
    whole = study_results.study()
    for note in ("This is a smoke run: one epoch. Ignore its numbers.", "This is a small run: one seed."):
        page = write_study(replace(whole, notes=(note, *whole.notes)), tmp_path / "study.html").read_text()
        assert page.index(f"<b>{note}</b>") < page.index('id="done"')
    page = write_study(replace(whole, notes=("This is a note.",)), tmp_path / "study.html").read_text()
    assert "<b>This is a note.</b>" not in page


def test_every_published_number_stands_beside_ours(page):
    assert cells(page, "F1")[0] == [
        "F1",
        "all",
        "0.812 [0.800, 0.825]",
        "–",
        "0.820",
        "0.780",
        "inside, −0.01",
        "outside, +0.03",
    ]
    assert [
        "τ(attention, gradient)",
        "good",
        "0.403 [0.390, 0.415]",
        "0.346",
        "0.600",
        "–",
        "outside, −0.20",
        "–",
    ] in cells(page, "τ(attention, gradient)")
    assert cells(page, "accuracy")[0][-2:] == ["not comparable, −0.46", "–"]
    assert cells(page, "change if shuffled, largest 0.00–0.25")[0][1:3] == ["good", "0.062 [0.050, 0.075]"]


def test_the_floor_of_a_jsd_is_shown_only_where_it_holds(page):
    films, stories = cells(page, "JSD that the search finds, ε = 0.05")
    assert (films[1], films[3]) == ("bad", "0.247")
    assert (stories[1], stories[3]) == ("all", "–")
    assert page.text.count("floor: JSD that any linear read-out reaches") == 1
    assert page.text.count("null: relevances shuffled") == 3
    assert page.text.count("a lower bound. Its floor and its null") == 1


def test_only_models_without_context_have_a_mechanical_floor(page):
    assert page.text.count("The line is missing for BiLSTM, tanh: it needs a model in which each word") == 1
    neither = "The line is missing for average, tanh; BiLSTM, tanh: it needs"
    assert page.text.count(neither) == 1, "leave-one-out: for neither"


def test_all_models_are_columns_of_their_task(page):
    heads = re.findall(r'<table class="models">\s*<thead>(.*?)</thead>', page.source, re.DOTALL)
    assert [re.findall(r'class="number">([^<]*)<', head) for head in heads] == [["average, tanh", "BiLSTM, tanh"]] * 2
    assert cells(page, "share of shuffles that keep the answer (q)")[0][1:] == ["0.31 ± 0.01"] * 2
    assert cells(page, "– missed by it")[0] == ["– missed by it", "0.15", "0.15"]
    assert cells(page, "– missed by it")[-1] == ["– missed by it", "0.15", "–"], "the published search was not run"


def test_the_summary_counts_the_statements(page):
    assert "The paper has 6 numbers about these models: 3 inside" in page.text
    assert cells(page, "all")[0][:6] == ["all", "6", "3", "1", "2", "0.050"], "4.303 · 0.01 · √(4/3)"
    assert cells(page, "all")[1][:5] == ["all", "2", "1", "1", "0"]


def test_the_comparison_in_short_comes_before_what_was_done_and_what_to_know(page):
    order = [
        page.text.index(words) for words in ("The paper has 6 numbers", "no memory left", "One note before any number")
    ]
    assert order == sorted(order)
    assert "poems, lstm, tanh, seed 1" in page.text
    assert "1,234 / 56 / 78" in page.text
    assert "10 / – / 5" in page.text
    assert "compared with tales: a tenth of the stories" in page.text
    assert "too long (9)" in page.text
    assert "none: word vectors are learned from scratch" in page.text


def test_every_link_leads_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert len(ids) == len(set(ids))
    assert len(links) > 10
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_it_is_small_loads_nothing_and_runs_nothing_of_a_text(path, page):
    assert path.stat().st_size < 2_000_000
    assert not [a for _, attributes in page.tags for a in attributes if a == "src"]
    assert not [tag for tag, _ in page.tags if tag in ("link", "img")]
    assert "<script>alert" not in page.source
    assert page.source.count("&lt;script&gt;alert(1)") > 3
    own = {figure.name for figure in draw_study(study_results.study())}
    assert json.loads(page.scripts["figure-specs"]).keys() == own | {"published"}


def test_the_farthest_and_the_least_far_heatmaps_are_open(page):
    shown = page.source[page.source.index('<section id="heatmaps">') :]
    opened = re.sub(r"<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert re.findall(r"JSD (0\.\d+);", opened) == ["0.610", "0.310"] * 2
    assert re.findall(r"JSD (0\.\d+);", shown)[:4] == ["0.610", "0.310", "0.510", "0.410"]
    assert '<span class="w h10" data-n="1.00">film</span>' in shown
    assert "who said so ?" in shown


def test_panels_are_classes_by_models():
    figures = {figure.name: figure for figure in draw_study(study_results.study())}
    drawn = figures["tau-attention-gradient"].spec
    rows = next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]
    assert {row["row"] for row in rows} == {"films: bad", "films: good", "stories"}, "many classes are drawn together"
    assert {row["column"] for row in rows} == {"average, tanh", "BiLSTM, tanh"}
    drawn = figures["jsd-histograms"].spec["data"]["values"]
    lines = {(row["row"].partition(":")[0], row["line"]) for row in drawn if row["part"] == "lines"}
    assert {line.partition(":")[0] for task, line in lines if task == "films"} >= {"floor", "null", "mean"}
    assert not {line for task, line in lines if task == "stories" and line.startswith(("floor", "null"))}


def test_a_study_in_which_everything_failed_has_a_page(tmp_path):
    nothing = replace(study_results.study(), rows=(), models=(), tasks={})
    page = Page(write_study(nothing, tmp_path / "study.html"))
    assert "No published number can be compared with these models." in page.text
    assert "no memory left" in page.text


def test_one_seed_has_no_interval(tmp_path):
    found = study_results.study()
    alone = [row._replace(seeds=1, low=float("nan"), high=float("nan")) for row in found.rows]
    page = Page(write_study(replace(found, rows=tuple(alone)), tmp_path / "study.html"))
    assert "nan" not in page.text
    assert cells(page, "F1")[0][2] == "0.812 (1)"


def test_figures_as_files(tmp_path):
    written = write_study_figures(study_results.study(), tmp_path / "figures", suffix="svg")
    assert len(written) == 6
    assert all(file.read_text().startswith("<svg") for file in written)
    with pytest.raises(UnknownName, match="gif"):
        write_study_figures(study_results.study(), tmp_path, suffix="gif")


def test_the_command_writes_page_table_and_figures(tmp_path):
    written = write(study_results.study(), tmp_path, figures=["csv"])
    assert [file.name for file in written[:2]] == ["study.html", "table.csv"]
    assert {file.suffix for file in written[2:]} == {".csv"}
    assert all(file.is_file() for file in written)
    with pytest.raises(BadInput, match="--figures takes svg, png, csv, not 'gif'"):
        reproduce("jain2019", figures="gif")


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium to run the page's script: apt-get install chromium")
def test_it_is_drawn_in_a_browser_without_complaint(path, tmp_path):
    watched = tmp_path / "watched.html"
    first = "<script>window.wrong = []; addEventListener('error', (e) => window.wrong.push(e.message));"
    first += "console.error = console.warn = (...words) => window.wrong.push(words.join(' '));</script>"
    last = (
        "<script>setTimeout(() => { document.title = 'wrong: ' + window.wrong.length + window.wrong; }, 4000);</script>"
    )
    source, end, rest = path.read_text().replace("<style>", f"{first}<style>", 1).rpartition("</body>")
    watched.write_text(f"{source}{last}{end}{rest}")
    command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000"]
    done = subprocess.run([*command, "--dump-dom", watched.as_uri()], capture_output=True, timeout=120, check=True)
    drawn = done.stdout.decode()
    assert re.search("<title>(.*?)</title>", drawn)[1] == "wrong: 0"
    drawn = drawn[: drawn.index('<script type="application/json"')]
    assert drawn.count("<svg") == 7
    assert "could not be drawn" not in drawn

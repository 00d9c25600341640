"""The page of a study across tasks: one table with single sequences above pairs, dots, and whose numbers are beside."""

import math
import re

import pytest
from parsed import Page

from heatcheck.cli import show_study
from heatcheck.report import write_study, write_study_figures
from heatcheck.report.studies import STUDY_VIEWS
from heatcheck.report.studies.vashishth2019 import KINDS, VIEW
from heatcheck.report.study_figures import draw_study
from heatcheck.report.study_summary import in_short, not_met
from heatcheck.report.study_wording import fitted
from heatcheck.results import Model, Row, StudyResult, parse_key
from heatcheck.studies import read_published

TASKS = {"snli, merge": 2, "sst": 1, "snli, linear": 2}  # not in the order of the page


def made_up():
    """Two tasks, one of them with two decoders; a row a number, each value told from the others."""
    rows = []
    for at, task in enumerate(TASKS):

        def add(quantity, value, *, rerun=None, half=0.02, task=task):
            said = "not comparable (an LSTM in one direction): ours is lower by 0.10" if rerun else ""
            ends = (value - half, value + half)
            of = parse_key(quantity)
            made = Row(task, "lstm", "tanh", of.name, of.by, "", "", value, *ends, 5, None, rerun, "", said)
            rows.append(made._replace(rerun_comparison="not comparable" if rerun else ""))

        beside = task != "snli, linear"
        for number, kind in enumerate(("own", *KINDS)):
            add(f"put_in:{kind}", 0.9 - 0.1 * at - 0.01 * number)
        for number, kind in enumerate(("learned", *KINDS)):
            rerun = 0.7 if beside and kind in ("learned", "uniform", "last") else None
            add(f"trained:{kind}", 0.8 - 0.1 * at - 0.01 * number, rerun=rerun)
        for kind in KINDS:
            add(f"lost_put_in:{kind}", 0.05)
            add(f"lost_trained:{kind}", 0.01)
        add("evenness", 0.71)
        add("index", 0.12)
        add("N:retrained", 0.34)
        add("commonest", 0.5)
    rows[0] = rows[0]._replace(low=-math.inf, high=math.inf)
    rows[1] = rows[1]._replace(high=1.7)
    about = {
        "published": "sst",
        "not_comparable": "",
        "differs": "as it is",
        "labels": ["a", "b"],
        "sizes": {"test": 9},
    }
    tasks = {task: {**about, "published": task.partition(",")[0], "segments": n} for task, n in TASKS.items()}
    models = tuple(Model(task, "lstm", "tanh", ("a", "b"), 5, {}, ()) for task in TASKS)
    settings = {"tasks": ["snli", "sst"], "seeds": 5, "preset": "jw-release", "vectors": None, "hidden": None}
    return StudyResult(
        "vashishth2019", "Across tasks", "A paper", tuple(rows), models, tasks, ("A note.",), {}, settings,
        published=tuple(read_published("vashishth2019")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return made_up()


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    return Page(write_study(found, tmp_path_factory.mktemp("study") / "study.html"))


def rows_of(page, caption):
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    rows = [row.replace("\N{NO-BREAK SPACE}", " ") for row in rows]
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_one_table_has_every_task_with_single_sequences_first(page):
    columns, *rows = rows_of(page, "Accuracy under other weights")
    assert columns[:5] == ["sequences", "task", "other weights", "learned", "uniform"]
    assert columns[-5:] == ["majority class", "N", "index", "evenness", "seeds"]
    assert [row[:3] for row in rows] == [
        [sequences, task, way]
        for sequences, task in (("one", "sst"), ("a pair", "snli, merge"), ("a pair", "snli, linear"))
        for way in ("imposed", "trained with")
    ]
    put_in, trained = rows[:2]
    assert put_in[3:9] == [f"{0.8 - 0.01 * n:.2f} ± 0.02" for n in range(6)]
    assert trained[3:9] == [f"{0.7 - 0.01 * n:.2f} ± 0.02" for n in range(6)]
    assert put_in[9:] == ["0.50", "–", "–", "0.71 ± 0.02", "5"]
    assert trained[9:] == ["0.50", "0.34 ± 0.02", "0.12 ± 0.02", "–", "5"]
    assert rows[2][3] == "0.90", "one without an interval"
    assert "Accuracy, and N" not in page.source, "the table of the study that has F1"
    lost = rows_of(page, "Accuracy lost")
    assert lost[1] == ["one", "sst", "imposed", *["0.05 ± 0.02"] * 5, "5"]
    assert lost[2][3] == "0.01 ± 0.02"


def test_the_other_studies_have_none_of_it(tmp_path):
    import study_results

    for other in (study_results.study(), study_results.refitted()):
        told = Page(write_study(other, tmp_path / "study.html"))
        assert "Accuracy under other weights" not in told.source
        assert "accuracies-across-tasks" not in {figure.name for figure in draw_study(other)}
        assert "trained without learned" not in in_short(other.rows, STUDY_VIEWS[other.name])


def test_a_task_with_nothing_trained_has_what_was_put_in(found, tmp_path):
    rows = tuple(row for row in found.rows if not (row.task == "sst" and row.quantity.startswith(("trained", "N"))))
    some = StudyResult(**{**found.__dict__, "rows": rows})
    columns, put_in, trained, *_ = rows_of(Page(write_study(some, tmp_path / "s.html")), "Accuracy under other weights")
    assert put_in[3] == "0.80 ± 0.02"
    assert trained[3:9] == ["–"] * 6
    assert len(columns) == len(put_in) == len(trained)


def test_a_model_with_nothing_to_lose_has_no_share_of_it(found, tmp_path):
    """N of a model that is no better than the commonest label is noise over noise."""
    room = found.rows[0]._replace(name="headroom", by={"against": "retrained"}, value=0.01, low=0.005, high=0.02)
    none = room._replace(task="snli, linear", value=-0.01, low=-0.03)
    some = StudyResult(**{**found.__dict__, "rows": (*found.rows, room, none)})
    said = in_short(some.rows, VIEW)
    assert "1 is all). snli, merge 0.34 ± 0.02; sst 0.34 ± 0.02. No better than" in said
    assert "so N cannot be asked: snli, linear." in said
    rows = rows_of(Page(write_study(some, tmp_path / "s.html")), "Accuracy under other weights")
    shares = {row[1]: row[-4:-2] for row in rows if row[2] == "trained with"}
    assert shares["snli, linear"] == ["–", "0.12 ± 0.02"]
    assert shares["snli, merge"] == ["0.34 ± 0.02", "0.12 ± 0.02"]
    only = in_short([row for row in some.rows if row.task == "snli, linear"], VIEW)
    assert only.startswith("No better than")


def test_every_number_has_its_dot(found):
    (figure,) = [one for one in draw_study(found) if one.name == "accuracies-across-tasks"]
    groups = figure.spec["vconcat"]
    assert [[panel["title"] for panel in group["hconcat"]] for group in groups] == [
        [f"{sequences}: {way}" for way in ("imposed at test time", "trained with them")]
        for sequences in ("one sequence", "a pair of sequences")
    ]
    drawn = {}
    for group in groups:
        for panel, way in zip(group["hconcat"], ("put_in", "trained"), strict=True):
            ticks, rules, points = (layer["data"]["values"] for layer in panel["layer"])
            assert rules == points
            assert {tick["accuracy"] for tick in ticks} == {0.5}
            assert {tick["task"] for tick in ticks} == {point["task"] for point in points}
            for point in points:
                assert 0 <= point["low"] <= point["accuracy"] <= point["high"] <= 1
                drawn[way, point["task"], point["weights"]] = point["accuracy"]
    wanted = [row for row in found.rows if row.quantity.startswith(("put_in:", "trained:"))]
    assert len(drawn) == len(wanted) == 3 * 2 * 6
    for row in wanted:
        way, _, kind = row.quantity.partition(":")
        assert drawn[way, row.task, KINDS.get(kind, "learned")] == pytest.approx(row.value)


def test_the_figure_is_a_picture(found, tmp_path):
    (picture,) = write_study_figures(found, tmp_path, suffix="svg")
    assert picture.read_text().startswith("<svg")


def test_numbers_of_a_reproduction_are_called_so(found, page):
    assert "The reproduction by Bouwman et al. 2021" in page.text
    assert "rerun" not in page.text
    assert "the paper’s is" not in page.text, "there is none of the paper"
    (columns, *_) = re.findall(r'<table class="published">.*?</thead>', page.source, flags=re.DOTALL)
    heads = re.findall(r"<th [^>]*>(.*?)</th>", columns)
    assert heads == ["quantity", "predicted", "ours", "reproduction", "the reproduction’s is"]
    widths = {int(width) for width in re.findall(r'colspan="(\d+)"', page.source)}
    assert widths == {len(heads)}
    assert "accuracy, trained with the last state only" in page.text
    said = in_short(found.rows, VIEW)
    assert "sst 0.34 ± 0.02" in said
    assert "The reproduction by Bouwman et al. 2021 has 6 numbers" in said
    assert "The reproduction by Bouwman et al. 2021 has 6 numbers about these models: 6 not" in page.text


def test_models_and_published_numbers_are_counted_over_both_decoders(found, page):
    assert sum(fitted(model, found.rows, VIEW.retrained) for model in found.models) == 3 * 6 * 5
    assert not [one for one in not_met(found) if one.partition(" of ")[2].startswith(("sst:", "snli:"))]
    assert "3 of imdb: the task was not chosen" in page.text
    assert "models trained 90" in page.text
    assert "tasks 2" in page.text, "two decoders of one task"
    assert "hidden as in the preset" in page.text
    assert "all of each test set" in page.text
    assert "beside snli" not in page.text


def test_a_terminal_has_the_reproduction_too(found, capsys):
    show_study.study(found)
    said = " ".join(capsys.readouterr().out.split())
    assert "reproduction" in said
    assert "rerun" not in said
    assert "This shows 6 published numbers; 0 more are in table.csv." in said
    assert "All published numbers: 6 not comparable." in said

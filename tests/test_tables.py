"""Tables of numbers on the docs' pages come from CSV files (docs/tables.py)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import tables

COLUMNS = "task,encoder,attention,quantity,class,bin,value,low,high,seeds,paper,rerun,statement,rerun_statement,spread"
ROWS = (
    "sst,minilm,,pruned:gates:25,,,0.874,0.86,0.888,5,0.9,,inside,,0.01\n"
    "sst,minilm,,pruned:gates:50,,,-0.0312,,,1,,,,,\n"
    "imdb,minilm,,pruned:gates:25,,,0.5,0.4,0.6,5,,,,,\n"
)


@pytest.fixture
def page(tmp_path):
    (tmp_path / "mine.csv").write_text(f"{COLUMNS}\n{ROWS}")
    return tmp_path / "mine.md"


def test_a_template_is_filled_with_numbers_and_their_intervals(page):
    cells = ("gates", "{pruned:gates:25}", "{pruned:gates:25|paper}", "{pruned:gates:50|.3}")
    template = f"| order | 25% | paper | 50% |\n|---|---|---|---|\n| {' | '.join(cells)} |"
    made = tables.made(page, f" mine.csv task=sst\n{template}\n")
    assert made.splitlines()[-1] == "| gates | .87 [.86, .89] | .90 | −.031 |"
    assert made.splitlines()[:2] == template.splitlines()[:2]


def test_other_columns_and_other_rows_can_be_asked_for(page):
    assert tables.made(page, "mine.csv\n| {pruned:gates:25|value task=imdb .1} |") == "| .5 |\n"
    assert tables.made(page, "mine.csv\n| {pruned:gates:25|seeds task=imdb} |") == "| 5 |\n"
    assert tables.made(page, "mine.csv task=sst\n| {pruned:gates:25|value task=imdb .1} |") == "| .5 |\n"


@pytest.mark.parametrize(
    ("number", "digits", "written"),
    [("-0.001", 2, ".00"), ("-0.314", 2, "−.31"), ("10.52", 1, "10.5"), ("-20.5", 1, "−20.5"), ("0.995", 1, "1.0")],
)
def test_numbers_are_written_short(number, digits, written):
    assert tables.short(number, digits) == written


@pytest.mark.parametrize("place", ["{pruned:gates:25}", "{no:such}"])
def test_a_place_needs_exactly_one_number(page, place):
    with pytest.raises(SystemExit, match="needs exactly one"):
        tables.made(page, f"mine.csv\n| {place} |")


def test_typed_numbers_are_taken_once_and_kept_in_step(page):
    prose = "| task | stands for |\n|---|---|\n| a | b |\n"
    text = f"Words.\n\n| model | accuracy |\n|---|---|\n| a | .81 |\n| | |\n\nMore.\n\n{prose}"
    page.with_suffix(".csv").unlink()
    page.write_text(text)
    assert len(tables.typed(text)) == 1
    tables.take(page)
    assert not tables.typed(page.read_text())
    assert tables.written(page) == page.read_text()
    assert page.read_text().replace("<!-- table 1 -->\n\n", "").replace("\n<!-- /table -->\n", "") == text
    page.write_text(page.read_text().replace(".81", ".82"))
    assert ".81" in tables.written(page)
    assert ".82" not in tables.written(page)


def test_a_page_out_of_step_is_told_of_and_written_again(page, monkeypatch, capsys):
    monkeypatch.setattr(tables, "PAGES", [page])
    page.write_text("<!-- table mine.csv\n| {pruned:gates:25|value task=imdb .1} |\n-->\n\n| .6 |\n\n<!-- /table -->\n")
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 1
    assert "mine.md is out of step with its CSV" in capsys.readouterr().out
    assert "| .6 |" in page.read_text(), "a check changes nothing"
    monkeypatch.setattr("sys.argv", ["tables.py"])
    tables.main()
    assert "| .5 |" in page.read_text()
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0
    page.write_text(page.read_text() + "\n| a |\n|---|\n| .7 |\n")
    assert tables.main() == 1
    assert "mine.md has a table of numbers that no file makes" in capsys.readouterr().out


def test_two_tables_beside_each_other_stay_two(page):
    page.with_suffix(".csv").unlink()
    page.write_text("| a |\n|---|\n| .1 |\n\n| b |\n|---|\n| .2 |\n")
    tables.take(page)
    assert tables.written(page) == page.read_text()
    assert page.read_text().count("<!-- table") == 2


def test_a_line_is_repeated_for_each_treatment(page):
    page.with_suffix(".csv").write_text(
        "task,treatment,quantity,verdict,value,low,high,before\n"
        "sst,tying,points,helps,0.1,0.05,0.15,0.5\nsst,entmax,points,worse,-0.1,-0.2,-0.05,0.5\n"
        "sst,entmax,hard,cannot be asked,,,,\nsst,tying,hard,no change seen,0.01,-0.1,0.1,0.2\n"
        "imdb,top_k,points,helps,0.3,0.2,0.4,0.5\n"
    )
    row = "| {treatment} | {points|before}: {points} **{points|verdict}** | {hard} |"
    made = tables.made(page, f"mine.csv task=sst each=treatment\n| name | K | q |\n|---|---|---|\n{row}")
    assert made.splitlines()[2:] == [
        "| tying | .50: .10 [.05, .15] **helps** | .01 [−.10, .10] |",
        "| entmax | .50: −.10 [−.20, −.05] **worse** | – |",
    ]

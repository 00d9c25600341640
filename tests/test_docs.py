"""Docs are in step with the code: every command has a page, and every command shown exists."""

import html
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import heatcheck
from heatcheck.auditing import LINES
from heatcheck.checks import CHECKS
from heatcheck.cli import COMMANDS, app
from heatcheck.report.checks import view_of
from heatcheck.results.headline import ANSWERS

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import figures
import glossary

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page(command):
    page = ROOT / "docs" / "commands" / f"{command}.md"
    assert f"# heatcheck {command}" in page.read_text()


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_a_page(check):
    page = (ROOT / "docs" / "checks" / f"{check}.md").read_text()
    assert page.startswith(f"# {view_of(check).title} (`{check}`)\n")
    for part in ("Question", "What stays the same", "Paper", "Left out"):
        assert f"**{part}.**" in page


def test_the_glossary_is_the_one_of_reports():
    """After a term was changed: `python docs/glossary.py`."""
    assert (ROOT / "docs" / "glossary.md").read_text() == glossary.page()


def test_the_page_of_the_card_has_every_answer():
    page = " ".join((ROOT / "docs" / "card.md").read_text().split())
    for answer in ANSWERS:
        assert answer.words in page
    for rule in LINES.values():
        assert rule.question in page
        for words in (*rule.may_say.values(), *rule.do_not_say.values()):
            assert words in page


@pytest.mark.parametrize("script", ["commands.py", "rooms.py", "tables.py"])
def test_pages_hold_the_help_the_rooms_and_the_numbers_of_today(script):
    check = [sys.executable, str(ROOT / "docs" / script), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def commands_shown():
    for page in PAGES:
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^heatcheck [a-z].*$", block, flags=re.MULTILINE):
                yield page.name, line.split("  #")[0]


@pytest.mark.parametrize(("page", "line"), list(commands_shown()))
def test_shown_commands_exist(page, line):
    """Each word parses: the command is there and takes these options."""
    import typer.main

    _, name, *arguments = shlex.split(line)
    assert name in COMMANDS, page
    command = typer.main.get_command(app).commands[name]
    command.make_context(name, arguments, resilient_parsing=False)


def test_readme_shows_commands_at_all():
    assert sum(page == "README.md" for page, _ in commands_shown()) >= 3


def test_make_targets_named_in_the_docs_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`?make ([a-z-]+)\b", page.read_text())}
    assert {"demo", "test", "check", "bench", "docs"} <= targets
    assert {name for name in named if name not in ("and",)} <= targets


def test_python_of_the_readme_runs():
    """At the size of a test: fewer texts, one rival of attention, a small model."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    for shown, smaller in (
        ("examples=100)", 'examples=20, settings={"erasure.rivals": "leave_one_out"})'),
        ('"reviews", epochs=3)', '"planted_keyword", encoder="average", hidden=8, epochs=1, progress=False)'),
    ):
        assert code.count(shown) == 1
        code = code.replace(shown, smaller)
    exec(code, {})


IMAGE_BYTES = 250_000


def images_shown():
    for page in PAGES:
        for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text()):
            yield page, alt, target


def test_every_image_is_there_small_and_described():
    shown = list(images_shown())
    assert len(shown) > 30
    for page, alt, target in shown:
        if target.startswith("https:"):
            continue  # badges
        image = page.parent / target
        assert image.is_file(), f"{page.name}: {target}"
        assert image.stat().st_size < IMAGE_BYTES, f"{page.name}: {target}"
        assert len(alt) > 15, f"{page.name}: {target} needs words for those who cannot see it"


def test_pictures_are_few_enough_for_a_clone():
    for folder, most in (("figures", 3_000_000), ("screenshots", 5_000_000)):
        assert sum(file.stat().st_size for file in (ROOT / "docs" / folder).iterdir()) < most


def test_every_figure_is_shown_by_the_page_of_its_check_or_study():
    shown = {target.removeprefix("../figures/") for _, _, target in images_shown() if target.startswith("../figures/")}
    drawn = {figure.name for figure in (ROOT / "docs" / "figures").glob("*.svg")}
    assert len(drawn) >= 28
    assert drawn <= shown


def test_every_figure_has_colours_for_dark_pages():
    for figure in (ROOT / "docs" / "figures").glob("*.svg"):
        assert "prefers-color-scheme:dark" in figure.read_text(), f"{figure.name}: `make figures`"


def test_the_index_reaches_every_page():
    """Each once, in the list of contents; and nothing in it that is not there."""
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text()
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    listed = [str(page.relative_to(docs).with_suffix("")) for line in lines for page in docs.glob(f"{line}.md")]
    assert all(any(docs.glob(f"{line}.md")) for line in lines)
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md") if "_build" not in page.parts}
    assert sorted(listed) == sorted(pages - {"index"})


@pytest.mark.parametrize("study", [drawn.study for drawn in figures.STUDIES])
def test_figures_of_studies_show_the_numbers_of_their_tables(study):
    """After a table was changed: `make figures`."""
    (drawn,) = (drawn for drawn in figures.STUDIES if drawn.study == study)
    points = {(point.label, point.series): point.value for point in figures.points_of(drawn)}
    picture = html.unescape((ROOT / "docs" / "figures" / f"{study}.svg").read_text())
    told = [
        dict(part.split(": ", 1) for part in text.split("; "))
        for text in re.findall(r'aria-label="([^"]*: [^"]*; [^"]*)"', picture)
    ]
    drawn_at = {(dot["label"], dot.get("series", dot.get("layer"))): dot["value"] for dot in told if "value" in dot}
    assert len(points) >= 4
    assert {where: float(value.replace("−", "-")) for where, value in drawn_at.items()} == pytest.approx(points)


def test_every_public_name_is_in_the_api():
    page = (ROOT / "docs" / "api.md").read_text()
    for name in heatcheck.__all__:
        assert name == "HeatcheckError" or f":: heatcheck.{name}\n" in page
    assert ":: heatcheck.errors\n" in page


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_versions_agree():
    version = heatcheck.__version__
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert built["project"]["dynamic"] == ["version"]
    said = (ROOT / built["tool"]["hatch"]["version"]["path"]).read_text()
    assert f'__version__ = "{version}"' in said, "it is said once"
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_no_upper_bounds_and_torch_is_pinned_for_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for wanted in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        assert "<" not in wanted
        assert "==" not in wanted
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()

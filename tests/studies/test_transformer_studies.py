"""Studies of transformers: smoke runs on a model from scratch, whose fits all four share."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from heatcheck.checks.perturbation import NOT_RANKED
from heatcheck.engine import Outcome
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import EXPLAINERS
from heatcheck.report import write_study
from heatcheck.report.studies.chefer2021 import SIGNED, rankings
from heatcheck.report.view import view_of
from heatcheck.results import StudyResult
from heatcheck.studies import STUDIES, run_study
from heatcheck.studies.of_transformers import QUICK, SCRATCH, from_nothing

NAMES = ("abnar2020", "brunner2020", "chefer2021", "kobayashi2020")
LAYERS = 2


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, made_up_corpora: Path
) -> Iterator[dict[str, tuple[StudyResult, list[Outcome]]]]:
    folder = tmp_path_factory.mktemp("studies")
    settings = replace(QUICK, seeds=1, texts=32, examples=6)
    found = {}
    for name in NAMES:
        told: list[Outcome] = []
        result = run_study(
            STUDIES[name],
            settings,
            folder,
            data_dir=made_up_corpora,
            device="cpu",
            progress=lambda outcome, *_, told=told: told.append(outcome),
        )
        found[name] = result, told
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_its_seeds_and_its_page(name: str, runs: dict, tmp_path: Path) -> None:
    found, told = runs[name]
    assert not found.failed
    assert {(row.task, row.encoder) for row in found.rows} == {("sst", SCRATCH)}
    assert all(row.seeds == 1 for row in found.rows)
    assert all("not comparable" in row.statement for row in found.rows if row.paper is not None)
    assert "smoke run" in found.notes[0]
    page = write_study(found, tmp_path / "study.html").read_text()
    assert "Ignore its numbers" in page
    chapters = {
        "abnar2020": "layers",
        "brunner2020": "identifiability",
        "chefer2021": "perturbation",
        "kobayashi2020": "mixing",
    }
    named = {study: re.escape(escape(view_of(check).title)) for study, check in chapters.items()}
    assert {study for study, words in named.items() if re.search(f"<h2[^>]*>[^<]*{words}", page)} == {name}
    assert [outcome.state for outcome in told] == ["done" if name == NAMES[0] else "reused", "done"]


def test_what_each_is_about(runs: dict) -> None:
    quantities = {name: {row.quantity for row in found.rows} for name, (found, _) in runs.items()}
    ways = {
        f"{t}:{m}:{n + 1}" for t in ("blank_out", "gradient") for m in ("raw", "rollout", "flow") for n in range(LAYERS)
    }
    assert ways | {"accuracy", "blank_out:gradient", "blank_out:random"} <= quantities["abnar2020"]
    by_size = {row.by["ranking"] for row in runs["chefer2021"][0].rows if row.name == "area"}
    # One that gives log-odds needs a linear model, these a linear read-out.
    refuse = {"contribution", "log_odds", "relevance"}
    assert {name for name in by_size if not name.endswith(SIGNED)} == {"random", *EXPLAINERS} - refuse - {
        *NOT_RANKED[1:]
    }
    assert {"longer", "jsd_low", "identified:2:cosine", "chance"} <= quantities["brunner2020"]
    assert {"mixing:AttnResLn-N:all", "special:norm from special tokens:2"} <= quantities["kobayashi2020"]


def test_a_start_is_made_once_and_is_the_same_everywhere(tmp_path: Path) -> None:
    from heatcheck.data import load_task

    corpus = load_task("planted_keyword")
    first = from_nothing(corpus, tmp_path / "a", small=True)
    second = from_nothing(corpus, tmp_path / "b", small=True)
    assert from_nothing(corpus, tmp_path / "a", small=True) == first
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    assert (first / "tokenizer.json").read_bytes() == (second / "tokenizer.json").read_bytes()


def test_wrong_choices(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="task of abnar2020 'snli'"):
        run_study(STUDIES["abnar2020"], replace(QUICK, tasks=("snli",)), tmp_path)
    with pytest.raises(BadInput, match="at least 1 seed"):
        run_study(STUDIES["abnar2020"], replace(QUICK, seeds=0), tmp_path)


def test_the_page_has_a_row_for_each_ranking_of_chefer2021_the_best_first(runs: dict) -> None:
    found = runs["chefer2021"][0]
    areas = {row.by["ranking"]: row for row in found.rows if row.name == "area"}
    tables = rankings(found)
    assert sum(len(table.rows) for table in tables) == len(areas)
    by_size, with_sign = tables
    assert {line[0] for line in by_size.rows} >= {"attention", "attnlrp", "gim", "relevance rollout", "random order"}
    assert {line[0] for line in with_sign.rows} >= {"attnlrp", "gim", "decompx"}
    for table in tables:
        values = [float(line[1].split()[0].replace("−", "-")) for line in table.rows]
        assert values == sorted(values, reverse=True)
        assert all(line[4] != "–" for line in table.rows if line[0] != "random order")

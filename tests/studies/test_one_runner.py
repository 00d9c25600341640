"""One runner for all studies: no study has one of its own, and each says what its settings are."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

import heatcheck.studies
from heatcheck.errors import BadInput, UnknownName
from heatcheck.studies import STUDIES, Study, change_settings, read_published

ROOM = Path(heatcheck.studies.__file__).parent


def functions(path):
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_no_study_runs_itself():
    assert "run" not in {one.name for one in fields(Study)}
    assert [path.name for path in ROOM.rglob("*.py") if "run_study" in functions(path)] == ["running.py"]
    runners = {path.name for path in ROOM.rglob("*.py") if "run" in functions(path)}
    assert runners <= {"running.py"}, "and that one is inside run_study"
    calls = {path.name for path in ROOM.rglob("*.py") if "engine.map(" in path.read_text()}
    assert calls == {"running.py", "seq2seq.py"}, "a job that scores a model trains it first"


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_every_setting_says_what_it_is_and_what_none_means(study):
    settings = study.settings()
    for one in fields(settings):
        assert one.metadata["help"].endswith("."), one.name
        assert bool(one.metadata["none"]) == ("None" in str(one.type)), one.name
    assert {"tasks", "seeds"} <= {one.name for one in fields(settings)}
    assert set(settings.tasks) | set(study.quick.tasks) <= set(study.tasks)
    assert study.table.is_file()
    assert study.smoke.startswith("This is a s")
    assert any(getattr(study.quick, name) is not None for name in study.smoke_if)
    assert all(getattr(settings, name) is None for name in study.smoke_if)
    assert read_published(study.name) is not None


def test_each_study_has_a_name_and_a_line_of_its_own():
    assert list(STUDIES) == sorted(STUDIES) == [study.name for study in STUDIES.values()]
    assert len({study.title for study in STUDIES.values()}) == len(STUDIES)


@pytest.mark.parametrize(
    ("study", "changes", "wanted"),
    [
        ("jain2019", {"encoders": "cnn, lstm", "epochs": "3"}, {"encoders": ("cnn", "lstm"), "epochs": 3}),
        ("jain2019", {"search": "false", "seeds": "none"}, {"search": False, "seeds": None}),
        ("jain2019", {"patience": "0"}, {"patience": 0}),
        ("wiegreffe2019", {"strengths": "0.1,0.2"}, {"strengths": (0.1, 0.2)}),
        ("abnar2020", {"model": "hf:mine"}, {"model": "hf:mine"}),
    ],
)
def test_values_are_read_as_their_field_says(study, changes, wanted):
    chosen = change_settings(STUDIES[study], STUDIES[study].quick, changes)
    assert {name: getattr(chosen, name) for name in wanted} == wanted
    assert chosen.texts == STUDIES[study].quick.texts


def test_a_file_is_named_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_text("a 1")
    jain2019 = STUDIES["jain2019"]
    assert change_settings(jain2019, jain2019.settings(), {"vectors": "v.txt"}).vectors == str(tmp_path / "v.txt")


@pytest.mark.parametrize(
    ("study", "changes", "sentence"),
    [
        (
            "jain2019",
            {"strengths": "1"},
            "unknown setting of jain2019 'strengths'; known: attentions, encoders, epochs",
        ),
        ("jain2019", {"epochs": "many"}, "epochs must be a whole number, not 'many'"),
        ("jain2019", {"examples": "many"}, "examples must be a whole number, such as 500, not 'many'"),
        ("jain2019", {"examples": "0"}, "examples must be a whole number from 1 to 1,000,000, not 0"),
        ("jain2019", {"examples": "1" * 30}, "examples must be a whole number from 1 to 1,000,000, not 1111"),
        ("jain2019", {"examples": "none"}, "examples must be a whole number, such as 500, not 'none'"),
        ("jain2019", {"search": "perhaps"}, "search must be true or false, such as True, not 'perhaps'"),
        ("jain2019", {"vectors": "nowhere.txt"}, "there is no file nowhere.txt: vectors must name"),
        ("jain2019", {"preset": ""}, "preset must not be empty"),
        ("wiegreffe2019", {"strengths": "much"}, "strengths must be a comma-separated list of numbers, not 'much'"),
        ("wiegreffe2019", {"restarts": "0"}, "restarts must be a whole number from 1"),
    ],
)
def test_a_wrong_value_is_refused_in_a_sentence(study, changes, sentence):
    with pytest.raises(BadInput, match=sentence):
        change_settings(STUDIES[study], STUDIES[study].settings(), changes)


def test_an_unknown_setting_has_a_hint():
    with pytest.raises(UnknownName, match="did you mean 'encoders'"):
        change_settings(STUDIES["jain2019"], STUDIES["jain2019"].quick, {"encoder": "lstm"})

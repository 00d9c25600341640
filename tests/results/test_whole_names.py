"""Names are names: what tells the kinds of a quantity apart is in `by`, and nobody takes a name to pieces."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from heatcheck.errors import BadInput
from heatcheck.report.studies import STUDY_VIEWS
from heatcheck.results import OF_STUDIES, QUANTITIES, key, parse_key, register_axes
from heatcheck.results.key import AXES
from heatcheck.results.study import COLUMNS, Row
from heatcheck.studies import STUDIES, read_published

ROOMS = ("auditing", "checks", "cli", "report", "serve", "studies")
TAKEN_TO_PIECES = {"startswith", "partition", "rpartition", "split", "rsplit", "removeprefix"}
# Uses on other texts: room -> file -> what it is called on.
ALLOWED = {
    "auditing": {
        "planning.py": {
            "checks",
            "explainer",
            "subject.id",
            "task",
        },  # option texts, file:NAME, known:MODEL@TASK, hf:NAME
        "calibration/audit.py": {"key"},  # a setting, CHECK.SETTING
        "heatmaps.py": {"checks", "heatmaps"},  # option texts
        "chosen_settings.py": {"key"},  # a setting on the command line, CHECK.SETTING
        "retraining.py": {"subject.id"},  # hf:NAME
        "saving.py": {"plan.case.subject.id"},  # hf:NAME
        "treating/plan.py": {"treatments"},  # option text
    },
    "checks": {
        "heatmap.py": {"name"},  # as --heatmap takes it
        "passes.py": {"name"},  # an explainer, file:NAME
        "states.py": {"name"},  # values per example, named there
    },
    "cli": {
        "audit.py": {"subject.id", "task"},
        "fail_if.py": {"text"},
        "heads.py": {"task"},  # name@fingerprint
        "heatmaps.py": {"name"},  # an explainer, where a long name may be broken over lines
        "options.py": {"engine", "text"},
        "report.py": {"text"},
        "reproduce.py": {"option", "pair", "word"},
        "show.py": {"audit.task"},  # name@fingerprint
        "prompts.py": {"labels", "part"},  # as the user gives them
        "train.py": {"key"},  # a setting of a recipe
    },
    "report": {
        "audit_figures.py": {"suffix"},
        "audited.py": {"audit.task"},
        "checks/dynamics.py": {"title"},
        "checks/flips.py": {"where"},  # a bin
        "checks/mechanism.py": {"place", "weights.baseline"},  # a head as LAYER.HEAD; a z that is said there in words
        "comparison.py": {"first.task"},
        "comparison_page.py": {"a.task", "text"},  # a number that has a sign
        "figures/files.py": {"str(altair().SCHEMA_VERSION).lstrip('v')"},
        "markdown.py": {"number.n", "one.n", "str(text).replace('\\\\', '\\\\\\\\')"},
        "notebook.py": {"audit.task"},
        "sections.py": {"m.baseline"},  # a scale that is said there in words
        "studies/jain2019/figures.py": {"panel.row"},  # TASK: LABEL, a title
        "studies/pruthi2020_transformer.py": {"model.attention"},  # mean or max, with or without the mask
        "study_page.py": {"model.task", "task", "note"},  # "snli, merge" is of snli; a sentence
        "treatments.py": {"found.task"},  # name@fingerprint
    },
    "serve": {"newest_audit.py": {"facts['task']"}, "shown_models.py": {"subject.id", "task"}},
    "studies": {
        "cells.py": {"job.name"},
        "jain2019.py": {"task"},
        "of_heads.py": {"settings.language_model"},  # hf:NAME
        "of_transformers.py": {"settings.model"},
        "pruthi2020_transformer.py": {"settings.model", "name"},  # hf:NAME; a measure of a layer, named there
        "voita2019.py": {"role"},  # a syntactic role with its relation, as `heads` writes it
        "wiegreffe2019/__init__.py": {"key"},  # a setting, CHECK.SETTING
    },
}
ARRAYS = {"np", "torch"}  # whose split is of arrays


def taken_to_pieces(file: Path) -> set[str]:
    """What the methods that cut a text are called on."""
    return {
        ast.unparse(node.func.value)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TAKEN_TO_PIECES
        and ast.unparse(node.func.value) not in ARRAYS
    }


@pytest.mark.parametrize("room", ROOMS)
def test_nobody_takes_a_name_to_pieces(room):
    """A measurement, a row and a reason have fields. A use on another text is named above, with what it is."""
    folder = Path(__file__).parents[2] / "src" / "heatcheck" / room
    found = {str(file.relative_to(folder)): taken_to_pieces(file) for file in folder.rglob("*.py")}
    assert {name: texts for name, texts in found.items() if texts} == ALLOWED[room]


def test_a_published_number_is_written_as_it_was_read():
    """And the same name with other parts is another quantity's fact, not a longer value."""
    for study in STUDIES:
        for one in read_published(study):
            assert parse_key(one.key.text) == one.key
    for text in ("jsd:seeds", "jsd:0.05", "jsd:published:0.05", "mass:polar", "mass:attention", "difference:last",
                 "difference:gradient|leave_one_out-attention|gradient", "survival:1.0:random", "copied:none:2000",
                 "delta_js:correct:Δα 0.0–0.2", "mixing:Attn-W:all", "agreement:twin"):  # fmt: skip
        assert parse_key(text).text == text
    assert parse_key("mixing:Attn-W:2").by == {"variant": "Attn-W", "layer": 2}
    for text in ("jsd:none:of:these", "failed:many", "failed", "nobody:knows"):
        with pytest.raises(BadInput, match="names no quantity"):
            parse_key(text)
    with pytest.raises(BadInput, match="no table has a text for 'failed' by weights"):
        _ = key("failed", weights="own").text


def test_every_quantity_of_a_study_has_words_and_a_direction():
    of_texts = {"p", "effect", "auprc"}  # names of kept arrays only
    registered = {name for check, name in QUANTITIES if check == OF_STUDIES}
    assert AXES.keys() - of_texts <= registered
    assert {one.name for view in STUDY_VIEWS.values() for one in view.quantities} < registered
    assert {one.key.name for study in STUDIES for one in read_published(study)} <= registered


def test_a_study_of_another_package_has_kinds_of_its_own(monkeypatch):
    monkeypatch.setattr(import_module("heatcheck.results.key"), "AXES", dict(AXES))  # no attribute: `key` is a function
    own = key("sharpness", weights="uniform", steps=20)
    assert own.text == "sharpness:20:uniform", "a table can be shown without the package"
    with pytest.raises(BadInput, match="names no quantity"):
        parse_key("sharpness:uniform:20")
    register_axes("sharpness", ("weights", "steps"))
    assert own.text == "sharpness:uniform:20"
    assert parse_key("sharpness:uniform:20") == own
    register_axes("sharpness", ("weights", "steps"))  # once more says nothing new
    with pytest.raises(BadInput, match=r"'sharpness' has other facts already \(weights, steps\)"):
        register_axes("sharpness", ("weights",))


def test_a_table_has_the_columns_it_had():
    row = Row("sst", "lstm", "tanh", "trained", {"weights": "last"}, "", "", 0.8, 0.7, 0.9, 3, None, None, "", "")
    assert tuple(row.facts()) == COLUMNS
    assert row.facts()["quantity"] == "trained:last"

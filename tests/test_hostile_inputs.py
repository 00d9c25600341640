"""A fuzz: malformed files, folders, command lines and calls end in one sentence, leave nothing, and run no code."""

import os
import random
import subprocess
import sys
from functools import partial

import pytest

import hostile_inputs
from hostile_inputs import Case, Whole, calls, command, make_cases, needed, run_all, run_case


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What is not malformed."""
    return Whole(tmp_path_factory.mktemp("whole"))


@pytest.mark.filterwarnings("ignore")  # of libraries that read damaged files
def test_every_malformed_thing_is_refused_in_one_sentence(whole, tmp_path):
    found = run_all(2, range(400), whole, tmp_path)
    assert not found.wrong, "\n".join(found.wrong)
    assert found.refused.total() >= 300
    assert min(found.refused.values()) >= 15, found.refused


@pytest.mark.filterwarnings("ignore")
def test_without_the_mutation_it_is_valid(whole, tmp_path, monkeypatch):
    """Or all that is refused might be refused for another reason."""
    for name in ("mutated_bytes", "mutated_json", "mutated_lines", "mutated_arrays"):
        monkeypatch.setattr(hostile_inputs, name, lambda _, given, **__: given)
    for name in ("damage", "add_code"):
        monkeypatch.setattr(hostile_inputs, name, lambda *_: None)
    made = {case.kind: case for case in make_cases(0, 10, whole)}
    cases = [made[kind] for kind in sorted(made.keys() - {"options", "call", "module"})]
    for name in ("audit", "explain", "train", "report", "compare", "tasks"):
        cases.append(Case(name, lambda place, name=name: command(name, *needed(name, place, whole))))
    for name in calls(tmp_path, whole):
        cases.append(Case(name, partial(_called, name=name, whole=whole)))
    for number, case in enumerate(cases):
        place = tmp_path / str(number)
        place.mkdir()
        assert run_case(case, place, whole.mark) == ("valid", ""), case.kind


def _called(place, name, whole):
    function, arguments = calls(place, whole)[name]
    return partial(function, **arguments)


def test_yes_from_another_process_runs_no_code(whole, tmp_path):
    folder = whole.copied("hf", tmp_path)
    hostile_inputs.add_code(random.Random(0), folder, whole.mark, file="config.json", facts={"model_type": "theirs"})
    ended = subprocess.run(
        f"yes | {sys.executable} -m heatcheck explain hf:{folder} 'good film'",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("heatcheck: ")
    assert "never runs a model's code" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not whole.mark.exists()

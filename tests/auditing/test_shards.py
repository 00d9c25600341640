"""Audits in several processes: the same results as in one, resumed after a kill, and no process left behind."""

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heatcheck import wrap
from heatcheck.auditing import plan_audit, run_plan, shards
from heatcheck.checks import Case
from heatcheck.checks.other_weights import swapped
from heatcheck.checks.shared_work import answers_to, joined, other_weights_for, records_of, scores_by
from heatcheck.data import load_task
from heatcheck.errors import BadInput
from heatcheck.models import with_labels
from pretrained import film_corpus
from subjects import classifier
from tiny_transformers import make

KEYWORD = load_task("planted_keyword")
FILMS = film_corpus(48)
RECURRENT = classifier(KEYWORD["train"].examples[:200], KEYWORD.labels, encoder="lstm")
TRANSFORMER = make("bert", sharp=1.0)
TRANSFORMER.network.double()  # in float32 it rounds by 1e-7, and its tiny margins make 2e-6 of that
QUICK = {
    "agreement.shuffles": 2,
    "agreement.explainers": "attention,gradient,leave_one_out,integrated_gradients,alti",
    "erasure.rivals": "leave_one_out,gradient_x_input",
    "erasure.random_orders": 2,
    "necessity.shuffles": 2,
    **{f"{check}.draws": 50 for check in ("agreement", "erasure", "counterfactual", "necessity")},
}
CHECKS = "agreement,erasure,counterfactual,necessity,identifiability"
WORKS = [
    (answers_to, {}),
    (records_of, {}),
    (swapped, {"seed": 0, "shuffles": 3}),
    (other_weights_for, {"asked": [(0.05, 1.0), (0.01, 3.0)], "seed": 0}),
    *((scores_by, {"name": name, "seed": 0, "scale": 1.5}) for name in ("leave_one_out", "lime", "random")),
]


def planned(subject, corpus, **choices):
    return plan_audit(subject, corpus, examples=24, settings=QUICK, checks=CHECKS, name="it", **choices)


def recurrent():
    return planned(RECURRENT, KEYWORD)


def transformer():
    return planned(TRANSFORMER, FILMS, labels=FILMS.labels)


@pytest.fixture
def _everything_is_shared(monkeypatch, tmp_path):
    """All work is shared, however little it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shards, "WORTH", 0.0)
    monkeypatch.setattr(shards, "SMALL", 0.0)


def assert_same(one, other):
    assert one.results.keys() == other.results.keys()
    assert one.not_run == other.not_run
    for name, found in one.results.items():
        twin = other.results[name]
        assert (found.not_run, found.excluded) == (twin.not_run, twin.excluded)
        assert [(m.name, m.n, m.by) for m in found.measurements] == [(m.name, m.n, m.by) for m in twin.measurements]
        numbers = [[(m.value, m.low, m.high) for m in result.measurements] for result in (found, twin)]
        np.testing.assert_allclose(*numbers, rtol=0, atol=1e-6, equal_nan=True)
        for key, values in found.per_example.items():
            np.testing.assert_allclose(values, twin.per_example[key], rtol=0, atol=5e-6, equal_nan=True)
    assert [(line.name, line.state) for line in one.card.lines] == [
        (line.name, line.state) for line in other.card.lines
    ]


@pytest.mark.parametrize("plan", [recurrent, transformer])
@pytest.mark.parametrize(("work", "facts"), WORKS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_any_parts_give_the_rows_of_the_whole(plan, work, facts, data):
    case = plan().case
    examples = case.examples[:9]
    number = data.draw(st.lists(st.integers(0, 3), min_size=9, max_size=9))
    order = data.draw(st.permutations(range(9)))
    places = [[p for p in order if number[p] == n] for n in set(number)]
    parts = [work(case.subject, [examples[p] for p in of], **facts) for of in places]
    found, whole = joined(parts, places), work(case.subject, examples, **facts)
    assert found.keys() == whole.keys()
    for name, rows in whole.items():
        if rows.dtype.kind == "U":
            assert found[name].tolist() == rows.tolist()
        else:
            np.testing.assert_allclose(found[name], rows, rtol=0, atol=5e-6, equal_nan=True)


@given(words=st.lists(st.integers(0, 60), min_size=1, max_size=80), parts=st.integers(1, 12), squared=st.booleans())
def test_each_text_is_in_one_part_and_no_part_is_far_larger_than_others(words, parts, squared):
    found = shards.split(words, parts, squared=squared)
    assert sorted(place for part in found for place in part) == list(range(len(words)))
    assert len(found) <= parts
    power = 2 if squared else 1
    work = [(n + 1) ** power for n in words]
    assert max(sum(work[p] for p in part) for part in found) <= sum(work) / parts + max(work) + 1e-6


@pytest.mark.slow
@pytest.mark.usefixtures("_everything_is_shared")
@pytest.mark.parametrize("plan", [recurrent, transformer])
def test_two_processes_find_what_one_does(plan, monkeypatch):
    given_out = []
    monkeypatch.setattr(shards.Crew, "give", spied(shards.Crew.give, given_out))
    together = run_plan(plan(), workers=2)
    assert len(given_out) > 40  # jobs
    assert not list(Path("heatcheck-out/shards").iterdir())
    alone = run_plan(plan())
    assert_same(alone, together)


def spied(give, seen):
    def also(self, jobs, *, first=False):
        seen.extend(jobs)
        return give(self, jobs, first=first)

    return also


def test_a_short_audit_stays_in_this_process(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shards, "Shards", None)
    with shards.in_shards(recurrent(), workers=2):
        pass
    monkeypatch.setattr(shards, "WORTH", 0.0)
    with shards.in_shards(recurrent(), workers=1):
        pass
    with pytest.raises(TypeError), shards.in_shards(recurrent(), workers=2):
        pass


def test_the_id_follows_the_model_the_examples_and_the_labels():
    case = recurrent().case
    own = shards.decides(case)
    assert own == shards.decides(recurrent().case)
    fewer = Case(case.subject, case.examples[:-1], labels=case.labels)
    other = Case(case.subject, [*case.examples[:-1], replace(case.examples[-1], text="good")], labels=case.labels)
    changed = classifier(KEYWORD["train"].examples[:200], KEYWORD.labels, encoder="lstm")
    next(changed.parameters()).data[-1] += 1e-3
    twin = Case(changed, case.examples, labels=case.labels)
    for each in (case, fewer, other, twin):
        each.log_probabilities = np.zeros((1, 2))  # each fact counts, also where the answers are the same
    assert len({own, *map(shards.decides, (case, fewer, other, twin))}) == 5


@pytest.mark.usefixtures("_everything_is_shared")
def test_a_model_that_cannot_be_sent_is_refused_before_anything_runs():
    subject = classifier(KEYWORD["train"].examples[:200], KEYWORD.labels, encoder="lstm")
    subject.beside = lambda: None
    with pytest.raises(BadInput, match=r"cannot be sent to other processes .* Leave out workers"):
        run_plan(planned(subject, KEYWORD), workers=2)


def fails_there(_subject, examples, *, here):
    """In another process some parts die."""
    if os.getpid() != here and examples[0].id.endswith("0"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"rows": np.array([len(example.words) for example in examples])}


def raises(_subject, examples):
    raise BadInput(f"not these {len(examples)}")


@pytest.mark.slow
@pytest.mark.usefixtures("_everything_is_shared")
def test_an_error_is_that_of_one_process_and_a_death_costs_its_part_only():
    plan = recurrent()
    with shards.in_shards(plan, workers=2):
        found = plan.case.share(fails_there, plan.case.examples, here=os.getpid())
        assert found["rows"].tolist() == [len(example.words) for example in plan.case.examples]
        with pytest.raises(BadInput, match="not these 24"):
            plan.case.share(raises, plan.case.examples)
    assert plan.case.share == plan.case._alone


AUDIT = """
import sys
sys.path[:0] = {path!r}
import test_shards
from heatcheck.auditing import run_plan, shards
if __name__ == "__main__":
    shards.WORTH = shards.SMALL = 0.0
    run_plan(test_shards.recurrent(), workers=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.usefixtures("_everything_is_shared")
def test_a_stopped_audit_resumes_and_leaves_no_process(by, monkeypatch):
    Path("audit.py").write_text(AUDIT.format(path=[str(Path(__file__).parent), *sys.path]))
    running = subprocess.Popen([sys.executable, "audit.py"], stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 120
    while len(done := list(Path().glob("heatcheck-out/shards/*/[0-9a-f]*"))) < 10 and running.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    running.send_signal(by)
    assert running.wait() != 0
    while members(running.pid):
        assert time.monotonic() < until
        time.sleep(0.1)
    before = {folder.name for folder in Path().glob("heatcheck-out/shards/*/[0-9a-f]*")}
    assert len(before) >= len(done)
    if by == signal.SIGINT:
        return
    outcomes = []
    wait = shards.Crew.wait
    monkeypatch.setattr(shards.Crew, "wait", lambda self, ids: outcomes.extend(wait(self, ids)) or wait(self, ids))
    resumed = run_plan(recurrent(), workers=2)
    assert {one.job.id for one in outcomes if one.state == "reused"} == before
    assert_same(run_plan(recurrent()), resumed)


def members(session):
    """The processes of a session that live."""
    found = subprocess.run(["ps", "-s", str(session), "-o", "stat="], capture_output=True, text=True, check=False)
    return [state for state in found.stdout.split() if not state.startswith("Z")]


class Own(nn.Module):
    """A user's own module."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, tokens):
        states = self.embedding(tokens)
        return self.out(self.attention(states, states, states)[0][:, 0])


def lengths(text):
    return [len(word) for word in text.split(" ")]


@pytest.mark.parametrize("kind", ["own", "bert", "gpt2"])
def test_a_copy_in_another_process_answers_alike(kind):
    subject = wrap(Own(), lengths, labels=("bad", "good")) if kind == "own" else make(kind)
    examples = FILMS["test"].examples[:5]
    scores_by(subject, examples, name="gradient", seed=0, scale=1.0)  # which leaves hooks in a transformer
    subject = with_labels(subject, FILMS.labels) if kind == "bert" else subject
    copied = pickle.loads(pickle.dumps(subject))
    for name in ("attention", "gradient", "leave_one_out"):
        facts = {"name": name, "seed": 0, "scale": 1.0}
        found = [scores_by(one, examples, **facts)["values"] for one in (subject, copied)]
        np.testing.assert_array_equal(*found)

"""Benchmarks run at the size of a smoke test, both sides agree, and a side that is wrong is noticed."""

import csv
import json

import numpy as np
import pytest
import torch
from benchmarks import battery, library_side, minilm_audit, plain_side, published, treated
from benchmarks.__main__ import main
from benchmarks.inputs import IMDB, SST, TOY_SST, Setup, make_texts

from heatcheck.auditing.treating.advice import advise
from heatcheck.engine import nulled, write_whole
from heatcheck.explainers import stand_ins
from heatcheck.report.treatments import columns_of
from heatcheck.results.treatments import treatments_facts
from tiny_transformers import tiny
from treated_world import treatments

TOY = Setup("average", TOY_SST, toy=True)


def test_benchmarks_agree(capsys):
    rows = main(quick=True)
    assert len(rows) >= 3
    assert all(row["equal"] for row in rows)
    timed = [row for row in rows if "peak_gb" not in row]
    assert all({"name", "size", "plain_s", "library_s", "ratio", "equal"} <= row.keys() for row in timed)
    assert [row["peak_gb"] < row["limit_gb"] for row in rows if row not in timed] == [True, True]
    assert {row["target"] for row in timed if row.get("target")} >= {10, 50, 100, 300}
    assert "ratio" in capsys.readouterr().out
    json.dumps(rows)


@pytest.mark.parametrize("size", [SST, IMDB])
def test_texts_are_as_long_as_they_say(size):
    lengths = np.array([len(example.words) for example in make_texts(size)])
    assert len(lengths) == 500
    assert size.shortest == lengths.min()
    assert 0.9 * size.longest < lengths.max() <= size.longest
    assert abs(lengths.mean() / size.mean - 1) < 0.05


@pytest.mark.parametrize("stage", ["gradients", "leave-one-out", "counterfactual"])
def test_a_side_that_finds_something_else_is_noticed(monkeypatch, stage):
    plain = plain_side.battery(TOY)
    found = dict(plain[stage].found)
    found["SST-like-3"] = found["SST-like-3"] + 0.7  # as far as ln 2
    monkeypatch.setattr(plain_side, "battery", lambda _: {**plain, stage: plain[stage]._replace(found=found)})
    rows = {row["name"]: row["equal"] for row in battery._compare(TOY)}
    assert rows.get(f"{stage}, average", False) is False
    assert rows["whole battery, average"] is False
    assert rows["permutation, average"] is True


def test_other_shuffles_are_noticed(monkeypatch):
    case, _ = library_side.run_library(TOY)
    assert battery._permutations_agree(TOY, case)
    generator = np.random.default_rng(0)
    theirs = plain_side.permutation(TOY, lambda _, length: generator.permutation(length))
    monkeypatch.setattr(plain_side, "permutation", lambda *_: theirs)
    assert not battery._permutations_agree(TOY, case)


def test_a_sample_is_scaled_by_the_tokens_it_reads():
    clock = plain_side.over_batches(lambda n: {n: sum(range(n))}, [10**5, 10**5, 2 * 10**5], int, sample=[0])
    assert clock.share == 0.25
    assert list(clock.found) == [10**5]


def test_the_plain_search_finds_what_the_library_finds_by_the_published_search():
    subject = TOY.subject
    encoded = published.encode(subject, TOY.batches[0])
    plain = published.adversarial(subject, encoded, torch.Generator().manual_seed(0))
    examples = [example for example in TOY.examples if example.id in plain]
    theirs = np.array([plain[example.id] for example in examples])
    ours = stand_ins(subject, examples, method="jain2019").jsd[:, 0]
    assert abs(theirs.mean() - ours.mean()) < 0.04  # of 0.39; the starts differ
    assert (stand_ins(subject, examples).jsd[:, 0] >= theirs - 1e-5).all()
    assert theirs.mean() < stand_ins(subject, examples).jsd.mean() - 0.04  # not merely unconstrained


def test_a_chaotic_word_is_judged_by_the_truth_and_a_wrong_side_is_not_excused():
    plain = plain_side.leave_one_out(TOY).found
    name = next(iter(plain))

    def moved(by):
        return {**plain, name: plain[name] + by}

    assert plain_side.same_removals(TOY, plain, plain, 1e-5)
    assert plain_side.same_removals(TOY, moved(5e-5), plain, 1e-5)  # the plain side's own rounding
    assert not plain_side.same_removals(TOY, plain, moved(5e-5), 1e-5)
    assert not plain_side.same_removals(TOY, moved(0.1), plain, 1e-5)  # no rounding
    assert not plain_side.same_removals(TOY, plain, {n: row + 2e-5 for n, row in plain.items()}, 1e-5)


def test_a_transformers_audit_is_timed_per_check():
    texts = [f"the film was {word}" for word in ("good", "bad", "great", "dull")]
    labels = ["LABEL_1", "LABEL_0", "LABEL_1", "LABEL_0"]
    audited = {"checks": "permutation,erasure", "examples": 4}
    found, again = (minilm_audit.measure(tiny("bert"), (texts, labels), **audited) for _ in range(2))
    assert set(found["of_check"]) == {"permutation", "erasure"}
    assert 0 < sum(found["of_check"].values()) <= found["processor_s"]
    assert minilm_audit.differences(found, again) == []
    name = next(iter(again["numbers"]))
    again["numbers"][name] = [again["numbers"][name][0] + 1e-3, *again["numbers"][name][1:]]
    assert [line.startswith(name) for line in minilm_audit.differences(found, again)] == [True]
    again["card"]["points at what matters"] = "changed"
    assert len(minilm_audit.differences(found, again)) == 2
    json.dumps(found)


def test_treatments_of_several_runs_stand_in_one_table(tmp_path):
    """What a later run did not try keeps its row, on the page too; what it did try is new."""
    whole = treatments()._replace(task="sst@ab")
    first = whole._replace(rows=whole.rows[:6])
    changed = whole.rows[5]._replace(evenness=(0.25, 0.75))
    second = whole._replace(rows=(changed, *whole.rows[6:]))
    path, page = tmp_path / "mine.csv", tmp_path / "mine.md"
    path.write_text("task,treatment,quantity\n")
    page.write_text(f"{treated.BEGIN}\n{treated.END}\n")
    for found in (first, second):
        write_whole(tmp_path / "sst.json", json.dumps(nulled(treatments_facts(found))))
        treated.to_csv(tmp_path, path)
    with path.open(newline="") as file:
        rows = treated.rows_of(list(csv.DictReader(file)))
    assert [row.name for row in rows] == [row.name for row in whole.rows]
    assert rows[5].evenness == (0.25, 0.75)
    assert columns_of([whole._replace(rows=rows)]) == columns_of([whole._replace(rows=(*whole.rows[:5], *second.rows))])
    assert page.read_text().count("### sst") == 1
    assert treated.said(whole._replace(rows=rows, advice=advise(rows))) in page.read_text()
    assert "`top_k`, `masked_words` and `orthogonal` were run later" in page.read_text()
    written = path.read_text(), page.read_text()
    treated.to_csv(tmp_path, path)
    assert (path.read_text(), page.read_text()) == written

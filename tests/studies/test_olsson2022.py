"""The study: a smoke run, redrawn from what it kept; the criterion by hand; and runs whose fate is known."""

import importlib
import shutil
from functools import partial

import numpy as np
import pytest
import torch

from heatcheck import stats
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import read_study
from heatcheck.serve.heads_over_training import AskedHeadRun, read_heads
from heatcheck.studies import STUDIES, run_study
from heatcheck.studies.olsson2022 import watching
from heatcheck.studies.olsson2022.criterion import SHARE, change_of, shortest_window
from heatcheck.studies.olsson2022.stacked import Shape, Stack
from heatcheck.studies.olsson2022.watching import Curves, Data, Heads, Watch, kept, smoothed, stops
from smoke_runs import smoke_run

study = importlib.import_module("heatcheck.studies.olsson2022")  # the package's name of it is the Study
run = partial(run_study, STUDIES["olsson2022"])
CPU = torch.device("cpu")
TINY = Shape(size=8, heads=2, tokens=40, words=64)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    return smoke_run("olsson2022", tmp_path_factory.mktemp("smoke") / "study")


def test_the_smoke_run_has_every_kind_and_can_be_played(smoke):
    folder, said = smoke
    rows = {(row["task"], row["quantity"]): row for row in said["rows"]}
    for kind in study.KINDS:
        assert {quantity for where, quantity in rows if where == kind} >= {
            *("phase_change", "no_induction", "prefix_end", "previous_end", "in_context_end", "loss_end")
        }
        assert rows[kind, "prefix_end"]["seeds"] == 2
    assert rows["two_layers_spared", "prefix_end_less"]["seeds"] == 2
    assert said["notes"][0].startswith("This is a smoke run")
    heads = read_heads(folder)
    assert len(heads.overview().runs) == 2 * len(study.KINDS)
    seen = heads.one(AskedHeadRun(run="one_layer, seed 1"))
    assert seen.played == seen.steps == [0, 20, 40]
    assert np.sum(seen.maps, axis=-1) == pytest.approx(1, abs=0.05), "rows of weights"


def test_the_page_can_be_drawn_from_what_was_kept(smoke, tmp_path):
    shutil.copytree(smoke[0] / "results", tmp_path / "results")
    states = []
    found = run(study.QUICK, tmp_path, progress=lambda outcome, *_: states.append(outcome.state))
    assert states == ["reused"] * len(study.KINDS)
    before = {(row.task, row.quantity): row.value for row in read_study(smoke[0]).rows}
    assert {(row.task, row.quantity): row.value for row in found.rows} == before
    (path,) = (tmp_path / "results").glob("one_layer-*/curves.npz")
    path.write_bytes(b"no longer")
    with pytest.raises(BrokenFolder, match=r"one_layer-.* is damaged"):
        run(study.QUICK, tmp_path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"seeds": 1}, "at least 2 seeds"), ({"steps": 5}, "20 steps"), ({"size": 10}, "multiple of 4")],
)
def test_settings_that_make_no_sense_are_refused(changed, words, tmp_path):
    with pytest.raises(BadInput, match=words):
        run(study.Settings(**changed), tmp_path)


STEPS = np.arange(0, 101, 5)
JUMP = np.where(STEPS < 50, 0.02, 0.9)
RAMP = np.interp(STEPS, [40, 55], [0, 1])
EARLY, LATE = (np.where(at > STEPS, 0.0, -1.0) for at in (20, 80))


@pytest.mark.parametrize(
    ("prefix", "in_context", "wanted"),
    [
        (JUMP, -JUMP, {"met": True, "begin": 45, "end": 50, "length": 0.05, "fall": 1.0}),
        (STEPS / 100, -STEPS / 100, {"met": False, "risen": True, "length": 0.8}),  # too slow
        (JUMP, EARLY, {"met": False, "risen": True, "fall": 0.0}),  # the context was used long before
        (JUMP, LATE, {"met": False, "risen": True, "fall": 0.0}),  # it was used long after
        (JUMP, JUMP, {"met": False, "risen": True}),  # no fall
        (JUMP / 5, -JUMP, {"met": False, "risen": False, "reached": False}),  # no induction head
        (np.where(STEPS == 50, 0.5, 0.02), -JUMP, {"met": False, "risen": False, "reached": True}),  # not kept
        # Looks are 5 steps apart, so 80% of this rise takes all three of its thirds: exactly 15%, which is not shorter.
        (RAMP, -RAMP, {"met": False, "risen": True, "length": 0.15}),
    ],
)
def test_the_criterion_by_hand(prefix, in_context, wanted):
    found = change_of(STEPS, prefix, in_context)._asdict()
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_the_window_is_the_shortest_of_all_that_hold_enough():
    generator = np.random.default_rng(0)
    for _ in range(30):
        steps = np.cumsum(generator.integers(1, 9, size=12))
        rising = generator.random(12).cumsum() * generator.choice([-1, 1], p=[0.2, 0.8])
        begin, end = shortest_window(steps, rising)
        whole = rising[-1] - rising[0]
        if whole <= 0:
            assert (begin, end) == (0, 11)
            continue
        enough = [
            (steps[b] - steps[a], a, b)
            for a in range(12)
            for b in range(a + 1, 12)
            if rising[b] - rising[a] >= SHARE * whole - 1e-12
        ]
        assert (steps[end] - steps[begin], begin, end) == min(enough)


def test_kept_maps_lie_in_and_around_the_rise():
    found = stops(401, 100, 110)
    assert len(found) == watching.PLAYED
    assert len([place for place in found if 90 <= place <= 120]) >= watching.PLAYED // 2
    assert (found[0], found[-1]) == (0, 400)
    assert stops(3, 0, 2) == [0, 1, 2]
    assert len(stops(401, 399, 400)) == watching.PLAYED


def test_a_look_says_what_one_model_says_of_itself():
    """Loss, scores and composition of one model, from its maps and weights alone."""
    seeds, data = (1, 2), Data(batch=4, held_out=8, random=3)
    stack, watch = Stack(seeds, TINY), Watch(seeds, TINY, data, CPU)
    found = watch.look(stack)
    with torch.no_grad():
        logits = stack(watch.held_out).logits[1, :, :-1].log_softmax(-1)
        losses = -logits.gather(2, watch.held_out[1, :, 1:, None])[..., 0].mean(0)
        maps = stack(watch.random).weights
    assert found.loss[1].item() == pytest.approx(losses.mean().item(), abs=1e-5)
    near = [losses[max(0, at - 2) : at + 3].mean() for at in (4, 34)]  # 39 losses: .1 and .9 of 38 steps between them
    assert found.in_context[1].item() == pytest.approx((near[1] - near[0]).item(), abs=1e-5)
    period = (TINY.tokens - 1) // watching.COPIES
    followed, before = [], []
    for text in range(data.random):
        for query in range(1 + period, 1 + 4 * period):
            earlier = range(query - period, 0, -period)
            followed.append(sum(maps[1][1, text, 1, query, key + 1] for key in earlier))
            before.append(maps[0][1, text, 0, query, query - 1])
    assert found.prefix_matching[1, 2 + 1].item() == pytest.approx(float(torch.stack(followed).mean()), abs=1e-5)
    assert found.previous_token[1, 0].item() == pytest.approx(float(torch.stack(before).mean()), abs=1e-5)
    centre = torch.eye(TINY.size) - 1 / TINY.size
    value, output, reader = (
        stack.weights[name][1, head].detach() for name, head in (("value_0", 0), ("output_0", 0), ("key_1", 1))
    )
    written, read = centre @ value @ output, centre @ reader
    composed = (written @ read).norm() / (written.norm() * read.norm()) / watch.by_chance
    assert found.composition[1, 0, 1].item() == pytest.approx(composed.item(), abs=1e-4)


def test_losses_are_smoothed_over_a_tenth_of_the_text():
    assert torch.allclose(smoothed(torch.arange(127.0)[None])[0, 10:-10], torch.arange(127.0)[10:-10])
    spike = smoothed(torch.nn.functional.one_hot(torch.tensor([60]), 127).float())[0]
    assert spike.nonzero()[:, 0].tolist() == [*range(54, 67)]


def test_what_is_kept_is_of_the_heads_that_are_best_at_the_end():
    """Head 2.1 matches at the end and head 1.2 at the start; 1.1 looks back at the end."""
    looks = []
    for at in (0.0, 1.0):
        prefix = torch.tensor([[0.0, 0.5 - at / 2, 0.9 * at, 0.1]])
        previous = torch.tensor([[0.8 * at, 0.3]])
        composed = torch.tensor([[[1.0 + at, 5.0], [6.0, 7.0]]])
        maps = torch.arange(4.0)[None, :, None, None].expand(1, 4, 3, 3) / 4
        looks.append(Heads(torch.ones(1), -torch.full((1,), at), prefix, previous, composed, maps))
    found = kept(np.array([0, 20]), looks, np.array([0, 1, 1]), TINY)
    assert found.best.tolist() == [[2, 1]]
    assert found.feeds.tolist() == [[1, 1]]
    assert found.prefix_matching[0] == pytest.approx([0.5, 0.9], abs=1e-3)
    assert found.previous_token[0] == pytest.approx([0.3, 0.8], abs=1e-3)
    assert found.composition[0].tolist() == [1, 2]
    assert (found.maps == round(255 * 2 / 4)).all()
    assert found.played.tolist() == [[0, 20]]


def told_fates(seeds, shape, data, steps, *, device):  # noqa: ARG001 - as the real one
    """One layer never learns; two learn at once but for the last seed; spared models learn half as much."""
    at = np.arange(0, steps + 1, 20)
    late = np.array(seeds)[:, None] == max(seeds)
    rise = np.where(late, at / steps, at >= steps // 2)
    rise = rise * (0.0 if shape.layers == 1 and not shape.smeared else 0.4 if shape.spared else 0.8)
    same = dict.fromkeys(("previous_token", "composition", "loss"), np.ones_like(rise))
    maps = np.zeros((len(seeds), 2, 3, 3), dtype=np.uint8)
    return Curves(
        steps=at,
        prefix_matching=rise,
        in_context=-rise,
        best=np.ones((len(seeds), 2), dtype=int),
        feeds=np.ones((len(seeds), 2), dtype=int),
        played=np.tile([0, steps], (len(seeds), 1)),
        maps=maps,
        text=np.array([0, 1, 1]),
        **same,
    )


def test_every_number_by_hand(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "watch_training", told_fates)
    found = run(study.Settings(), tmp_path)
    rows = {(row.task, row.quantity): row for row in found.rows}
    assert rows["two_layers", "phase_change"][7:11] == tuple(stats.share_interval(7, 8))
    assert rows["one_layer", "phase_change"].value == 0
    assert rows["one_layer", "no_induction"].value == 1
    assert rows["two_layers", "no_induction"].value == 0
    assert ("one_layer", "window") not in rows, "nothing rose"
    assert rows["two_layers", "window"].value == pytest.approx((7 * 20 / 8000 + 0.8) / 8, abs=1e-3)
    assert rows["two_layers", "prefix_end"].value == pytest.approx(0.8)
    assert rows["two_layers_spared", "prefix_end_less"].value == pytest.approx(-0.4)
    assert rows["two_layers_spared", "in_context_end_less"].value == pytest.approx(0.4)
    assert [model.examples["met"].tolist() for model in found.models][1] == [True] * 7 + [False]
    assert found.failed == {}


def test_the_settings_are_those_that_were_fixed():
    """docs/studies/olsson2022.md fixes them before the run."""
    shape, data = study.sized("two_layers", study.Settings())
    assert (shape.size, shape.heads, shape.tokens, shape.words) == (128, 4, 128, 512)
    assert (data.batch, data.held_out, data.random) == (64, 256, 16)
    assert (watching.LEARNING_RATE, watching.EVERY, watching.PERIOD, watching.COPIES) == (1e-3, 20, 25, 4)
    assert (study.Settings().seeds, study.Settings().steps) == (8, 8000)

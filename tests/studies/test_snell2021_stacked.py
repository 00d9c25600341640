"""Models trained side by side are what each would be alone: against PyTorch's own layers with the same weights."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from heatcheck.errors import BadInput
from heatcheck.studies.snell2021 import copying
from heatcheck.studies.snell2021.copying import (
    COPY_TASKS,
    CopyTask,
    Run,
    by_elimination,
    draw,
    watch_training,
    watched,
)
from heatcheck.studies.snell2021.recurrence import gru, lstm
from heatcheck.studies.snell2021.stacked import Member, Seen, Shape, Stack, StackTrainer, first_weights

CPU = torch.device("cpu")
SMALL = Shape(hidden=8)
HEADS = Shape(hidden=8, cell="gru", heads=3, shared=False)
TASKS = (CopyTask(6, 5, repeated=False), CopyTask(9, 5, repeated=False), CopyTask(6, 5, repeated=True))
MEMBERS = (Member(6, 0), Member(9, 1), Member(6, 2, "uniform"), Member(9, 3, "none"))


class PlainCopier(nn.Module):
    """One model, of PyTorch's own layers."""

    def __init__(self, member: Member, shape: Shape) -> None:
        super().__init__()
        h, self.member, self.heads = shape.hidden, member, shape.heads
        self.source = nn.Embedding(member.vocabulary, h)
        self.target = self.source if shape.shared else nn.Embedding(member.vocabulary, h)
        layer = {"lstm": nn.LSTM, "gru": nn.GRU}[shape.cell]
        self.encoder, self.decoder = layer(h, h), layer(h, h)
        self.query = nn.ModuleList(nn.Linear(h, h) for _ in range(shape.heads))
        self.value = nn.ModuleList(nn.Linear(h, h) for _ in range(shape.heads))
        self.mix, self.output = nn.Linear(2 * h, h), nn.Linear(h, member.vocabulary)
        weights = first_weights(member, shape)
        with torch.no_grad():
            self.source.weight.copy_(weights["embedding" if shape.shared else "source"])
            self.target.weight.copy_(weights["embedding" if shape.shared else "target"])
            for name in ("encoder", "decoder"):
                part = getattr(self, name)
                part.weight_ih_l0.copy_(weights[f"{name}_input"].T)
                part.weight_hh_l0.copy_(weights[f"{name}_state"].T)
                part.bias_ih_l0.copy_(weights[f"{name}_input_bias"])
                part.bias_hh_l0.copy_(weights[f"{name}_state_bias"])
            for name in ("query", "value"):
                for n, linear in enumerate(getattr(self, name)):
                    linear.weight.copy_(weights[name][n].T)
                    linear.bias.copy_(weights[f"{name}_bias"][n])
            for name in ("mix", "output"):
                getattr(self, name).weight.copy_(weights[name].T)
                getattr(self, name).bias.copy_(weights[f"{name}_bias"])

    def forward(self, sequences):
        end = torch.full((len(sequences), 1), self.member.end)
        source, target = torch.cat([sequences, end], 1).T, torch.cat([end + 1, sequences], 1).T
        states, last = self.encoder(self.source(source))
        decoded, _ = self.decoder(self.target(target), last)
        contexts, weights = [], []
        for query, value in zip(self.query, self.value, strict=True):
            scores = torch.einsum("tbh,sbh->tbs", query(decoded), states)
            weights.append((scores * (self.member.attention != "uniform")).softmax(-1))
            contexts.append(value(torch.einsum("tbs,sbh->tbh", weights[-1], states)))
        context = sum(contexts) / self.heads * (self.member.attention != "none")
        logits = self.output(torch.tanh(self.mix(torch.cat([decoded, context], -1))))
        return logits, torch.stack(weights), source

    def loss(self, sequences):
        logits, _, gold = self(sequences)
        return nn.functional.cross_entropy(logits.flatten(0, 1), gold.flatten())


def some_sequences(members, step=0):
    generator = np.random.default_rng(step)
    tasks = [CopyTask(member.symbols, 5, repeated=True) for member in members]
    return torch.from_numpy(np.stack([draw(task, 4, generator) for task in tasks]))


@pytest.mark.parametrize(
    ("shape", "members"),
    [(SMALL, MEMBERS), (HEADS, MEMBERS[:2]), (replace(HEADS, heads=1), MEMBERS), (replace(SMALL, heads=2), MEMBERS)],
)
def test_a_stack_answers_and_learns_as_each_of_its_models_would_alone(shape, members):
    trainer = StackTrainer(members, shape, device=CPU)
    plain = [PlainCopier(member, shape) for member in members]
    adams = [torch.optim.Adam(one.parameters(), lr=1e-3) for one in plain]
    for step in range(4):
        sequences = some_sequences(members, step)
        seen = trainer.stack(sequences)
        for n, one in enumerate(plain):
            logits, weights, _ = one(sequences[n])
            known = members[n].vocabulary
            torch.testing.assert_close(seen.logits[n, ..., :known], logits, atol=2e-5, rtol=1e-4)
            assert (seen.logits[n, ..., known:] == -math.inf).all()
            torch.testing.assert_close(seen.weights[n], weights, atol=2e-6, rtol=1e-4)
        losses = trainer.step(sequences)
        for one, adam, loss, own in zip(plain, adams, losses, sequences, strict=True):
            adam.zero_grad()
            alone = one.loss(own)
            alone.backward()
            torch.testing.assert_close(loss, alone.detach(), atol=1e-5, rtol=1e-5)
            if step == 0:  # later ones pass through Adam, which divides by their size
                n = plain.index(one)
                grads = {name: value.grad[n] for name, value in trainer.stack.weights.items()}
                torch.testing.assert_close(
                    grads["encoder_state"], one.encoder.weight_hh_l0.grad.T, atol=1e-6, rtol=1e-4
                )
                torch.testing.assert_close(
                    grads["decoder_input"], one.decoder.weight_ih_l0.grad.T, atol=1e-6, rtol=1e-4
                )
                torch.testing.assert_close(grads["query"][0], one.query[0].weight.grad.T, atol=1e-6, rtol=1e-4)
                known = one.member.vocabulary
                embedding = grads["embedding" if shape.shared else "source"]
                torch.testing.assert_close(embedding[:known], one.source.weight.grad, atol=1e-6, rtol=1e-4)
                assert not embedding[known:].any()
            adam.step()
    moved = trainer.stack.weights["decoder_state"] - Stack(members, shape).weights["decoder_state"]
    assert (moved.abs().amax(dim=(1, 2)) > 2e-3).all(), "each did learn"


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_steps_back_through_time_are_the_gradient(cell):
    torch.manual_seed(0)
    gates = {"lstm": 4, "gru": 3}[cell]

    def made(*size):
        return torch.randn(*size, dtype=torch.float64, requires_grad=True)

    inputs, weights, hidden = made(2, 3, 2, gates * 3), made(2, 3, gates * 3), made(2, 2, 3)
    given = (inputs, weights, hidden, made(2, 2, 3)) if cell == "lstm" else (inputs, weights, made(2, 9), hidden)
    assert torch.autograd.gradcheck({"lstm": lstm, "gru": gru}[cell], given)


def test_what_a_run_becomes_does_not_depend_on_its_neighbours():
    runs = [Run(task, Member(task.symbols, seed), seed) for seed, task in enumerate(TASKS)]
    together = watch_training(runs, SMALL, 12, device=CPU)
    assert together.steps.tolist() == [0, 10, 12]
    for n, run in enumerate(runs):
        alone = watch_training([run], SMALL, 12, device=CPU)
        for name in copying.WATCHED:
            np.testing.assert_allclose(getattr(together, name)[n], getattr(alone, name)[0], atol=0.02)
    assert len({tuple(row) for row in together.accuracy}) == 3, "and they are not all the same"


def test_first_weights_are_of_the_member_alone():
    first = Stack([Member(6, 4), Member(9, 5)], SMALL).weights
    other = Stack([Member(9, 5), Member(6, 4)], SMALL).weights
    for name in first:
        assert torch.equal(first[name][0], other[name][1])
        assert torch.equal(first[name][1], other[name][0])


def test_heads_are_drawn_apart_from_the_body():
    one, other = (Stack([Member(6, 4, heads=heads)], HEADS).weights for heads in ((1, 2, 3), (1, 2, 4)))
    differ = {name for name in one if not torch.equal(one[name], other[name])}
    assert differ == {"query", "query_bias", "value", "value_bias"}
    assert torch.equal(one["query"][:, :2], other["query"][:, :2])
    with pytest.raises(BadInput, match="have 3 heads, not 1"):
        Stack([Member(6, 4, heads=(1,))], HEADS)


def test_an_empty_stack_is_refused():
    with pytest.raises(BadInput, match="at least one model"):
        Stack([], SMALL)


def test_an_interrupted_training_goes_on_where_it_was(tmp_path, monkeypatch):
    runs = [Run(TASKS[0], Member(6, seed), seed) for seed in range(2)]
    whole = watch_training(runs, SMALL, 40, device=CPU)
    monkeypatch.setattr(copying, "SAVED_EVERY", 0.0)
    draws, real = [], copying._block

    def killed(runs, block, steps):
        draws.append(block)
        if block == 2 and len(draws) == 3:
            raise KeyboardInterrupt
        return real(runs, block, steps)

    monkeypatch.setattr(copying, "_block", killed)
    with pytest.raises(KeyboardInterrupt):
        watch_training(runs, SMALL, 40, device=CPU, folder=tmp_path)
    again = watch_training(runs, SMALL, 40, device=CPU, folder=tmp_path)
    assert draws == [0, 1, 2, 2, 3], "the first two were not made again"
    for ours, theirs in zip(whole, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert list(tmp_path.iterdir()) == [], "no state is left when it is done"


@pytest.mark.parametrize("task", COPY_TASKS.values())
def test_sequences_are_as_their_task_says(task):
    drawn = draw(task, 200, np.random.default_rng(0))
    assert drawn.shape == (200, 40)
    assert (drawn.min(), drawn.max()) == (0, task.symbols - 1)
    assert all(len(set(row)) == 40 for row in drawn.tolist()) is not task.repeated
    # Every symbol is as likely at every place: 200 draws of one in 40 or 60.
    counts = np.bincount(drawn[:, 0], minlength=task.symbols)
    assert counts.max() < 16


def test_elimination_by_simulation():
    task = CopyTask(4, 3, repeated=False)
    generator = np.random.default_rng(0)
    right = [
        generator.choice([s for s in range(4) if s not in row[:at]]) == row[at]
        for row in draw(task, 4000, generator).tolist()
        for at in range(3)
    ]
    assert by_elimination(task) == pytest.approx((3 * np.mean(right) + 1) / 4, abs=0.02)


def test_where_a_head_looks_is_counted_as_published():
    # Two heads, three positions, one sequence: the first is on the diagonal once, the second always one later.
    weights = torch.zeros(1, 2, 3, 1, 4)
    for position, (first, second) in enumerate([(0, 1), (0, 2), (0, 3)]):
        weights[0, 0, position, 0, first] = weights[0, 1, position, 0, second] = 1
    logits = torch.eye(3)[None, :, None]
    accuracy, same, earlier, later = watched(Seen(logits, weights), torch.tensor([[[0], [1], [0]]]))
    assert [float(x) for x in (accuracy, same, earlier, later)] == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_step_is_the_same_step():
    members = [Member(6, seed) for seed in range(3)]
    plain, recorded = (StackTrainer(members, SMALL, device=torch.device("cuda"), record=how) for how in (False, True))
    for step in range(5):
        sequences = some_sequences(members, step)
        torch.testing.assert_close(plain.step(sequences), recorded.step(sequences), atol=1e-4, rtol=1e-4)

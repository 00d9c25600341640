"""AtMan against one whole pass per token, and its softmax written out."""

import numpy as np
import pytest
import torch

from heatcheck.explainers import explain_one
from heatcheck.explainers.atman import KEPT, suppress
from heatcheck.models import Site
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=6.0) for family in ("bert", "llama", "modernbert")}


@pytest.mark.parametrize("family", ALL)
@torch.no_grad()
def test_one_pass_per_token(family):
    subject = ALL[family]
    found = explain_one(subject, EXAMPLES, "atman").values
    for row, example in enumerate(EXAMPLES):
        batch = subject.encode([example])
        own = subject.run(batch).logits[0, 0].double().log_softmax(-1)
        label = int(own.argmax())
        expected = np.zeros(len(example.words))
        for token, word in enumerate(batch.word[0].tolist()):
            if word < 0:
                continue

            def push(scores, token=token):
                pushed = scores.clone()
                for index in np.ndindex(*scores.shape[:3]):
                    line = scores[index]
                    if line[token] > -9000:
                        low = line[line > -9000].min()
                        pushed[(*index, token)] = low + 0.1 * (line[token] - low)
                return pushed

            edits = {Site("score", site.where): push for site in subject.sites}
            without = subject.run(batch, edits=edits).logits[0, 0].double().log_softmax(-1)
            expected[word] += float(own[label] - without[label])
        assert np.allclose(found[row, : len(expected)], expected, rtol=1e-3, atol=1e-5)
        assert np.abs(expected).max() > 1e-4


def test_a_token_keeps_a_little_and_the_others_take_the_rest():
    scores = torch.tensor([[[[0.0, 3.0, 1.0, -torch.inf]]]])
    after = suppress(torch.tensor([[False, True, False, False]]))(scores)
    assert after[0, 0, 0].tolist() == pytest.approx([0.0, 3 * KEPT, 1.0, -np.inf])
    before, now = scores.softmax(-1)[0, 0, 0], after.softmax(-1)[0, 0, 0]
    assert now[0] / now[2] == pytest.approx(float(before[0] / before[2]))
    alone = torch.tensor([[[[3.0, -torch.inf]]]])
    assert torch.equal(suppress(torch.tensor([[True, False]]))(alone), alone), "a row never becomes empty"


def test_a_label_s_loss_is_another_label_s_gain():
    subject = ALL["bert"]
    first, second = (explain_one(subject, EXAMPLES, "atman", label=label) for label in (0, 1))
    assert (np.sign(first.values) == -np.sign(second.values))[first.valid].all()

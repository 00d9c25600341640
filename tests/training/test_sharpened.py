"""Temperature twins: as sharp as asked, and the same in all else."""

import numpy as np
import pytest
import torch

from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Site, load
from heatcheck.training import mean_entropy, temperature, temperature_twin
from subjects import PAIRS, SINGLE, classifier

SCORE, STATE = Site("score"), Site("state")


@pytest.mark.parametrize("attention", ["tanh", "dot", "linear"])
@pytest.mark.parametrize("entropy", [0.3, 0.9])
def test_a_twin_has_the_entropy_and_everything_else_is_the_model_s(attention, entropy):
    subject = classifier(SINGLE, attention=attention)
    before = {name: of.clone() for name, of in subject.state_dict().items()}
    twin = temperature_twin(subject, entropy, SINGLE)
    assert mean_entropy(twin, SINGLE) == pytest.approx(entropy, abs=1e-4)
    assert mean_entropy(subject, SINGLE) != pytest.approx(entropy, abs=0.05)
    assert all(torch.equal(of, before[name]) for name, of in subject.state_dict().items())
    batch = subject.encode(SINGLE)
    with torch.no_grad():
        own, other = (one.run(batch, want=[SCORE, STATE]).parts for one in (subject, twin))
    assert torch.equal(own[STATE], other[STATE])
    factor = temperature(subject, entropy, SINGLE)
    torch.testing.assert_close(other[SCORE], factor * own[SCORE])
    assert twin.recipe is None
    assert not twin.training


def test_entropy_by_hand():
    subject = classifier(SINGLE)
    batch = subject.encode(SINGLE)
    with torch.no_grad():
        weights = subject.run(batch, want=[Site("attention")]).parts[Site("attention")][:, 0, 0].double().numpy()
    each = [-sum(w * np.log(w) for w in row if w > 0) for row in weights]
    assert mean_entropy(subject, SINGLE) == pytest.approx(np.mean(each), abs=1e-6)
    assert temperature(subject, float(np.mean(each)), SINGLE) == pytest.approx(1.0, abs=1e-3)


def test_out_of_reach_is_the_nearest_end():
    subject = classifier(SINGLE, encoder="none")
    with torch.no_grad():
        subject.embed.weight[:] = subject.embed.weight[5]  # all words alike: always as flat as can be
    flat = mean_entropy(subject, SINGLE)
    assert mean_entropy(temperature_twin(subject, 0.1, SINGLE), SINGLE) == pytest.approx(flat, abs=1e-2)
    for wrong in (float("nan"), -1.0):
        with pytest.raises(BadInput, match="number of nats"):
            temperature(subject, wrong, SINGLE)


def test_models_without_a_softmax_or_a_scorer():
    pair = classifier(PAIRS, ("a", "b", "c"), segments=2, attention="dot")
    for subject, examples in (
        (classifier(SINGLE, normaliser="sparsemax"), SINGLE),
        (pair, PAIRS),
        (load("known:reader@planted_keyword"), SINGLE),
    ):
        with pytest.raises(NotSupported, match="a temperature twin needs"):
            temperature_twin(subject, 0.5, examples)

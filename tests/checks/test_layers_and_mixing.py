"""Weights layer by layer against blanking out and gradients; and how much of a token comes from others."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from heatcheck.checks import Case, Check
from heatcheck.checks.layers import LayersSettings, layers
from heatcheck.checks.mixing import MixingSettings, mixing
from heatcheck.data import Example
from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one
from heatcheck.explainers.rollout import rollout
from heatcheck.models import Site, load
from heatcheck.training import predict
from tiny_transformers import EXAMPLES, make, tiny

TEXTS = (*EXAMPLES, Example("d", "so the movie is dull and fine", label=1))


def case_of(family: str) -> Case:
    return Case(tiny(family), TEXTS, labels=("negative", "positive"))


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_every_layer_against_both_targets(family: str) -> None:
    case = case_of(family)
    result = layers.measure(case, LayersSettings(draws=50))
    assert result.excluded == {"b": "it has fewer than three words to rank"}
    assert len(result.examples) + len(result.excluded) == len(TEXTS)
    names = {(m.by["target"], m.by["method"], m.by.get("layer")) for m in result.measurements}
    assert len(names) == len(result.measurements) == 2 * (3 * 3 + 1) + 1
    rolled = rollout.explain(case.subject, TEXTS, 0)
    gradient = explain_one(case.subject, TEXTS, "gradient_through").values
    wanted = [spearmanr(rolled[i], gradient[i, : len(TEXTS[i].words)]).statistic for i in (0, 2, 3)]
    assert result.per_example["gradient:rollout:3"] == pytest.approx(wanted)
    # One layer: flow and rollout are the same.
    assert result.per_example["gradient:flow:1"] == pytest.approx(result.per_example["gradient:rollout:1"])


def test_blanking_out_is_a_mask_a_word() -> None:
    case = case_of("bert")
    result = layers.measure(case, LayersSettings(methods=("raw",), draws=50))
    example = TEXTS[0]
    own = np.exp(predict(case.subject, [example])[0, 0])
    label = own.argmax()
    lost = []
    for place in range(len(example.words)):
        words = ["[MASK]" if n == place else word for n, word in enumerate(example.words)]
        lost.append(abs(np.exp(predict(case.subject, [Example("x", " ".join(words))])[0, 0, label]) - own[label]))
    last = case.subject.sites[-1]
    weights = case.subject.run(case.subject.encode([example]), want=[last]).parts[last][0].mean(0)[0, 1:-1]
    wanted = spearmanr(weights.detach().numpy(), lost).statistic
    assert result.per_example["blank_out:raw:3"][0] == pytest.approx(wanted)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_mixing_by_hand(family: str) -> None:
    """Of one text, one layer: what others write against what the token keeps."""
    subject = make(family)
    example = TEXTS[0]
    result = mixing.measure(Case(subject, [example], labels=("n", "p")), MixingSettings(draws=50))
    site = subject.sites[1]
    value = Site("value", site.where)
    batch = subject.encode([example])
    before = Site("input", subject.blocks[1].where)
    parts = subject.run(batch, want=[site, value, before]).parts
    weights, values = parts[site][0].double(), parts[value][0].double()
    paths = {"bert": "attention.output.dense", "gpt2": "attn.c_proj", "llama": "self_attn.o_proj"}
    projection = subject.network.get_submodule(f"{subject.blocks[1].where}.{paths[family]}").weight.detach().double()
    projection = projection if family == "gpt2" else projection.T
    heads = projection.reshape(4, 8, 32)
    written = torch.einsum("hqk,hkf,hfs->qks", weights, values, heads)
    tokens = torch.arange(len(written))
    own = written[tokens, tokens]
    others = written.sum(1) - own
    alone = others.norm(dim=-1) / (others.norm(dim=-1) + own.norm(dim=-1))
    kept = own + parts[before][0].double()
    with_residual = others.norm(dim=-1) / (others.norm(dim=-1) + kept.norm(dim=-1))
    assert result.find("mixing", variant="Attn-N", layer=2).value == pytest.approx(alone.mean().item(), rel=1e-4)
    found = result.find("mixing", variant="AttnRes-N", layer=2).value
    assert found == pytest.approx(with_residual.mean().item(), rel=1e-4)
    assert result.find("mixing", variant="Attn-W", layer=2).value == pytest.approx(
        1 - weights.mean(0).diagonal().mean().item(), rel=1e-4
    )
    every = [result.find("mixing", variant="Attn-N", layer=layer).value for layer in (1, 2, 3)]
    assert result.find("mixing", variant="Attn-N", layer="all").value == pytest.approx(np.mean(every))
    if family == "bert":
        special = weights.mean(0)[:, [0, -1]].sum(-1).mean().item()
        assert result.find("special", variant="weight on special tokens", layer=2).value == pytest.approx(special)
        sizes = written.norm(dim=-1)
        shared = (sizes / sizes.sum(-1, keepdim=True))[:, [0, -1]].sum(-1).mean().item()
        assert result.find("special", variant="norm from special tokens", layer=2).value == pytest.approx(
            shared, rel=1e-4
        )


def test_mixing_does_not_depend_on_padding() -> None:
    together = mixing.measure(case_of("llama"), MixingSettings(draws=50))
    for row, example in enumerate(TEXTS):
        alone = mixing.measure(Case(tiny("llama"), [example], labels=("n", "p")), MixingSettings(draws=50))
        for name, values in together.per_example.items():
            assert values[row] == pytest.approx(alone.per_example[name][0], abs=1e-5)


@pytest.mark.parametrize(("check", "settings"), [(layers, LayersSettings()), (mixing, MixingSettings())])
def test_a_model_without_layers_is_refused(check: Check, settings: Any) -> None:
    subject = load("known:reader@planted_keyword")
    case = Case(subject, [Example("a", "word good word")], labels=("negative", "positive"))
    with pytest.raises(NotSupported, match="every layer of a transformer"):
        check.measure(case, settings)

"""Networks in half precision: as in whole precision up to stated roundings, and said where numbers do not fit."""

from pathlib import Path
from typing import Any

import pytest
import torch

import heatcheck as hc
from any_family import make as network
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.models import Site, response
from heatcheck.models.hf import Transformer
from tiny_transformers import EXAMPLES, tokenizer

# How far weights and logits may be from those in float32: a few roundings of numbers near 1.
ROUNDING = {"bfloat16": 0.04, "float16": 0.01}
HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for family in ("bert", "llama", "deberta-v2"):
        found[family] = tmp_path_factory.mktemp(family)
        network(family).save_pretrained(found[family])
        tokenizer(marks=True).save_pretrained(found[family])
    return found


@pytest.mark.parametrize("dtype", list(HALF))
@pytest.mark.parametrize("family", ["bert", "llama", "deberta-v2"])
def test_half_precision_is_whole_precision_rounded(folders: dict[str, Path], family: str, dtype: str) -> None:
    whole, half = (hc.load(f"hf:{folders[family]}", dtype=kind) for kind in ("float32", dtype))
    assert half.network.dtype == HALF[dtype]
    assert half.reads == whole.reads
    batch = whole.encode(EXAMPLES)
    with torch.no_grad():
        one, other = (it.run(batch, want=it.sites) for it in (whole, half))
        assert other.logits.dtype == torch.float32
        assert torch.allclose(one.logits, other.logits, atol=ROUNDING[dtype])
        for site in whole.sites:
            near = (one.parts[site] - other.parts[site]).abs() * batch.valid[:, None, :, None]
            assert near.max() < ROUNDING[dtype]
        own = response(half, batch)
        assert own.attention.dtype == torch.float32
        assert torch.allclose(own.attention.sum(-1), torch.ones(1), atol=1e-6)
        assert torch.allclose(own.logits(own.attention[:, None])[:, 0], other.logits, atol=2 * ROUNDING[dtype])
        # An edit in whole precision is one in the site's own.
        edited = half.run(batch, edits={half.sites[-1]: one.parts[half.sites[-1]]})
        assert torch.allclose(edited.logits, one.logits, atol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", list(HALF))
def test_every_explainer_works_in_half_precision(folders: dict[str, Path], dtype: str) -> None:
    subject = hc.load(f"hf:{folders['bert']}", dtype=dtype)
    done = 0
    for name in EXPLAINERS:
        try:
            done += bool(explain_one(subject, EXAMPLES[:2], name).valid.any())
        except NotSupported:
            continue
    assert done > 20


def test_numbers_that_do_not_fit_are_said_in_a_sentence(folders: dict[str, Path]) -> None:
    made = network("bert")
    with torch.no_grad():
        made.bert.encoder.layer[0].output.dense.weight.mul_(1e6)
    with pytest.raises(BadInput, match=r"^mine \(bert\) gives NaN .* in float16, .* Use bfloat16 or float32\.$"):
        Transformer(made.half(), tokenizer(marks=True), name="mine")
    subject = hc.load(f"hf:{folders['bert']}", dtype="float16")
    with torch.no_grad():
        subject.network.get_input_embeddings().weight[5] = 6e4  # of one word, which the first texts do not have
        subject.network.bert.embeddings.LayerNorm.weight.fill_(6e4)
    with pytest.raises(BadInput, match="gives NaN or infinity in float16"):
        subject.run(subject.encode(EXAMPLES))


@pytest.mark.parametrize(
    ("name", "named", "reason"),
    [
        ("bert", {"dtype": "int8"}, "dtype must be one of float32, bfloat16, float16, not 'int8'"),
        ("known:reader@planted_contrast", {"dtype": "bfloat16"}, "for Hugging Face models only"),
    ],
)
def test_a_precision_that_there_is_not(folders: dict[str, Path], name: str, named: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        hc.load(f"hf:{folders[name]}" if name in folders else name, **named)


def test_a_site_is_read_in_its_own_precision(folders: dict[str, Path]) -> None:
    subject = hc.load(f"hf:{folders['llama']}", dtype="bfloat16")
    site = Site("context", subject.sites[0].where)
    assert subject.run(subject.encode(EXAMPLES), want=[site]).parts[site].dtype == torch.bfloat16

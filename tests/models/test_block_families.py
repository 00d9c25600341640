"""Every row of the table of blocks, on a tiny model of its family: what it says makes up what the network computes."""

from pathlib import Path
from typing import Any

import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers.decompx import decompx, logit_parts
from heatcheck.explainers.norms import require_blocks
from heatcheck.models import Run, Site, differentiate
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.backward import LINEAR, following
from heatcheck.models.hf.blocks import FAMILIES, bends, each_layer, family_of, read_norm, within
from heatcheck.models.hf.layer import Layer
from tiny_families import FAMILIES as TRIED
from tiny_families import family, shared
from tiny_transformers import EXAMPLES

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # on importing GPT-BigCode
IN_PARALLEL = (
    "cohere",
    "cohere2",
    "falcon",
    "gpt_neox",
    "gptj",
    "phi",
)  # attention and MLP are added together: nobody sees the middle
STRAIGHT_INTO_MLP = ("exaone4", "olmo2", "olmo3")
KINDS = ("Norm", "Norm1P", "Activation", "Tanh", "GELU", "SiLU", "ReLU")


def test_at_least_thirty_families_are_known_and_every_one_is_tried() -> None:
    assert FAMILIES.keys() == TRIED.keys()
    assert len(FAMILIES) >= 30
    named = "camembert gemma gemma2 gemma3_text mistral olmo olmo2 phi phi3 smollm3 xlm-roberta"
    assert set(named.split()) <= FAMILIES.keys()


def test_the_page_lists_them() -> None:
    page = (Path(__file__).parents[2] / "docs/transformers.md").read_text()
    table = page.partition("## Families whose blocks are known")[2].partition("heatcheck refuses")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
    assert {name.strip() for row in rows for name in row.split(",")} == FAMILIES.keys()
    assert f"for {len(FAMILIES)} families" in table


def middle(subject: Transformer, kind: str, layer: int) -> tuple[list[Site], Any]:
    """Where the network itself shows the state between attention and MLP, and how to read it there."""
    row = family_of(subject)
    use = subject.sites[layer].where.partition("@")[2]

    def site(part: Any, path: str) -> Site:
        whole = within(subject, layer, path)
        return Site(part, f"{whole}@{use}" if use else whole)

    if kind in IN_PARALLEL:
        return [subject.blocks[layer], site("state", "mlp")], lambda whole, mlp: whole - mlp
    if kind in STRAIGHT_INTO_MLP:
        return [site("input", "mlp")], lambda own: own
    return [site("input", row.norms[1]) if row.normed_first else site("state", row.norms[0])], lambda own: own


@pytest.mark.parametrize("kind", TRIED)
def test_parts_of_tokens_biases_and_residual_are_the_state_after_the_attention(kind: str) -> None:
    subject = shared(kind)
    batch = subject.encode(EXAMPLES)
    places = [middle(subject, kind, layer) for layer in range(2)]
    with torch.no_grad():
        # Copies: Falcon adds to what its MLP gives.
        run = subject.run(batch, want={site: torch.clone for sites, _ in places for site in sites})

    def summed(layer: Layer) -> torch.Tensor:
        parts = torch.einsum("ehqk,ehks->eqks", layer.strengths, layer.written())
        tokens = torch.arange(parts.shape[1])
        parts[:, tokens, tokens] += layer.states
        biases = layer.biases()
        if layer.norm is not None:
            scale = layer.norm.scale(layer.summed())
            parts = layer.norm.linear(parts) / scale[:, :, None]
            biases = layer.norm.linear(biases) / scale + layer.norm.bias
        total = parts.sum(2) + biases
        torch.testing.assert_close(layer.output(), total)
        return total

    for found, (sites, read) in zip(each_layer(subject, batch, summed), places, strict=True):
        whole = read(*(run.parts[site] for site in sites))
        wanted = whole.reshape(*batch.valid.shape, -1)[batch.valid]  # OPT's MLP reads all texts as one
        assert wanted.dtype == torch.double
        torch.testing.assert_close(found[batch.valid], wanted, rtol=1e-5, atol=1e-5)


def slope(subject: Transformer, batch: Any) -> torch.Tensor:
    start = Site("input", subject.blocks[0].where)

    def first(run: Run) -> torch.Tensor:
        return run.logits[:, 0, 0]

    return differentiate(subject, batch, [start], first)[start]


@pytest.mark.parametrize("kind", TRIED)
def test_shares_in_the_logit_and_the_biases_make_it_up(kind: str) -> None:
    """The forward pass stays the same bit for bit; without biases the tokens' shares are all of the logit."""
    subject = family(kind)
    batch = subject.encode(EXAMPLES)
    start = Site("input", subject.blocks[0].where)
    parts = logit_parts(subject, batch)
    torch.testing.assert_close(parts.tokens.sum(1) + parts.rest, parts.logit)
    assert (parts.tokens[~batch.valid] == 0).all()
    with torch.no_grad():
        for name, parameter in subject.network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    plain = subject.run(batch, want=[start])
    with following(subject, LINEAR):
        assert torch.equal(subject.run(batch).logits, plain.logits)
        linear = (slope(subject, batch) * plain.parts[start]).sum((1, 2))
    logits = plain.logits[:, 0, 0].double()
    torch.testing.assert_close(linear, logits, rtol=1e-5, atol=1e-5)
    curved = (slope(subject, batch) * plain.parts[start]).sum((1, 2))
    assert (curved - logits).abs().max() > 0.1 * logits.abs().max()


@pytest.mark.parametrize("kind", TRIED)
def test_all_that_normalises_or_bends_is_in_the_row(kind: str) -> None:
    """Found by the names of the modules' classes; and norms are read as they compute."""
    subject = shared(kind)
    network = subject.network
    known = bends(subject)
    named = {path for path, module in network.named_modules() if type(module).__name__.endswith(KINDS)}
    before = {path for path in named if "embed" in path}  # before the first block
    assert named - before <= known.keys()
    for path, bend in known.items():
        module = network.get_submodule(path)
        if bend in ("norm", "score norm") and (norm := read_norm(module)) is not None:
            size = 16 if norm.gain is None else len(norm.gain)
            states = torch.randn(2, 3, size, generator=torch.Generator().manual_seed(0), dtype=torch.double)
            with torch.no_grad():
                torch.testing.assert_close(norm(states), module(states), rtol=1e-5, atol=1e-5)


def test_a_language_model_with_capped_logits() -> None:
    subject = family("gemma2", language=True, final_logit_softcapping=1.0, attention_bias=False)
    batch = subject.encode(EXAMPLES)
    start = Site("input", subject.blocks[0].where)
    with torch.no_grad():
        states = subject.run(batch, want=[start]).parts[start]
        logits = subject.run(batch).logits[:, 0, 0].double()
    assert logits.abs().max() > 0.3  # so that the cap is felt
    with following(subject, LINEAR):
        linear = (slope(subject, batch) * states).sum((1, 2))
    torch.testing.assert_close(linear, logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "other"), [("gpt_neox", {"use_parallel_residual": False}), ("stablelm", {"use_parallel_residual": True})]
)
def test_other_arrangements_of_the_same_row(kind: str, other: dict[str, Any]) -> None:
    subject = family(kind, **other)
    batch = subject.encode(EXAMPLES)
    parallel = other["use_parallel_residual"]
    sites, read = middle(subject, "phi" if parallel else kind, 1)
    with torch.no_grad():
        run = subject.run(batch, want=sites)
    found = each_layer(subject, batch, lambda layer: layer.output())[1]
    wanted = read(*(run.parts[site] for site in sites))[batch.valid]
    torch.testing.assert_close(found[batch.valid], wanted, rtol=1e-5, atol=1e-5)


def test_a_family_or_an_arrangement_without_a_row_is_refused_by_name() -> None:
    odd = family("opt", do_layer_norm_before=False)
    wanted = r"inside of a opt block with do_layer_norm_before=False \(tiny-opt\)\. It knows opt with .*=True\.$"
    with pytest.raises(NotSupported, match=wanted):
        require_blocks(odd, "norms")
    with pytest.raises(NotSupported, match=wanted):
        decompx.explain(odd, EXAMPLES, 0)
    odd.network.config.model_type = "mamba"
    with pytest.raises(
        NotSupported, match=r"inside of a mamba block \(tiny-opt\)\. It knows: albert, .*xlm-roberta-xl\.$"
    ):
        require_blocks(odd, "norms")


def test_a_norm_of_another_formula_is_refused() -> None:
    class Doubled(torch.nn.LayerNorm):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return super().forward(states) * states.abs()

    with pytest.raises(NotSupported, match="does not know how a Doubled computes"):
        read_norm(Doubled(16))

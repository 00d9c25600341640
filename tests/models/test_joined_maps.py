"""Families whose attention takes several calls or softmaxes to make one map: DiffLlama, T5Gemma 2, Longformer."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers.models.diffllama import modeling_diffllama
from transformers.models.t5gemma2 import modeling_t5gemma2

from any_family import make as network
from every_family import check, subject_of, try_family
from heatcheck.checks.identifiability import read_rows
from heatcheck.data import Batch, Example
from heatcheck.explainers import explain_one
from heatcheck.models import Site, differentiate, response, rows_of
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.trial import FIRST
from tiny_transformers import EXAMPLES

WINDOWS = [4, 8]  # of Longformer's layers, two tokens and four to each side
LONG = [Example("long", "the film is good but the end is not"), *EXAMPLES]


def parts_agree(subject: Transformer, layer: int, examples: list[Example]) -> None:
    """Contexts are weights times values, and what is edited is what the network goes on with."""
    batch, where = subject.encode(examples), subject.sites[layer].where
    sites = {part: Site(part, where) for part in ("score", "attention", "value", "context")}
    with torch.no_grad():
        run = subject.run(batch, want=list(sites.values()))
        own = {part: run.parts[site] for part, site in sites.items()}
        assert torch.allclose(own["attention"] @ own["value"], own["context"], atol=1e-5)
        for part, site in sites.items():
            assert torch.allclose(subject.run(batch, edits={site: own[part].clone()}).logits, run.logits, atol=1e-5)
        louder = own["value"] * torch.linspace(1, 3, own["value"].shape[2])[:, None]
        said = subject.run(batch, edits={sites["value"]: louder}).logits
        contexts = {sites["context"]: own["attention"] @ louder}
        assert torch.allclose(subject.run(batch, edits=contexts).logits, said, atol=1e-5)
        even = {sites["score"]: torch.where(own["score"] > -9000, 0.0, own["score"])}
        flat = subject.run(batch, edits=even, want=[sites["attention"]])
        weights = {sites["attention"]: flat.parts[sites["attention"]]}
        assert torch.allclose(subject.run(batch, edits=weights).logits, flat.logits, atol=1e-5)
        assert torch.allclose(subject.run(batch, edits=even).logits, flat.logits, atol=1e-5)
    assert not torch.allclose(said, run.logits, atol=1e-4)
    assert not torch.allclose(flat.logits, run.logits, atol=1e-4)


def backwards(weights: torch.Tensor) -> torch.Tensor:
    """Other weights on the same keys, with the same sum."""
    seen = weights > 0
    return torch.where(seen, 1 / weights.clamp(min=1e-3), 0.0) * (
        weights.sum(-1, keepdim=True) / torch.where(seen, 1 / weights.clamp(min=1e-3), 0.0).sum(-1, keepdim=True)
    )


def twice(own: torch.Tensor) -> torch.Tensor:
    return 2 * own


def other_eager(own: Any, hidden: int = 0) -> Any:
    """A family's eager attention with other weights, all but those of the first keys."""

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        _, weights = own(module, query, key, value, mask, **options)
        start = hidden and query.shape[2]
        turned = torch.cat([weights[..., :start], backwards(weights[..., start:])], -1)
        if hidden and key.shape[2] == query.shape[2]:
            turned = weights  # the encoder's
        many = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
        return (turned @ many).transpose(1, 2).contiguous(), turned

    return attend


def test_weights_that_are_used_twice_are_one_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """DiffLlama: against the network itself with other weights in both of its calls, in all layers."""
    subject = subject_of("diffllama", num_attention_heads=4, num_key_value_heads=2)
    check(subject, lambda: network("diffllama", eager=True, num_attention_heads=4, num_key_value_heads=2))
    assert len(subject.sites) == 2
    assert "subtracts what half of its heads read" in rows_of(subject)
    parts_agree(subject, 0, EXAMPLES)
    batch = subject.encode(EXAMPLES)
    by_query, by_key = (
        subject.run(batch, edits={Site(part, subject.sites[0].where): twice}) for part in ("query", "key")
    )
    assert torch.allclose(by_query.logits, by_key.logits, atol=1e-5)
    assert not torch.allclose(by_query.logits, subject.run(batch).logits, atol=1e-4)
    other = network("diffllama", eager=True, num_attention_heads=4, num_key_value_heads=2)
    with torch.no_grad():
        found = subject.run(batch, edits=dict.fromkeys(subject.sites, backwards)).logits[:, 0]
        own = modeling_diffllama.eager_attention_forward
        monkeypatch.setattr(modeling_diffllama, "eager_attention_forward", other_eager(own))
        assert torch.allclose(found, other(**batch.inputs).logits, atol=1e-5)


@pytest.mark.parametrize(("family", "layer"), [("diffllama", 0), ("t5gemma2", 2), ("longformer", 0)])
def test_weights_have_the_gradient_that_differences_have(family: str, layer: int) -> None:
    """Also through a later attention that is asked for at the same time."""
    subject = subject_of(family).double()
    batch, sites = subject.encode(EXAMPLES[:1]), subject.sites[layer:]
    slopes = differentiate(subject, batch, sites, lambda run: run.logits[:, 0, 1])[sites[0]]
    for at in ((0, 1, -1, 2), (0, 0, 0, 0)):
        step = torch.zeros_like(slopes)
        step[at] = 1e-2
        with torch.no_grad():
            up = subject.run(batch, edits={sites[0]: lambda own, step=step: own + step}).logits[0, 0, 1]
            down = subject.run(batch, edits={sites[0]: lambda own, step=step: own - step}).logits[0, 0, 1]
        assert float(slopes[at]) == pytest.approx(float(up - down) / 2e-2, rel=2e-2, abs=1e-4)


def test_a_decoder_that_reads_itself_and_the_encoder_at_once_is_shown_by_its_view_of_the_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subject, plain = subject_of("t5gemma2"), network("t5gemma2", eager=True)
    check(subject, lambda: plain)
    assert "goes to the decoder's own tokens" in rows_of(subject)
    batch = subject.encode(EXAMPLES[:1])
    ids = batch.inputs["input_ids"]
    shifted = plain.prepare_decoder_input_ids_from_labels(ids)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        given = plain.model(ids, decoder_input_ids=shifted, output_attentions=True)
        eager = [*given.encoder_attentions, *given.cross_attentions]
        for site, weights in zip(subject.sites, eager, strict=True):
            assert torch.allclose(run.parts[site], weights, atol=1e-5)
        turned = subject.run(batch, edits=dict.fromkeys(subject.sites[2:], backwards)).logits[:, 0]
        found = response(subject, batch)
        mass = run.behind(run.parts[subject.sites[-1]]).sum(-1)
        assert mass.max() < 0.9
        assert torch.allclose(found.attention.sum(-1), torch.ones(1, 1, 2))
        own = modeling_t5gemma2.eager_attention_forward
        monkeypatch.setattr(modeling_t5gemma2, "eager_attention_forward", other_eager(own, hidden=1))
        assert torch.allclose(turned, plain(input_ids=ids).logits, atol=1e-5)
    assert not torch.allclose(turned, run.logits[:, 0], atol=1e-4)


def whole_map(band: torch.Tensor, of_global: torch.Tensor, window: int) -> torch.Tensor:
    """Longformer's own output, [example head query 1 + band] and [example head key 1], as one map with [CLS] first."""
    size = band.shape[2]
    found = torch.zeros(*band.shape[:2], size, size)
    found[..., 0] = band[..., 0]
    for query in range(1, size):
        for at in range(2 * window + 1):
            key = query + at - window
            if 0 < key < size:
                found[:, :, query, key] = band[:, :, query, 1 + at]
    found[:, :, 0] = of_global[:, :, :size, 0]
    return found


def test_windows_and_global_rows_are_one_map() -> None:
    """Longformer, on texts longer than its windows: its own weights, and logits, padded to the window or not."""
    subject = subject_of("longformer", attention_window=WINDOWS)
    plain = network("longformer", attention_window=WINDOWS)
    check(subject, lambda: plain)
    assert subject.reads == FIRST
    batch = subject.encode(LONG)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        given = plain(**batch.inputs, output_attentions=True)
        assert torch.allclose(run.logits[:, 0], given.logits, atol=1e-5)
        of_each = zip(subject.sites, given.attentions, given.global_attentions, WINDOWS, strict=True)
        for site, band, of_global, window in of_each:
            expected = whole_map(band, of_global, window // 2)
            assert torch.allclose(run.parts[site], expected, atol=1e-5)
            assert (run.parts[site][0, 0, 5] > 0).sum() == window + 2  # its window, and [CLS]
    parts_agree(subject, 0, LONG)
    parts_agree(subject, 1, LONG)


def test_any_token_may_be_global() -> None:
    subject = subject_of("longformer", attention_window=WINDOWS)
    batch = subject.encode(LONG)
    marked = torch.zeros_like(batch.inputs["input_ids"])
    marked[:, 0] = marked[0, 4] = marked[1, 2] = 1
    inputs = {**batch.inputs, "global_attention_mask": marked}
    with torch.no_grad():
        expected = network("longformer", attention_window=WINDOWS)(**inputs).logits
        found = subject.run(with_inputs(batch, inputs)).logits[:, 0]
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, subject.run(batch).logits[:, 0], atol=1e-4)


def with_inputs(batch: Batch, inputs: dict[str, torch.Tensor]) -> Batch:
    return replace(batch, inputs=inputs)


def test_effective_attention_is_about_the_values_that_a_global_row_reads() -> None:
    subject = subject_of("longformer", attention_window=WINDOWS)
    batch, last = subject.encode(LONG[:1]), subject.sites[-1]
    read: list[torch.Tensor] = []
    layer = subject.network.get_submodule(last.where)
    hook = layer.value_global.register_forward_hook(lambda _, __, found: read.append(found))
    with torch.no_grad():
        weights = subject.run(batch, want=[last]).parts[last][0, :, 0].double()
    hook.remove()
    values = read[0][0].double().unflatten(-1, (2, 8)).transpose(0, 1)
    expected = torch.einsum("hk,hkf,hfj->j", weights, values, torch.linalg.pinv(values))
    scores = explain_one(subject, LONG[:1], "effective_attention").values[0]
    assert torch.allclose(torch.as_tensor(scores), expected[1:-1], atol=1e-4)
    assert not torch.allclose(expected, weights.sum(0), atol=1e-2)
    assert torch.allclose(torch.as_tensor(read_rows(subject, LONG[:1])[0].values), values, atol=1e-5)


@pytest.mark.parametrize(
    ("family", "reason"),
    [("longcat_flash", "has 2 attention maps in one layer"), ("deepseek_v4", "cannot be read: DeepseekV4Hyper")],
)
def test_other_attentions_that_come_in_pairs_are_refused(family: str, reason: str) -> None:
    assert try_family(family, causal=True).said.startswith(reason)

"""Removal of every head of a transformer: against a batched loop of whole passes over the heads.

Both sides use the same kernels: the loop is heatcheck's own pass with one head set to zero, on tensors that were made
before the clock started. Ours starts from the texts; it computes the states between layers once, and each pass begins
at the layer of its head. The bare network, with a hook that writes zeros over a head, says what is right.

`python -m benchmarks.heads MODEL` prints the seconds of each way of removal, for a classifier's heads on 256 texts.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.gradient_rollout import word_pieces
from benchmarks.inputs import one_thread
from benchmarks.transformer import sentences
from heatcheck.data import Batch, Example, load_task
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import remove_each
from heatcheck.heads.ways import WAYS
from heatcheck.models import Site, load, require_layers
from heatcheck.models.contract.edits import only_head, zero
from heatcheck.models.hf import Transformer

SAME = 1e-5  # nats
SHAPES = {"MiniLM": ("bert", 6, 384, 12, 34), "SmolLM2": ("llama", 30, 576, 9, 6)}  # layers, width, heads, texts
TIMED = {"MiniLM": 3, "SmolLM2": 1}  # heads of each layer that the plain side removes; its time is scaled to all
QUICK = {"MiniLM": ("bert", 2, 32, 4, 3), "SmolLM2": ("llama", 3, 36, 3, 2)}
TARGETS = {"MiniLM": 1.5, "SmolLM2": 1.7}


def make(family: str, layers: int, width: int, heads: int) -> Transformer:
    """A classifier of this shape with random weights."""
    from transformers import AutoModelForSequenceClassification, BertConfig, LlamaConfig

    tokenizer = word_pieces()
    same: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = (
        BertConfig(**same, intermediate_size=4 * width)
        if family == "bert"
        else LlamaConfig(**same, num_key_value_heads=heads // 3, intermediate_size=width * 8 // 3)
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AutoModelForSequenceClassification.from_config(config).eval()
    return Transformer(network, tokenizer, name=f"random-{family}")


def bare_passes(network: Any, inputs: dict[str, Tensor], gold: Tensor, heads: int, some: int) -> np.ndarray:
    """The loss of each text without each of the first heads of every layer: [layer head example]."""
    out = [m for name, m in network.named_modules() if name.endswith(("attention.output.dense", "self_attn.o_proj"))]
    found = []
    with torch.inference_mode():
        for projection in out:
            for head in range(some):
                hook = projection.register_forward_pre_hook(_without(head, heads))
                logits = network(**inputs).logits
                hook.remove()
                found.append(nn.functional.cross_entropy(logits.double(), gold, reduction="none"))
    return torch.stack(found).reshape(len(out), some, -1).numpy()


def _without(head: int, heads: int) -> Callable[[Any, tuple[Tensor]], tuple[Tensor]]:
    def hook(_: Any, given: tuple[Tensor]) -> tuple[Tensor]:
        size = given[0].shape[-1] // heads
        changed = given[0].clone()
        changed[..., head * size : (head + 1) * size] = 0
        return (changed,)

    return hook


def whole_passes(subject: Transformer, batch: Batch, some: int) -> None:
    """The logits without each of the first heads of every layer."""
    with torch.inference_mode():
        for site in subject.sites:
            for head in range(some):
                subject.run(batch, edits={Site("context", site.where): only_head(head, zero)})


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """One row per shape."""
    return [_compare(name, *shape, quick=quick) for name, shape in (QUICK if quick else SHAPES).items()]


def _compare(name: str, family: str, layers: int, width: int, heads: int, texts: int, *, quick: bool) -> dict[str, Any]:
    subject = make(family, layers, width, heads)
    examples = [Example(e.id, e.text, label=number % 2) for number, e in enumerate(sentences(texts))]
    batch = subject.encode(examples)
    assert batch.gold is not None
    some = heads if quick else TIMED[name]
    with one_thread():
        start = time.process_time()
        whole_passes(subject, batch, some)
        plain_s = (time.process_time() - start) * heads / some
        start = time.process_time()
        found = remove_each(subject, examples, None, ["zero"])
        library_s = time.process_time() - start
        subject.network.set_attn_implementation("sdpa")
        expected = bare_passes(subject.network, dict(batch.inputs), batch.gold[:, 0], heads, 1)
    return {
        "name": f"removal of every head, {name}'s shape",
        "size": f"{texts} texts, {layers * heads} heads",
        "plain_s": plain_s,
        "library_s": library_s,
        "ratio": plain_s / library_s,
        "target": None if quick else TARGETS[name],
        "timed_share": some / heads,
        "equal": bool(np.allclose(found.without["zero"].loss[:, :1], expected, atol=SAME)),
    }


def time_ways(model: str, task: str = "sst", texts: int = 256) -> None:
    """Print the seconds that each way takes for all heads of a model, with the mean effect of a head."""
    subject = require_layers(load(model), "removing heads")
    corpus = load_task(task)
    examples, others = corpus["test"].examples[:texts], corpus["dev"].examples[:texts]
    start = time.perf_counter()
    reference = read_reference(subject, others)
    print(f"{len(others)} reference texts: {time.perf_counter() - start:.1f} s", flush=True)
    for way in WAYS:
        start = time.perf_counter()
        found = remove_each(subject, examples, reference, [way])
        seconds, heads = time.perf_counter() - start, int((~np.isnan(found.sink).any(-1)).sum())
        effect = float(np.nanmean(found.effect(way)))
        print(f"{way:12} {heads} heads, {texts} texts: {seconds:6.1f} s; mean loss added {effect:.4f} nats", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        time_ways(*sys.argv[1:3])
    else:
        for row in measure():
            print(f"{row['ratio']:.2f} times as fast; wanted {row['target']}", row)

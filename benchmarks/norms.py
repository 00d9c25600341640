"""Norms of what tokens write to each other, in every layer of a BERT of base size: every vector made, or none.

The plain side makes (head, token, token, feature) tensors, as published code does; ours has inner products. Both start
from encoded texts, run the network once, and give one map a layer with the residual and the norm after the attention.
The peak is that of a process which does nothing else; torch, transformers and the model's weights are in it.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.inputs import one_thread
from heatcheck.data import Batch, Example
from heatcheck.explainers.norms import contribution_norms
from heatcheck.models import Site
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.blocks import each_layer

Side = Callable[[Transformer, Batch], list[Tensor]]

MEMORY_GB = 1.0


class Shape(NamedTuple):
    """Of the network, and of the one text it reads."""

    layers: int
    heads: int
    width: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.layers} layers x {self.tokens} tokens"


BASE = Shape(layers=12, heads=12, width=768, tokens=128)
TOY = Shape(layers=2, heads=4, width=32, tokens=24)


def make(shape: Shape) -> tuple[Transformer, Batch]:
    """An untrained BERT; its norms cost what any other's do."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoModelForSequenceClassification, BertConfig, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", *(f"w{number}" for number in range(shape.tokens))]
    cut = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    cut.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.width,
        num_labels=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = AutoModelForSequenceClassification.from_config(config)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=cut, pad_token="[PAD]", unk_token="[UNK]")
    subject = Transformer(network, tokenizer, name="bert")
    return subject, subject.encode([Example("text", " ".join(words[2:]))])


@torch.no_grad()
def plain(subject: Transformer, batch: Batch) -> list[Tensor]:
    """Every vector: [head query key feature] in each layer, summed over heads, normed, measured."""
    places = [
        (site, Site("value", site.where), Site("input", block.where))
        for site, block in zip(subject.sites, subject.blocks, strict=True)
    ]
    run = subject.run(batch, want=[site for three in places for site in three])
    maps = []
    for three, block in zip(places, subject.blocks, strict=True):
        weights, values, residual = (run.parts[site][0] for site in three)
        out = subject.network.get_submodule(block.where).attention.output
        by_head = out.dense.weight.T.reshape(len(weights), -1, residual.shape[-1])
        added = (weights[..., None] * (values @ by_head)[:, None]).sum(0)  # [query key feature]
        total = added.sum(1) + residual + out.dense.bias
        tokens = torch.arange(len(residual))
        added[tokens, tokens] += residual
        scale = (total.var(-1, unbiased=False, keepdim=True) + out.LayerNorm.eps).sqrt()
        normed = (added - added.mean(-1, keepdim=True)) * out.LayerNorm.weight
        maps.append(torch.linalg.vector_norm(normed, dim=-1) / scale)
    return maps


def library(subject: Transformer, batch: Batch) -> list[Tensor]:
    """The same maps."""
    return [found[0] for found in each_layer(subject, batch, lambda layer: contribution_norms(layer, "norm"))]


def measure(quick: bool = False) -> Iterator[dict[str, Any]]:
    """The time of both sides, and the peak of ours."""
    shape = TOY if quick else BASE
    with one_thread():
        subject, batch = make(shape)
        plain_s, theirs = _timed(plain, subject, batch)
        library_s, ours = _timed(library, subject, batch)
    furthest = max(float((one - other).abs().max()) for one, other in zip(ours, theirs, strict=True))
    yield {
        "name": "norms of all layers, BERT",
        "size": f"{shape}",
        "plain_s": plain_s,
        "library_s": library_s,
        "ratio": plain_s / library_s,
        "equal": furthest < 1e-4,
        "furthest": furthest,
        "threads": 1,
    }
    peak = peak_in_a_process("toy" if quick else "base", "library")
    yield {
        "name": "peak memory of norms, with torch and weights",
        "size": f"{shape}",
        "peak_gb": peak,
        "limit_gb": MEMORY_GB,
        "equal": peak < MEMORY_GB,
    }


def _timed(side: Side, subject: Transformer, batch: Batch, repetitions: int = 3) -> tuple[float, list[Tensor]]:
    """The quickest of a few runs, and what it found."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        found = side(subject, batch)
        times.append(time.perf_counter() - start)
    return min(times), found


def peak_in_a_process(shape: str, side: str) -> float:
    """Gigabytes."""
    command = [sys.executable, "-m", "benchmarks.norms", shape, side]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main(shape: str, side: str) -> None:
    """One run of a side; `nothing` shows what torch and the weights take."""
    sides: dict[str, Side] = {"plain": plain, "library": library, "nothing": lambda *_: []}
    with one_thread():
        sides[side](*make({"base": BASE, "toy": TOY}[shape]))
    # Not getrusage: a process that was just forked starts from the peak of the one that forked it.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(int(status["VmHWM"].split()[0]) / 2**20)  # from kilobytes


if __name__ == "__main__":
    main(*sys.argv[1:])

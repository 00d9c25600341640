"""Leave-one-out on a transformer: against the bare forward passes of the same shortened texts, and against captum.

There is nothing to use again exactly, for every token sees every other; what can be lost is what stands around the
passes. The bare side is the network as transformers loads it (sdpa), fed tensors that were made before the clock
started; ours starts from the texts and tokenizes, runs and reads. captum's FeatureAblation does the same over the
presence of each word, a text at a time.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from captum.attr import FeatureAblation
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from benchmarks.inputs import one_thread
from heatcheck.data import Example
from heatcheck.explainers.leave_one_out import erase_each
from heatcheck.explainers.word_removal import delete
from heatcheck.models.hf import Transformer
from heatcheck.training import batches_by_length, predict

BATCH = 128  # texts a forward pass, on both sides
SHARE = 0.85  # of the bare throughput
SAME = 1e-5
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A network of MiniLM's shape (6 layers, 384 wide, 12 heads) with random weights, on texts of 12 to 28 words."""
    layers, width, heads, texts = (2, 48, 4, 3) if quick else (6, 384, 12, 24)
    subject, examples = make(layers, width, heads), sentences(texts)
    size = f"{texts} texts, {layers} x {width}"
    with one_thread():
        ours, found = _timed(lambda: erase_each(subject, examples))
        bare, logits = _bare(subject, examples)
        ablated, by_captum = _timed(lambda: [_ablate(subject, example) for example in examples])
    same = all(np.allclose(one, other, atol=SAME) for one, other in zip(found, by_captum, strict=True))
    removed = _losses(subject, examples, logits)
    return [
        {
            "name": "leave-one-out, transformer: bare passes",
            "size": size,
            "plain_s": bare,
            "library_s": ours,
            "ratio": bare / ours,
            "target": None if quick else SHARE,
            "equal": all(np.allclose(one, other, atol=SAME) for one, other in zip(found, removed, strict=True)),
        },
        {
            "name": "leave-one-out, transformer: captum",
            "size": size,
            "plain_s": ablated,
            "library_s": ours,
            "ratio": ablated / ours,
            "equal": same,
        },
    ]


def make(layers: int, width: int, heads: int) -> Transformer:
    """A BERT with random weights and a tokenizer of a thousand words."""
    words = {word: number for number, word in enumerate([*SPECIAL, *(f"w{n}" for n in range(1000))])}
    pieces = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
    )
    network = BertForSequenceClassification(config)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)  # weights that start small leave every word without an effect
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="[PAD]", mask_token="[MASK]")
    return Transformer(network, tokenizer, name="random")


def sentences(number: int) -> list[Example]:
    generator = np.random.default_rng(0)
    lengths = generator.integers(12, 29, number)
    return [
        Example(str(n), " ".join(f"w{w}" for w in generator.integers(0, 1000, length)), label=0)
        for n, length in enumerate(lengths)
    ]


def _without(examples: Sequence[Example]) -> list[Example]:
    return [delete(example, {word}) for example in examples for word in range(len(example.words))]


def _bare(subject: Transformer, examples: Sequence[Example]) -> tuple[float, Tensor]:
    """The network as it was loaded, on tensors made before."""
    texts = _without(examples)
    order = list(batches_by_length(texts, BATCH))
    made = [subject.tokenizer([texts[n].text for n in numbers], padding=True, return_tensors="pt") for numbers in order]
    subject.network.set_attn_implementation("sdpa")
    try:
        with torch.inference_mode():
            seconds, found = _timed(lambda: [subject.network(**inputs).logits for inputs in made])
    finally:
        subject.network.set_attn_implementation("heatcheck")
    logits = torch.empty(len(texts), 2)
    for numbers, part in zip(order, found, strict=True):
        logits[numbers] = part
    return seconds, logits


def _losses(subject: Transformer, examples: Sequence[Example], logits: Tensor) -> list[np.ndarray]:
    whole = np.exp(predict(subject, examples)[:, 0])
    without = logits.double().softmax(-1).numpy()
    lengths = np.cumsum([len(example.words) for example in examples])[:-1]
    return [p.max() - part[:, p.argmax()] for p, part in zip(whole, np.split(without, lengths), strict=True)]


def _ablate(subject: Transformer, example: Example) -> np.ndarray:
    words = len(example.words)
    label = int(predict(subject, [example])[0, 0].argmax())

    def probability(presence: Tensor) -> Tensor:
        texts = [delete(example, set((row == 0).nonzero()[:, 0].tolist())) for row in presence]
        return torch.from_numpy(np.exp(predict(subject, texts)[:, 0, label]))

    found = FeatureAblation(probability).attribute(torch.ones(1, words), perturbations_per_eval=words)
    return np.asarray(found[0].numpy(), dtype=float)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The better of two, after one that warms up."""
    work()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found

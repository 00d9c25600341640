"""Gradient-weighted rollout: what it costs beyond one forward and one backward pass of the same model.

The plain side is the bare Hugging Face model in eager mode, without any of ours in it: logits of a batch, and the
gradient of the predicted ones back to the embeddings (no parameter's, which would cost half as much again). Ours is
the explainer from a batch that is encoded: passes, heads reduced, layers rolled out. A random BERT of MiniLM's size.
"""

import copy
import time
from statistics import median
from typing import Any

import torch

from benchmarks.inputs import one_thread
from heatcheck.data import Batch, Example
from heatcheck.explainers.gradient_rollout import relevance_row, weigh_by_gradient
from heatcheck.models.hf import Transformer

LAYERS, HIDDEN, HEADS, WORDS = 6, 384, 12, 1000
TEXTS, TOKENS = 16, 64
MOST = 1.3  # times the cost of the two passes
REPETITIONS = 7


def random_bert(*, layers: int, hidden: int, heads: int) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=WORDS,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * hidden,
            attn_implementation="eager",
        )
        return BertForSequenceClassification(config).eval()


def word_pieces() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    known = {word: number for number, word in enumerate([*special, *(f"w{n}" for n in range(WORDS - len(special)))])}
    found = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=found, pad_token="[PAD]", unk_token="[UNK]")


def passes(network: Any, batch: Batch) -> torch.Tensor:
    """One forward and one backward pass."""
    with torch.enable_grad():
        embedded = network.get_input_embeddings()(batch.inputs["input_ids"]).detach().requires_grad_()
        logits = network(inputs_embeds=embedded, attention_mask=batch.inputs["attention_mask"]).logits
        (slope,) = torch.autograd.grad(logits.amax(-1).sum(), embedded)
    return slope


def rolled(subject: Transformer, batch: Batch) -> torch.Tensor:
    run, weighted = weigh_by_gradient(subject, batch)
    return relevance_row(weighted, run)


def by_retained_gradients(network: Any, batch: Batch) -> torch.Tensor:
    """The same scores from the bare model: gradients of all weights kept, matrices rolled out."""
    with torch.enable_grad():
        found = network(**batch.inputs, output_attentions=True)
        slopes = torch.autograd.grad(found.logits.amax(-1).sum(), found.attentions)
    relevance = torch.eye(found.attentions[0].shape[-1]).expand(len(batch), -1, -1)
    start = relevance
    for weights, slope in zip(found.attentions, slopes, strict=True):
        relevance = relevance + (weights * slope).clamp(min=0).mean(1) @ relevance
    return (relevance - start)[:, 0].detach()


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """One row; `ratio` is plain over ours, so that the limit of 1.3 times is a ratio of at least 1 / 1.3."""
    shape = {"layers": 2, "hidden": 32, "heads": 4} if quick else {"layers": LAYERS, "hidden": HIDDEN, "heads": HEADS}
    texts, tokens, repetitions = (4, 16, 1) if quick else (TEXTS, TOKENS, REPETITIONS)
    network = random_bert(**shape)
    subject = Transformer(copy.deepcopy(network), word_pieces(), name="random-bert")
    numbers = torch.randint(0, WORDS - 4, (texts, tokens - 2), generator=torch.Generator().manual_seed(0)).tolist()
    batch = subject.encode([Example(f"e{n}", " ".join(f"w{w}" for w in row)) for n, row in enumerate(numbers)])
    with one_thread():
        expected, found = by_retained_gradients(network, batch), rolled(subject, batch)
        passes(network, batch)
        theirs, ours = [], []
        for _ in range(repetitions):  # interleaved, so that a busy moment hits both
            start = time.process_time()
            passes(network, batch)
            theirs.append(time.process_time() - start)
            start = time.process_time()
            rolled(subject, batch)
            ours.append(time.process_time() - start)
    plain_s, library_s = median(theirs), median(ours)
    return [
        {
            "name": "gradient-weighted rollout, two passes",
            "size": f"{texts} texts of {tokens}",
            "plain_s": plain_s,
            "library_s": library_s,
            "ratio": plain_s / library_s,
            "equal": bool(torch.allclose(found, expected, rtol=1e-3, atol=1e-7)),
            "target": round(1 / MOST, 2),
            "threads": 1,
        }
    ]


if __name__ == "__main__":
    for row in measure():
        print(row)

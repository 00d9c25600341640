"""Tiny language models with random weights, and a tokenizer that knows a few words with the space before them."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoModelForCausalLM, Gemma2Config, GPT2Config, LlamaConfig, PreTrainedTokenizerFast

PROMPT = "Review: {text}\nIt is"
LABELS = {"negative": " bad", "positive": " good"}


def tokenizer(*, ends=False):
    """Letters and bytes, and a few words with the space before them."""
    pieces = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = []
    for word in ("Ġbad", "Ġgood", "Ġdull"):
        for end in range(2, len(word) + 1):
            merge = (word[: end - 1], word[end - 1])
            if merge not in merges:
                merges.append(merge)
                pieces.append(word[:end])
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    found = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    found.decoder = decoders.ByteLevel()
    single = "<s> $A </s>" if ends else "<s> $A"
    found.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 0), ("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=found, bos_token="<s>", eos_token="</s>", model_max_length=128)


def network(kind="llama", *, window=128):
    size = len(tokenizer())
    shapes = {
        "llama": lambda: LlamaConfig(
            vocab_size=size,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=window,
        ),
        "gemma2": lambda: Gemma2Config(
            vocab_size=size,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=window,
            sliding_window=16,
        ),
        "gpt2": lambda: GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=window),
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = AutoModelForCausalLM.from_config(shapes[kind]()).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.mul_(4.0)
    return found

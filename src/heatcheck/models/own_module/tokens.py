"""Turn texts into tokens with the tokenizer of a user's own module."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.errors import BadInput, HeatcheckError, NotSupported, in_short
from heatcheck.models.contract.encoding import marks_of, pad

# A text to ids, or to pairs of an id and the number of the word it belongs to (-1 for none); or a tokenizer object.
OwnTokenizer: TypeAlias = Vocabulary | Callable[[str], Any]
LONGEST = 10**6  # tokenizers that know no limit name a number beyond any integer


def encode_own(
    tokenizer: OwnTokenizer,
    examples: Sequence[Example],
    *,
    padding: int,
    gold: Int[Tensor, "example decision"] | None,
    options: Bool[Tensor, "example label"] | None,
    device: torch.device,
) -> Batch:
    """`inputs` are `tokens`. A piece of a Hugging Face tokenizer belongs to the word it ends in."""
    if hasattr(tokenizer, "is_fast"):
        return _of_pieces(tokenizer, examples, gold=gold, options=options, device=device)
    found = [_tokens(tokenizer, example) for example in examples]
    tokens = pad([ids for ids, _ in found], padding, device)
    word = pad([words for _, words in found], -1, device)
    lengths = torch.tensor([len(ids) for ids, _ in found], device=device)
    return Batch(
        ids=tuple(example.id for example in examples),
        inputs={"tokens": tokens},
        valid=torch.arange(tokens.shape[1], device=device) < lengths[:, None],
        scored=word >= 0,
        word=word,
        gold=gold,
        marks=marks_of(examples, word),
        options=options,
    )


def _tokens(tokenizer: OwnTokenizer, example: Example) -> tuple[list[int], list[int]]:
    """Ids and words of one text."""
    if example.text_pair is not None:
        raise NotSupported(f"example {example.id} has a second text, but a wrapped module reads one text per example.")
    if isinstance(tokenizer, Vocabulary):
        ids, words = tokenizer.look_up(example.masked_text)
    else:
        ids, words = _read(tokenizer, example)
    if not any(word >= 0 for word in words):
        raise BadInput(f"example {example.id}: its text has no token. Remove the example or give it a text.")
    return ids, words


def _read(tokenizer: Callable[[str], Any], example: Example) -> tuple[list[int], list[int]]:
    try:
        ids, words = _paired(list(tokenizer(example.masked_text)), example)
        np.array([*ids, *words], dtype=np.int64)  # raises at a number that is too large for it
        return ids, words
    except HeatcheckError:
        raise
    except Exception as error:  # whatever somebody else's tokenizer raises
        raise BadInput(
            f"example {example.id}: the tokenizer failed on its text ({in_short(error)}). It must return ids, or "
            "pairs (id, word number), for any text."
        ) from error


def _paired(found: list[Any], example: Example) -> tuple[list[int], list[int]]:
    n = len(example.words)
    if found and isinstance(found[0], tuple):
        ids, words = [int(token) for token, _ in found], [int(word) for _, word in found]
        if not all(-1 <= word < n for word in words):
            raise BadInput(
                f"example {example.id}: the tokenizer names word {max(words)}, but the text has {n} words. Words "
                "are separated by plain spaces and counted from 0; -1 marks a token of no word."
            )
        return ids, words
    if len(found) != n:
        raise BadInput(
            f"example {example.id}: the tokenizer gives {len(found)} ids for {n} words (separated by plain "
            "spaces). Let it return pairs (id, word number), with -1 for a token of no word."
        )
    return [int(token) for token in found], list(range(n))


def _of_pieces(tokenizer: Any, examples: Sequence[Example], **known: Any) -> Batch:
    from heatcheck.models.hf.pieces import Cutter, encode_pieces  # transformers takes a second to import

    if not tokenizer.is_fast:
        raise NotSupported(
            "the tokenizer cannot say where in the text a piece stands, because it is not a fast one. Use a fast "
            "tokenizer."
        )
    if tokenizer.pad_token is None:
        raise BadInput(
            "the tokenizer has no padding token: set tokenizer.pad_token, for example to tokenizer.eos_token."
        )
    tokenizer.padding_side = "right"
    found = encode_pieces(Cutter(tokenizer, min(tokenizer.model_max_length, LONGEST)), examples, **known)
    return replace(found, inputs={"tokens": found.inputs["input_ids"]})

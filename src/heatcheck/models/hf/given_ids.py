"""Batches of token ids that somebody gives, where the text itself does not matter: random tokens, repeated ones."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch

from heatcheck.data import Batch
from heatcheck.errors import BadInput
from heatcheck.models.contract.encoding import pad


def encode_given(
    tokenizer: Any,
    ids: Sequence[Sequence[Any]],
    *,
    bos: bool,
    longest: int,
    known: int | None,
    device: torch.device,
) -> Batch:
    """One row per list of ids, each token a word of its own; nothing is added but a BOS, if that is wished.

    Args:
        bos: put the tokenizer's BOS before each list, where it does not stand already.
        longest: how many tokens the network reads.
        known: how many ids it knows; None: that is not known.
    """
    first = tokenizer.bos_token_id if bos else None
    if bos and first is None:
        raise BadInput("the tokenizer has no BOS token: use bos=False.")
    rows = [_checked(row, number, known) for number, row in enumerate(ids)]
    if not rows:
        raise BadInput("there are no token ids to encode: give at least one list.")
    whole = [row if first is None or row[0] == first else [first, *row] for row in rows]
    for number, row in enumerate(whole):
        if len(row) > longest:
            raise BadInput(f"list {number} has {len(row):,} tokens, and the model reads {longest:,}. Shorten it.")
    tokens = pad(whole, tokenizer.pad_token_id or 0, device)
    valid = pad([[1] * len(row) for row in whole], 0, device)
    marks = [1 if first is not None and row[0] == first else 0 for row in whole]
    word = pad([[-1] * m + list(range(len(row) - m)) for row, m in zip(whole, marks, strict=True)], -1, device)
    inputs = {"input_ids": tokens, "attention_mask": valid}
    if "token_type_ids" in tokenizer.model_input_names:
        inputs["token_type_ids"] = torch.zeros_like(tokens)
    return Batch(
        ids=tuple(str(number) for number in range(len(whole))),
        inputs=inputs,
        valid=valid.bool(),
        scored=word >= 0,
        word=word,
        gold=None,
        marks={},
    )


def _checked(row: Sequence[Any], number: int, known: int | None) -> list[int]:
    found = list(row)
    wrong = next((one for one in found if isinstance(one, bool) or not isinstance(one, Integral) or one < 0), None)
    if wrong is not None:
        raise BadInput(f"list {number} holds {wrong!r}, which is no token id: ids are whole numbers from 0.")
    if not found:
        raise BadInput(f"list {number} of token ids is empty: give at least one id.")
    if known is not None and max(found) >= known:
        raise BadInput(f"list {number} has the id {max(found):,}, but the network knows {known:,} ids, counted from 0.")
    return [int(one) for one in found]

"""A causal language model that reads plain texts: at each token it decides whether the next one is what follows.

A decision is a softmax over two labels, "another token" and "the next token". So its loss is the loss that language
models are trained with, and whatever asks for decisions works on a language model without any prompt.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models.contract.lengths import with_tokens
from heatcheck.models.contract.naming import folder_name
from heatcheck.models.contract.opened import Ends, Factors, Stream, as_decisions
from heatcheck.models.contract.subject import Edits, Run, Want
from heatcheck.models.hf import opened
from heatcheck.models.hf.load import _cannot_read, _read, quiet
from heatcheck.models.hf.transformer import NOTHING, Transformer

LABELS = ("another token", "the next token")
UNDECIDED = -100  # what follows the last token is not known


class NextToken(Transformer):
    """A causal language model on plain texts, with one decision per token but the last."""

    def __init__(self, network: Any, tokenizer: Any, *, name: str) -> None:
        self._reads_on = False  # while heatcheck finds out about the network, the last token alone is read
        super().__init__(network, tokenizer, name=name)
        self._reads_on = True

    def _name_labels(self, config: Any) -> None:
        self.labels, self.several = LABELS, False

    def encode(self, examples: Sequence[Example]) -> Batch:
        plain = [example.but(label=None, options=None) for example in examples]
        batch = super().encode(plain)
        gold = torch.where(batch.valid[:, 1:], 1, UNDECIDED)
        return replace(batch, gold=gold)

    def _ask(self, inputs: Mapping[str, Any]) -> Tensor:
        """Log-probability of each token that stands in the text; while it is tried out, two logits of the last."""
        found: Tensor = self.network(**inputs).logits
        if not self._reads_on:
            mask = inputs["attention_mask"]
            last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
            return found[torch.arange(len(last), device=last.device), last, :2]
        before = found[:, :-1].float()
        picked = before.gather(-1, inputs["input_ids"][:, 1:, None])[..., 0]
        return picked - before.logsumexp(-1)

    def _decisions(self, outputs: Tensor, options: Tensor | None) -> Tensor:
        """Log-probabilities [example decision] to logits [example decision label]."""
        if not self._reads_on:
            return super()._decisions(outputs, options)
        return as_decisions(outputs)

    def _run(self, batch: Batch, edits: Edits, want: Want, known: Mapping[str, Any] = NOTHING) -> Run:
        found = super()._run(batch, edits, want, known)
        if not self._reads_on:
            return found
        rows = torch.arange(found.logits.shape[1], device=found.logits.device)
        return replace(found, row=rows.expand(found.logits.shape[:2]))

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The last token of each text."""
        return (batch.valid * torch.arange(batch.valid.shape[1], device=batch.valid.device)).argmax(1)

    def together(self, examples: Sequence[Example]) -> Iterator[list[int]]:
        return with_tokens(self.lengths(examples), self.tokens_at_once)

    def answer(self, batch: Batch) -> Float[Tensor, "example decision label"]:
        return self.run(batch).logits

    def answer_edited(self, batch: Batch, edits: Edits) -> Float[Tensor, "example decision label"]:
        """Every token decides, so every row goes on."""
        return self.run(batch, edits=edits).logits

    def factors(self, layer: int) -> Factors:
        return opened.read_factors(self, layer)

    def ends(self) -> Ends:
        return opened.read_ends(self)

    def stream(self, batch: Batch, rows: Int[Tensor, " example"]) -> Stream:
        return opened.read_stream(self, batch, rows)

    def ordinary_ids(self) -> list[int]:
        """Without special tokens. Merges of a byte-pair vocabulary are in the order of their frequency."""
        added = {*self.tokenizer.all_special_ids, *self.tokenizer.added_tokens_decoder}
        known = min(len(self.tokenizer), self._known_ids or len(self.tokenizer))
        return [one for one in range(known) if one not in added]

    @property
    def first_id(self) -> int | None:
        """BOS; the token between documents where there is none (Qwen)."""
        tokenizer = self.tokenizer
        found: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        return found


def load_next_token(name: str, *, device: str = "cpu", dtype: str | None = None) -> NextToken:
    """Load the language model in a folder, in a GGUF file or with a hub name, to read plain texts."""
    from transformers import AutoModelForCausalLM

    path = name.removeprefix("hf:")
    read = _read(path, AutoModelForCausalLM, "a language model", dtype=dtype)
    if read.new:
        raise BadInput(f"hf:{path} is no language model ({read.new[0]} is missing).")
    try:
        with quiet():
            found = NextToken(read.network.to(device), read.tokenizer, name=f"hf:{path}")
    except (TypeError, ValueError, LookupError, AttributeError) as error:  # a config may say anything
        raise BadInput(_cannot_read(path, path, error, "a language model")) from error
    found.called = folder_name(name)
    return found


def is_language_model(name: str) -> bool:
    """Whether a path names a causal language model: a GGUF file, or a folder whose config says so."""
    path = Path(name.removeprefix("hf:")).expanduser()
    if path.suffix == ".gguf" or (path.is_dir() and not (path / "config.json").is_file() and any(path.glob("*.gguf"))):
        return True
    try:
        said = json.loads((path / "config.json").read_bytes()).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return False
    return any(str(one).endswith(("ForCausalLM", "LMHeadModel")) for one in said)

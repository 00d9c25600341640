"""What a batch's tokens are, as measures of attention need it: special, punctuation, words, rare words, visible keys.

A scene is made once for a batch and lies on the model's device; every layer's weights are measured against it there.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.models import HasLayers

Frequencies = Mapping[str, int]


@dataclass(frozen=True)
class Scene:
    """One batch: which keys a query sees, and what stands where.

    `queries` see two keys or more: a query with one key has nothing to choose. `words` holds each token's share in its
    word; a token that belongs to no word has none. `rarest` marks, for each word that asks, the rarest words it sees
    among `candidates`: words that are more than punctuation.
    """

    seen: Bool[Tensor, "example query key"]
    queries: Bool[Tensor, "example query"]
    special: Bool[Tensor, "example key"]
    punctuation: Bool[Tensor, "example key"]
    segment: Int[Tensor, "example key"] | None
    reader: Int[Tensor, " example"]
    words: Float[Tensor, "example word token"]
    rarest: Bool[Tensor, "example word word"]
    candidates: Bool[Tensor, "example word word"]

    @property
    def even(self) -> Float[Tensor, "example 1 query key"]:
        """Uniform weights on what each query sees: the baseline of every measure."""
        return (self.seen / self.seen.sum(-1, keepdim=True).clamp(min=1))[:, None]


class Stage:
    """Makes scenes for one model: knows its tokenizer, whether it looks ahead, and how frequent words are."""

    def __init__(self, subject: HasLayers, examples: Sequence[Example], frequencies: Frequencies | None = None) -> None:
        """
        Args:
            frequencies: how often each word occurs in some corpus, as `word_form` writes it; None: in the examples.
        """
        self.subject = subject
        self.tokenizer = tokenizer_of(subject)
        self.causal = is_causal(subject, examples)
        self.frequencies = count_words(examples) if frequencies is None else frequencies
        self._special = set(getattr(self.tokenizer, "all_special_ids", ()))
        self._is_punctuation: dict[int, bool] = {}

    def set_up(self, batch: Batch, examples: Sequence[Example]) -> Scene:
        """The scene of these examples, which are the batch's."""
        device, ids = batch.valid.device, batch.inputs["input_ids"]
        outside = batch.valid & (batch.word < 0)
        special = outside & self._among(ids, self._special)
        punctuation = batch.valid & ~special & self._among(ids, self._punctuation(ids))
        seen = batch.valid[:, None, :] & batch.valid[:, :, None]
        if self.causal:
            seen = seen.tril()
        words, spoken, rank = self._words(batch, examples)
        members = (words > 0).float()
        sees = torch.einsum("ewq,eqk,evk->ewv", members, seen.float(), members) > 0
        candidates = sees & spoken[:, None, :]
        known = torch.where(candidates, rank[:, None, :], torch.inf)
        rarest = candidates & (known == known.amin(-1, keepdim=True))
        types = batch.inputs.get("token_type_ids")
        paired = types is not None and bool((types * batch.valid).any())
        return Scene(
            seen=seen,
            queries=batch.valid & (seen.sum(-1) > 1),
            special=special,
            punctuation=punctuation,
            segment=types if paired else None,
            reader=self.subject.rows(batch).to(device),
            words=words,
            rarest=rarest,
            candidates=candidates,
        )

    def _among(self, ids: Int[Tensor, "example token"], chosen: Iterable[int]) -> Bool[Tensor, "example token"]:
        return torch.isin(ids, torch.tensor(sorted(chosen), dtype=ids.dtype, device=ids.device))

    def _punctuation(self, ids: Int[Tensor, "example token"]) -> list[int]:
        new = [one for one in set(ids.flatten().tolist()) if one not in self._is_punctuation]
        for one in new:
            self._is_punctuation[one] = is_punctuation(str(self.tokenizer.decode([one])).strip())
        return [one for one, so in self._is_punctuation.items() if so]

    def _words(self, batch: Batch, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
        """Each token's share in its word, whether a word is more than punctuation, and how frequent it is."""
        device = batch.valid.device
        most = max(1, max(len(example.words) for example in examples))
        spoken = np.zeros((len(examples), most), dtype=bool)
        often = np.zeros((len(examples), most), dtype=np.float32)
        for row, example in enumerate(examples):
            forms = [word_form(word) for word in example.words]
            spoken[row, : len(forms)] = [bool(form) for form in forms]
            often[row, : len(forms)] = [self.frequencies.get(form, 0) for form in forms]
        place = batch.word[:, None, :] == torch.arange(most, device=device)[None, :, None]
        share = place / place.sum(-1, keepdim=True).clamp(min=1)
        return share, torch.from_numpy(spoken).to(device) & place.any(-1), torch.from_numpy(often).to(device)


def tokenizer_of(subject: HasLayers) -> Any:
    """The model's tokenizer; raises NotSupported if it has none."""
    found = getattr(subject, "tokenizer", None)
    if found is None:
        raise NotSupported(f"{subject.id} has no tokenizer, so heatcheck cannot tell its special tokens.")
    return found


@torch.inference_mode()
def is_causal(subject: HasLayers, examples: Sequence[Example]) -> bool:
    """Whether no query sees a later key: tried on the longest of a few examples.

    Raises NotSupported if queries and keys are not the same tokens, as where a decoder looks at an encoder.
    """
    longest = max(examples[:16], key=lambda example: len(example.text))
    site, batch = subject.sites[0], subject.encode([longest])
    tokens = batch.valid.shape[1]

    def ahead(weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head"]:
        if weights.shape[-2:] != (tokens, tokens):
            raise NotSupported(
                f"the heads of {subject.id} do not look from the tokens of a text at the same tokens, so their roles "
                "cannot be measured. Choose an encoder or a decoder alone."
            )
        return weights.triu(1).amax((-1, -2))

    found = subject.run(batch, want={site: ahead})
    return not bool((found.parts[site] > 0).any())


def is_punctuation(text: str) -> bool:
    """Whether a text is punctuation and nothing else.

    >>> is_punctuation("..."), is_punctuation("a."), is_punctuation("")
    (True, False, False)
    """
    return bool(text) and all(unicodedata.category(letter).startswith("P") for letter in text)


def word_form(word: str) -> str:
    """A word as it is counted: lower case, without punctuation around it; "" for punctuation alone.

    >>> word_form("Good,"), word_form("n't"), word_form("--")
    ('good', "n't", '')
    """
    start, end = 0, len(word)
    while start < end and is_punctuation(word[start]):
        start += 1
    while end > start and is_punctuation(word[end - 1]):
        end -= 1
    return word[start:end].lower()


def count_words(examples: Iterable[Example]) -> Frequencies:
    """How often each word occurs in these examples."""
    found = Counter(form for example in examples for word in example.words if (form := word_form(word)))
    return dict(found)

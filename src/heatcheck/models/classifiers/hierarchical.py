"""A classifier with two attentions: over the words of each sentence, then over the sentences (Yang et al. 2016).

Tokens keep their places in the text. Only the word encoder sees sentences separately, grouped by length, so that one
long sentence does not force padding on all others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.sentences import sentence_of
from heatcheck.data.tokens import split_words
from heatcheck.errors import BadInput
from heatcheck.models.classifiers.attention import ATTENTIONS
from heatcheck.models.classifiers.classifier import ENCODERS, Classifier, ClassifierSettings
from heatcheck.models.contract.encoding import encode_words, pad
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap, Want
from heatcheck.models.contract.weights import softmax_within

WORDS, SENTENCES = Site("attention", "words"), Site("attention", "sentences")


class HierarchicalClassifier(Classifier):
    """Words to one vector per sentence, sentences to one vector per text, then a linear decision.

    The read-out is the attention over sentences. At the attention over words, the queries are the sentences and the
    keys are the tokens of the text: a sentence has weight only on its own tokens. There are no start and end marks.
    """

    part = "sentence"
    attention: nn.ModuleDict

    def __init__(
        self,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        settings: ClassifierSettings,
        *,
        recipe: Recipe | None = None,
        vectors: Float[Tensor, "word feature"] | None = None,
    ) -> None:
        super().__init__(vocabulary, labels, settings, recipe=recipe, vectors=vectors)
        make_encoder, make_attention = ENCODERS[settings.encoder], ATTENTIONS[settings.attention]
        self.encoder = make_encoder(settings.embedding, settings.hidden)
        self.encode_sentences = make_encoder(self.encoder.size, settings.hidden)
        self.attention = nn.ModuleDict(
            {
                "words": make_attention(self.encoder.size),
                "sentences": make_attention(self.encode_sentences.size),
            }
        )
        self.output = self._output(self.encode_sentences.size)

    @property
    def sites(self) -> tuple[Site, ...]:
        return (WORDS, SENTENCES)

    def encode(self, examples: Sequence[Example]) -> Batch:
        """`inputs` are `tokens` and `sentence`: the sentence of the text that each token stands in, -1 for none."""
        batch = encode_words(
            self.vocabulary,
            examples,
            segments=1,
            gold=self._gold(examples),
            device=self.device,
            options=self._options(examples),
            ends=False,
        )
        rows = [_sentences(example.masked_text, self.vocabulary) for example in examples]
        return replace(batch, inputs={**batch.inputs, "sentence": pad(rows, -1, self.device)})

    def allowed(self, site: Site, batch: Batch) -> Bool[Tensor, "example query key"]:
        """The tokens of each sentence, or the sentences of each text."""
        sentence = batch.inputs["sentence"]
        number = torch.arange(int(sentence.max()) + 1, device=sentence.device)
        if site == WORDS:
            return sentence[:, None, :] == number[:, None]
        if site == SENTENCES:
            return (number <= sentence.amax(1, keepdim=True))[:, None]
        raise BadInput(f"{site} is not an attention site of a hierarchical classifier: choose {WORDS} or {SENTENCES}.")

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        tap = Tap(edits, want)
        states, exist = self._states(batch, tap)
        scores = tap(Site("score", "sentences"), self.attention["sentences"](states, None)[:, None])
        weights = tap(SENTENCES, softmax_within(scores, exist))
        context = tap(Site("context", "sentences"), torch.einsum("eqk,ekf->eqf", weights[:, 0], states))
        logits = self._decide(self.dropout(context), batch.options)
        return tap.run(logits, torch.zeros(logits.shape[:2], dtype=torch.long, device=self.device))

    def response(self, batch: Batch) -> Response:
        """Map weights over sentences to logits while the sentence vectors stay the same."""
        states, exist = self._states(batch, Tap(NO_EDITS, ()))
        weights = softmax_within(self.attention["sentences"](states, None)[:, None], exist)
        return self._linear_response(weights.transpose(1, 2), exist[:, 0], states, batch.options)

    def _states(self, batch: Batch, tap: Tap) -> tuple[Tensor, Bool[Tensor, "example 1 key"]]:
        """States of the sentences, and which of them there are."""
        embedded = tap(Site("embedding"), self.embed(batch.inputs["tokens"]))
        read = self._read_sentences(self.dropout(embedded), batch.inputs["sentence"])
        states = tap(Site("state", "words"), read)
        own = self.allowed(WORDS, batch)
        scores = self.attention["words"](states, None)[:, None].expand(-1, -1, own.shape[1], -1)
        weights = tap(WORDS, softmax_within(tap(Site("score", "words"), scores), own))
        context = tap(Site("context", "words"), torch.einsum("esk,ekf->esf", weights[:, 0], states))
        exist = self.allowed(SENTENCES, batch)
        return tap(Site("state", "sentences"), self.encode_sentences(self.dropout(context), exist[:, 0])), exist

    def _read_sentences(
        self, embedded: Float[Tensor, "example token feature"], sentence: Int[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        """Encode each sentence separately and put its states back at the places of its tokens."""
        tokens = embedded.flatten(0, 1)
        places, found = [], []
        for place, inside in sentences_by_length(sentence):
            states = self.encoder(tokens[place], inside)
            places.append(place[inside])
            found.append(states[inside])
        whole = embedded.new_zeros(len(tokens), self.encoder.size)
        whole = whole.index_copy(0, torch.cat(places), torch.cat(found))
        return whole.view(*embedded.shape[:2], -1)


class Sentences(NamedTuple):
    """Sentences of like length: where each token stands in the flattened batch, and which are tokens."""

    place: Int[Tensor, "query token"]
    inside: Bool[Tensor, "query token"]


def sentences_by_length(sentence: Int[Tensor, "example token"]) -> Iterator[Sentences]:
    """All sentences of a batch; of two in a group neither is more than twice as long as the other.

    >>> for place, inside in sentences_by_length(torch.tensor([[0, 0, 0, 1], [0, 1, -1, -1]])):
    ...     print(place.tolist(), inside.tolist())
    [[3], [4], [5]] [[True], [True], [True]]
    [[0, 1, 2]] [[True, True, True]]
    """
    before = nn.functional.pad(sentence, (1, 0), value=-1)[:, :-1]
    begins = (sentence >= 0) & (sentence != before)
    first = begins.flatten().nonzero()[:, 0]  # of each sentence, its first token
    count = (begins.flatten().cumsum(0) - 1)[(sentence >= 0).flatten()]  # which sentence each token belongs to
    length = torch.bincount(count, minlength=len(first))
    doublings = length.float().log2().ceil()
    for many in sorted(set(doublings.tolist())):
        chosen = (doublings == many).nonzero()[:, 0]
        along = torch.arange(int(length[chosen].max()), device=sentence.device)
        inside = along < length[chosen, None]
        yield Sentences(first[chosen, None] + along * inside, inside)


def _sentences(text: str, vocabulary: Vocabulary) -> list[int]:
    """The sentence of each token, numbered without gaps: a sentence of words without tokens is none."""
    _, words = vocabulary.look_up(text)
    of_token = sentence_of_each(text)[words]
    numbers: list[int] = np.concatenate([[0], (np.diff(of_token) > 0).cumsum()]).tolist()
    return numbers


@lru_cache(maxsize=1 << 15)
def sentence_of_each(text: str) -> Int[np.ndarray, " word"]:
    # As with looking words up: training reads every text once an epoch.
    return np.array(sentence_of(split_words(text)), dtype=np.int32)

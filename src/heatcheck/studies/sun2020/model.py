"""Sun & Lu's classifier: attention straight over word vectors; each word has an attention score and a polarity.

Score a_i = e_i·V/λ, weights α = softmax(a), polarity s_i = e_i·W, a text's s = Σ α_j s_j, loss −log σ(y s). It is small
enough to train with explicit gradients in one compiled loop; tests compare them with autograd. With
β = 1 − σ(y s): ∂/∂a_i = −y β α_i (s_i − s), so attention moves to words that already support the label.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float, Int, UInt8

from heatcheck.stats.compiled import compiled

BYTE = 8  # dimensions whose dropout one random byte decides; a width is filled up with zeros to so many


@dataclass(frozen=True)
class Texts:
    """Texts one after the other, without padding."""

    words: Int[np.ndarray, " token"]
    starts: Int[np.ndarray, " item"]  # where each text begins, and after the last where it ends
    signs: Float[np.ndarray, " text"]  # +1 or −1

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def first(self) -> Int[np.ndarray, " text"]:
        return self.starts[:-1]

    @property
    def lengths(self) -> Int[np.ndarray, " text"]:
        return np.diff(self.starts)


def texts_of(sentences: Sequence[Sequence[int]], signs: Sequence[int]) -> Texts:
    """
    >>> texts_of([[4, 2], [7]], [1, -1]).lengths
    array([2, 1])
    """
    starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
    words = np.array([word for sentence in sentences for word in sentence])
    return Texts(words, starts, np.array(signs, dtype=float))


@dataclass
class WordScores:
    """The parameters, which training changes in place, and the scores of every word."""

    vectors: Float[np.ndarray, "word feature"]
    attend: Float[np.ndarray, " feature"]  # V
    polar: Float[np.ndarray, " feature"]  # W
    scale: float  # λ

    @property
    def attention(self) -> Float[np.ndarray, " word"]:
        """a, the attention score of each word."""
        scores: Float[np.ndarray, " word"] = self.vectors @ self.attend / self.scale
        return scores

    @property
    def polarity(self) -> Float[np.ndarray, " word"]:
        """s, the label that each word supports, and how much."""
        scores: Float[np.ndarray, " word"] = self.vectors @ self.polar
        return scores

    def weights(self, texts: Texts) -> Float[np.ndarray, " token"]:
        """α of every token, without dropout."""
        score = self.attention[texts.words]
        highest = np.maximum.reduceat(score, texts.first)
        raised = np.exp(score - np.repeat(highest, texts.lengths))
        shares: Float[np.ndarray, " token"] = raised / np.repeat(np.add.reduceat(raised, texts.first), texts.lengths)
        return shares

    def answers(self, texts: Texts) -> Float[np.ndarray, " text"]:
        """s of every text; above 0 means the label +1."""
        said: Float[np.ndarray, " text"] = np.add.reduceat(
            self.weights(texts) * self.polarity[texts.words], texts.first
        )
        return said

    def accuracy(self, texts: Texts) -> float:
        """Share of the texts with the right label; an answer of exactly 0 is wrong."""
        return float((self.answers(texts) * texts.signs > 0).mean())


def untrained(
    words: int, width: int, scale: float, generator: np.random.Generator, *, polar: float, dtype: type = np.float32
) -> WordScores:
    """Vectors from U(−.1, .1), V from N(0, 1), W from U(−polar, polar): one generator gives one start for every λ."""
    room = -width % BYTE
    vectors = np.pad(generator.uniform(-0.1, 0.1, (words, width)), ((0, 0), (0, room)))
    attend = np.pad(generator.normal(size=width), (0, room))
    direction = np.pad(generator.uniform(-polar, polar, width), (0, room))
    return WordScores(vectors.astype(dtype), attend.astype(dtype), direction.astype(dtype), scale)


class Descent(NamedTuple):
    """Settings of training."""

    rate: float
    batch: int
    epochs: int
    adaptive: bool = False  # Adagrad in place of plain descent
    decay: float = 0.0  # of Adagrad's rate: rate / (1 + step · decay)
    dropout: bool = True  # half of every vector, and half of every context


def train(
    model: WordScores,
    texts: Texts,
    how: Descent,
    generator: np.random.Generator,
    *,
    watch: Callable[[int, float], None] = lambda *_: None,
) -> None:
    """Train the model in place; `watch` gets each epoch (from 1) and its mean training loss.

    Everything random comes from the generator in an order that does not depend on λ: models of one seed see the same
    texts in the same order with the same dropout.
    """
    run_epoch = compiled(_epoch, reassociate=True)
    blocks, dtype = model.vectors.shape[1] // BYTE, model.vectors.dtype
    byte = np.arange(256, dtype=np.uint8)[:, None]
    kept = 2 * np.unpackbits(byte, axis=1, bitorder="little") if how.dropout else np.ones((256, BYTE))
    squares = [np.zeros_like(part) for part in (model.vectors, model.attend, model.polar)]
    steps = -(-len(texts) // how.batch)
    for epoch in range(how.epochs):
        order = generator.permutation(len(texts))
        drop = _random_bytes(generator, len(texts.words), blocks)
        drop_context = _random_bytes(generator, len(texts), blocks)
        loss = run_epoch(
            model.vectors,
            model.attend,
            model.polar,
            *squares,
            texts.words,
            texts.starts,
            texts.signs.astype(dtype),
            order,
            drop,
            drop_context,
            kept.astype(dtype),
            (model.scale, how.rate, how.decay, how.batch, epoch * steps, how.adaptive),
        )
        watch(epoch + 1, float(loss))


def _random_bytes(generator: np.random.Generator, rows: int, blocks: int) -> UInt8[np.ndarray, "row block"]:
    return np.frombuffer(generator.bytes(rows * blocks), dtype=np.uint8).reshape(rows, blocks)


@no_type_check
def _epoch(
    vectors,
    attend,
    polar,
    squares_of_vectors,
    squares_of_attend,
    squares_of_polar,
    words,
    starts,
    signs,
    order,
    drop,
    drop_context,
    kept,
    how,
):
    """One pass over the texts; returns the mean loss. `drop` has one row per token, in the order of training."""
    scale, rate, decay, batch, step, adaptive = how
    width = vectors.shape[1]
    blocks = width // 8
    longest = 0
    for text in range(len(starts) - 1):
        longest = max(longest, starts[text + 1] - starts[text])
    mask = np.empty((longest, width), dtype=vectors.dtype)
    left = np.empty((longest, width), dtype=vectors.dtype)  # the vectors after dropout
    score = np.empty(longest, dtype=vectors.dtype)
    said = np.empty(longest, dtype=vectors.dtype)
    push = np.empty((longest, 2), dtype=vectors.dtype)  # what the loss asks of a token's score and of what it says
    # Plain numbers would have every product taken in double precision.
    zero, tiny = np.zeros(1, dtype=vectors.dtype)[0], np.full(1, 1e-10, dtype=vectors.dtype)[0]
    context_mask = np.empty(width, dtype=vectors.dtype)
    heard = np.empty(width, dtype=vectors.dtype)  # W where the context was kept
    context = np.empty(width, dtype=vectors.dtype)
    to_vectors = np.zeros_like(vectors)
    to_attend = np.zeros_like(attend)
    to_polar = np.zeros_like(polar)
    touched = np.empty(vectors.shape[0], dtype=np.int64)
    is_touched = np.zeros(vectors.shape[0], dtype=np.uint8)
    count = len(order)
    token = 0
    total = 0.0
    for first in range(0, count, batch):
        last = min(first + batch, count)
        many = 0
        for at in range(first, last):
            start = starts[order[at]]
            length = starts[order[at] + 1] - start
            sign = signs[order[at]]
            for block in range(blocks):
                for bit in range(8):
                    context_mask[8 * block + bit] = kept[drop_context[at, block], bit]
            for k in range(width):
                heard[k] = context_mask[k] * polar[k]
                context[k] = zero
            highest = -np.inf
            for t in range(length):
                word = words[start + t]
                for block in range(blocks):
                    for bit in range(8):
                        mask[t, 8 * block + bit] = kept[drop[token + t, block], bit]
                a, s = zero, zero
                for k in range(width):
                    e = mask[t, k] * vectors[word, k]
                    left[t, k] = e
                    a += e * attend[k]
                    s += e * heard[k]
                score[t] = a / scale
                said[t] = s
                highest = max(highest, score[t])
            summed = 0.0
            answer = 0.0
            for t in range(length):
                score[t] = np.exp(score[t] - highest)
                summed += score[t]
            for t in range(length):
                score[t] /= summed  # the weight from here on
                answer += score[t] * said[t]
            margin = sign * answer
            # log(1 + exp(−m)) without overflow
            total += max(-margin, 0.0) + np.log1p(np.exp(-abs(margin)))
            beta = np.exp(-margin) / (1 + np.exp(-margin)) if margin > 0 else 1 / (1 + np.exp(margin))
            pull = -sign * beta / (last - first)
            for t in range(length):
                word = words[start + t]
                if is_touched[word] == 0:
                    is_touched[word] = 1
                    touched[many] = word
                    many += 1
                push[t, 0] = pull * score[t] * (said[t] - answer) / scale
                push[t, 1] = pull * score[t]
                to_score, to_said = push[t, 0], push[t, 1]
                # Three loops: one that writes to three arrays is not vectorised, for they might overlap.
                for k in range(width):
                    to_vectors[word, k] += mask[t, k] * (to_score * attend[k] + to_said * heard[k])
                for k in range(width):
                    to_attend[k] += to_score * left[t, k]
                for k in range(width):
                    context[k] += to_said * left[t, k]
            for k in range(width):
                to_polar[k] += context_mask[k] * context[k]
            token += length
        push[0, 0] = rate / (1 + step * decay)
        pace = push[0, 0]
        step += 1
        # A word that is not in the batch has no gradient, and neither kind of descent moves it.
        for place in range(many):
            word = touched[place]
            is_touched[word] = 0
            if adaptive:
                for k in range(width):
                    squares_of_vectors[word, k] += to_vectors[word, k] * to_vectors[word, k]
                    to_vectors[word, k] /= np.sqrt(squares_of_vectors[word, k]) + tiny
            for k in range(width):
                vectors[word, k] -= pace * to_vectors[word, k]
                to_vectors[word, k] = zero
        if adaptive:
            for k in range(width):
                squares_of_attend[k] += to_attend[k] * to_attend[k]
                squares_of_polar[k] += to_polar[k] * to_polar[k]
                to_attend[k] /= np.sqrt(squares_of_attend[k]) + tiny
                to_polar[k] /= np.sqrt(squares_of_polar[k]) + tiny
        for k in range(width):
            attend[k] -= pace * to_attend[k]
            polar[k] -= pace * to_polar[k]
            to_attend[k] = zero
            to_polar[k] = zero
    return total / count

"""Made-up sentences with trees drawn by chance, and maps that point along their arcs or one word left."""

import numpy as np
import torch

from heatcheck.data.treebank import Sentence
from tiny_transformers import WORDS


def treebank(seed, count=60):
    """Sentences of 4 to 9 words whose trees are drawn by chance."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(count):
        length = int(generator.integers(4, 10))
        root = int(generator.integers(length))
        head = [
            -1 if at == root else int(generator.choice([to for to in range(length) if to != at]))
            for at in range(length)
        ]
        relation = ["root" if to < 0 else str(generator.choice(["obj", "det"])) for to in head]
        words = generator.choice(WORDS, size=length).tolist()
        found.append(Sentence(f"{seed}-{number}", tuple(words), tuple(head), tuple(relation), (True,) * length))
    return found


def arcs(sentence):
    """Each word looks at its head."""
    to = torch.tensor([max(head, 0) for head in sentence.head])
    return torch.nn.functional.one_hot(to, len(sentence.words)).float()


def one_left(sentence):
    place = torch.arange(len(sentence.words))
    return torch.nn.functional.one_hot((place - 1).clamp(min=0), len(place)).float()


TRAIN, TEST = treebank(1), treebank(2)

"""`reviews`: generated film reviews in readable English, with the words that decide each label known.

A small grammar writes clauses about a film; one opinion after a marker of the writer's own view decides. The
other opinions are reported speech of random polarity (always opposite, a bag of words could win by inverting
its signs).
"""

import numpy as np

from heatcheck.data.example import Example
from heatcheck.data.planted import LABELS, SIZES, generate
from heatcheck.data.task import Task

THINGS = ("film", "plot", "acting", "music", "ending", "dialogue", "camera work", "pace")
OPINIONS = (
    ("awful", "boring", "clumsy", "dull", "hollow", "stale", "tedious", "tiresome"),
    ("brilliant", "charming", "delightful", "gripping", "lovely", "moving", "splendid", "witty"),
)
SPEAKERS = ("my neighbour", "one critic", "a friend of mine", "the poster", "my aunt", "the man behind us")
VERBS = ("called the {thing} {opinion}", "said the {thing} was {opinion}", "found the {thing} {opinion}")
SCENES = (
    "we saw it on a rainy tuesday",
    "the cinema was half full",
    "it runs for about two hours",
    "the story begins in a small town by the sea",
    "two brothers come home after many years",
    "the director has made five films before",
)
VERDICTS = ("for me the {thing} was {opinion}", "in my own view the {thing} was {opinion}")


def write(generator: np.random.Generator, name: str) -> Example:
    """Scenes, two or three reported opinions and one of the writer's own, in random order."""

    def pick(options: tuple[str, ...]) -> str:
        return str(generator.choice(options))

    label = int(generator.integers(2))
    deciding = pick(OPINIONS[label])
    clauses = [pick(SCENES) for _ in range(generator.integers(1, 3))]
    for _ in range(generator.integers(2, 4)):
        reported = pick(VERBS).format(thing=pick(THINGS), opinion=pick(OPINIONS[int(generator.integers(2))]))
        clauses.append(f"{pick(SPEAKERS)} {reported}")
    own = pick(VERDICTS).format(thing=pick(THINGS), opinion=deciding)
    place = int(generator.integers(len(clauses) + 1))
    clauses.insert(place, own)
    words = [*" . ".join(clauses).split(" "), "."]
    end_of_own = len(" . ".join(clauses[: place + 1]).split(" ")) - 1  # its last word is the opinion
    rationale = tuple(position == end_of_own for position in range(len(words)))
    return Example(name, " ".join(words), label=label, marks={"rationale": rationale})


reviews = Task(
    "reviews",
    "generated: readable film reviews; the writer's own opinion decides, reported ones do not",
    LABELS,
    SIZES,
    "generated",
    lambda _: generate("reviews", write),
)

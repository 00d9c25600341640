"""Made-up numbers of treated and untreated models, for tests of how treatments are judged."""

import numpy as np

from heatcheck.auditing.treating import Judged, LineNumbers, ModelNumbers, Trio, judge
from heatcheck.auditing.treating.advice import advise
from heatcheck.results.treatments import Treatments

IDS = tuple(f"t{number}" for number in range(120))


class World:
    """Examples that every model reads, and models whose numbers vary by seed, by example and by chance."""

    def __init__(self, seed, *, of_seed=0.02, noise=0.1):
        self.draw, self.of_seed, self.noise = np.random.default_rng(seed), of_seed, noise
        self.easy = self.draw.beta(5, 1, size=len(IDS))
        self.room = 0.2 + 0.2 * self.draw.random(len(IDS))
        self.kept = 0.3 + 0.4 * self.draw.random(len(IDS))

    def model(self, *, points=0.6, hard=0.0, context=0.0, right=0.0, evenness=0.7, carries=0.2):
        own = self.of_seed * self.draw.normal(size=4)
        noise = self.noise * self.draw.normal(size=(4, len(IDS)))
        below = np.abs(self.room + noise[0])
        lines = {
            "accuracy": plain((self.draw.random(len(IDS)) < self.easy + right + own[0]) * 1.0),
            "points": LineNumbers(IDS, (points + own[1]) * below + noise[1], below),
            "hard": plain(np.clip(self.kept + hard + own[2] + noise[2], 0, 1)),
            "context": LineNumbers(IDS, 0.1 + context + own[3] + noise[3], 0.2 + noise[3], carries),
        }
        return ModelNumbers(lines, evenness, {})

    def trios(self, seeds=5, *, twin=True, treated=None, sharp=None):
        return [
            Trio(self.model(), self.model(**(treated or {})), self.model(**(sharp or {})) if twin else None)
            for _ in range(seeds)
        ]


def plain(values):
    return LineNumbers(IDS, values, np.ones(len(values)))


def treatments() -> Treatments:
    """Eight treatments, with every verdict among them."""
    better = {"points": 0.9, "hard": -0.2}
    judged = [
        Judged("diversity", "states pushed apart", World(1).trios(treated=better)),
        Judged("entmax", "weights by entmax", World(2).trios(treated=better, sharp=better)),
        Judged("relevance_guided", "guided", World(3).trios(treated=better), frozenset({"points"})),
        Judged("rationale_guided", "guided", World(4).trios(treated={"evenness": 0.99}), note="people marked words"),
        Judged("sparsemax", "sparse", World(5).trios(treated={"points": 0.2, "right": -0.4})),
        Judged("top_k", "hard", World(6).trios(2)),
        Judged("masked_words", "named", [Trio(m, m, m) for m in (World(7).model() for _ in range(5))]),
        Judged("orthogonal", "at right angles", World(8).trios()),
    ]
    rows = judge(judged)
    not_applied = {"tying": "states of the encoder cnn cannot be as wide as embeddings of 200 numbers."}
    left_out = {"treatments": "placebo (--treatments all)"}
    return Treatments("mine.csv@ab", "mine", tuple(rows), 5, 200, advise(rows), not_applied, left_out)

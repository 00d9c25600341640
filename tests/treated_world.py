"""Made-up numbers of treated and untreated models, for tests of how treatments are judged."""

import numpy as np

from heatcheck.auditing.treating import LineNumbers, ModelNumbers, Trio

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

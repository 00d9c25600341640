"""Random models and texts for calibration: what is drawn at random must not change the right answers."""

import math
from dataclasses import asdict, dataclass

from heatcheck.auditing.calibration.truth import FIRST, KEYWORD, LOOKUP, MAJORITY, SECOND, Cell
from heatcheck.data import Corpus
from heatcheck.data.planted import Lengths, planted
from heatcheck.engine import stream
from heatcheck.models import KNOWN_ANSWERS, KnownAnswer

SCALES = (1.5, 3.0, 8.0)  # sizes of a vote: unsure, sure, and all but saturated
MURMUR = 0.05  # the loudest filler word, as a share of a vote
TRAIN, DEV = 1000, 100  # texts: only the guide counts words in them
# Tokens beside the filler words: the deciding one, others like it, the marker, a comma and a full stop.
BESIDE = {KEYWORD: 1, FIRST: 1, SECOND: 1, "planted_contrast": 8, LOOKUP: 6, MAJORITY: 7, "planted_twins": 2}
# A gauge twin has the same probabilities, but for one temperature, only among texts of one length.
OF_ONE_LENGTH = (Cell("reader", KEYWORD), Cell("gauge_twin", KEYWORD))


@dataclass(frozen=True)
class Nuisance:
    """What differs from seed to seed and must make no difference: see models/known_answers.py."""

    sharpness: float
    jitter: float
    filler: float
    scale: float


def draw_lengths(cell: Cell, seed: int) -> Lengths:
    """Fewest and most filler words; the same for every subject of a task, but for those that need one length."""
    generator = stream(seed, "calibration lengths", cell.task)
    few, more = ((6, 10), 5) if cell.task == LOOKUP else ((6, 15), 13)
    fewest, beyond = int(generator.integers(*few)), int(generator.integers(more))
    return fewest, fewest if cell in OF_ONE_LENGTH else fewest + beyond


def draw_nuisance(cell: Cell, seed: int) -> Nuisance:
    """At random, but never less than .95 of the weight on the attended token.

    It has 1 / (1 + (T − 1) e^{2·jitter − sharpness}) at least, which is .95 where e^sharpness = 19 T e^{2·jitter}.

    >>> draw_nuisance(Cell("reader", "planted_keyword"), 0) == draw_nuisance(Cell("reader", "planted_keyword"), 0)
    True
    """
    generator = stream(seed, "calibration nuisance", cell.subject, cell.task)
    jitter, filler, beyond = (float(generator.uniform(0, most)) for most in (0.5, MURMUR, 3.0))
    tokens = draw_lengths(cell, seed)[1] + BESIDE[cell.task]
    sharpness = math.log(19 * tokens) + 2 * jitter + beyond
    return Nuisance(sharpness, jitter, filler, float(generator.choice(SCALES)))


def draw_subject(cell: Cell, seed: int, **fixed: float) -> KnownAnswer:
    """The cell's subject; `fixed` is what makes it that one, such as the dial's share."""
    return KNOWN_ANSWERS[cell.subject](cell.task, seed=seed, **asdict(draw_nuisance(cell, seed)), **fixed)


def draw_twin(cell: Cell, seed: int, factor: float) -> KnownAnswer:
    """The cell's subject with logits so many times as large: every vote is."""
    subject = draw_subject(cell, seed)
    return subject.like(type(subject), scale=factor * subject.scale)


def draw_texts(cell: Cell, seed: int, tested: int) -> Corpus:
    """The cell's task, with so many texts to test on."""
    return planted(cell.task, seed=seed, fillers=draw_lengths(cell, seed), sizes=(TRAIN, DEV, tested))

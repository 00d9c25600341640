"""A package that adds to heatcheck: a check, a line of the card, an explainer, an encoder and a task."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import nn

from heatcheck.auditing import CardSettings, LineRule
from heatcheck.auditing.lines.rule import Found, examples_to_decide, lookup, needs_more_data
from heatcheck.checks import Case, Check
from heatcheck.checks.check import measured
from heatcheck.data import Corpus, Example, Split, Task
from heatcheck.engine import stream
from heatcheck.explainers import Explainer
from heatcheck.models import Subject
from heatcheck.models.classifiers.bidirectional import Bidirectional
from heatcheck.results import CheckResult, Line, Mark, Quantity, Strip, Zone, register
from heatcheck.results.written import in_brief

SHARP = 0.5  # a largest weight above it is a yes

register(
    Quantity(
        "largest_weight",
        "weight of the word with the most weight",
        high="One word holds most of the weight.",
        low="Many words share the weight.",
        check="sharpness",
    )
)


@dataclass(frozen=True)
class SharpnessSettings:
    draws: int = 2000  # of the bootstrap over examples


def measure(case: Case, settings: SharpnessSettings) -> CheckResult:
    largest = case.max_attention
    everywhere = np.ones(len(largest), dtype=bool)
    return CheckResult(
        check="sharpness",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(
            measured(case, "largest_weight", largest, everywhere, "one divided by the words", {}, settings.draws)
        ),
        examples=tuple(example.id for example in case.examples),
        per_example={"largest_weight": largest},
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
    )


sharpness = Check(
    name="sharpness",
    question="How much weight does the first word of the heatmap have?",
    paper="",
    holds="states",
    baseline="equal weights",
    settings=SharpnessSettings,
    measure=measure,
    cost=lambda case, _settings: len(case.examples),
)


def judge(results: Mapping[str, CheckResult], settings: CardSettings) -> Line:
    largest, holds = lookup(results.get("sharpness"), "largest_weight"), "the model and its weights; nothing changes"
    if largest is None:
        return sharp.not_run(holds, "heatcheck audit MODEL --checks sharpness")
    number = f"The largest weight is {in_brief(largest)}."
    if largest.low > SHARP:
        said = Found("yes", "", f"One word holds most of the weight. {number}")
    elif largest.high < SHARP:
        said = Found("no", "", f"Many words share the weight. {number}")
    else:
        more = examples_to_decide(largest, SHARP)
        said = needs_more_data(f"{in_brief(largest)} includes {SHARP:g}", f"Not decided. {number}", more)
    strip = Strip(largest, 0.0, (Zone(SHARP, "no"), Zone(1.0, "yes")), (Mark(1.0, "one word has all"),))
    return sharp.line(said._replace(strip=strip), (largest,), holds)


sharp = LineRule(
    name="sharp",
    short="sharp",
    question="Does one word hold most of the weight?",
    cannot_see="whether that word matters",
    checks=("sharpness",),
    judge=judge,
    advice={"yes": "A reader sees one word at once.", "no": "Show more than one word."},
)


def lengths(subject: Subject, examples: Sequence[Example], seed: int) -> list[np.ndarray]:
    return [np.array([float(len(word)) for word in example.words]) for example in examples]


word_length = Explainer("word_length", "the number of letters of the word", signed=False, explain=lengths)


class BiRNN(Bidirectional):
    """One layer without gates, `hidden` units per direction."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = nn.RNN(features, hidden, batch_first=True)
        self.behind = nn.RNN(features, hidden, batch_first=True)


def write(split: str, number: int) -> Example:
    draw = stream(0, "weather", split, number)
    label = int(draw.integers(2))
    words = draw.choice(["in", "the", "morning", "by", "the", "sea"], size=6).tolist()
    words[int(draw.integers(6))] = ("rain", "sunshine")[label]
    return Example(f"weather-{split}-{number}", " ".join(words), label=label)


def read(folder: Path) -> Corpus:
    sizes = weather.sizes.items()
    splits = {split: Split(split, tuple(write(split, number) for number in range(size))) for split, size in sizes}
    return Corpus("weather", weather.labels, splits, tokens="spaces")


weather = Task(
    name="weather",
    about="generated: one word about the weather decides",
    labels=("wet", "dry"),
    sizes={"train": 200, "dev": 50, "test": 100},
    licence="generated",
    read=read,
)

"""Plain words for a study: its models, its quantities, and what is said of a published number."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from heatcheck.report.wording import MINUS, NOTHING, number, spaced
from heatcheck.studies import Model, Row, StudyResult

ENCODERS = {"average": "average", "cnn": "CNN", "lstm": "BiLSTM"}
ATTENTIONS = {"tanh": "tanh", "dot": "dot"}

# What a statement about a published number begins with, in the order of a summary.
STATES = ("inside the seed interval", "outside", "not comparable", "one seed only")

_PREFIXES = {
    "tau": "τ({})",
    "significant": "significant τ({})",
    "searched": "JSD found, ε = {}",
}


def model_name(encoder: str, attention: str) -> str:
    """
    >>> model_name("lstm", "tanh")
    'BiLSTM, tanh'
    """
    return f"{ENCODERS.get(encoder, spaced(encoder))}, {ATTENTIONS.get(attention, spaced(attention))}"


def models_in_order(found: StudyResult) -> list[Model]:
    """By task, as the study lists them, then by encoder and attention, as papers do."""
    tasks = list(found.tasks)

    def place(model: Model) -> tuple[int, int, int]:
        return (
            _place(tasks, model.task),
            _place(list(ENCODERS), model.encoder),
            _place(list(ATTENTIONS), model.attention),
        )

    return sorted(found.models, key=place)


def quantity_name(row: Row, labels: Sequence[str]) -> str:
    """What a row is a number of.

    >>> row = Row("sst", "lstm", "tanh", "permutation", "1", "0.00–0.25", 0.1, 0.0, 0.2, 3, None, None, "", "")
    >>> quantity_name(row, ("negative", "positive"))
    'change if shuffled, largest 0.00–0.25'
    >>> quantity_name(row._replace(quantity="tau:attention|leave_one_out", of_class="", bin=""), ())
    'τ(attention, leave one out)'
    """
    kind, _, of = row.quantity.partition(":")
    if kind in _PREFIXES and of:
        return _PREFIXES[kind].format(spaced(of).replace("|", ", "))
    if row.quantity == "permutation":
        return f"change if shuffled{f', largest {row.bin}' if row.bin else ''}"
    return score_name(labels) if row.quantity == "score" else spaced(row.quantity)


def score_name(labels: Sequence[str]) -> str:
    """What the paper calls a model's score.

    >>> score_name(("negative", "positive")), score_name(("entailment", "neutral", "contradiction"))
    ('F1', 'accuracy')
    """
    return "F1" if len(labels) == 2 else "accuracy"


def class_name(of_class: str, labels: Sequence[str]) -> str:
    """The label that a published table calls by its number.

    >>> class_name("1", ("negative", "positive")), class_name("neutral", ("entailment", "neutral", "contradiction"))
    ('positive', 'neutral')
    """
    return labels[int(of_class)] if of_class.isdigit() and int(of_class) < len(labels) else of_class


def state_of(statement: str) -> str:
    """What a statement says before it gives reasons and sizes.

    >>> state_of("not comparable (less data): ours is lower by 0.20"), state_of("")
    ('not comparable', '')
    """
    return next((state for state in STATES if statement.startswith(state)), "")


def in_brief(statement: str, ours: float, published: float | None) -> str:
    """A statement and how far ours is from the published number; reasons are said once, above the table.

    >>> in_brief("not comparable (less data): ours is lower by 0.20", 0.4, 0.6)
    'not comparable, −0.20'
    >>> in_brief("inside the seed interval", 0.4, 0.38), in_brief("", 0.4, None)
    ('inside, +0.02', '–')
    """
    if published is None:
        return NOTHING
    state = state_of(statement).removesuffix(" the seed interval") or statement
    gap = two_digits(ours - published)
    return f"{state}, {gap if gap.startswith(MINUS) or gap == '0.00' else f'+{gap}'}"


def with_interval(row: Row) -> str:
    """
    >>> with_interval(Row("sst", "lstm", "tanh", "score", "", "", 0.8, 0.78, 0.82, 3, None, None, "", ""))
    '0.800 [0.780, 0.820]'
    """
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return number(row.value)
    return f"{number(row.value)} [{number(row.low)}, {number(row.high)}]"


def with_half(row: Row) -> str:
    """
    >>> with_half(Row("sst", "lstm", "tanh", "score", "", "", -0.8, -0.82, -0.78, 3, None, None, "", ""))
    '−0.80 ± 0.02'
    """
    value = two_digits(row.value)
    return f"{value} ± {row.high - row.value:.2f}" if math.isfinite(row.high) else value


def two_digits(value: float) -> str:
    """
    >>> two_digits(-0.416), two_digits(-0.001)
    ('−0.42', '0.00')
    """
    text = f"{value:.2f}"
    return text.replace("-", MINUS) if float(text) else "0.00"


def method_of(model: Model, epsilon: str = "0.05") -> str:
    """How the largest JSD of a model's texts is known: exactly, between two bounds, or from a search only."""
    largest, upper = (model.examples.get(f"{kind}:published:{epsilon}") for kind in ("jsd", "upper"))
    if largest is None or upper is None or not np.isfinite(upper[np.isfinite(largest)]).all():
        return "search"
    known = np.isfinite(largest)
    return "exact" if np.allclose(largest[known], upper[known], atol=1e-6) else "bracket"


def counted(of: Mapping[str, int]) -> str:
    """
    >>> counted({"neutral": 2242, "5 words or fewer": 709})
    'neutral (2,242); 5 words or fewer (709)'
    """
    return "; ".join(f"{name} ({count:,})" for name, count in of.items())


def _place(names: list[str], name: str) -> int:
    return names.index(name) if name in names else len(names)

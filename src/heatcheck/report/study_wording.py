"""Plain words for the models, quantities and statements of all studies; report/studies has those of one study."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from heatcheck.report.shared_words import WEIGHTS
from heatcheck.report.study_view import Sentence, StudyView
from heatcheck.report.wording import spaced
from heatcheck.results import OF_STUDIES, Comparison, Key, Model, Row, StudyResult, find_quantity, value_text
from heatcheck.results.key import BESIDE
from heatcheck.results.written import MINUS, NOTHING, fine, number

ENCODERS = {
    "none": "embedding",
    "average": "average",
    "cnn": "CNN",
    "lstm": "BiLSTM",
}
ATTENTIONS = {"tanh": "tanh", "dot": "dot", "linear": "linear"}
MODEL_NAMES: dict[str, str] = {}  # models named whatever their attention; the views of studies fill this

# How a published number compares with ours, in the order of a summary.
STATES: dict[Comparison, str] = {
    "inside": "inside the seed interval",
    "outside": "outside",
    "not comparable": "not comparable",
    "one seed": "one seed only",
}

AT = {
    "removed": "trained without the marked words",
    "0": "honest",
    "twin": "gauge twin",
    "uniform": "uniform weights",
    "none": "no attention",
    "diagonal": "the diagonal",
}


def model_name(encoder: str, attention: str) -> str:
    """
    >>> model_name("lstm", "tanh"), model_name("han gru", "tanh")
    ('BiLSTM, tanh', 'HAN rnn')
    """
    if encoder in MODEL_NAMES:
        return MODEL_NAMES[encoder]
    if not attention:  # a transformer, by its name
        return encoder
    return f"{ENCODERS.get(encoder, spaced(encoder))}, {ATTENTIONS.get(attention, spaced(attention))}"


def models_in_order(found: StudyResult) -> list[Model]:
    """Models by task, as the study lists them, then by encoder and attention."""
    tasks = list(found.tasks)

    def place(model: Model) -> tuple[int, int, int]:
        return (
            _place(tasks, model.task),
            _place([*ENCODERS, *MODEL_NAMES], model.encoder),
            _place(list(ATTENTIONS), model.attention),
        )

    return sorted(found.models, key=place)


def fitted(model: Model, rows: Iterable[Row], retrained: Sequence[str] = ()) -> int:
    """How many models of a kind were trained: its seeds, and its retrained models, which these quantities count."""
    of_model = [r for r in rows if (r.task, r.encoder, r.attention) == (model.task, model.encoder, model.attention)]
    again = sum(r.seeds for r in of_model if r.name in retrained and r.by and r.by.get("trained") != "twin")
    return (again or model.seeds) + len([point for point in model.points if point["model"] == "adversary"])


def quantity_name(row: Row, labels: Sequence[str], view: StudyView) -> str:
    """The name of a row's quantity.

    >>> numbers = (0.1, 0.0, 0.2, 3, None, None, "", "")
    >>> row = Row("sst", "lstm", "tanh", "accuracy", {"weights": "uniform"}, "", "", *numbers)
    >>> quantity_name(row, (), StudyView())
    'accuracy, uniform weights'
    """
    if name := view.row_name(row, labels):
        return name
    known = find_quantity(row.name, OF_STUDIES)
    # Without a place for the kind in the words, the key itself is the name.
    if known is None or "{}" not in known.words or not row.by:
        return spaced(row.quantity)
    return known.words.format(_told(row))


def _told(row: Row) -> str:
    """The fact that fills the place in a plain name, in words."""
    axis, value = next((axis, value) for axis, value in row.by.items() if axis not in BESIDE)
    if axis == "trained":
        return trained_in_words(value)
    if axis == "weights":
        return WEIGHTS.get(str(value), str(value))
    if axis in ("words", "split"):
        return str(value)
    return ", ".join(map(spaced, value)) if axis == "pair" else spaced(value_text(value))


def trained_in_words(at: object) -> str:
    """How a model was trained: at a λ, or in another way.

    >>> trained_in_words(0.0), trained_in_words(0.1), trained_in_words("none")
    ('honest', 'λ = 0.1', 'no attention')
    """
    return AT.get(value_text(at), f"λ = {value_text(at)}")


def class_name(of_class: str, labels: Sequence[str]) -> str:
    """The name of a label that a published table gives as a number.

    >>> class_name("1", ("negative", "positive")), class_name("neutral", ("entailment", "neutral", "contradiction"))
    ('positive', 'neutral')
    """
    return labels[int(of_class)] if of_class.isdigit() and int(of_class) < len(labels) else of_class


def in_brief(comparison: Comparison, statement: str, ours: float, published: float | None) -> str:
    """A statement, and ours minus the published number; the reasons stand above the table.

    >>> in_brief("not comparable", "not comparable (less data): ours is lower by 0.20", 0.4, 0.6)
    'not comparable, −0.20'
    >>> in_brief("inside", "inside the seed interval", 0.4, 0.38), in_brief("", "", 0.4, None)
    ('inside, +0.02', '–')
    """
    if published is None:
        return NOTHING
    if comparison not in STATES:
        return statement or NOTHING
    state = comparison if comparison == "inside" else STATES[comparison]
    gap = round(ours - published, 2)
    return f"{state}, {'+' if gap > 0 else ''}{two_digits(ours - published)}"


def with_interval(row: Row) -> str:
    """
    >>> with_interval(Row("sst", "lstm", "tanh", "score", {}, "", "", 0.8, 0.78, 0.82, 3, None, None, "", ""))
    '0.800 [0.780, 0.820]'
    """
    shown = _shown(row)
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return shown(row.value)
    return f"{shown(row.value)} [{shown(row.low)}, {shown(row.high)}]"


def _shown(row: Row) -> Callable[[float], str]:
    """The number format of a row's quantity."""
    known = find_quantity(row.name, OF_STUDIES)
    return number if known is None else {"fine": fine, ".4f": _fine}.get(known.format, number)


def _fine(value: float) -> str:
    """Four decimals, for the small effects of a single weight.

    >>> _fine(-0.00021), _fine(-0.00001)
    ('−0.0002', '0.0000')
    """
    text = f"{value:.4f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def ours(row: Row, chosen: Collection[Key] = ()) -> str:
    """Our number with its interval; a chosen value alone, in its shortest form.

    >>> numbers = (0.000525, -math.inf, math.inf, 1, None, None, "", "")
    >>> best = Row("sst", "lstm", "tanh", "best", {"of": "lambda"}, "", "", *numbers)
    >>> ours(best, {best.key}), ours(best._replace(by={"of": "f1"}, value=0.82), {best.key})
    ('0.000525', '0.820')
    """
    return theirs(row, row.value, chosen) if row.key in chosen else with_interval(row)


def theirs(row: Row, value: float | None, chosen: Collection[Key] = ()) -> str:
    """A published number for a row's quantity, or a dash."""
    if value is None:
        return NOTHING
    return f"{value:g}" if row.key in chosen else _shown(row)(value)


def beside_theirs(row: Row | None) -> tuple[str, str, str]:
    """Ours with its interval, the paper's number and the reproduction's."""
    if row is None:
        return (NOTHING, NOTHING, NOTHING)
    return (with_interval(row), theirs(row, row.paper), theirs(row, row.rerun))


def said_of(rows: Iterable[Row], sentences: Iterable[Sentence]) -> str:
    """The sentences that apply to these rows."""
    names = {row.name for row in rows}
    return " ".join(words for about, words in sentences if names and (not about or names & {*about}))


def with_half(row: Row) -> str:
    """
    >>> with_half(Row("sst", "lstm", "tanh", "score", {}, "", "", -0.8, -0.82, -0.78, 3, None, None, "", ""))
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
    """How the largest JSD of a model's texts was computed: exactly, between two bounds, or by a search only."""
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

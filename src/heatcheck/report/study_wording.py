"""Plain words for a study: its models, its quantities, and what is said of a published number."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heatcheck.report.lexicon import WEIGHTS
from heatcheck.report.wording import spaced
from heatcheck.results import OF_STUDIES, Comparison, Model, Row, StudyResult, find_quantity, key, value_text
from heatcheck.results.key import BESIDE
from heatcheck.results.written import MINUS, NOTHING, fine, number

# Named for their shape; all of one study have the same attention.
SHAPED = {
    "flan gru": "FLAN rnn",
    "flan conv": "FLAN conv",
    "flan none": "FLAN noenc",
    "han gru": "HAN rnn",
    "han conv": "HAN conv",
    "han none": "HAN noenc",
}
ENCODERS = {
    "none": "embedding",
    "average": "average",
    "cnn": "CNN",
    "lstm": "BiLSTM",
    **SHAPED,
}
ATTENTIONS = {"tanh": "tanh", "dot": "dot", "linear": "linear"}

# Where a published number lies, and how a summary says it, in its order.
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
_BARE = ("bleu_put_in",)  # its words say “weights” themselves
PLACES = {"first": "on the start mark", "last": "on the end mark"}
_RETRAINED = "accuracy of models with other weights"  # beside the accuracy of a study's own models
_BEST_STRENGTH = key("best", of="lambda")
_BEST = {"lambda": "λ", "f1": "F1", "tvd": "TVD", "tvd_tempered": "TVD after one temperature", "jsd": "JSD"}


class Rerun(NamedTuple):
    """Whose the numbers are that stand beside the paper's own."""

    word: str  # at the head of a column
    whose: str


AUTHORS = Rerun("rerun", "the authors' rerun")
RERUNS = {
    "pruthi2020": Rerun("reproduction", "the reproduction by Caulfield et al. 2021"),
    "pruthi2020_sequences": Rerun("reproduction", "the reproduction by Caulfield et al. 2021"),
    "sun2020": Rerun("earlier run", "our own earlier run of one seed"),
    "vashishth2019": Rerun("reproduction", "the reproduction by Bouwman et al. 2021"),
}

# What to know about the published numbers, where there are some of these quantities; none: always.
ABOUT_PUBLISHED = (
    (
        (),
        "Ours is the mean over seeds with its 95% t interval, which may pass 0 or 1 when seeds are few; a number after "
        "it says how many seeds have a text there, if not all.",
    ),
    (("significant",), "“Significant τ” is the share of texts with p ≤ 0.05."),
    (
        ("permutation",),
        "“Change if shuffled” is the median change of the output over texts whose largest weight is in that quarter.",
    ),
    (
        (),
        "The statements say whether the published number is inside the interval of one further seed, and how far ours "
        "is from it.",
    ),
    (
        ("tau",),
        "The floor of a τ is mechanical: what is left when the relevances stand at other words. Only a model in which "
        "each word acts through its own state alone has one.",
    ),
    (
        ("searched",),
        "The floor of a JSD is what any model with a linear read-out reaches on these heatmaps. A published JSD is "
        "what a search found, so it stands beside what the same search finds in our models.",
    ),
    (
        ("best",),
        "The best adversary is one fit, chosen as published: the best F1 on test among those with a mean JSD above "
        "0.4. Its λ is in the published unit, half of ours, and nothing is said of it: it is a choice, not a finding.",
    ),
)

# The same where the numbers are shares of runs.
ABOUT_SHARES = (
    (
        ("failed",),
        "Ours is a share of runs with its exact 95% interval (Clopper & Pearson); the statement says whether the "
        "published share lies in it. The published one is a sentence (about half, always), not a count.",
    ),
)

# What was done, where there are numbers of these quantities.
DONE = (
    (
        ("tau", "searched", "permutation"),
        "Each model was trained on its task and then audited on a sample of its test texts, the same for all its "
        "seeds: attention against gradients and leave-one-out, shuffled weights, and the most different weights that "
        "leave the answer as it is.",
    ),
    (
        ("sign_share",),
        "Each model was trained on its task; then, in a sample of its test texts, its weights were taken away, one by "
        "one, by each ranking, until the decision flipped, with everything under the last attention held fixed.",
    ),
    (
        ("put_in",),
        "Each model was trained with its own weights, and other weights were put in their place at test time; then it "
        "was trained again, with the same seeds, under each kind of these weights from the start.",
    ),
    (
        ("mass_at",),
        "Each model was trained honestly, and with the same seeds once more for each λ with a punishment for weight on "
        "the marked words; its controls were trained on the same texts without those words. Of each honest embedding "
        "model a twin was made, without training, that decides alike and keeps its weight off those words.",
    ),
    (
        ("links_at",),
        "Each model was trained honestly, with the same seeds once more for each λ with a punishment for weight on the "
        "words that the data links to each word to be written, and under uniform weights and none. Then it wrote "
        "freely.",
    ),
    (
        ("failed",),
        "Runs that differ in their seed alone were trained side by side on fresh sequences and evaluated at every "
        "tenth step: with learned weights, with uniform ones, and without any context from the attention.",
    ),
    (
        ("alone",),
        "Single heads were tried on one and the same body of weights, and eight of them put there together.",
    ),
    (
        ("f1", _RETRAINED),
        "One model of each task, the base, was trained and then trained again, with other seeds, with uniform weights "
        "and with all the weight on the last state.",
    ),
    (
        ("J_seed", "best"),
        "Adversaries were trained to give the base’s answers with other weights, one for each λ.",
    ),
    (
        ("auc",),
        "Models of word vectors alone, with attention scores a = e·V/λ and polarity scores s = e·W, were trained at "
        "each λ with the same seeds; then every word’s scores were held against whether the word goes with a label.",
    ),
    (
        ("guide_f1", "log_odds_guide"),
        "The weights of the base and of an adversary were given to models without context.",
    ),
)


def model_name(encoder: str, attention: str) -> str:
    """
    >>> model_name("lstm", "tanh"), model_name("han gru", "tanh")
    ('BiLSTM, tanh', 'HAN rnn')
    """
    if encoder in SHAPED:
        return SHAPED[encoder]
    if not attention:  # a transformer, by its name
        return encoder
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


def fitted(model: Model, rows: Iterable[Row]) -> int:
    """How many models of a kind were trained: its seeds, and what was trained beside them."""
    of_model = [r for r in rows if (r.task, r.encoder, r.attention) == (model.task, model.encoder, model.attention)]
    trained = ("accuracy", "guide_accuracy", "trained", "accuracy_at", "written_at")
    again = sum(r.seeds for r in of_model if r.name in trained and r.by and r.by.get("trained") != "twin")
    return (again or model.seeds) + len([point for point in model.points if point["model"] == "adversary"])


def quantity_name(row: Row, labels: Sequence[str]) -> str:
    """What a row is a number of.

    >>> numbers = (0.1, 0.0, 0.2, 3, None, None, "", "")
    >>> quantity_name(Row("sst", "lstm", "tanh", "permutation", {}, "1", "0.00–0.25", *numbers), ("bad", "good"))
    'change if shuffled, largest 0.00–0.25'
    >>> pair = {"pair": ("attention", "leave_one_out")}
    >>> quantity_name(Row("sst", "lstm", "tanh", "tau", pair, "", "", *numbers), ())
    'τ(attention, leave one out)'
    """
    if row.name == "score":
        return score_name(labels)
    if row.name == "permutation":
        return f"change if shuffled{f', largest {row.bin}' if row.bin else ''}"
    if row.name == "beside_at":
        place = PLACES.get(row.bin, f"{row.bin} from linked words")
        return f"weight {place}, {trained_in_words(row.by['trained'])}"
    if row.name == "auc" and row.by["words"] == "polarity":
        return "AUC of |polarity|, polar words"
    known = find_quantity(row.name, OF_STUDIES)
    # Where no place is left for what tells its kinds apart, the text of the table says it.
    if known is None or "{}" not in known.words or not row.by:
        return spaced(row.quantity)
    return known.words.format(_told(row))


def _told(row: Row) -> str:
    """The one fact that a plain name leaves a place for, in words."""
    axis, value = next((axis, value) for axis, value in row.by.items() if axis not in BESIDE)
    if axis == "trained":
        return trained_in_words(value)
    if axis == "of":
        return _BEST.get(str(value), str(value))
    if axis == "weights" and row.name not in _BARE:
        return WEIGHTS.get(str(value), str(value))
    if axis in ("words", "split"):
        return str(value)
    return ", ".join(map(spaced, value)) if axis == "pair" else spaced(value_text(value))


def trained_in_words(at: object) -> str:
    """How a model was trained: at a λ, or in one of the other ways.

    >>> trained_in_words(0.0), trained_in_words(0.1), trained_in_words("none")
    ('honest', 'λ = 0.1', 'no attention')
    """
    return AT.get(value_text(at), f"λ = {value_text(at)}")


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


def in_brief(comparison: Comparison, statement: str, ours: float, published: float | None) -> str:
    """A statement and how far ours is from the published number; reasons are said once, above the table.

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
    """How the values of its quantity are written."""
    known = find_quantity(row.name, OF_STUDIES)
    return number if known is None else {"fine": fine, ".4f": _fine}.get(known.format, number)


def _fine(value: float) -> str:
    """What a single weight does to an output is small.

    >>> _fine(-0.00021), _fine(-0.00001)
    ('−0.0002', '0.0000')
    """
    text = f"{value:.4f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def ours(row: Row) -> str:
    """
    >>> numbers = (0.000525, -math.inf, math.inf, 1, None, None, "", "")
    >>> best = Row("sst", "lstm", "tanh", "best", {"of": "lambda"}, "", "", *numbers)
    >>> ours(best), ours(best._replace(by={"of": "f1"}, value=0.82))
    ('0.000525', '0.820')
    """
    return theirs(row, row.value) if row.key == _BEST_STRENGTH else with_interval(row)


def theirs(row: Row, value: float | None) -> str:
    """A published number of what a row is of, or that there is none; a λ has few digits before its first."""
    if value is None:
        return NOTHING
    return f"{value:g}" if row.key == _BEST_STRENGTH else _shown(row)(value)


def beside_theirs(row: Row | None) -> tuple[str, str, str]:
    """Ours with its interval, the paper's number and the reproduction's."""
    if row is None:
        return (NOTHING, NOTHING, NOTHING)
    return (with_interval(row), theirs(row, row.paper), theirs(row, row.rerun))


def said_of(rows: Iterable[Row], sentences: Iterable[tuple[tuple[str, ...], str]]) -> str:
    """The sentences that are about some of these rows."""
    rows = list(rows)
    names = {_RETRAINED if row.name == "accuracy" and row.by else row.name for row in rows}
    return " ".join(words for about, words in sentences if rows and (not about or names & {*about}))


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

"""Plain words for a study: its models, its quantities, and the statements about published numbers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heatcheck.report.shared_words import WEIGHTS
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
_BARE = ("bleu_put_in",)  # its words already say “weights”
PLACES = {"first": "on the start mark", "last": "on the end mark"}
_RETRAINED = "accuracy of models with other weights"  # a key of DONE
_BEST_STRENGTH = key("best", of="lambda")
_BEST = {"lambda": "λ", "f1": "F1", "tvd": "TVD", "tvd_tempered": "TVD after one temperature", "jsd": "JSD"}


class Rerun(NamedTuple):
    """Who produced the numbers that stand beside the paper's."""

    word: str  # at the head of a column
    whose: str


AUTHORS = Rerun("rerun", "the authors' rerun")
RERUNS = {
    "pruthi2020": Rerun("reproduction", "the reproduction by Caulfield et al. 2021"),
    "pruthi2020_sequences": Rerun("reproduction", "the reproduction by Caulfield et al. 2021"),
    "sun2020": Rerun("earlier run", "our own earlier run of one seed"),
    "vashishth2019": Rerun("reproduction", "the reproduction by Bouwman et al. 2021"),
}

# What a reader must know about published numbers of these quantities; no quantity: always.
ABOUT_PUBLISHED = (
    (
        (),
        "Our number is the mean over seeds with its 95% t interval. With few seeds the interval may pass 0 or 1. A "
        "number in brackets counts the seeds that have a text there, if not all have one.",
    ),
    (("significant",), "“Significant τ” is the share of texts with p ≤ 0.05."),
    (
        ("permutation",),
        "“Change if shuffled” is the median change of the output. It is over the texts whose largest weight is in that "
        "quarter.",
    ),
    (
        (),
        "Each statement says whether the published number is inside the interval of one further seed of ours. It also "
        "gives the difference, ours minus theirs.",
    ),
    (
        ("tau",),
        "The floor of a τ is mechanical: it is the τ that remains when the relevances are shuffled among the words. "
        "Only a model in which each word acts through its own state has one.",
    ),
    (
        ("searched",),
        "The floor of a JSD is the value that any model with a linear read-out reaches on these heatmaps. A published "
        "JSD is the result of a search, so it is compared with the result of the same search on our models.",
    ),
    (
        ("best",),
        "The best adversary is one model, chosen as in the paper: the best F1 on test among those with a mean JSD "
        "above 0.4. Its λ is in the published unit, half of ours. λ is chosen, not measured, so it is not compared.",
    ),
)

# The same for shares of runs.
ABOUT_SHARES = (
    (
        ("failed",),
        "Our number is a share of runs with its exact 95% interval (Clopper & Pearson). The statement says whether the "
        "published share is in that interval. The paper gives the share in words (about half, always), not as a count.",
    ),
)

# What was done, for studies with these quantities.
DONE = (
    (
        ("tau", "searched", "permutation"),
        "heatcheck trained each model on its task and audited it on a sample of its test texts, the same for all its "
        "seeds. The audit compares attention with gradients and leave-one-out, shuffles the weights, and finds the "
        "most different weights that keep the answer.",
    ),
    (
        ("sign_share",),
        "heatcheck trained each model on its task. Then, in a sample of its test texts, it removed the weights one by "
        "one, in the order of each ranking, until the decision flipped. The hidden states stay the same.",
    ),
    (
        ("put_in",),
        "heatcheck trained each model with learned weights and imposed other weights at test time. Then it retrained "
        "the model, with the same seeds, under each kind of these weights from the start.",
    ),
    (
        ("mass_at",),
        "heatcheck trained each model honestly, and again with the same seeds for each λ, with a penalty for weight "
        "on the marked words. The controls were trained on the same texts without those words. Each honest embedding "
        "model also has a gauge twin. The twin is not trained, makes the same decisions, and keeps its weight off "
        "those words.",
    ),
    (
        ("links_at",),
        "heatcheck trained each model honestly, and again with the same seeds for each λ, with a penalty for weight "
        "on linked words. Linked words are the source words that the data links to each target word. It also trained "
        "models with uniform weights and without attention. Then every model generated freely.",
    ),
    (
        ("failed",),
        "Runs that differ only in their seed were trained side by side on fresh sequences and evaluated at every tenth "
        "step. They have learned weights, uniform weights, or no context from the attention.",
    ),
    (
        ("alone",),
        "Single heads were trained on one shared body of parameters, then eight of them together on the same body.",
    ),
    (
        ("f1", _RETRAINED),
        "heatcheck trained one base model per task. It retrained it with other seeds, with uniform weights, and with "
        "all the weight on the last state.",
    ),
    (
        ("J_seed", "best"),
        "For each λ, an adversary was trained to give the base model’s answers with other weights.",
    ),
    (
        ("auc",),
        "The models have word vectors only, with attention scores a = e·V/λ and polarity scores s = e·W. They were "
        "trained at each λ with the same seeds. Then every word’s scores were compared with whether the word goes "
        "with a label.",
    ),
    (
        ("guide_f1", "log_odds_guide"),
        "The weights of the base model and of an adversary were imposed on models without context.",
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
    """Models by task, as the study lists them, then by encoder and attention."""
    tasks = list(found.tasks)

    def place(model: Model) -> tuple[int, int, int]:
        return (
            _place(tasks, model.task),
            _place(list(ENCODERS), model.encoder),
            _place(list(ATTENTIONS), model.attention),
        )

    return sorted(found.models, key=place)


def fitted(model: Model, rows: Iterable[Row]) -> int:
    """How many models of a kind were trained: its seeds, and their retrained models."""
    of_model = [r for r in rows if (r.task, r.encoder, r.attention) == (model.task, model.encoder, model.attention)]
    trained = ("accuracy", "guide_accuracy", "trained", "accuracy_at", "written_at")
    again = sum(r.seeds for r in of_model if r.name in trained and r.by and r.by.get("trained") != "twin")
    return (again or model.seeds) + len([point for point in model.points if point["model"] == "adversary"])


def quantity_name(row: Row, labels: Sequence[str]) -> str:
    """The name of a row's quantity.

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
    # Without a place for the kind in the words, the key itself is the name.
    if known is None or "{}" not in known.words or not row.by:
        return spaced(row.quantity)
    return known.words.format(_told(row))


def _told(row: Row) -> str:
    """The fact that fills the place in a plain name, in words."""
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
    """How a model was trained: at a λ, or in another way.

    >>> trained_in_words(0.0), trained_in_words(0.1), trained_in_words("none")
    ('honest', 'λ = 0.1', 'no attention')
    """
    return AT.get(value_text(at), f"λ = {value_text(at)}")


def score_name(labels: Sequence[str]) -> str:
    """The paper's name for a model's score.

    >>> score_name(("negative", "positive")), score_name(("entailment", "neutral", "contradiction"))
    ('F1', 'accuracy')
    """
    return "F1" if len(labels) == 2 else "accuracy"


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


def ours(row: Row) -> str:
    """
    >>> numbers = (0.000525, -math.inf, math.inf, 1, None, None, "", "")
    >>> best = Row("sst", "lstm", "tanh", "best", {"of": "lambda"}, "", "", *numbers)
    >>> ours(best), ours(best._replace(by={"of": "f1"}, value=0.82))
    ('0.000525', '0.820')
    """
    return theirs(row, row.value) if row.key == _BEST_STRENGTH else with_interval(row)


def theirs(row: Row, value: float | None) -> str:
    """A published number for a row's quantity, or a dash; a λ in its shortest form."""
    if value is None:
        return NOTHING
    return f"{value:g}" if row.key == _BEST_STRENGTH else _shown(row)(value)


def beside_theirs(row: Row | None) -> tuple[str, str, str]:
    """Ours with its interval, the paper's number and the reproduction's."""
    if row is None:
        return (NOTHING, NOTHING, NOTHING)
    return (with_interval(row), theirs(row, row.paper), theirs(row, row.rerun))


def said_of(rows: Iterable[Row], sentences: Iterable[tuple[tuple[str, ...], str]]) -> str:
    """The sentences that apply to these rows."""
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

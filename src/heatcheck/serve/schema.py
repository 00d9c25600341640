"""Requests and answers of the local page's API (`heatcheck serve`), with their limits."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_CHARACTERS = 20_000
MAX_WORDS = 400
SLOW_WORDS = 120  # for methods that run the model once per word, or dozens of times
MAX_STEPS = 100  # shown of a training, evenly spaced if there are more
MAX_TEXTS = 500  # offered of a training's recorded texts

Place = Annotated[int, Field(ge=0, lt=MAX_WORDS)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class AskedModel(BaseModel):
    """A request about one of the models."""

    model_config = ConfigDict(extra="forbid", strict=True)  # neither true nor "1" counts as 1

    model: Annotated[str, Field(max_length=500, description="Name of a model that the page was started with.")]


class AskedObserved(AskedModel):
    """A request for one of the texts that were recorded during training."""

    id: Annotated[str, Field(max_length=500, description="Id of the text, from /api/training.")]


class Asked(AskedModel):
    """A request about one text, optionally without some of its words."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
    text_pair: Annotated[str | None, Field(max_length=MAX_CHARACTERS, description="Question or second text.")] = None
    erased: Annotated[
        list[Place], Field(max_length=MAX_WORDS, description="Positions of the words to erase, from 0.")
    ] = []


class AskedExplanation(Asked):
    """A request for scores by these explainers."""

    by: Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=8)]


class AskedWeights(Asked):
    """A request for the prediction under replaced attention weights."""

    kind: Literal["given", "uniform", "permuted"]
    weights: Annotated[
        list[Share | None] | None,
        Field(max_length=MAX_WORDS, description="For `given`: one weight per word; heatcheck scales them to sum to 1."),
    ] = None
    rest: Annotated[
        Share, Field(description="For `given`: weight on tokens that belong to no word, such as [CLS].")
    ] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**31, description="For `permuted`: random seed.")] = 0
    layer: Annotated[int | None, Field(ge=0, lt=1000, description="Layer of a transformer; None: the last.")] = None
    head: Annotated[int | None, Field(ge=0, lt=1000, description="None: all heads of the layer.")] = None


class AskedAdversary(Asked):
    """A request for the most different weights that move the probabilities by at most ε."""

    epsilon: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.05


class AskedHead(Asked):
    """A request for the weights between words in one head, or the mean over a layer's heads."""

    layer: Annotated[int, Field(ge=0, lt=1000)]
    head: Annotated[int | None, Field(ge=0, lt=1000, description="None: the mean over heads.")] = None


OfWords = list[float | None]  # None: the word is erased, or has no token


class Problem(BaseModel):
    """An error, in one or two sentences."""

    error: str


class Offered(BaseModel):
    """An explainer, and whether it works on the model."""

    name: str
    about: str
    signed: bool
    slow: bool  # runs the model once per word, or dozens of times
    why_not: str  # why it does not work on this model; empty if it does


class Sample(BaseModel):
    """A text to try."""

    text: str
    text_pair: str | None
    label: str | None


class AuditFacts(BaseModel):
    """The headline of a kept audit, and which audit it is."""

    answer: str
    may_say: list[str]
    do_not_say: list[str]
    next: str  # what would decide an open question; empty if nothing is open
    instead: str  # what to show if the heatmap fails; empty if it does not
    command: str  # makes that for a new text; empty with `instead`
    date: str  # when the audit was kept, as 2026-01-31
    n: int  # audited examples
    task: str


class ModelFacts(BaseModel):
    """A model of the page."""

    name: str
    id: str
    labels: list[str]
    asked: dict[str, str]  # a language model's prompt and answers; empty for other models
    pair: Literal["needed", "possible", "no"]
    layers: int  # 0: not a transformer
    heads: int
    movable: str  # why its weights cannot be moved by hand; empty if they can
    training: str  # why its training cannot be shown; empty if it can
    explainers: list[Offered]
    samples: list[Sample]
    audit: AuditFacts | None = None  # the newest that is kept of this model


class Bounds(BaseModel):
    """The limits of a request."""

    characters: int = MAX_CHARACTERS
    words: int = MAX_WORDS
    slow_words: int = SLOW_WORDS


class Models(BaseModel):
    """All models and the limits."""

    models: list[ModelFacts]
    bounds: Bounds


class Looked(BaseModel):
    """The model's prediction and heatmap for the text."""

    words: list[str]
    unknown: list[int]  # positions of words that the model does not know
    labels: list[str]
    probabilities: list[float]
    weights: OfWords
    rest: float  # weight on tokens that belong to no word


class Explained(BaseModel):
    """Scores per word, by explainer."""

    scores: dict[str, OfWords]
    missing: dict[str, str]  # explainer -> why it gives no scores


class Imposed(BaseModel):
    """The prediction under replaced attention weights."""

    probabilities: list[float]
    weights: OfWords  # as imposed, mean over the changed heads
    rest: float
    change: float  # total variation between the two predictions
    jsd_nats: float  # from the model's own weights, mean over the changed heads


class Adversary(BaseModel):
    """Different weights with about the same prediction."""

    method: Literal["exact", "bracket", "search"]
    weights: OfWords
    rest: float
    change: float  # total variation between the two predictions, at most ε
    jsd_nats: float
    upper_nats: float | None  # no weights are farther away; None if no bound is known
    most_nats: float  # the farthest that any weights can be, whatever the prediction


class Layers(BaseModel):
    """The weights in the row that the prediction is read from: [layer head word]."""

    rows: list[list[OfWords]]
    rest: list[list[float]]


class Head(BaseModel):
    """Weights from each word to each word; a word of several tokens has their mean.

    The others are about all tokens of the text, and about the prediction if every row of the head has equal weights.
    """

    matrix: list[list[float | None]]
    rest: list[float | None]  # of each word: its weight on tokens that belong to no word, such as [CLS]
    offsets: dict[str, float | None]  # mean weight at a distance of key minus query; None: no token sees one there
    first: float  # mean weight on the first token
    flat: list[float]  # probabilities with equal weights in every row
    change: float  # total variation between these and the model's own


class ProbeText(BaseModel):
    """A text that was recorded during training."""

    id: str
    opening: str  # its first characters
    label: str  # the right one


class OverSteps(BaseModel):
    """A mean over the recorded texts at each step, with its interval over texts and its baseline."""

    name: Literal["accuracy", "evenness", "agreement"]
    values: list[float]
    low: list[float | None]  # 95% interval; None for a single text
    high: list[float | None]
    baseline: list[float]
    n: int  # texts


class Training(BaseModel):
    """The record of a model's training."""

    steps: list[int]
    recorded: int  # all recorded steps; `steps` are those shown
    texts: list[ProbeText]
    observed: int  # all recorded texts; `texts` are those offered
    curves: list[OverSteps]


class ObservedText(BaseModel):
    """One text during training: [step word]. Relevance and influence are for the gold label."""

    id: str
    text_pair: str | None
    words: list[str]
    label: str  # the right one
    steps: list[int]
    right: list[float]  # its probability at each step
    said: list[str]  # the likeliest label at each step
    of_words: dict[str, list[OfWords]]  # by quantity: attention, relevance, influence
    rest: dict[str, list[float]]  # the same on tokens that belong to no word
    uniform: OfWords  # attention if it were the same on every token

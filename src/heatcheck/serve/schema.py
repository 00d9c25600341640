"""What the page may ask and what it is answered: the schema of the API, with its bounds."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_CHARACTERS = 20_000
MAX_WORDS = 400
SLOW_WORDS = 120  # for what reads the text once a word, or dozens of times
MAX_STEPS = 100  # of a training that are shown; of more, as many evenly among them
MAX_TEXTS = 500  # of a training's observed texts that are offered

Place = Annotated[int, Field(ge=0, lt=MAX_WORDS)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class AskedModel(BaseModel):
    """One of the models."""

    model_config = ConfigDict(extra="forbid", strict=True)  # true is no 1, and "1" neither

    model: Annotated[str, Field(max_length=500, description="One of those that the page was started with.")]


class AskedObserved(AskedModel):
    """One of the texts that were looked at while the model was trained."""

    id: Annotated[str, Field(max_length=500, description="As /api/training lists them.")]


class Asked(AskedModel):
    """One text for one model, perhaps without some of its words."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
    text_pair: Annotated[str | None, Field(max_length=MAX_CHARACTERS, description="The question, or second text.")] = (
        None
    )
    erased: Annotated[
        list[Place], Field(max_length=MAX_WORDS, description="Places of words that are taken out, from 0.")
    ] = []


class AskedExplanation(Asked):
    """Scores by these explainers."""

    by: Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=8)]


class AskedWeights(Asked):
    """Other weights in the place of the model's own."""

    kind: Literal["given", "uniform", "permuted"]
    weights: Annotated[
        list[Share | None] | None,
        Field(max_length=MAX_WORDS, description="For `given`: one a word of the text; they are scaled to sum to 1."),
    ] = None
    rest: Annotated[Share, Field(description="For `given`: on tokens that are no words, such as [CLS].")] = 0.0
    seed: Annotated[int, Field(ge=0, lt=2**31, description="For `permuted`.")] = 0
    layer: Annotated[int | None, Field(ge=0, lt=1000, description="Of a transformer; none: the last.")] = None
    head: Annotated[int | None, Field(ge=0, lt=1000, description="None: all heads of the layer.")] = None


class AskedAdversary(Asked):
    """Weights as different as can be that move the answer by at most ε."""

    epsilon: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.05


class AskedHead(Asked):
    """Who looks at whom in one head of a transformer, or in all of a layer's."""

    layer: Annotated[int, Field(ge=0, lt=1000)]
    head: Annotated[int | None, Field(ge=0, lt=1000, description="None: the mean over heads.")] = None


OfWords = list[float | None]  # None: the word is erased, or has no token


class Problem(BaseModel):
    """What was wrong, in one sentence."""

    error: str


class Offered(BaseModel):
    """An explainer, as a model can be asked for it."""

    name: str
    about: str
    signed: bool
    slow: bool  # reads the text once a word, or dozens of times
    why_not: str  # why this model cannot be asked; empty where it can


class Sample(BaseModel):
    """A text to try."""

    text: str
    text_pair: str | None
    label: str | None


class ModelFacts(BaseModel):
    """A model of the page."""

    name: str
    id: str
    labels: list[str]
    pair: Literal["needed", "possible", "no"]
    layers: int  # 0: not a transformer
    heads: int
    movable: str  # why its weights cannot be moved by hand; empty where they can
    training: str  # why nothing is shown of its training; empty where something is
    explainers: list[Offered]
    samples: list[Sample]


class Bounds(BaseModel):
    """How much may be asked."""

    characters: int = MAX_CHARACTERS
    words: int = MAX_WORDS
    slow_words: int = SLOW_WORDS


class Models(BaseModel):
    """What there is to ask."""

    models: list[ModelFacts]
    bounds: Bounds


class Looked(BaseModel):
    """What the model makes of the text."""

    words: list[str]
    unknown: list[int]  # places of words that it has never seen
    labels: list[str]
    probabilities: list[float]
    weights: OfWords
    rest: float  # weight on tokens that are no words


class Explained(BaseModel):
    """Scores by explainer."""

    scores: dict[str, OfWords]
    missing: dict[str, str]  # explainer -> why it gives none


class Imposed(BaseModel):
    """What the model says under other weights."""

    probabilities: list[float]
    weights: OfWords  # as they were put in, mean over the heads that were changed
    rest: float
    change: float  # total variation of the answer
    jsd_nats: float  # from its own weights, mean over the heads that were changed


class Adversary(BaseModel):
    """Other weights with about the same answer."""

    method: Literal["exact", "bracket", "search"]
    weights: OfWords
    rest: float
    change: float  # total variation of the answer, at most ε
    jsd_nats: float
    upper_nats: float | None  # no weights are farther; None where no bound is known
    most_nats: float  # how far any weights at all can be, whatever the answer


class Layers(BaseModel):
    """The row of the read-out in every layer and head: [layer head word]."""

    rows: list[list[OfWords]]
    rest: list[list[float]]


class Head(BaseModel):
    """Weights from each word to each word; a word that is several tokens looks as they do on average."""

    matrix: list[list[float | None]]


class ProbeText(BaseModel):
    """A text that was looked at while the model was trained."""

    id: str
    opening: str  # its first characters
    label: str  # the right one


class OverSteps(BaseModel):
    """A mean over the observed texts at each step, with its interval over texts and its baseline."""

    name: Literal["accuracy", "evenness", "agreement"]
    values: list[float]
    low: list[float | None]  # of 95%; None where one text says nothing about others
    high: list[float | None]
    baseline: list[float]
    n: int  # texts


class Training(BaseModel):
    """What was written down while the model was trained."""

    steps: list[int]
    recorded: int  # steps there are, of which those are shown
    texts: list[ProbeText]
    observed: int  # texts there are, of which those are offered
    curves: list[OverSteps]


class ObservedText(BaseModel):
    """One text over the training: [step word]. Relevance and influence are for the right label."""

    id: str
    text_pair: str | None
    words: list[str]
    label: str  # the right one
    steps: list[int]
    right: list[float]  # its probability at each step
    said: list[str]  # the likeliest label at each step
    of_words: dict[str, list[OfWords]]  # by what was written down: attention, relevance, influence
    rest: dict[str, list[float]]  # of the same, on tokens that are no words
    uniform: OfWords  # what attention would be were it the same on every token

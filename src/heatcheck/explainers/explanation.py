"""The scores of one text by one or more explainers."""

from typing import NamedTuple


class Prediction(NamedTuple):
    """A label and the probability that the model gives it.

    >>> str(Prediction("positive", 0.871)), str(Prediction("positive", 0.9996))
    ('positive (0.87)', 'positive (above 0.99)')
    """

    label: str
    probability: float

    def __str__(self) -> str:
        return f"{self.label} ({'above 0.99' if self.probability >= 0.995 else f'{self.probability:.2f}'})"


class Explanation(dict[str, list[tuple[str, float | None]]]):
    """Explainer -> each word with its score; None for a word without a score.

    Attributes:
        prediction: the label that the model predicts, with its probability.
        target: the label that the scores explain, if the caller named one.
        remark: what to know about the text before reading the scores, such as that it was cut; empty if nothing.

    >>> Explanation(attention=[("but", 0.1), ("dull", 0.9)])["attention"][1]
    ('dull', 0.9)
    """

    prediction: Prediction | None = None
    target: Prediction | None = None
    remark: str = ""

"""Quantities that the rows of several studies have, with words and the meaning of high and low values.

A quantity of one study stands in its view. `{}` in the words stands for the kind: `accuracy, trained with {}`.
"""

from heatcheck.results import OF_STUDIES, Quantity, register


def study_quantity(
    name: str,
    words: str,
    high: str,
    low: str,
    *,
    unit: str = "",
    format: str = "number",  # noqa: A002 - as Quantity has it
) -> Quantity:
    """A quantity of a study, from its words and two clauses: what a high value means, and what a low one means.

    >>> study_quantity("copied", "tokens right", "the models copy", "the models do not copy").high
    'The models copy.'
    """
    return Quantity(name, words, _sentence(high), _sentence(low), unit=unit, format=format, check=OF_STUDIES)


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


# What a high and a low value mean, for quantities of several studies.
RIGHT = ("the models are more often right", "the models are less often right")
NEEDED = (
    "such weights cost much accuracy: learned ones are needed",
    "such weights cost little: learned ones are not needed",
)
FAR = ("the two differ much", "the two are similar")
ALIKE = ("both rank the words of a text alike", "the two rankings are unrelated (0) or opposite (below 0)")
THERE = ("much weight is there", "the weight was moved elsewhere")

SHARED = (
    study_quantity("accuracy", "accuracy, {}", *RIGHT),
    study_quantity(
        "commonest",
        "accuracy of the majority-class baseline",
        "a model can gain little above it",
        "a model can gain much",
    ),
    study_quantity("difference", "difference", "the first is larger", "the second is larger; 0 means equal"),
    study_quantity("N", "share of the gain over the majority class that is lost without attention (N)", *NEEDED),
    study_quantity(
        "headroom", "gain in accuracy over the majority class", "there is much to lose", "there is little to lose"
    ),
    study_quantity(
        "evenness",
        "evenness of the weights (1 is uniform)",
        "the weights are nearly uniform",
        "few words have most of the weight",
    ),
    study_quantity(
        "change", "change of the output with other weights", "the answer depends on the weights", "it hardly does"
    ),
    study_quantity("jsd", "JSD, {}", *FAR),
    study_quantity(
        "agreement", "share of texts with the same decision", "both decide alike", "they decide differently"
    ),
    study_quantity(
        "most", "largest JSD of any weights", "weights can differ much from these", "they can differ little"
    ),
    study_quantity("mass", "weight on {} words", "much weight is there", "little weight is there"),
)
register(*SHARED)

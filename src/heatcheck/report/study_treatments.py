"""Tables that studies of treatments share: what each kind of model measures, and what is beyond its twins."""

from collections.abc import Mapping

from heatcheck.report.study_columns import Columns
from heatcheck.report.study_quantities import study_quantity
from heatcheck.results import register

READ = {"the state itself": "from the state", "a linear map of it": "from a linear map of it"}
SHARE = "share of weights to remove until the decision flips (median, never = 1)"
COMPARED = {
    "accuracy": "accuracy",
    "conicity": "conicity",
    "delta": "effect of a shuffle",
    "q": "shuffles that keep the answer",
    "share_to_flip:attention": "share to remove until it flips",
}
MEASURED = {
    "accuracy": "accuracy",
    "conicity": "conicity",
    "share_to_flip:attention": "share to remove until it flips, heaviest first",
    "share_to_flip:random": "the same in random order",
    "delta": "effect of a shuffle",
    "q": "shuffles that keep the answer",
    "entropy": "entropy of the weights (nats)",
}
STATES = {
    **{f"own_word:{way}": f"own word found {words}" for way, words in READ.items()},
    "found_by_chance": "by chance",
    "size_of:states": "length of a state",
    "size_of:embeddings": "length of an embedding",
}
SWAPPED = {
    "put_in:uniform": "accuracy, uniform weights imposed",
    "put_in:permuted": "accuracy, shuffled weights imposed",
}


def beyond(than: str) -> dict[str, str]:
    """Columns of differences to a model that stands beside the treated one."""
    return {f"beyond:{than}:{what}": words for what, words in COMPARED.items()}


def treatment_tables(*further: Mapping[str, str]) -> tuple[Columns, ...]:
    """All kinds of models; then each treated one minus the untreated one, and minus its temperature twin."""
    columns = {name: words for more in (MEASURED, *further) for name, words in more.items()}
    return (
        Columns("Each kind of model", columns),
        Columns("Treated minus untreated, seed by seed", beyond("untreated")),
        Columns(
            "Treated minus the untreated model with weights as sharp (temperature twin)", beyond("temperature twin")
        ),
    )


_SHARED = (
    study_quantity("conicity", "conicity of the states", "states point one way", "states point different ways"),
    study_quantity("share_to_flip", SHARE, "many weights must go", "few weights must go"),
    study_quantity("own_word", "share of states nearest to their own word", "states say their word", "they do not"),
    study_quantity("found_by_chance", "share of words found by chance", "few words per text", "many words per text"),
    study_quantity("size_of", "mean length of a vector", "long vectors", "short vectors"),
    study_quantity("delta", "median change of the output when weights are shuffled", "weights matter", "they do not"),
    study_quantity("entropy", "mean entropy of the weights, in nats", "flat weights", "sharp weights"),
    study_quantity("beyond", "treated minus the model beside it", "more than the other", "less than the other"),
)
register(*_SHARED)

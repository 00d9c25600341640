"""Makes a classifier of the class that the settings ask for."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Vocabulary
from heatcheck.models.classifiers.classifier import Classifier, ClassifierSettings
from heatcheck.models.classifiers.flat import FlatClassifier
from heatcheck.models.classifiers.hierarchical import HierarchicalClassifier
from heatcheck.models.contract.recipe import Recipe


def make_classifier(
    vocabulary: Vocabulary,
    labels: Sequence[str],
    settings: ClassifierSettings,
    *,
    recipe: Recipe | None = None,
    vectors: Float[Tensor, "word feature"] | None = None,
) -> Classifier:
    """Make an untrained classifier with these settings, its parameters drawn from torch's current seed."""
    kind = HierarchicalClassifier if settings.hierarchical else FlatClassifier
    return kind(vocabulary, labels, settings, recipe=recipe, vectors=vectors)

"""Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers": raw weights, rollout and flow, layer by layer,
against blanking words out and against gradients."""

from collections.abc import Iterator
from functools import partial

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import QUICK, TASKS, Settings, run_study
from heatcheck.studies.study import Study

PAPER = "Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers (arXiv 2005.00928)"
NOTES = (
    "The paper's verb model and its data are not here, and DistilBERT's weights are not either. Beside ours stand the "
    "numbers that the authors' logs have for DistilBERT on SST-2 against gradients (101 texts): another model, so they "
    "are not comparable as numbers.",
    "Ours are Spearman's ρ over words with ties counted rightly, of the row of [CLS]; theirs are over pieces, with a "
    "home-made ρ (dense ranks), the target always the positive logit, and each token scored by its largest relevance "
    "over all output tokens. So neither the ranking nor the target is the same.",
    "In a deep network that sees both ways, flow mostly is min(1, the column sum of the first layer's weights): it "
    "hardly depends on the layers above, nor on which token asks.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Spearman's ρ by target, way and layer; without a layer, random scores and the targets against each other."""
    for m in found.measurements:
        yield key(str(m.by["target"]), **{axis: m.by[axis] for axis in ("method", "layer") if axis in m.by}), m.value


run = partial(
    run_study,
    "abnar2020",
    1,
    "layers",
    numbers,
    title="Quantifying attention flow, again",
    paper=PAPER,
    notes=NOTES,
)
abnar2020 = Study(
    "abnar2020",
    PAPER,
    "raw weights, rollout and flow of each layer against blanking words out and gradients",
    TASKS,
    run,
    Settings,
    QUICK,
)

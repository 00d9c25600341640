"""Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers": do raw weights, rollout and flow rank words well?

The three are compared with blanking words out and with gradients, layer by layer.
"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import study_of

NOTES = (
    "This study does not include the paper's verb model and its data, nor DistilBERT's weights. The numbers beside "
    "ours come from the authors' logs: DistilBERT on SST-2, compared with gradients, on 101 texts. They are from "
    "another model, so they are not comparable as numbers.",
    "Our numbers are Spearman's ρ over words, for the attention row of [CLS], with ties averaged. The authors' numbers "
    "are over word pieces, with ρ on dense ranks. Their target is always the positive logit. They score each token by "
    "its largest relevance over all output tokens. So both the ranking and the target differ.",
    "In a deep bidirectional network, flow is mostly min(1, column sum of the first layer's weights). It hardly "
    "depends on the layers above, or on which token attends.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Spearman's ρ by target, method and layer; without a layer, random scores and the agreement of the targets."""
    for m in found.measurements:
        yield key(str(m.by["target"]), **{axis: m.by[axis] for axis in ("method", "layer") if axis in m.by}), m.value


abnar2020 = study_of(
    "abnar2020",
    "layers",
    numbers,
    title="Quantifying attention flow, reproduced",
    paper="Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers (arXiv 2005.00928)",
    about="raw weights, rollout and flow of each layer, compared with blanking words out and with gradients",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
)

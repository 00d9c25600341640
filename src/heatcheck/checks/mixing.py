"""How much does each token take from other tokens, and do large weights also add large vectors?

Kobayashi et al.: a weight multiplies a value vector, and the sum is added to the token's own vector. So the norm of
what is added says more than the weight. The mixing ratio of a token is ‖others' part‖ / (‖others'‖ + ‖own‖).
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.data import Batch
from heatcheck.explainers.norms import Followed, contribution_norms, layers_of, mixing_by_norm, mixing_by_weight, shares
from heatcheck.models.hf.layer import Layer
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import batches_by_length

# As Kobayashi et al. 2021 name them: how much of a block is followed, by weights (W) or by norms (N).
VARIANTS: dict[str, tuple[Followed, bool]] = {
    "Attn-W": ("attention", True),
    "Attn-N": ("attention", False),
    "AttnRes-W": ("residual", True),
    "AttnRes-N": ("residual", False),
    "AttnResLn-N": ("norm", False),
}
SPECIAL = ("weight on special tokens", "norm from special tokens")  # [CLS], [SEP], a second text
BATCH = 16

Values = dict[tuple[str, int | str], Float[np.ndarray, " example"]]  # by quantity and layer, or "all"


@dataclass(frozen=True)
class MixingSettings:
    """The bootstrap only."""

    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "mixing", "draws")


def measure(case: Case, settings: MixingSettings) -> CheckResult:
    """Measure mixing ratios by layer, and the shares of weight and of norm that special tokens get."""
    layers_of(case.subject, "mixing")
    values = _values(case)
    return CheckResult(
        check="mixing",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(_measurements(case, settings, values)),
        examples=tuple(example.id for example in case.examples),
        per_example={f"{name}:{layer}": of_texts for (name, layer), of_texts in values.items()},
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
    )


def _values(case: Case) -> Values:
    found: Values = {}
    each = layers_of(case.subject, "mixing")
    for indices in batches_by_length(case.examples, BATCH, case.subject):
        batch = case.subject.encode([case.examples[i] for i in indices])
        for name, of_layers in _of_batch(each, batch).items():
            for layer, values in enumerate(of_layers.cpu().numpy()):
                for at, share in ((layer + 1, values), ("all", values / len(of_layers))):
                    found.setdefault((name, at), np.zeros(len(case.examples)))[indices] += share
    return found


def _of_batch(each: Callable[..., list[Tensor]], batch: Batch) -> dict[str, Float[Tensor, "layer example"]]:
    """Each quantity, as a mean over the tokens of a text."""

    def parts(layer: Layer) -> Float[Tensor, "example row token"]:
        """One row per mixing ratio, then the rows of the weights, then those of the shares of what is added."""
        ratios = [
            mixing_by_weight(layer, followed) if by_weight else mixing_by_norm(layer, followed)
            for followed, by_weight in VARIANTS.values()
        ]
        written = shares(contribution_norms(layer, "attention"))
        return torch.cat([torch.stack(ratios, dim=1), layer.weights.mean(1), written], dim=1)

    found = torch.stack(each(batch, parts))
    tokens, special = batch.valid.shape[1], batch.valid & ~batch.scored
    ratios, *maps = torch.split(found, [len(VARIANTS), tokens, tokens], dim=2)
    rows = [*ratios.unbind(2), *((of_keys * special[None, :, None]).sum(-1) for of_keys in maps)]
    means = [(row * batch.valid).sum(-1) / batch.valid.sum(-1) for row in rows]
    return dict(zip((*VARIANTS, *SPECIAL), means, strict=True))


def _measurements(case: Case, settings: MixingSettings, values: Values) -> Iterator[Measurement]:
    everyone = np.ones(len(case.examples), bool)
    for (kind, layer), of_all in values.items():
        by = {"variant": kind, "layer": layer}
        of_special = kind in SPECIAL
        baseline = "weight compared with norm" if of_special else "0: nothing from other tokens; 1: nothing from itself"
        yield from measured(case, "special" if of_special else "mixing", of_all, everyone, baseline, by, settings.draws)


mixing = Check(
    name="mixing",
    question="How much does each token take from others, and do large weights also add large vectors?",
    paper="Kobayashi et al. 2020, 2021",
    holds="states",
    baseline="the weights alone, without the vectors that they multiply",
    settings=MixingSettings,
    measure=measure,
    cost=lambda case, _: len(case.examples),
    default=False,
)

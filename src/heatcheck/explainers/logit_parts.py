"""What each token adds to a label's logit, by one backward pass that follows rules of its own: input · gradient."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.norms import require_blocks
from heatcheck.explainers.probability import explained_labels
from heatcheck.explainers.scores import Aim, ExplainAimed, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Site, Subject, differentiate

FindRules = Callable[[], Mapping[Any, Any]]  # late: transformers takes a second to import


class Parts(NamedTuple):
    """The label's logit = Σ tokens + rest; tokens include [CLS] and [SEP], and are 0 at padding.

    Where a label's logit is 0 by convention (one output for two labels), it is the logit less the other.
    """

    logit: Float[Tensor, " example"]
    tokens: Float[Tensor, "example token"]
    rest: Float[Tensor, " example"]


def parts_by_rules(subject: Subject, batch: Batch, name: str, rules: FindRules, label: int | None = None) -> Parts:
    """Each token's input to the first block times the gradient there; None: of the predicted label's logit."""
    transformer = require_blocks(subject, name)
    from heatcheck.models.hf.backward import following

    start = Site("input", transformer.blocks[0].where)
    seen: list[Tensor] = []
    logits: list[Tensor] = []

    def note(embedded: Tensor) -> Tensor:
        seen.append(embedded.detach())
        return embedded

    def logit(run: Run) -> Float[Tensor, " example"]:
        found = logit_of(transformer, run, label)
        logits.append(found.detach().double())
        return found

    with following(transformer, rules()):
        slope = differentiate(subject, batch, [start], logit, edits={start: note})[start]
    tokens = (slope * seen[0]).double().sum(-1)
    return Parts(logits[0], tokens, logits[0] - tokens.sum(-1))


def logit_of(transformer: Any, run: Run, label: int | None) -> Float[Tensor, " example"]:
    """The label's logit; of one output for two labels, less the other label's."""
    own = explained_labels(run.logits[:, 0], label)[:, None]
    found = run.logits[:, 0].gather(1, own)[:, 0]
    alone = getattr(transformer, "alone", False)  # one answer of a language model, against all others
    one_output = transformer.several or transformer.network.config.num_labels == 1 or alone
    return found - run.logits[:, 0].gather(1, 1 - own)[:, 0] if one_output else found


def explain_by_rules(name: str, rules: FindRules) -> ExplainAimed:
    """A token's share in the label's logit."""

    def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
        return explain_tokens(
            subject, examples, lambda batch: parts_by_rules(subject, batch, name, rules, aim.label).tokens
        )

    return explain

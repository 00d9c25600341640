"""Training losses. A new loss is one function and one line in LOSSES."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import HasLayers, Run, Site, Subject, log_odds_weights, readable_keys
from heatcheck.stats import jensen_shannon_nats
from heatcheck.training.recorded import Teacher, read_rows

ALIGNMENT = "alignment"  # the mark of a deceptive loss that keeps weight off what the data links to each step
# The least share of weight that is left elsewhere whose logarithm is taken: at 0 the penalty would be infinite. As the
# published one would be; theirs has no such number.
LEAST_LEFT = 1e-12
# The least weight of a parent whose logarithm is taken: one that is too small for a float is not known any better.
LEAST_WEIGHT = torch.finfo(torch.float32).tiny


# Which way an adversary's divergence goes: part of the recipe, so that no adversary of one is taken for the other.
FROM_BASE = "KL(adversary‖base)"  # as published
FROM_ADVERSARY = "KL(base‖adversary)"


class Loss(NamedTuple):
    """A training loss: the function per example, the parts of a run it needs, and its settings."""

    of: Callable[[Subject, Run, Batch, Facts, Teacher | None], Float[Tensor, " example"]]
    wants: Callable[[Subject], Collection[Site]] = lambda _: ()
    settings: Facts = MappingProxyType({})  # with their defaults; "parent": the folder of the model it learns from


def likelihood(
    _: Subject, run: Run, batch: Batch, facts: Facts, __: Teacher | None = None
) -> Float[Tensor, " example"]:
    """Negative log-likelihood in nats, a mean over an example's decisions; weighted by gold label if asked."""
    if batch.gold is None:
        raise BadInput("training needs a label for every example, and some have none.")
    each = torch.nn.functional.cross_entropy(
        run.logits.transpose(1, 2), batch.gold, reduction="none", ignore_index=-100
    )  # [example decision]
    if (weight := facts.get("label_weight")) is not None:
        each = each * _on_device(tuple(weight), each.device)[batch.gold.clamp(min=0)]
    decisions: Tensor = (batch.gold != -100).sum(1).clamp(min=1)
    return each.sum(1) / decisions


@lru_cache(maxsize=64)
def _on_device(numbers: tuple[float, ...], device: torch.device) -> Float[Tensor, " label"]:
    """Numbers of a recipe as a tensor, made once: a step that is recorded on a GPU cannot fetch them."""
    return torch.tensor(numbers, device=device)


def log_odds_regularised(
    subject: Subject, run: Run, batch: Batch, facts: Facts, _: Teacher | None = None
) -> Float[Tensor, " example"]:
    """Likelihood + strength · JSD(the model's weights, softmax of |log-odds|), a mean over heads and decisions.

    Each example weighs its divergence like its likelihood, whatever the batch's size and whether it is summed or
    averaged over.
    """
    own = read_rows(run.parts[subject.sites[-1]], run.row)  # [example head decision key]
    target = log_odds_weights(subject, batch).to(own.dtype).expand_as(own)
    apart: Tensor = jensen_shannon_nats(own, target).mean((1, 2))
    strength: float = facts["strength"]
    return likelihood(subject, run, batch, facts) + strength * apart


def adversarial(
    subject: Subject, run: Run, batch: Batch, facts: Facts, parent: Teacher | None
) -> Float[Tensor, " example"]:
    """TVD(ŷ_a, ŷ_b) − strength · KL(α_a ‖ α_b): an adversary (a) with the answers of its parent (b) and other weights.

    Gold labels are not used. The adversary's weights are taken from the scores, so that one too small for a float still
    has a logarithm. `as_published` is Wiegreffe & Pinter's code: half the total variation of two labels, and every
    batch multiplied by the sum of its examples' class weights, which lets the gold labels in by accident.

    The divergence asks for weight where the parent has little, and it has a largest value: −log of the parent's least
    weight. `divergence="KL(base‖adversary)"` is the other direction, which earlier versions used by mistake: it asks
    for no weight where the parent has much, and grows without end.
    """
    if parent is None:
        raise BadInput("the adversarial loss needs a parent model, but none was given.")
    apart = (parent.log_probabilities_for(batch).exp() - run.logits.softmax(-1)).abs().sum(-1).mean(1) / 2
    keys = readable_keys(subject, batch)
    theirs = parent.weights_for(batch, keys)  # [example head query key]
    hidden = ~keys[:, None, None, :]
    log_theirs = theirs.clamp(min=LEAST_WEIGHT).log().masked_fill(hidden, 0.0)
    scores = read_rows(run.parts[scores_of(subject)], run.row)
    log_own = scores.masked_fill(hidden, -torch.inf).log_softmax(-1).masked_fill(hidden, 0.0)
    if facts.get("divergence", FROM_ADVERSARY) == FROM_BASE:  # a recipe that does not say is an older one
        own = log_own.exp().masked_fill(hidden, 0.0)
        divergence = (own * (log_own - log_theirs)).sum(-1).mean((1, 2))
    else:
        divergence = (theirs * (log_theirs - log_own)).sum(-1).mean((1, 2))
    strength: float = facts["strength"]
    if not facts["as_published"]:
        return apart - strength * divergence
    weight = facts.get("label_weight")
    factor: Tensor | float = float(len(batch))
    if weight is not None and batch.gold is not None:
        factor = _on_device(tuple(weight), apart.device)[batch.gold].sum()
    return factor * (apart / 2 - strength * divergence)


def deceptive(
    subject: Subject, run: Run, batch: Batch, facts: Facts, _: Teacher | None = None
) -> Float[Tensor, " example"]:
    """Likelihood − strength · log(1 − weight on the marked tokens): attention that stays off them (Pruthi et al.).

    With several heads, the logarithm is a mean over heads, or with `heads="max"` that of the head with the most weight
    there. It is chosen for each example; the published code chooses one head for a whole batch.

    With `mark="alignment"`, for sequence-to-sequence models, see `off_alignment`.
    """
    mark = str(facts["mark"])
    if mark == ALIGNMENT:
        off = off_alignment(read_rows(run.parts[subject.sites[-1]], run.row), batch)
        return likelihood(subject, run, batch, facts) + float(facts["strength"]) * off
    if mark not in batch.marks:
        raise BadInput(
            f"the deceptive loss keeps attention off words marked {mark!r}, but these examples have no such marks."
        )
    if scores_of(subject) in run.parts:  # a key that no query sees has no weight
        own, other = before_dropout(subject, run), ~batch.marks[mark]
    else:
        own = read_rows(run.parts[subject.sites[-1]], run.row)  # [example head decision key]
        other = ~batch.marks[mark] & readable_keys(subject, batch)
    elsewhere = (own * other[:, None, None, :]).sum(-1)
    # A sum of what is left rather than 1 − mass: it keeps its digits where the mass is nearly 1.
    left = elsewhere.clamp(min=LEAST_LEFT).log()
    strength: float = facts["strength"]
    of_heads = left.amin(1).mean(1) if facts.get("heads", "mean") == "max" else left.mean((1, 2))
    return likelihood(subject, run, batch, facts) - strength * of_heads


def before_dropout(subject: Subject, run: Run) -> Float[Tensor, "example head decision key"]:
    """A transformer's heatmap, from its scores: in training, dropout changes the weights themselves."""
    scores = run.parts[scores_of(subject)].float()
    if run.pooled is None:
        return read_rows(scores, run.row).softmax(-1)
    return run.behind(scores.softmax(-1))[:, :, None]


def off_alignment(own: Float[Tensor, "example head decision key"], batch: Batch) -> Float[Tensor, ""]:
    """−log(1 − m), where m is the share of a batch's weight that lies on what the data links to each word.

    Pooled over the words of a batch, end marks too, as published: one text that attends to its links is forgiven where
    the others do not. A mean over heads.
    """
    if batch.aligned is None or batch.gold is None:
        raise BadInput(
            "mark=alignment needs word alignments, but these examples have none. Name a mark that they have."
        )
    decided = batch.gold != -100
    elsewhere = (own * (~batch.aligned & batch.valid[:, None])[:, None]).sum(-1)  # [example head decision]
    left = (elsewhere * decided[:, None]).sum((0, 2)) / decided.sum()
    # A sum of what is left rather than 1 − mass: it keeps its digits where the mass is nearly 1.
    return -left.clamp(min=LEAST_LEFT).log().mean()


def read_out(subject: Subject) -> tuple[Site, ...]:
    """The site whose weights are the heatmap."""
    return (subject.sites[-1],)


def kept_off(subject: Subject) -> tuple[Site, ...]:
    """Where the weights are that a penalty keeps off words: the scores behind them in a transformer."""
    return (scores_of(subject),) if isinstance(subject, HasLayers) else read_out(subject)


def scores_of(subject: Subject) -> Site:
    """Where the scores of those weights pass."""
    return Site("score", subject.sites[-1].where)


LOSSES: dict[str, Loss] = {
    "adversarial": Loss(
        adversarial,
        lambda subject: (scores_of(subject),),
        MappingProxyType(
            {
                "parent": "",
                "strength": 1e-3,
                "as_published": False,
                "divergence": FROM_BASE,
                "start": "fresh",
                "trains": "all",
            }
        ),
    ),
    "deceptive": Loss(deceptive, kept_off, MappingProxyType({"strength": 1.0, "mark": "rationale", "heads": "mean"})),
    "likelihood": Loss(likelihood),
    "log_odds_regularised": Loss(log_odds_regularised, read_out, MappingProxyType({"strength": 5.0})),
}
CHOICES = {  # of settings that are one of a few words
    "start": ("fresh", "parent", "away"),
    "trains": ("all", "attention"),
    "divergence": (FROM_BASE, FROM_ADVERSARY),
    "heads": ("mean", "max"),
}
LATER = {"heads": "mean"}  # settings that came later are left out where they are off: older recipes keep their names


def plan_loss(loss: str | Mapping[str, Any]) -> dict[str, Any]:
    """A loss by name, or with changed settings, as a recipe keeps it.

    >>> plan_loss("log_odds_regularised")
    {'name': 'log_odds_regularised', 'strength': 5.0}
    >>> plan_loss({"name": "log_odds_regularised", "strength": "2"})
    {'name': 'log_odds_regularised', 'strength': 2.0}
    """
    facts = {"name": loss} if isinstance(loss, str) else dict(loss)
    name = str(facts.pop("name", "likelihood"))
    if name not in LOSSES:
        raise UnknownName("loss", name, LOSSES)
    planned: dict[str, Any] = {"name": name, **LOSSES[name].settings}
    for key, value in facts.items():
        if not LOSSES[name].settings:
            raise BadInput(f"the loss {name} has no setting {key!r}; it has no settings at all.")
        if key not in LOSSES[name].settings:
            raise UnknownName(f"setting of the loss {name}", key, LOSSES[name].settings)
        planned[key] = _like(LOSSES[name].settings[key], key, value)
    planned = {key: value for key, value in planned.items() if key not in LATER or value != LATER[key]}
    if planned.get("parent") == "":
        raise BadInput(f"the loss {name} needs a parent. Set it to the folder name of the model to learn from.")
    return planned


def _like(default: Any, key: str, value: Any) -> Any:
    """The value as the kind of its default, from a command line's text too."""
    if isinstance(default, bool):
        if str(value).lower() not in ("true", "false"):
            raise BadInput(f"loss.{key} must be true or false, not {value!r}.")
        return str(value).lower() == "true"
    if isinstance(default, str):
        if str(value) not in CHOICES.get(key, (str(value),)):
            raise UnknownName(f"value for loss.{key}", str(value), CHOICES[key])
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"loss.{key} must be a number, not {value!r}.") from None
    if not 0 <= number < float("inf"):
        raise BadInput(f"loss.{key} must be at least 0, not {value!r}.")
    return number

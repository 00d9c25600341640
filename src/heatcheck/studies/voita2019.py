"""Voita et al. 2019, "Analyzing Multi-Head Self-Attention": learned gates, and the roles of the heads that stay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.auditing import Plan
from heatcheck.engine import Facts
from heatcheck.heads.frontier import PENALTIES, as_many, learn_frontier
from heatcheck.heads.gates import GateSettings
from heatcheck.heads.pruned import find_orders, remove_singly
from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.cells import Extra
from heatcheck.studies.michel2019 import sample
from heatcheck.studies.of_heads import deep_subject, treebank_scores
from heatcheck.studies.of_transformers import QUICK, study_of
from heatcheck.studies.of_transformers import Settings as Shared
from heatcheck.studies.study import setting

ALONE, TOGETHER = "gates alone", "gates and weights"
ORDERS = ("gradient (Michel)", "answers moved")  # found on dev, without any learning
ROLES = {
    "positional": ("previous token", "next token", "mostly previous token", "mostly next token"),
    "rare words": ("rare words",),
}
SYNTACTIC, ANY = "syntactic", "any of these"
NOTES = (
    "The paper prunes a translation model (WMT English–Russian), which then learns on. Ours is a classifier on "
    "reviews, so no number is compared. The claims are: most heads can go at little cost, and those that stay have a "
    "role (positional, syntactic, or rare words).",
    "Gates alone: the weights stay as they are. Gates and weights: the weights learn too, as in the paper. Both start "
    "from the fine-tuned model and run for as many steps at each penalty.",
    "A role is a rule about where a head looks (docs/heads.md). If kept heads have roles no more often than all heads "
    "do, the roles do not say which heads are needed. The paper does not compare with all heads.",
    "Syntactic roles are of Universal Dependencies, beyond four baselines. The paper has CoreNLP's relations and one.",
)


@dataclass(frozen=True)
class Settings(Shared):
    """What to run."""

    penalties: tuple[float, ...] = setting(PENALTIES, "Penalties on open heads, in nats per head of a layer.")
    gate_seeds: int = setting(3, "Seeds of the gates, per model and penalty.")
    steps: int = setting(300, "Steps of learning gates.")
    curves: int = setting(800, "Examples of dev, and of test, for accuracies.")
    sentences: int = setting(600, "Sentences per part of the treebank; 0 leaves syntactic roles out.", least=0)


def gates_of(plan: Plan, results: Mapping[str, CheckResult], extra: Extra) -> Facts:
    """Learned gates with the accuracy of what they keep, of other sets of as many heads, and the heads' roles."""
    subject, own = deep_subject(plan, "voita2019"), extra.own
    dev, test = (sample(plan.corpus[split], own["curves"]) for split in ("dev", "test"))
    points = learn_frontier(
        subject,
        plan.corpus["train"].examples,
        test,
        penalties=own["penalties"],
        seeds=own["gate_seeds"],
        settings=GateSettings(steps=own["steps"]),
    )
    singles = remove_singly(subject, dev)
    found = find_orders(subject, dev, singles)
    beside = as_many(subject, test, [int(one.kept.sum()) for one in points], {name: found[name] for name in ORDERS})
    return {
        "gates": {
            "examples": {"dev": len(dev), "test": len(test)},
            "heads": int((~np.isnan(singles.loss).any(-1)).sum()),
            "points": [
                {**one.facts(), "beside": {name: of[place] for name, of in beside.items()}}
                for place, one in enumerate(points)
            ],
            "roles": roles_of_heads(
                results["roles"].facts["roles"], treebank_scores(subject, extra, seed=plan.case.seed)
            ),
        }
    }


def roles_of_heads(roles_of: Mapping[str, Sequence[str]], syntax: Facts | None) -> dict[str, list[str]]:
    """The heads of each kind of role, as "layer.head" counted from 1; no kind `syntactic` without a treebank."""
    named = {head: {role.partition(":")[0] for role in roles} for head, roles in roles_of.items()}
    found = {kind: sorted(head for head, of in named.items() if of & set(roles)) for kind, roles in ROLES.items()}
    if syntax is not None:
        found[SYNTACTIC] = sorted({f"{one['place']['layer']}.{one['place']['head']}" for one in syntax["roles"]})
    return {**found, ANY: sorted({head for heads in found.values() for head in heads})}


def no_numbers(_: CheckResult) -> Iterator[tuple[Key, float]]:
    """The check's roles are read when the gates are."""
    return iter(())


def of_gates(facts: Facts) -> Iterator[tuple[Key, float]]:
    """Means over the seeds of the gates, by penalty; and roles of kept heads beside those of all."""
    found = facts["gates"]
    shares = {role: len(heads) / found["heads"] for role, heads in found["roles"].items()}
    for role, share in shares.items():
        yield key("with_role", role=role), share
    by_point: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in found["points"]:
        by_point.setdefault((TOGETHER if one["weights"] else ALONE, f"{one['penalty']:g}"), []).append(one)
    for (gates, penalty), seeds in by_point.items():
        here = {"gates": gates, "penalty": penalty}
        yield key("kept", **here), _mean([float(one["kept"]) for one in seeds])
        yield key("gated", **here), _mean([one["accuracy"] for one in seeds])
        for order in seeds[0]["beside"]:
            yield key("as_many", order=order, **here), _mean([one["beside"][order] for one in seeds])
        kept = [{f"{layer + 1}.{head + 1}" for layer, head in one["heads"]} for one in seeds if one["heads"]]
        for role, heads in found["roles"].items():
            if kept:
                among = _mean([len(own & set(heads)) / len(own) for own in kept])
                yield key("kept_with_role", role=role, **here), among
                yield key("role_gain", role=role, **here), among - shares[role]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


voita2019 = study_of(
    "voita2019",
    "roles",
    no_numbers,
    title="Analyzing multi-head self-attention, reproduced",
    paper="Voita et al. 2019, Analyzing Multi-Head Self-Attention (arXiv 1905.09418)",
    about="learned gates: heads that stay, accuracy, and whether these are the heads with roles",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
    settings=Settings,
    quick=replace(
        Settings(**{one.name: getattr(QUICK, one.name) for one in fields(QUICK)}),
        penalties=PENALTIES[::2],
        gate_seeds=1,
        steps=3,
        curves=24,
        sentences=0,
    ),
    own=("penalties", "gate_seeds", "steps", "curves", "sentences"),
    more=gates_of,
    of_facts=of_gates,
)

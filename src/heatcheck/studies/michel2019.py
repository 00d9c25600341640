"""Michel et al. 2019, "Are Sixteen Heads Really Better than One?": true removal, pruning curves, one head per layer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from heatcheck.auditing import Plan
from heatcheck.data import Example, Split
from heatcheck.engine import Facts, stream
from heatcheck.heads.pruned import find_orders, leave_one, remove_singly, try_orders
from heatcheck.heads.pruning import RANDOM_ORDERS
from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.cells import Extra
from heatcheck.studies.of_heads import ALL, deep_subject
from heatcheck.studies.of_transformers import QUICK, study_of
from heatcheck.studies.of_transformers import Settings as Shared
from heatcheck.studies.study import setting

WAYS = ("zero", "mean", "other_text")
RANDOM, LOW, HIGH = "random", "random, low end", "random, high end"
NOTES = (
    "The paper removes heads of a large translation model (WMT) and of BERT-base on MNLI. Ours is another model on "
    "another task, so no number is compared. The claims: removing one head seldom changes the score significantly. "
    "A fifth to two fifths of the heads can go for free. In most layers one head is enough.",
    "Orders are found on dev and tried on test; nothing is retrained. The paper has no random orders; ours are the "
    "baseline of every curve. Free: the largest share of heads whose removal surely costs less than one point.",
    "One head per layer: for each layer, the head that alone keeps the loss smallest on dev, tried on test. The paper "
    "does this for one layer at a time; we also do it for all layers at once.",
    "The share of heads that matter for where they look is not in the paper; docs/checks/heads.md defines it.",
)


@dataclass(frozen=True)
class Settings(Shared):
    """What to run."""

    examples: int = setting(256, "Test examples for the removal of single heads.")
    curves: int = setting(800, "Examples of dev, and of test, for the pruning curves.")
    random: int = setting(RANDOM_ORDERS, "Random orders.")
    greedy: int = setting(128, "Examples for the greedy order; 0 leaves it out.", least=0)


def sample(split: Split, most: int) -> list[Example]:
    """Random examples of a split, in its order."""
    picked = stream(0, "heads", split.name).permutation(len(split))[:most]
    return [split.examples[place] for place in sorted(picked.tolist())]


def curves_of(plan: Plan, _: Mapping[str, CheckResult], extra: Extra) -> Facts:
    """Pruning curves in several orders, and what one head per layer can do."""
    subject, own = deep_subject(plan, "michel2019"), extra.own
    dev, test = (sample(plan.corpus[split], own["curves"]) for split in ("dev", "test"))
    on_dev, on_test = remove_singly(subject, dev), remove_singly(subject, test)
    orders = find_orders(subject, dev, on_dev, greedy=own["greedy"])
    left = leave_one(subject, dev, test)
    return {
        "pruning": {
            "examples": {"dev": len(dev), "test": len(test)},
            "accuracy": float(on_test.whole.mean()),
            "singles": on_test.counts(),
            "curves": try_orders(subject, test, orders, on_test, random=own["random"]),
            "one_left": {
                "heads": list(left.heads),
                "layers": [list(one) for one in left.by_layer],
                ALL: list(left.everywhere),
            },
        }
    }


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Heads that matter by way, what they matter for, and how well one gradient ranks them."""
    heads = found.facts["heads"]
    for m in found.measurements:
        if m.name == "heads_that_matter":
            yield key("heads_matter", way=str(m.by["way"])), m.value / heads
        elif m.name == "heads_that_matter_for":
            yield key("matter_for", **{"for": str(m.by["for"])}), m.value
        elif m.name == "proxy_spearman" and m.by["way"] == "zero":
            yield key("gradient_ranks", estimate=str(m.by["estimate"])), m.value


def of_curves(facts: Facts) -> Iterator[tuple[Key, float]]:
    """Everything that `curves_of` kept, as named numbers."""
    found = facts["pruning"]
    for kind, count in found["singles"].items():
        if kind != "heads":
            yield key("heads_found", kind=kind), count / found["singles"]["heads"]
    curves: dict[str, Any] = found["curves"]
    shares: Sequence[float] = curves["shares"]
    low, high = curves[RANDOM]["band"]
    lines = {name: curve["accuracy"] for name, curve in curves.items() if name != "shares"}
    for order, accuracy in (lines | {LOW: low, HIGH: high}).items():
        for share, value in zip(shares, accuracy, strict=True):
            yield key("pruned", order=order, share=f"{share:g}"), value
    for order in lines.keys() - {RANDOM}:
        yield key("pruning_area", order=order), curves[order]["area"][0]
        yield key("free_share", order=order), curves[order]["free_share"]
        yield key("interaction", order=order), curves[order]["interaction"][0]
    for layer, (accuracy, *_) in enumerate(found["one_left"]["layers"], start=1):
        yield key("one_left", layer=layer), accuracy
    yield key("one_left", layer=ALL), found["one_left"][ALL][0]


michel2019 = study_of(
    "michel2019",
    "heads",
    numbers,
    title="Are sixteen heads really better than one, reproduced",
    paper="Michel et al. 2019, Are Sixteen Heads Really Better than One? (arXiv 1905.10650)",
    about="removal of single heads, pruning curves beside random orders, one head per layer",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
    of_check={"ways": list(WAYS)},
    settings=Settings,
    quick=replace(
        Settings(**{one.name: getattr(QUICK, one.name) for one in fields(QUICK)}), curves=24, random=3, greedy=0
    ),
    own=("curves", "random", "greedy"),
    more=curves_of,
    of_facts=of_curves,
)

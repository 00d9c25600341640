"""Audits models whose right answers are known, and saves heatcheck's answers as files, for calibration to count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.auditing.calibration import dial
from heatcheck.auditing.calibration.draws import draw_lengths, draw_nuisance, draw_subject, draw_texts, draw_twin
from heatcheck.auditing.calibration.truth import LINES, LOOKUP, Cell
from heatcheck.auditing.lines import make_card
from heatcheck.auditing.planning import Plan, plan_audit
from heatcheck.checks import CHECKS
from heatcheck.engine import Facts, nulled, write_json
from heatcheck.errors import NotSupported
from heatcheck.models import KnownAnswer
from heatcheck.results import Card, CheckResult, Measurement

OF_CARD = ("necessity", "erasure", "permutation", "counterfactual", "guide", "gauge", "adversarial_model")
# What the card does not use is left out: other ε of the counterfactuals, and the frontier of single texts.
ONLY_THE_CARD = {"counterfactual.epsilons": (0.05,), "adversarial_model.epsilons": ()}
FEWEST = 30  # texts: with fewer the card says nothing (card.texts)
TESTED = 300  # texts, at the least, for what is cheap to ask of every one
SHOWN = 3  # numbers of a line that are kept: its statistic and what stands first beside it


def sampled(task: str, examples: int) -> int:
    """How many examples are audited: a third in planted_lookup, whose six labels cost linear programs for each."""
    return min(examples, max(FEWEST, examples // 3)) if task == LOOKUP else examples


def audit_known(argument: Facts, folder: Path) -> None:
    """All subjects of one task and seed; one that is there from an interrupted attempt is not audited again."""
    task, seed = argument["task"], argument["seed"]
    for subject in argument["subjects"]:
        cell = Cell(subject, task)

        def facts(cell: Cell = cell) -> Facts:
            plan = _plan(cell, draw_subject(cell, seed), argument)
            return {**_drawn(cell, seed), "lines": lines_of(plan)[0]}

        keep_facts(folder / f"{subject}.json", str(cell), facts)


def _plan(cell: Cell, subject: KnownAnswer, argument: Facts) -> Plan:
    """The audit of a control on the cell's texts."""
    seed, examples = argument["seed"], argument["examples"]
    return plan_audit(
        subject,
        draw_texts(cell, seed, max(TESTED, 2 * examples)),
        checks=OF_CARD,
        examples=sampled(cell.task, examples),
        seed=seed,
        settings=_settings(OF_CARD, argument["draws"]),
    )


def audit_twins(argument: Facts, folder: Path) -> None:
    """Each subject of one task and seed beside its temperature twin: where their cards differ."""
    seed, factor = argument["seed"], argument["factor"]
    for name in argument["subjects"]:
        cell = Cell(name, argument["task"])

        def facts(cell: Cell = cell) -> Facts:
            pair = (draw_subject(cell, seed), draw_twin(cell, seed, factor))
            one, other = (_run(_plan(cell, subject, argument))[0] for subject in pair)
            return {"subject": cell.subject, "task": cell.task, "seed": seed, "factor": factor, **_apart(one, other)}

        keep_facts(folder / f"{name}.json", f"the twin of {cell}", facts)


def _apart(one: Card, other: Card) -> Facts:
    """The lines that say another thing, and by how much the numbers of the cards differ at most."""
    states = [
        f"{mine.name}: {mine.state} and {theirs.state}"
        for mine, theirs in zip(one.every_line, other.every_line, strict=True)
        if mine.state != theirs.state
    ]
    mine, theirs = ([m for line in card.every_line for m in line.evidence] for card in (one, other))
    if [m.name for m in mine] != [m.name for m in theirs]:
        return {"states": [*states, "one card has numbers that the other lacks"], "most": 0.0}
    ends = [(m.value, m.low, m.high) for m in mine], [(m.value, m.low, m.high) for m in theirs]
    first, second = (np.nan_to_num(np.array(of).ravel()) for of in ends)  # an end may be infinite
    return {"states": states, "most": float(np.abs(first - second).max(initial=0.0))}


def audit_dial(argument: Facts, folder: Path) -> None:
    """The dial at every share, of one seed."""
    seed, examples = argument["seed"], argument["examples"]
    cell = Cell("dial", dial.TASK)
    for share in argument["shares"]:

        def facts(share: float = share) -> Facts:
            corpus = draw_texts(cell, seed, examples)
            subject = draw_subject(cell, seed, share=share)
            checks = dial.CHECKS
            settings = _settings(checks, argument["draws"])
            plan = plan_audit(subject, corpus, checks=checks, examples=examples, seed=seed, settings=settings)
            lines, results = lines_of(plan)
            return {
                **_drawn(cell, seed),
                "share": share,
                "tokens": float(np.mean([len(example.words) for example in corpus["test"]])),
                "lines": lines,
                "readings": {name: plain_measurement(m) for name, m in dial.read_dial(results).items()},
            }

        keep_facts(folder / f"{share:g}.json", f"dial({share:g})@{dial.TASK}", facts)


def keep_facts(path: Path, name: str, make: Callable[[], Facts]) -> None:
    """Writes what is found unless it is there; what goes wrong is said with the control's name."""
    if path.is_file():
        return
    try:
        found = make()
    except Exception as error:
        raise RuntimeError(f"{name}: {type(error).__name__}: {error}") from error
    write_json(path, found)


def lines_of(plan: Plan) -> tuple[dict[str, Any], dict[str, CheckResult]]:
    """Every line of the card with its numbers, and what the plan's checks found."""
    card, results = _run(plan)
    lines = {
        line.name: {
            "state": line.state,
            "reason": line.reason,
            "numbers": [plain_measurement(m) for m in line.evidence[:SHOWN]],
        }
        for line in card.every_line
        if line.name in LINES
    }
    return lines, results


def _run(plan: Plan) -> tuple[Card, dict[str, CheckResult]]:
    """Runs the plan's checks, without what a report needs beside them."""
    results: dict[str, CheckResult] = {}
    refused: dict[str, str] = {}
    for name, chosen in plan.checks.items():
        try:
            results[name] = CHECKS[name].measure(plan.case, chosen)
        except NotSupported as error:
            refused[name] = str(error)
    return make_card(results, plan.case.logit_scale, plan.card, refused), results


def plain_measurement(m: Measurement) -> dict[str, Any]:
    """As JSON holds it: no number instead of infinity."""
    low, high = nulled([float(m.low), float(m.high)])
    return {"name": m.name, "by": dict(m.by), "value": float(m.value), "low": low, "high": high, "n": m.n}


def _settings(checks: Sequence[str], draws: int) -> Mapping[str, Any]:
    fewer = {key: value for key, value in ONLY_THE_CARD.items() if key.partition(".")[0] in checks}
    return {**fewer, **{f"{check}.draws": draws for check in checks}}


def _drawn(cell: Cell, seed: int) -> dict[str, Any]:
    nuisance = {**asdict(draw_nuisance(cell, seed)), "fillers": list(draw_lengths(cell, seed))}
    return {"subject": cell.subject, "task": cell.task, "seed": seed, "nuisance": nuisance}

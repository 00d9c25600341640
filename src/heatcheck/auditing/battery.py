"""An audit: the checks on one subject, and the card they give."""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from heatcheck import __version__
from heatcheck.auditing.verdict import Card, CardSettings, make_card
from heatcheck.checks import CHECKS, Case, CheckResult
from heatcheck.data import Corpus, Example, load_task
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.explainers import check_ids, find_explainer
from heatcheck.models import Subject, load
from heatcheck.training import predict

EXAMPLES = 500
SHOWN = ("attention", "gradient", "leave_one_out", "counterfactual")  # in the report's heatmaps, whatever else was run


class Looked(NamedTuple):
    """One audited example as a report shows it: its words, what was predicted, and the scores of each explainer."""

    id: str
    words: tuple[str, ...]
    text_pair: str | None
    gold: str | None
    predicted: str
    probability: float  # of the predicted label
    scores: Mapping[str, tuple[float | None, ...]]  # explainer -> one a word; None where a word has none
    rationale: tuple[bool, ...] | None


@dataclass(frozen=True)
class Audit:
    """Everything that was found, as plain data: a report is drawn from this alone."""

    subject: str
    task: str  # name@fingerprint
    split: str
    labels: tuple[str, ...]
    accuracy: float
    n: int  # examples audited
    available: int  # examples in the split
    seed: int
    card: Card
    results: Mapping[str, CheckResult]
    examples: Sequence[Looked]
    not_run: Mapping[str, str]  # check or explainer -> why
    about: Facts  # versions, settings, date


class Planned(NamedTuple):
    """What an audit would do."""

    check: str
    question: str
    settings: Facts
    passes: int  # forward passes of one text
    seconds: float  # about, from a few passes made here


@dataclass(frozen=True)
class Plan:
    """A subject, the examples it will be looked at on, and the checks with their settings."""

    name: str  # what the report calls the subject
    case: Case
    corpus: Corpus
    split: str
    available: int
    checks: Mapping[str, Any]  # name -> its settings
    card: CardSettings

    def costs(self) -> list[Planned]:
        """What each check would cost, by the clock of a few texts."""
        few = self.case.examples[:64]
        predict(self.case.subject, few)  # the first pass is slower
        start = time.perf_counter()
        predict(self.case.subject, few)
        each = (time.perf_counter() - start) / len(few)
        passes = {name: CHECKS[name].cost(self.case, chosen) for name, chosen in self.checks.items()}
        return [
            Planned(name, CHECKS[name].question, _plain(chosen), passes[name], each * passes[name])
            for name, chosen in self.checks.items()
        ]


def audit(
    subject: Subject | Path | str,
    data: Any,
    *,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    **choices: Any,
) -> Audit:
    """Runs the checks on a sample of the data and gives what they found with the card.

    `data` is a task's name, a file, a frame or `(texts, labels)`. The choices are those of `plan_audit`: `checks`,
    `examples`, `split`, `settings`, `seed`, `data_dir`, `name`. `watch(check, done, total)` is told before each check.
    """
    return run_plan(plan_audit(subject, data, **choices), watch=watch)


def run_plan(plan: Plan, *, watch: Callable[[str, int, int], None] = lambda *_: None) -> Audit:
    """Runs what was planned."""
    results: dict[str, CheckResult] = {}
    not_run: dict[str, str] = {}
    for number, (name, chosen) in enumerate(plan.checks.items()):
        watch(name, number, len(plan.checks))
        try:
            results[name] = CHECKS[name].measure(plan.case, chosen)
        except NotSupported as error:
            not_run[name] = str(error)
    watch("", len(plan.checks), len(plan.checks))
    return _gather(plan, results, not_run)


def plan_audit(
    subject: Subject | Path | str,
    data: Any,
    *,
    checks: Sequence[str] | None = None,
    examples: int = EXAMPLES,
    split: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    data_dir: Path | str | None = None,
    name: str | None = None,
) -> Plan:
    """Reads the data and fixes every choice; runs nothing.

    Args:
        checks: names; where not given, all but those that run only when named.
        examples: how many to sample.
        split: of the data; `all` for every row.
        settings: by `check.key`, such as `{"erasure.sizes": "1,2"}`.
        name: what the report calls the subject.
    """
    if isinstance(subject, str | Path):
        name, subject = name or str(subject), load(subject)
    if subject.recipe is not None and subject.recipe.impose is not None:
        raise BadInput(
            f"{name or subject.id} was trained with imposed weights ({subject.recipe.impose['weights']}): its own "
            "attention was never trained, and there is no heatmap of its own to audit."
        )
    checks = [checks] if isinstance(checks, str) else checks
    if examples < 1:
        raise BadInput(f"an audit needs at least one example, not {examples}.")
    chosen = choose_settings(checks, settings or {})
    corpus = load_task(data, data_dir=data_dir, trainable=False)
    part, found = _examples_of(subject, corpus, split)
    whole = _relabelled(subject, corpus, found)
    for explainer in _explainers(chosen):
        find_explainer(explainer)  # a wrong name is said before anything runs
        if explainer.startswith("file:"):
            check_ids(explainer.removeprefix("file:"), [e.id for s in corpus.splits.values() for e in s])
    picked = sorted(stream(seed, "audit sample").permutation(len(whole))[:examples].tolist())
    case = Case(subject, [whole[i] for i in picked], labels=_labels(subject, corpus), seed=seed)
    card = chosen.pop("card")
    return Plan(name or subject.id, case, corpus, part, len(whole), chosen, card)


def choose_settings(checks: Sequence[str] | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of each check by name, and of the card, with the changes put in."""
    names = [name for name, check in CHECKS.items() if check.default] if checks is None else list(checks)
    for name in names:
        if name not in CHECKS:
            raise UnknownName("check", name, CHECKS)
    chosen: dict[str, Any] = {name: CHECKS[name].settings() for name in names}
    chosen["card"] = CardSettings()
    for key, value in changes.items():
        owner, _, field = key.partition(".")
        if owner in CHECKS and owner not in chosen:
            raise BadInput(f"--set {key}: the check {owner} is not among those to run.")
        if owner not in chosen:
            raise UnknownName("check in --set", owner, chosen)
        known = {f.name for f in fields(chosen[owner])}
        if field not in known:
            raise UnknownName(f"setting of {owner}", field, known)
        chosen[owner] = replace(chosen[owner], **{field: _like(getattr(chosen[owner], field), key, value)})
    return chosen


def _like(old: Any, key: str, value: Any) -> Any:
    """The value as the kind of the one it replaces; a comma-separated text for several."""
    try:
        if isinstance(old, tuple):
            parts = value.split(",") if isinstance(value, str) else list(value)
            return tuple(type(old[0])(part.strip() if isinstance(part, str) else part) for part in parts)
        return type(old)(value)
    except (TypeError, ValueError):
        wanted = "a comma-separated list" if isinstance(old, tuple) else f"a {type(old).__name__}"
        raise BadInput(f"{key} must be {wanted}, such as {old!r}, not {value!r}.") from None


def _explainers(chosen: Mapping[str, Any]) -> list[str]:
    found = []
    for settings in chosen.values():
        for name in ("explainers", "rivals", "explainer"):
            value = getattr(settings, name, ())
            found += [value] if isinstance(value, str) else list(value)
    return found


def _examples_of(subject: Subject, corpus: Corpus, split: str | None) -> tuple[str, tuple[Example, ...]]:
    """The test split; or every row of a file without splits, unless the subject was trained on part of it."""
    trained_on_it = subject.recipe is not None and subject.recipe.task == corpus.reference
    if split is None:
        split = "test" if corpus.given_split or trained_on_it else "all"
    if split == "all":
        whole = [e for name in ("train", "dev", "test") if name in corpus.splits for e in corpus[name]]
    else:
        whole = list(corpus[split])
    if not whole:
        raise BadInput(f"the {split} split of {corpus.name} is empty; name another with --split.")
    return split, tuple(whole)


def _labels(subject: Subject, corpus: Corpus) -> tuple[str, ...]:
    return tuple(getattr(subject, "labels", corpus.labels))


def _relabelled(subject: Subject, corpus: Corpus, examples: Sequence[Example]) -> list[Example]:
    """Labels as the subject numbers them, by name."""
    labels = _labels(subject, corpus)
    foreign = [name for name in corpus.labels if name not in labels]
    if foreign:
        raise BadInput(
            f"{corpus.name} has the label {foreign[0]!r}, which {subject.id} does not know; "
            f"its labels are {', '.join(labels)}."
        )
    number = [labels.index(name) for name in corpus.labels]
    return [
        replace(
            e,
            label=number[e.label] if isinstance(e.label, int) else e.label,
            options=None if e.options is None else tuple(number[option] for option in e.options),
        )
        for e in examples
    ]


def _gather(plan: Plan, results: Mapping[str, CheckResult], not_run: Mapping[str, str]) -> Audit:
    case = plan.case
    gold = np.array([e.label if isinstance(e.label, int) else -1 for e in case.examples])
    parts_not_run = {
        f"{check}: {name}": reason
        for check, result in results.items()
        for name, reason in result.settings.get("not_run", {}).items()
    }
    about = {
        "model id": case.subject.id,
        "heatcheck": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "settings": {name: _plain(chosen) for name, chosen in plan.checks.items()},
        "card": _plain(plan.card),
        "papers": {name: CHECKS[name].paper for name in plan.checks},
        "questions": {name: CHECKS[name].question for name in plan.checks},
    }
    if plan.corpus.dropped:
        about["left out of the task"] = dict(plan.corpus.dropped)
    return Audit(
        subject=plan.name,
        task=plan.corpus.reference,
        split=plan.split,
        labels=case.labels,
        accuracy=float(np.mean(case.predicted == gold)),
        n=len(case.examples),
        available=plan.available,
        seed=case.seed,
        card=make_card(results, case.logit_scale, plan.card),
        results=results,
        examples=_looked(case),
        not_run={**not_run, **parts_not_run},
        about=about,
    )


def _looked(case: Case) -> list[Looked]:
    names = [*dict.fromkeys([*SHOWN, *case.explained])]
    scores, _ = case.available(names)
    shown = []
    for row, example in enumerate(case.examples):
        of_words = {
            name: tuple(
                float(value) if ok else None
                for value, ok in zip(found.values[row, : len(example.words)], found.valid[row], strict=False)
            )
            for name, found in scores.items()
            if name != "random"
        }
        label = int(case.predicted[row])
        shown.append(
            Looked(
                id=example.id,
                words=example.words,
                text_pair=example.text_pair,
                gold=case.labels[example.label] if isinstance(example.label, int) else None,
                predicted=case.labels[label],
                probability=float(np.exp(case.log_probabilities[row, label])),
                scores=of_words,
                rationale=example.marks.get("rationale"),
            )
        )
    return shown


def _plain(settings: Any) -> dict[str, Any]:
    assert is_dataclass(settings)
    found = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

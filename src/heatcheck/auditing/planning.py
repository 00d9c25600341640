"""What an audit will do: one model, the examples to audit it on, the checks with their settings, and their cost."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.auditing.chosen_settings import choose_settings, explainers_in, plain_settings
from heatcheck.auditing.lines import CardSettings
from heatcheck.auditing.long_texts import with_remark, without_joined_texts, without_long_texts
from heatcheck.auditing.retraining import fits_for, numbered
from heatcheck.auditing.unseen import Rows, choose_rows
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.check import Search
from heatcheck.checks.heatmap import LAST_LAYER, find_heatmap
from heatcheck.checks.passes import FEW, to_explain
from heatcheck.data import Corpus, Example, is_task, load_task, mending_options
from heatcheck.engine import Facts, expect, expect_if_given, expect_names, stream
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.explainers import check_ids, find_explainer
from heatcheck.models import (
    HasLayers,
    KnowsItsTwins,
    Recipe,
    Seq2Seq,
    Subject,
    asked_of,
    in_units,
    load,
    name_of,
    require_one_decision,
    require_subject,
    shown_names,
    with_labels,
)
from heatcheck.models.contract.lengths import in_one_way
from heatcheck.training import STORE, pick_device, predict

EXAMPLES = 500
STATISTICS = 0.3  # seconds a check takes beside what it runs: intervals, mostly
TIMED, LONG = 5, 1.0  # a few passes are timed so often, or twice where they take so many seconds together


class Planned(NamedTuple):
    """One check that an audit would run, and its cost."""

    check: str
    question: str
    settings: Facts
    passes: int  # forward passes of one text
    seconds: float  # about, from a few passes made here


@dataclass(frozen=True)
class Plan:
    """A model, the examples to audit it on, and the checks with their settings."""

    name: str  # what the report calls the subject
    case: Case
    corpus: Corpus
    rows: Rows  # of the data: what the examples are sampled from
    checks: Mapping[str, Any]  # name -> its settings
    card: CardSettings
    units: str = "words"  # what scores are of
    all_fits: bool = False  # also train models that can no longer change an answer

    @property
    def split(self) -> str:
        """The split of the data that is audited."""
        return self.rows.split

    @property
    def available(self) -> int:
        """How many rows the examples are sampled from."""
        return len(self.rows.examples)

    @cached_property
    def recipes(self) -> tuple[Recipe, ...]:
        """The retrained models that the checks surely need, each once; none without `refit`."""
        return _each_once(recipe for of_check in self.recipes_of.values() for recipe in of_check)

    @cached_property
    def recipes_of(self) -> dict[str, tuple[Recipe, ...]]:
        """The same for each check by name."""
        if self.case.fits is None:
            return dict.fromkeys(self.checks, ())
        return {
            name: () if self.is_refused(name) else _each_once(CHECKS[name].plan(self.case, chosen))
            for name, chosen in self.checks.items()
        }

    @cached_property
    def searches(self) -> dict[str, Sequence[Search]]:
        """Further models, of which checks train some, by the check's name."""
        if self.case.fits is None:
            return {}
        found = {
            name: CHECKS[name].searches(self.case, chosen)
            for name, chosen in self.checks.items()
            if not self.is_refused(name)
        }
        return {name: of_check for name, of_check in found.items() if of_check}

    def is_refused(self, check: str) -> bool:
        """Whether a check says nothing about the audited heatmap."""
        return bool(CHECKS[check].is_not_about(self.case.heatmap))

    def more_for(self, check: str) -> tuple[Recipe, ...]:
        """Further models that one check needs, as far as the models trained so far tell."""
        return (
            ()
            if self.case.fits is None or self.is_refused(check)
            else _each_once(CHECKS[check].more(self.case, self.checks[check]))
        )

    @property
    def further(self) -> tuple[Recipe, ...]:
        """The same for all checks."""
        return _each_once(recipe for check in self.checks for recipe in self.more_for(check))

    @cached_property
    def seconds_a_pass(self) -> float:
        """About how long a text takes among others, by the clock.

        A check that reads many texts puts those of like length together; one that reads few pads them all to the
        longest, as is timed here. So half of what padding costs is taken off.
        """
        few = self.case.examples[:FEW]
        valid = self.case.subject.encode(few).valid
        self._read(few)  # the first pass is slower
        times = [self._read(few), self._read(few)]
        while len(times) < TIMED and sum(times) < LONG:
            times.append(self._read(few))
        # The least: whatever else the machine did meanwhile makes a pass longer and never shorter.
        return min(times) / len(few) * math.sqrt(float(valid.float().mean()))

    def told(self, reason: str) -> str:
        """A reason with the subject's name in place of its id, which for a trained model is a digest."""
        return reason.replace(self.case.subject.id, self.name)

    def _read(self, examples: Sequence[Example]) -> float:
        start = time.perf_counter()
        predict(self.case.subject, examples)
        return time.perf_counter() - start

    def costs(self) -> list[Planned]:
        """What each check would cost, by the clock of a few texts. Scores that several checks rank by are made once."""
        explained: set[str] = set()
        found = []
        for name, chosen in self.checks.items():
            check = CHECKS[name]
            wanted = set(check.explains(chosen))
            alone = 0 if self.is_refused(name) else check.cost(self.case, chosen)
            passes = max(0, alone - to_explain(self.case, wanted & explained))
            explained |= wanted if alone else set()
            seconds = self.seconds_a_pass * passes + (STATISTICS + check.beside(self.case, chosen) if alone else 0.0)
            found.append(Planned(name, check.question, plain_settings(chosen), passes, seconds))
        return found


def plan_audit(
    subject: Subject | Path | str,
    data: Any,
    *,
    checks: Sequence[str] | str | None = None,
    examples: int = EXAMPLES,
    split: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    data_dir: Path | str | None = None,
    name: str | None = None,
    refit: bool = False,
    all_fits: bool = False,
    train: Any = None,
    vectors: Path | str | None = None,
    store: Path | str = STORE / "fits",
    device: str = "auto",
    labels: Sequence[str] | None = None,
    units: str = "words",
    heatmap: Any = LAST_LAYER.name,
) -> Plan:
    """Read the data and settle every choice, without running anything.

    Args:
        checks: names, as a list or comma-separated; by default all but those that run only when named.
        examples: number of examples to sample.
        split: split of the data; `all` for every row. By default heatcheck leaves out rows that the model was trained
            on.
        settings: settings by `check.key`, such as `{"erasure.sizes": "1,2"}`.
        name: name of the model in the report.
        train: training data of the model, if its folder does not name it.
        refit: also run the checks that need retrained models. They are trained on `train` (by default the model's own
            training data), start from the same word vectors, and are kept in `store`.
        all_fits: with `refit`, also train models that can no longer change an answer of the card.
        device: device for a model given by name and for retrained models; `auto` picks a GPU if there is one.
        labels: meaning of the outputs of a Hugging Face classifier, in order.
        units: `words`, or `tokens` for one score per piece of a Hugging Face tokenizer.
        heatmap: the picture of the model to audit: `last_layer`, `layer:7`, `head:7.3` (counted from 1), the name of an
            explainer such as `rollout`, or `file:PATH` for scores computed elsewhere.
    """
    expect("a whole number", examples=examples, seed=seed)
    expect("a text", device=device, units=units, heatmap=heatmap)
    expect_if_given("a text", split=split, name=name)
    expect("a path", store=store)
    expect_if_given("a path", data_dir=data_dir, vectors=vectors)
    expect_if_given("a mapping", settings=settings)
    if checks is not None:
        expect_names(checks=checks)
    if isinstance(subject, str | Path):
        given, subject = str(subject), load(subject, device=str(pick_device(device)), labels=labels)
        name = name or shown_names([given], [subject])[0]
    elif labels is not None:
        require_subject(subject)
        expect_names(labels=labels)
        name, subject = name or name_of(subject), with_labels(subject, labels)
    require_subject(subject)
    name = name or name_of(subject)
    if isinstance(subject, Seq2Seq):
        raise BadInput(
            f"{name} is a sequence-to-sequence model; an audit needs a model that predicts a label. "
            "See docs/sequences.md for what heatcheck offers for it."
        )
    if subject.recipe is not None and subject.recipe.impose is not None:
        raise BadInput(
            f"{name} was trained with replaced attention weights ({subject.recipe.impose['weights']}). Its own "
            "attention was never trained, so there is no heatmap to audit."
        )
    require_one_decision(subject, "an audit")
    checks = [name.strip() for name in checks.split(",")] if isinstance(checks, str) else checks
    if examples < 1:
        raise BadInput(f"an audit needs at least one example, not {examples}.")
    pictured = find_heatmap(heatmap)
    retrained = refit or isinstance(subject, KnowsItsTwins)
    chosen = choose_settings(checks, settings or {}, refit=retrained, subject=subject, heatmap=pictured)
    corpus = load_task(data, data_dir=data_dir, trainable=False)
    trained_on = _trained_on(subject, corpus, train, data_dir)
    rows = choose_rows(subject, corpus, split, trained_on=trained_on, named=train is not None, name=name)
    rows = without_joined_texts(subject, without_long_texts(subject, rows))
    whole = in_units(subject, _relabelled(subject, corpus, rows.examples), units)
    for explainer in (pictured.explainer, *explainers_in(chosen)):
        find_explainer(explainer)  # a wrong name is said before anything runs
        if explainer.startswith("file:"):
            check_ids(explainer.removeprefix("file:"), [e.id for s in corpus.splits.values() for e in s])
    picked = sorted(stream(seed, "audit sample").permutation(len(whole))[:examples].tolist())
    sample = [whole[i] for i in picked]
    subject = in_one_way(subject, sample)
    case = Case(
        subject,
        sample,
        labels=_labels(subject, corpus),
        seed=seed,
        tested=whole,
        trained_on=trained_on,
        fits=fits_for(subject, trained_on, store=Path(store), vectors=vectors, device=device) if refit else None,
        heatmap=pictured,
    )
    card = chosen.pop("card")
    rows = with_remark(subject, rows, case.examples)
    return Plan(name, case, corpus, rows, chosen, card, units, all_fits)


def _each_once(recipes: Iterable[Recipe]) -> tuple[Recipe, ...]:
    return tuple({recipe.id: recipe for recipe in recipes}.values())


def _trained_on(subject: Subject, corpus: Corpus, train: Any, data_dir: Path | str | None) -> Corpus | None:
    """What the subject was trained on: what was named, the audited data itself, or its task; None if none of these."""
    if train is not None:
        return load_task(train, data_dir=data_dir)
    task = subject.recipe.task if subject.recipe is not None else subject.id.rpartition("@")[2]
    if task in (corpus.reference, corpus.name):
        return corpus
    name = task.partition("@")[0]
    try:
        return load_task(name, data_dir=data_dir) if is_task(name) else None
    except HeatcheckError:
        return None  # its corpus is not on this machine


def _labels(subject: Subject, corpus: Corpus) -> tuple[str, ...]:
    return tuple(getattr(subject, "labels", corpus.labels))


def _relabelled(subject: Subject, corpus: Corpus, examples: Sequence[Example]) -> list[Example]:
    """Labels as the subject numbers them, by name."""
    labels = _labels(subject, corpus)
    foreign = [name for name in corpus.labels if name not in labels]
    if getattr(subject, "alone", False) and len(foreign) < len(corpus.labels):  # one answer, and all others
        return numbered(examples, [labels.index(name) if name in labels else 0 for name in corpus.labels])
    if foreign:
        hint = ""
        if asked_of(subject):
            hint = f" Give its labels a word each, for example --labels {','.join(f'{n}=WORD' for n in corpus.labels)}."
        elif isinstance(subject, HasLayers) and len(labels) >= len(corpus.labels):
            hint = f" Name its outputs in their order, for example --labels {','.join(corpus.labels)}."
        elif options := mending_options(corpus, labels):
            hint = f" Add {options}."
        raise BadInput(
            f"{corpus.name} has the label {foreign[0]!r}, which {subject.id} does not know; "
            f"its labels are {', '.join(labels)}.{hint}"
        )
    return numbered(examples, [labels.index(name) for name in corpus.labels])

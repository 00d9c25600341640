"""The units of a study (cells): a model and the checks on it, measured by one job and saved in a small folder.

The small folder is enough to draw a page: neither the model nor its corpus need be on that machine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from heatcheck.auditing import Plan, plan_audit, run_checks
from heatcheck.checks import CHECKS
from heatcheck.checks.case import PUBLISHED
from heatcheck.checks.retrained_answers import fits_of
from heatcheck.data import Corpus
from heatcheck.engine import Facts, Job, content_id, read_json, write_json
from heatcheck.errors import BrokenFolder
from heatcheck.models import Recipe, load_folder
from heatcheck.results import CheckResult, keep_results, read_results
from heatcheck.studies.corpora import Source, about, load
from heatcheck.training import fit_jobs, pick_device, plan_recipe, work_of
from heatcheck.training.fit import SUMMARY

CELL = "cell.json"


class Cell(NamedTuple):
    """One model of a study, and the checks on it."""

    name: str  # unique within the study: "sst", "babi_1, linear", "imdb_small, HAN rnn, seed 3"
    task: str  # the name of its corpus in the study
    encoder: str  # as a Row shows it
    attention: str
    choices: Mapping[str, Any]  # of plan_recipe: preset, encoder, attention, vectors, epochs, …
    checks: tuple[str, ...]
    settings: Mapping[str, Any]  # of the checks, by "check.key"
    seed: int = 0
    examples: int = 500  # of the test texts, for checks that use a sample
    seen: str = ""  # what else a reader must know about it
    refit: bool = False  # also retrain the models that its checks plan
    own: Mapping[str, Any] = MappingProxyType({})  # settings of what the study keeps beside the results


class Extra(NamedTuple):
    """What a study's own function gets beside a plan and the results, if its cells have settings of their own."""

    own: Facts  # the cell's
    data_dir: str | None  # folder of the corpora


# Of a plan and the results of its checks; and of an `Extra`, if the cell has settings of its own.
More: TypeAlias = Callable[..., Facts]


class Measured(NamedTuple):
    """The results of a cell, read back from its small folder."""

    cell: Cell
    about: Facts  # labels, sizes, what was left out, checks that were not run
    accuracy: float  # on all of test
    predicted: Mapping[str, int]  # id of an audited test text -> the number of the label given to it
    results: Mapping[str, CheckResult]
    facts: Facts = MappingProxyType({})  # all that its folder says, with what the study's own job added
    folder: str = ""  # its name under `results`


def plan_job(study: str, version: int, cell: Cell, corpus: Corpus, where: Facts) -> Job:
    """The job that measures one cell, named by all that decides its numbers."""
    recipe = plan_recipe(corpus, seed=cell.seed, **cell.choices)
    decides = [version, cell.name, recipe.id, list(cell.checks), dict(cell.settings), cell.examples]
    if not cell.refit:
        decides.append("no other fits")
    if cell.own:
        decides.append(dict(cell.own))
    readable = cell.name.replace(", ", "-").replace(" ", "-")
    of_cell = {name: dict(getattr(cell, name)) for name in ("choices", "settings", "own")}
    argument = {**cell._asdict(), **of_cell}
    return Job(
        f"{readable}-{content_id({study: decides})}",
        f"{cell.name}: checks",
        (),
        {**argument, "checks": list(cell.checks), "recipe": asdict(recipe), "base": recipe.id, "failed": {}, **where},
    )


def plan_cell(argument: Facts, store: Path, device: str, corpus: Corpus) -> Plan:
    """The audit of a trained model: planned on the CPU, measured on the device of the training runs."""
    return plan_audit(
        load_folder(store / argument["base"], device=device),
        corpus,
        name=argument["name"],
        checks=argument["checks"],
        settings={**as_published(argument["checks"]), **argument["settings"]},
        examples=argument["examples"],
        refit=argument["refit"],
        all_fits=True,
        vectors=argument["choices"].get("vectors"),
        store=store,
        device=argument["device"],
    )


AS_PUBLISHED = {"adversarial_model": {"search": False, "starts": ["fresh"]}}  # every λ, each model drawn anew


def as_published(checks: Sequence[str]) -> dict[str, Any]:
    """Settings as in papers: a model's own probabilities, where an audit standardises them, and every adversary.

    >>> as_published(["agreement", "necessity"])
    {'agreement.logits': 'published'}
    >>> as_published(["adversarial_model"])
    {'adversarial_model.search': False, 'adversarial_model.starts': ['fresh']}
    """
    found: dict[str, Any] = {}
    for check in checks:
        how: dict[str, Any] = dict(AS_PUBLISHED.get(check, {}))
        how |= {"logits": PUBLISHED} if hasattr(CHECKS[check].settings(), "logits") else {}
        found |= {f"{check}.{key}": value for key, value in how.items()}
    return found


def measure_cell(argument: Facts, folder: Path, store: Path, *, more: More) -> None:
    """Run the checks on one model and its retrained models, and keep all that a page needs.

    What `more` returns is kept too; `Measured.facts` has it again.
    """
    source, fits = Source(*argument["source"]), store.parent / "fits"
    corpus = load(source, argument["data_dir"])
    plan = plan_cell(argument, fits, str(pick_device(argument["device"])), corpus)
    if plan.case.fits is not None:
        fits_of(plan.case).failed.update(argument["failed"])
    results, not_run = run_checks(plan)
    keep_results(results, folder)
    extra = (Extra(argument["own"], argument["data_dir"]),) if argument["own"] else ()
    facts = about(source, corpus)
    facts["differs"] = "; ".join(part for part in (facts["differs"], argument["seen"]) if part)
    write_json(
        folder / CELL,
        {
            "name": argument["name"],
            "about": {**facts, "not_run": not_run},
            "test": read_json(fits / argument["base"] / SUMMARY)["test"],  # evaluated when it was trained
            "predicted": _predicted(plan),
            **more(plan, results, *extra),
        },
    )


def _predicted(plan: Plan) -> dict[str, int]:
    """The label given to each text that the checks have read: all of test if they retrain models, else the sample."""
    case = plan.case
    if case.fits is not None:
        return dict(zip(case.own.ids, case.own.predicted.tolist(), strict=True))
    read = case.examples if plan.checks else ()
    return {example.id: int(label) for example, label in zip(read, case.predicted if read else (), strict=True)}


def read_cell(cell: Cell, corpus: Corpus, folder: Path) -> Measured:
    """The kept results of a cell."""
    facts = read_json(folder / CELL)
    try:
        predicted, test = facts["predicted"], facts.get("test")
        if test is None:  # an older version kept the label of every test text instead
            right = [predicted[example.id] == example.label for example in corpus["test"]]
            test = {"accuracy": sum(right) / len(right)}
        return Measured(cell, facts["about"], test["accuracy"], predicted, read_results(folder), facts, folder.name)
    except (KeyError, TypeError):
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again") from None


def not_fitted(measured: Iterable[Measured]) -> dict[str, str]:
    """The retrained models that failed, each by the name of its cell and its own, with the reason."""
    return {
        f"{one.cell.name}: {fit}": f"{reason} (delete results/{one.folder} to try again)"
        for one in measured
        if one.cell.refit
        for result in one.results.values()
        for fit, reason in result.not_run.items()
    }


def base_job(job: Job, corpus: Corpus, store: Path) -> Job:
    """The training run that a cell is about."""
    cell = job.argument
    recipe, vectors = Recipe(**cell["recipe"]), cell["choices"].get("vectors")
    (base,) = fit_jobs([recipe], corpus, store, vectors=vectors, device=cell["device"])
    return _named(base, cell["name"], corpus)


def other_jobs(plan: Plan, failed: Mapping[str, str] | None = None) -> list[tuple[float, Job]]:
    """Every retrained model that the checks of a cell want, with an estimate of the work.

    With `failed`, the training runs that failed so far, by id with the reason: what they want after those before it.
    """
    fits = fits_of(plan.case)
    fits.make(())  # puts the base where its adversaries look for it
    fits.failed.update(failed or {})
    words = sum(len(example.words) for example in fits.corpus["train"])
    wanted = plan.recipes if failed is None else plan.further
    recipes = [recipe for recipe in wanted if recipe != fits.recipe]
    jobs = fit_jobs(recipes, fits.corpus, fits.store, vectors=fits.vectors, device=fits.device)
    work = (work_of(recipe, words) for recipe in recipes)
    return list(zip(work, (_named(job, plan.name, fits.corpus) for job in jobs), strict=True))


def _named(job: Job, cell: str, corpus: Corpus) -> Job:
    """Two models of one task are told apart by name too."""
    return job._replace(name=cell + job.name.removeprefix(corpus.name))

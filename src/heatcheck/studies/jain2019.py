"""Jain & Wallace 2019, "Attention is not Explanation": nine tasks, three encoders, two attentions, several seeds.

One job trains one model and runs the three algorithms on a sample of its test texts. Its folder holds the values of
every example, so the page can be drawn again without running anything.
"""

import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck import engine
from heatcheck.auditing import audit
from heatcheck.checks.permutation import BINS, bin_of
from heatcheck.data import Corpus
from heatcheck.engine import Job, Outcome, content_id, read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import Audit, Key, Model, Row, StudyResult, find_key, key
from heatcheck.studies.corpora import DATA, about, as_released, load, load_all, shown_settings
from heatcheck.studies.study import Study, Where, check_names, check_place, read_published, row_of
from heatcheck.training import Fit, plan_recipe, train

VERSION = 3  # raised by hand when a job's results change
TASKS = ("sst", "imdb_small", "20news_sports", "ag_news", "ade", "babi_1", "babi_2", "babi_3", "snli")
STATES = ("jw-paper", "jw-release")  # of the authors' code
ENCODERS, ATTENTIONS = ("average", "cnn", "lstm"), ("tanh", "dot")
PAIRS = (
    ("attention", "gradient"),
    ("attention", "leave_one_out"),
    ("gradient", "leave_one_out"),
    ("attention", "gradient_uniform"),
    ("attention", "random"),
)
EPSILONS = (0.05, 0.01, 0.001)
HEATMAPS = 6  # of the first seed, for the page
AGREEMENT = ("floor", "difference", "tau_above_uniform", "top_k_overlap")  # of pairs; each a mean over texts
OPERATORS = ("deletion", "masking")  # of words, for K
LEAST_ROOM = 0.02  # lead of the best ranking over random removal; below it, K is not computed

SEEDS, MORE_SEEDS = 3, {"sst": 5}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the jobs' ids."""

    tasks: tuple[str, ...] = TASKS
    encoders: tuple[str, ...] = ENCODERS
    attentions: tuple[str, ...] = ATTENTIONS
    seeds: int | None = None  # None: 3, and 5 for sst
    examples: int = 500
    preset: str = "jw-release"
    vectors: str | None = None
    epochs: int | None = None  # None: the preset's
    patience: int | None = None  # None: the preset's, which never stops early
    texts: int | None = None  # of each split, for a quick run
    search: bool = True  # also the published search for adversarial weights


QUICK = Settings(seeds=1, examples=40, epochs=1, texts=200)


def run(
    settings: Settings,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Train and audit what is missing under `folder`, then gather every number beside the published one."""
    check_names("task of jain2019", settings.tasks, TASKS)
    check_names("encoder", settings.encoders, ENCODERS)
    check_names("attention", settings.attentions, ATTENTIONS)
    check_names("preset of jain2019", [settings.preset], STATES)
    check_place(folder, device)
    corpora, missing = load_all({task: as_released(task) for task in settings.tasks}, settings.texts, data_dir)
    jobs = [
        job
        for task, corpus in corpora.items()
        for job in plan_jobs(settings, task, corpus, {"data_dir": None if data_dir is None else str(data_dir)}, device)
    ]
    failed = dict(missing)
    done: list[Outcome] = []
    for outcome in engine.map(run_job, jobs, folder / "cells", workers=workers, progress=progress):
        if outcome.folder is None:
            failed[outcome.job.name] = outcome.reason
        else:
            done.append(outcome)
    if not done:
        raise BadInput(f"no model could be trained. The first error: {next(iter(failed.values()))}")
    cells = [read_cell(outcome) for outcome in sorted(done, key=lambda outcome: outcome.job.name)]
    return gather(settings, cells, corpora, failed)


def plan_jobs(settings: Settings, task: str, corpus: Corpus, where: Mapping[str, Any], device: str) -> Iterator[Job]:
    """One job per model, named by all that decides its numbers."""
    seeds = settings.seeds or MORE_SEEDS.get(task, SEEDS)
    for encoder in settings.encoders:
        for attention in settings.attentions:
            for seed in range(seeds):
                choices = _choices(settings, task, encoder, attention)
                recipe = plan_recipe(corpus, seed=seed, **choices)
                decides = [VERSION, recipe.id, settings.examples, settings.search, task]
                yield Job(
                    content_id({"jain2019": decides}),
                    f"{task}, {encoder}, {attention}, seed {seed}",
                    (),
                    {
                        "task": task,
                        "texts": settings.texts,
                        "encoder": encoder,
                        "attention": attention,
                        "seed": seed,
                        "choices": choices,
                        "examples": settings.examples,
                        "search": settings.search,
                        "device": device,
                        **where,
                    },
                )


def run_job(argument: Mapping[str, Any], folder: Path, _store: Path) -> None:
    """Train one model (unless it exists) and audit it; the sample of texts is the same for every seed."""
    corpus = load(as_released(argument["task"]), argument["texts"], argument["data_dir"])
    fit = train(
        corpus,
        seed=argument["seed"],
        device=argument["device"],
        progress=False,
        **argument["choices"],
    )
    explainers = ("attention", "gradient", "gradient_uniform", "leave_one_out", "relevance", "random")
    found = audit(
        fit.subject,
        corpus,
        checks=["agreement", "permutation", "counterfactual", "erasure"],
        examples=argument["examples"],
        settings={
            "agreement.explainers": explainers,
            "agreement.logits": "published",  # gradients and leave-one-out of the model's own probabilities
            "agreement.draws": 1,
            "permutation.draws": 1,
            "counterfactual.draws": 1,
            "erasure.draws": 1,
            "counterfactual.search": "jain2019" if argument["search"] else "no",
        },
    )
    examples = values_of(found)
    named: dict[str, Any] = {name.replace("|", "+"): of for name, of in examples.items()}  # no pipes in file names
    np.savez_compressed(folder / "examples.npz", **named)
    write_json(folder / "cell.json", {"cell": _cell(argument, fit, found), "heatmaps": _heatmaps(found, examples)})


def values_of(found: Audit) -> dict[str, np.ndarray]:
    """Every per-example value of every check over all audited examples; nan where a check excluded an example."""
    place = {looked.id: row for row, looked in enumerate(found.examples)}
    number: dict[str | None, int] = {label: at for at, label in enumerate(found.labels or ())}
    values = {"predicted": np.array([number[looked.predicted] for looked in found.examples], dtype=float)}
    for result in found.results.values():
        rows = [place[name] for name in result.examples]
        for name, of in result.per_example.items():
            values[name] = np.full(len(found.examples), np.nan)
            values[name][rows] = of
    return values


def quantities(cell: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> dict[tuple[Key, str, str], float]:
    """Every number of one model, by quantity, predicted class and quarter of the largest weight."""
    found: dict[tuple[Key, str, str], float] = {
        (key("score"), "", ""): cell["score"],
        (key("accuracy"), "", ""): cell["accuracy"],
    }
    classes = {"": np.ones(len(values["predicted"]), bool)}
    classes |= {_class_name(cell, n): values["predicted"] == n for n in range(len(cell["labels"]))}
    # quantity of a row -> the values of each text that it is the mean of
    means = {key("tau", pair=pair): key("tau", pair=pair) for pair in PAIRS}
    means |= {of: of for of in map(find_key, values) if of is not None and of.name in AGREEMENT and of.by}
    means |= {of: of for of in (key("q"), key("flips"), key("most"))}
    means[key("null")] = key("null", logits="standardised", epsilon=0.05)
    if cell["method"] == "exact":  # a theorem about two labels and a linear read-out
        means[key("floor")] = key("floor")
    for kind in ("jsd", "searched", "upper", "null"):
        means |= {key(kind, epsilon=e): key(kind, logits="published", epsilon=e) for e in EPSILONS}
    for title, members in classes.items():
        for quantity, of in means.items():
            if of.text in values and np.isfinite(values[of.text][members]).any():
                found[quantity, title, ""] = float(np.nanmean(values[of.text][members]))
        for pair in PAIRS:
            name = key("p", pair=pair).text
            if name in values and members.any():
                p = values[name][members]
                if np.isfinite(p).any():
                    found[key("significant", pair=pair), title, ""] = float((p[np.isfinite(p)] <= 0.05).mean())
        quarter = bin_of(np.nan_to_num(values["max_attention"]))
        for number, name in enumerate(("", *BINS)):
            among = members & ((quarter == number - 1) | (number == 0)) & np.isfinite(values["delta"])
            if among.any():
                found[key("permutation"), title, name] = float(np.median(values["delta"][among]))
    share = "jsd:standardised:0.05", "most"
    known = np.isfinite(values[share[0]])
    found[key("U"), "", ""] = float(values[share[0]][known].sum() / values[share[1]][known].sum())
    for operator in OPERATORS:
        found |= {(quantity, "", ""): value for quantity, value in shares_of_effect(values, operator)}
    return found


def shares_of_effect(values: Mapping[str, np.ndarray], operator: str) -> Iterator[tuple[Key, float]]:
    """K of one model and the lead that K is a share of; no K if no other ranking clearly beats random removal."""
    names = [f"effect:{ranking}:{operator}" for ranking in ("attention", "random", "best rival")]
    if all(name in values for name in names):
        attention, random, best = (float(np.nanmean(values[name])) for name in names)
        yield key("room", operator=operator), best - random
        if best - random > LEAST_ROOM:
            yield key("K", operator=operator), (attention - random) / (best - random)


def read_cell(outcome: Outcome) -> dict[str, Any]:
    """The results of a job: its facts, and the values of its examples."""
    assert outcome.folder is not None
    facts = read_json(outcome.folder / "cell.json")
    try:
        with np.load(outcome.folder / "examples.npz", allow_pickle=False) as opened:
            values = {name.replace("+", "|"): opened[name] for name in opened.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error):
        raise BrokenFolder(f"{outcome.folder} is damaged: delete it and run the same command again") from None
    return {**facts, "values": with_valid_floors(facts["cell"], values)}


def with_valid_floors(cell: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Drop the mechanical floors of encoders with context: earlier runs kept some, and they mean nothing there."""
    kept = cell["encoder"] == "average"
    return {name: of for name, of in values.items() if kept or not _mechanical_floor(find_key(name))}


def _mechanical_floor(of: Key | None) -> bool:
    return of is not None and of.name == "floor" and "pair" in of.by


def gather(
    settings: Settings, cells: Sequence[Mapping[str, Any]], corpora: Mapping[str, Corpus], failed: Mapping[str, str]
) -> StudyResult:
    """All cells as one result: numbers over seeds beside the published ones."""
    published = {
        (one.task, one.encoder, one.attention, one.key, one.of_class, one.bin): one
        for one in read_published("jain2019")
    }
    by_model: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for cell in cells:
        facts = cell["cell"]
        by_model[facts["task"], facts["encoder"], facts["attention"]].append(cell)
    rows: list[Row] = []
    models: list[Model] = []
    for (task, encoder, attention), seeds in by_model.items():
        name, not_comparable, _ = DATA[task]
        not_comparable = "a smoke run" if settings.texts else not_comparable
        numbers = defaultdict(list)
        for seed in seeds:
            for place, value in quantities(seed["cell"], seed["values"]).items():
                numbers[place].append(value)
        for (quantity, of_class, quarter), of_seeds in numbers.items():
            beside = _published_as(quantity)
            wanted = None if beside is None else (name, encoder, attention, beside, of_class, quarter)
            where = Where(task, encoder, attention, quantity, of_class, quarter)
            rows.append(row_of(where, of_seeds, published.get(wanted) if wanted else None, not_comparable))
        every = {of for seed in seeds for of in seed["values"]}
        values = {
            of: np.concatenate([seed["values"][of] for seed in seeds if of in seed["values"]]) for of in sorted(every)
        }
        labels = tuple(seeds[0]["cell"]["labels"])
        models.append(Model(task, encoder, attention, labels, len(seeds), values, seeds[0]["heatmaps"]))
    return StudyResult(
        name="jain2019",
        title="Attention is not Explanation, reproduced",
        paper=PAPER,
        rows=tuple(rows),
        models=tuple(models),
        tasks={task: about(task, corpus, smoke=settings.texts is not None) for task, corpus in corpora.items()},
        notes=(SMOKE, *NOTES) if settings.texts else NOTES,
        failed=failed,
        settings=shown_settings(settings, corpora),
        published=tuple(read_published("jain2019")),
    )


def _choices(settings: Settings, task: str, encoder: str, attention: str) -> dict[str, Any]:
    """Options of training; stories have no pretrained vectors, as in the paper."""
    vectors = None if task.startswith("babi") else settings.vectors
    choices = {"preset": settings.preset, "encoder": encoder, "attention": attention, "vectors": vectors}
    changes = {"epochs": settings.epochs, "patience": settings.patience}
    return choices | {name: value for name, value in changes.items() if value is not None}


def _cell(argument: Mapping[str, Any], fit: Fit, found: Audit) -> dict[str, Any]:
    test = fit.test.facts()
    return {
        **{key: argument[key] for key in ("task", "encoder", "attention", "seed")},
        "labels": list(found.labels or ()),
        "score": test["accuracy"] if test["f1"] is None else test["f1"],  # the paper's: F1 of two labels, else accuracy
        "accuracy": test["accuracy"],
        "majority": test["majority"],
        "audited": found.n,
        "excluded": {name: dict(result.excluded) for name, result in found.results.items()},
        "not_run": found.missing,
        "model": fit.subject.id,
        "method": found.results["counterfactual"].facts["method"],
    }


def _heatmaps(found: Audit, values: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Texts of at most 40 words: those whose weights can differ most, and least, without changing the answer."""
    jsd, change = values["jsd:published:0.05"], values["change:published:0.05"]
    short = [row for row, looked in enumerate(found.examples) if len(looked.words) <= 40 and np.isfinite(jsd[row])]
    ordered = sorted(short, key=lambda row: -jsd[row])
    half = HEATMAPS // 2
    chosen = ordered if len(ordered) <= HEATMAPS else ordered[:half] + ordered[-half:]
    return [
        {
            "words": list(found.examples[row].words),
            "text_pair": found.examples[row].text_pair,
            "predicted": found.examples[row].predicted,
            "probability": found.examples[row].probability,
            "attention": list(found.examples[row].scores["attention"]),
            "counterfactual": list(found.examples[row].scores["counterfactual"]),
            "jsd": float(jsd[row]),
            "change": float(change[row]),
        }
        for row in chosen
    ]


def _class_name(cell: Mapping[str, Any], number: int) -> str:
    """The class as the published tables name it: by number for two labels, by name for more."""
    return str(number) if len(cell["labels"]) == 2 else str(cell["labels"][number])


def _published_as(quantity: Key) -> Key | None:
    """The published quantity to compare with: the published ε-max JSD is a search result, so ours is too."""
    jsd, searched = key("jsd", epsilon=0.05), key("searched", epsilon=0.05)
    return jsd if quantity == searched else None if quantity == jsd else quantity


PAPER = "Jain & Wallace 2019, Attention is not Explanation (NAACL)"
SMOKE = "This is a smoke run: a few texts, one epoch, one seed. Ignore its numbers."
NOTES = (
    "The authors' own two runs (the paper, and the code they released) differ by 0.06 in mean τ on average. The "
    "largest difference is 0.28. So a single published number is not an exact target.",
    "A published number is one run, so it is compared with one run. One further seed of ours falls within mean ± t s "
    "√(1 + 1/n) in 95 of 100 cases. A published number there counts as inside the seed interval.",
    "In a model without context, the gradient and leave-one-out contain the attention weight as a factor. So τ with "
    "attention is partly mechanical. Its mechanical floor is the τ that remains when the relevances are shuffled among "
    "the words; the table shows it. CNNs and BiLSTMs have no such floor, because a word also acts through its "
    "neighbours' states. For every model the table also has τ with the gradient under uniform weights, which contains "
    "no weight.",
    "A large ε-max JSD alone says nothing. In any model with a linear read-out, some mixture of two words gives "
    "exactly the same output. Compare it with the floor, which depends on the heatmap alone, and with the null, which "
    "shuffles the relevances. Compare it also with q, the share of shuffles that keep the prediction.",
    "Word vectors: the published models start from fastText or GloVe in 300 dimensions, ours from the file given by "
    "--vectors.",
)

jain2019 = Study(
    "jain2019",
    PAPER,
    "agreement with gradients and leave-one-out; shuffled and adversarial weights",
    TASKS,
    run,
    Settings,
    QUICK,
)

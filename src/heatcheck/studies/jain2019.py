"""Jain & Wallace 2019, "Attention is not Explanation": nine tasks, three encoders, two attentions, several seeds.

Every model is a cell (studies/cells.py) with the checks that hold the three algorithms.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heatcheck.auditing import Plan
from heatcheck.auditing.audited_examples import audited_examples
from heatcheck.checks.permutation import BINS, bin_of
from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Key, Model, Row, find_key, key
from heatcheck.studies.cells import Cell, Measured
from heatcheck.studies.corpora import DATA, Source, about, as_released
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import (
    ALL,
    NO_VECTORS,
    PATIENCE,
    TEXTS,
    VECTORS,
    Found,
    Gathered,
    Place,
    Study,
    check_names,
    given_of,
    setting,
)

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
EXPLAINERS = ("attention", "gradient", "gradient_uniform", "leave_one_out", "relevance", "random")
EPSILONS = (0.05, 0.01, 0.001)
HEATMAPS = 6  # of the first seed, for the page
AGREEMENT = ("floor", "difference", "tau_above_uniform", "top_k_overlap")  # of pairs; each a mean over texts
OPERATORS = ("deletion", "masking")  # of words, for K
LEAST_ROOM = 0.02  # lead of the best ranking over random removal; below it, K is not computed

SEEDS, MORE_SEEDS = 3, {"sst": 5}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the jobs' ids."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    encoders: tuple[str, ...] = setting(ENCODERS, "Encoders: average, cnn or lstm.")
    attentions: tuple[str, ...] = setting(ATTENTIONS, "Attention types: tanh (additive) or dot.")
    seeds: int | None = setting(None, "Models per kind.", none="3, and 5 for sst")
    examples: int = setting(500, "Test examples per model.")
    preset: str = setting("jw-release", "Training preset: jw-release chooses the epoch on dev, jw-paper on test.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's")
    patience: int | None = setting(None, PATIENCE, none="the preset's, which never stops early", least=0)
    texts: int | None = setting(None, TEXTS, none=ALL)
    search: bool = setting(True, "Also run the published search for adversarial weights.")


QUICK = Settings(seeds=1, examples=40, epochs=1, texts=200)


def refuse(settings: Settings) -> None:
    check_names("encoder", settings.encoders, ENCODERS)
    check_names("attention", settings.attentions, ATTENTIONS)
    check_names("preset of jain2019", [settings.preset], STATES)


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(as_released(task), settings.texts) for task in settings.tasks}


def plan(settings: Settings, _: Place, __: Found) -> Iterator[Sequence[Cell]]:
    """One cell per task, encoder, attention and seed; the sample of texts is the same for every seed."""
    yield [
        _cell(settings, task, encoder, attention, seed)
        for task in settings.tasks
        for encoder in settings.encoders
        for attention in settings.attentions
        for seed in range(settings.seeds or MORE_SEEDS.get(task, SEEDS))
    ]


def _cell(settings: Settings, task: str, encoder: str, attention: str, seed: int) -> Cell:
    vectors = None if task.startswith("babi") else settings.vectors  # stories have none, as in the paper
    choices = {"preset": settings.preset, "encoder": encoder, "attention": attention, "vectors": vectors}
    return Cell(
        f"{task}, {encoder}, {attention}, seed {seed}",
        task,
        encoder,
        attention,
        choices | given_of(settings, "epochs", "patience"),
        ("agreement", "permutation", "counterfactual", "erasure"),
        {
            "agreement.explainers": list(EXPLAINERS),
            # Intervals are over seeds here.
            **{f"{check}.draws": 1 for check in ("agreement", "permutation", "counterfactual", "erasure")},
            "counterfactual.search": "jain2019" if settings.search else "no",
        },
        seed=seed,
        examples=settings.examples,
    )


def heatmaps_of(plan: Plan, results: Mapping[str, CheckResult]) -> Facts:
    """Texts of at most 40 words: those whose weights can differ most, and least, without changing the answer."""
    values = values_of([example.id for example in plan.case.examples], results)
    jsd, change = values["jsd:published:0.05"], values["change:published:0.05"]
    examples, _ = audited_examples(plan.case, results)
    short = [row for row, one in enumerate(examples) if len(one.words) <= 40 and np.isfinite(jsd[row])]
    ordered = sorted(short, key=lambda row: -jsd[row])
    half = HEATMAPS // 2
    chosen = ordered if len(ordered) <= HEATMAPS else ordered[:half] + ordered[-half:]
    return {
        "heatmaps": [
            {
                "words": list(examples[row].words),
                "text_pair": examples[row].text_pair,
                "predicted": examples[row].predicted,
                "probability": examples[row].probability,
                "attention": list(examples[row].scores["attention"]),
                "counterfactual": list(examples[row].scores["counterfactual"]),
                "jsd": float(jsd[row]),
                "change": float(change[row]),
            }
            for row in chosen
        ]
    }


def values_of(ids: Sequence[str], results: Mapping[str, CheckResult]) -> dict[str, np.ndarray]:
    """Every per-example value of every check over all audited examples; nan where a check excluded an example."""
    place = {name: row for row, name in enumerate(ids)}
    values = {}
    for result in results.values():
        rows = [place[name] for name in result.examples]
        for name, of in result.per_example.items():
            values[name] = np.full(len(ids), np.nan)
            values[name][rows] = of
    return values


def values_of_cell(one: Measured) -> dict[str, np.ndarray]:
    """The same with the predicted labels, as kept."""
    predicted = {"predicted": np.array([*one.predicted.values()], dtype=float)}
    return predicted | values_of([*one.predicted], one.results)


def quantities(
    test: Facts, labels: Sequence[str], values: Mapping[str, np.ndarray], *, exact: bool
) -> dict[tuple[Key, str, str], float]:
    """Every number of one model, by quantity, predicted class and quarter of the largest weight.

    Args:
        test: its scores on test.
        exact: whether the most different weights were found exactly.
    """
    found: dict[tuple[Key, str, str], float] = {
        # The paper's: F1 of two labels, else accuracy.
        (key("score"), "", ""): test["accuracy"] if test["f1"] is None else test["f1"],
        (key("accuracy"), "", ""): test["accuracy"],
    }
    classes = {"": np.ones(len(values["predicted"]), bool)}
    classes |= {_class_name(labels, n): values["predicted"] == n for n in range(len(labels))}
    # quantity of a row -> the values of each text that it is the mean of
    means = {key("tau", pair=pair): key("tau", pair=pair) for pair in PAIRS}
    means |= {of: of for of in map(find_key, values) if of is not None and of.name in AGREEMENT and of.by}
    means |= {of: of for of in (key("q"), key("flips"), key("most"))}
    means[key("null")] = key("null", logits="standardised", epsilon=0.05)
    if exact:  # a theorem about two labels and a linear read-out
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


def gather(settings: Settings, found: Found) -> Gathered:
    """All cells as one result: numbers over seeds beside the published ones."""
    published = {(one.task, one.encoder, one.attention, one.key, one.of_class, one.bin): one for one in found.published}
    by_model: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    for _, one in sorted(found.measured.items()):
        by_model[one.cell.task, one.cell.encoder, one.cell.attention].append(one)
    rows: list[Row] = []
    models: list[Model] = []
    for (task, encoder, attention), seeds in by_model.items():
        name, not_comparable, _ = DATA[task]
        not_comparable = "a smoke run" if settings.texts else not_comparable
        labels = tuple(seeds[0].about["labels"])
        of_seeds = [values_of_cell(one) for one in seeds]
        numbers = defaultdict(list)
        for one, values in zip(seeds, of_seeds, strict=True):
            exact = one.results["counterfactual"].facts["method"] == "exact"
            for place, value in quantities(one.facts["test"], labels, values, exact=exact).items():
                numbers[place].append(value)
        for (quantity, of_class, quarter), numbers_of_seeds in numbers.items():
            beside = _published_as(quantity)
            wanted = None if beside is None else (name, encoder, attention, beside, of_class, quarter)
            where = Where(task, encoder, attention, quantity, of_class, quarter)
            rows.append(row_of(where, numbers_of_seeds, published.get(wanted) if wanted else None, not_comparable))
        every = {of for values in of_seeds for of in values}
        together = {of: np.concatenate([values[of] for values in of_seeds if of in values]) for of in sorted(every)}
        models.append(Model(task, encoder, attention, labels, len(seeds), together, seeds[0].facts["heatmaps"]))
    return Gathered(rows, models, {task: about(found.sources[task], corpus) for task, corpus in found.corpora.items()})


def _class_name(labels: Sequence[str], number: int) -> str:
    """The class as the published tables name it: by number for two labels, by name for more."""
    return str(number) if len(labels) == 2 else labels[number]


def _published_as(quantity: Key) -> Key | None:
    """The published quantity to compare with: the published ε-max JSD is a search result, so ours is too."""
    jsd, searched = key("jsd", epsilon=0.05), key("searched", epsilon=0.05)
    return jsd if quantity == searched else None if quantity == jsd else quantity


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
    "--set vectors.",
)

jain2019 = Study(
    name="jain2019",
    title="Attention is not Explanation, reproduced",
    paper="Jain & Wallace 2019, Attention is not Explanation (NAACL)",
    about="agreement with gradients and leave-one-out; shuffled and adversarial weights",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=4,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    more=heatmaps_of,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)

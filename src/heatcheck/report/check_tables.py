"""Tables of text for each check's results, every number beside its baseline."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from heatcheck.report.deception_tables import deception_tables
from heatcheck.report.dynamics_tables import dynamics_tables
from heatcheck.report.eraser_tables import eraser_tables
from heatcheck.report.flips_tables import flips_tables
from heatcheck.report.identifiability_tables import identifiability_tables
from heatcheck.report.lexicon import BY
from heatcheck.report.perturbation_tables import perturbation_tables
from heatcheck.report.plausibility_tables import plausibility_tables
from heatcheck.report.refit_tables import (
    adversarial_model_tables,
    gauge_tables,
    guide_tables,
    necessity_tables,
    seed_variance_tables,
)
from heatcheck.report.searched import is_beside
from heatcheck.report.table import Table, known_columns, pivot, with_n
from heatcheck.report.wording import counted, grouping, pair_of, quantity, said, spaced
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import interval, number, shown

_Places: TypeAlias = dict[tuple[str, str, str], dict[str, Measurement]]  # logits, ε, class or "" -> by name


def tables_of(result: CheckResult) -> list[Table]:
    """The tables of a check that have rows; an unknown check has none."""
    makers: dict[str, Callable[[CheckResult], list[Table]]] = {
        "agreement": _agreement,
        "erasure": _erasure,
        "eraser": eraser_tables,
        "perturbation": perturbation_tables,
        "flips": flips_tables,
        "permutation": _permutation,
        "counterfactual": _counterfactual,
        "identifiability": identifiability_tables,
        "gauge": gauge_tables,
        "necessity": necessity_tables,
        "seed_variance": seed_variance_tables,
        "adversarial_model": adversarial_model_tables,
        "deception": deception_tables,
        "dynamics": dynamics_tables,
        "guide": guide_tables,
        "plausibility": plausibility_tables,
    }
    return [table for table in makers[result.check](result) if table.rows] if result.check in makers else []


def every_number(result: CheckResult) -> Table:
    """All measurements of a check."""
    return Table(
        "Every number of this check",
        ("quantity", "of", "value", "95% interval", "n", "compared with"),
        [
            (
                quantity(m, result.check),
                grouping(m) or "all",
                number(m.value),
                interval(m),
                counted(m),
                spaced(m.baseline),
            )
            for m in result.measurements
        ],
    )


def _agreement(result: CheckResult) -> list[Table]:
    of_pair = defaultdict(list)
    for m in result.measurements:
        if "attention" in pair_of(m) and "class" not in m.by:
            of_pair[pair_of(m)].append(m)
    ks = {m.by["k"] for m in result.measurements if "k" in m.by}
    top = f"top {said(ks.pop())} words" if len(ks) == 1 else "top words"
    extra = known_columns(
        {
            column: {
                pair: _joined(m for m in found if m.name == name and m.by.get("correction", correction) == correction)
                for pair, found in of_pair.items()
            }
            for name, column, correction in (
                ("tau_mechanical_floor", "mechanical floor", ""),
                ("tau_above_uniform", "τ above uniform weight", ""),
                ("significant_share", "share of texts with a significant τ", "none"),
                ("significant_share", "the same after Holm correction", "holm"),
                ("top_k_overlap", f"{top} shared", ""),
                ("top_k_distance", f"{top}, distance", ""),
            )
        }
    )
    overall = Table(
        f"Attention and each other method{_about_floors(result)}",
        ("other method", "mean τ", "95% interval", *extra, "n"),
        [
            (_other(pair), number(tau.value), interval(tau), *(cells[pair] for cells in extra.values()), f"{tau.n:,}")
            for pair, found in of_pair.items()
            for tau in found
            if tau.name == "tau"
        ],
    )
    taus = [m for m in result.measurements if m.name == "tau" and "class" in m.by and "attention" in pair_of(m)]
    by_class = pivot("Mean τ by class", "class", [(str(m.by["class"]), _other(pair_of(m)), with_n(m)) for m in taus])
    differences = Table(
        "How much more the other methods agree with each other than with attention",
        ("difference", "mean", "95% interval", "n"),
        [
            (grouping(m), number(m.value), interval(m), f"{m.n:,}")
            for m in result.measurements
            if m.name == "tau_difference" and "class" not in m.by
        ],
    )
    return [overall, by_class, differences]


def _about_floors(result: CheckResult) -> str:
    """How to read the mechanical floors, and which methods have none."""
    floors = any(m.name == "tau_mechanical_floor" for m in result.measurements)
    read = ". A mean τ at or below its mechanical floor says nothing about the words" if floors else ""
    without = [spaced(rival) for rival in result.facts.get("without_floor", {})]
    none = (
        f". There is no mechanical floor for {' and '.join(without)}, because a word also acts through other words’ "
        "hidden states"
    )
    return read + (none if without else "")


def _erasure(result: CheckResult) -> list[Table]:
    room = {m.by.get("operator"): m for m in result.measurements if m.name == "room"}
    rows = []
    for m in result.measurements:
        if m.name == "K":
            beside = room.get(m.by.get("operator"))
            rows.append(
                (
                    said(m.by.get("operator")),
                    number(m.value),
                    interval(m),
                    shown(beside),
                    f"{m.n:,}",
                )
            )
    columns = ("words removed by", "K", "95% interval", "best other method minus random words", "n")
    caption = "K: the effect of attention's words, from random words (0) to the best other method's words (1)"
    return [Table(caption, columns, rows)]


def _permutation(result: CheckResult) -> list[Table]:
    overall = Table(
        "Effect of shuffling the weights on the output",
        ("quantity", "mean", "95% interval", "n"),
        [
            (quantity(m), number(m.value), interval(m), f"{m.n:,}")
            for m in result.measurements
            if m.name in ("delta", "q", "flips") and not m.by.keys() & {"class", "bin"}
        ],
    )
    deltas = [m for m in result.measurements if m.name == "delta" and "class" in m.by]
    cells = [(str(m.by["class"]), str(m.by.get("bin", "all")), with_n(m)) for m in deltas]
    title = "Median change of the output, by predicted class and largest weight of the text"
    by_class = pivot(title, "class", sorted(cells, key=lambda cell: (cell[1] != "all", cell[1])))
    return [overall, by_class]


def _counterfactual(result: CheckResult) -> list[Table]:
    at: _Places = defaultdict(dict)
    for m in result.measurements:
        if "epsilon" in m.by:
            at[str(m.by["logits"]), said(m.by["epsilon"]), str(m.by.get("class", ""))][m.name] = m
    everywhere = {m.name: m for m in result.measurements if m.name in ("floor", "most") and "class" not in m.by}
    beside = {name: column for name, column in _BESIDE_JSD.items() if is_beside(result, name)}
    return [_jsd(at, everywhere, beside), _shares(at), _jsd_by_class(at)]


_BESIDE_JSD = {
    "upper": "upper bound",
    "floor": "floor",
    "null": "shuffled relevances",
    "most": "largest, any answer",
    "gap": "missed by the published search",
}


def _jsd(at: _Places, everywhere: dict[str, Measurement], beside: Mapping[str, str]) -> Table:
    """One row per JSD, with all its baselines."""
    overall = {place: found | everywhere for place, found in at.items() if place[2] == "" and "jsd" in found}
    extra = known_columns(
        {
            column: {place: number(m.value) if (m := found.get(name)) else "" for place, found in overall.items()}
            for name, column in beside.items()
        }
    )
    return Table(
        "The largest JSD (nats) of weights that move the output by at most ε, with its baselines",
        ("logits", "ε", "JSD", "95% interval", *extra, "n"),
        [
            (
                *_where(place),
                number(found["jsd"].value),
                interval(found["jsd"]),
                *(cells[place] for cells in extra.values()),
                f"{found['jsd'].n:,}",
            )
            for place, found in overall.items()
        ],
    )


def _shares(at: _Places) -> Table:
    return Table(
        "U: the same JSD as a share of the largest one for any answer; 1 means no constraint at all",
        ("logits", "ε", "U", "95% interval", "U, shuffled relevances", "n"),
        [
            (
                *_where(place),
                number(found["U"].value),
                interval(found["U"]),
                shown(found.get("U_null")),
                f"{found['U'].n:,}",
            )
            for place, found in at.items()
            if place[2] == "" and "U" in found
        ],
    )


def _jsd_by_class(at: _Places) -> Table:
    cells = [
        (label, f"ε = {epsilon}, {BY.get(('logits', logits), logits)}", with_n(found["jsd"]))
        for (logits, epsilon, label), found in at.items()
        if label and "jsd" in found
    ]
    return pivot("The largest JSD by class", "class", cells)


def _where(place: tuple[str, str, str]) -> tuple[str, str]:
    return BY.get(("logits", place[0]), place[0]), place[1]


def _other(pair: Sequence[str]) -> str:
    return " and ".join(spaced(name) for name in pair if name != "attention")


def _joined(measurements: Iterable[Measurement]) -> str:
    """A cell with one number, or with several variants: '0.120 (uniform), 0.310 (shuffled)'."""
    found = list(measurements)
    if len(found) == 1:
        return number(found[0].value)
    return ", ".join(f"{number(m.value)} ({grouping(m, pair=False)})" for m in found)

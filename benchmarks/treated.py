"""The study behind docs/treatments.md: every treatment on three tasks, five seeds, for one command on a GPU.

python -m benchmarks.treated prepare data/treated          # here: the corpora as files
python -m benchmarks.treated run data/treated OUT          # on the GPU machine: JSON per task under OUT
python -m benchmarks.treated necessary data/treated OUT    # there too: sst retrained without attention
python -m benchmarks.treated csv OUT docs/treatments.csv   # here: then python docs/treatments.py
"""

import argparse
import csv
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from heatcheck.auditing import audit
from heatcheck.auditing.treating import TreatmentPlan, gather, plan_treatments, run_treatments
from heatcheck.auditing.treating.advice import advise
from heatcheck.data import Corpus, load_task
from heatcheck.engine import Outcome, nulled, write_whole
from heatcheck.errors import HeatcheckError
from heatcheck.results.treatments import (
    Difference,
    TreatedCell,
    TreatedRow,
    Treatments,
    Word,
    treatments_facts,
    treatments_from,
)
from heatcheck.training import fit_jobs, plan_recipe, run_fits, treated
from heatcheck.training.jobs import keep_corpus, read_corpus

TASKS = ("sst", "rotten_tomatoes", "imdb_small")
EXAMPLES = {"imdb_small": 100}  # of long texts fewer: each word costs a pass
# Long texts are trained in fewer epochs: with the preset's patience of 4, two CPU cores need over four hours for them.
SETTINGS: Mapping[str, Mapping[str, Any]] = {"imdb_small": {"patience": 2}}
OFTEN = 45.0  # seconds between two looks at what is there
NECESSARY = ("diversity", "entmax")  # treatments whose models are also retrained without attention
RETRAINED = "necessary.json"
LINES, ENDS = ("accuracy", "points", "hard", "context"), ("value", "low", "high")
BEGIN, END = "<!-- study -->", "<!-- /study -->"  # of the page's part with the numbers
NECESSARY_TITLE = "Necessary, by retraining (sst)"


def prepare(folder: Path) -> None:
    """Write the corpora as files, with a list of their names."""
    names = {task: keep_corpus(load_task(task), folder) for task in TASKS}
    write_whole(folder / "tasks.json", json.dumps(names))


def corpus_of(folder: Path, task: str) -> Corpus:
    """A corpus that `prepare` has written."""
    names: Mapping[str, str] = json.loads((folder / "tasks.json").read_text())
    return read_corpus(folder / names[task])


def store() -> Path:
    """The folder of models and audits."""
    return Path(os.environ.get("TREATED_STORE", "heatcheck-out/treated"))


def run(
    folder: Path,
    out: Path,
    *,
    tasks: Sequence[str],
    treatments: str,
    seconds: float,
    workers: int,
    seeds: int,
    quick: bool,
) -> None:
    """Train, audit and judge, task after task; each task's numbers so far are written again and again."""
    end = time.monotonic() + seconds
    for task in tasks:
        left = end - time.monotonic()
        if left < 5:
            print(f"{task}: no time left", flush=True)
            continue
        run_task(corpus_of(folder, task), task, treatments, store(), out, left, workers, seeds, quick)


def run_task(
    corpus: Corpus,
    task: str,
    treatments: str,
    kept: Path,
    out: Path,
    seconds: float,
    workers: int,
    seeds: int,
    quick: bool,
) -> None:
    """One task, with these treatments, or all that apply."""
    recipe = plan_recipe(corpus, **(SETTINGS.get(task, {}) | ({"epochs": 1} if quick else {})))
    plan = plan_treatments(
        recipe,
        corpus,
        treatments=treatments,
        seeds=seeds,
        examples=30 if quick else EXAMPLES.get(task, 300),
        store=kept,
        model=f"{recipe.model['encoder']} on {task}",
    )
    print(f"{task}: {len(plan.fits())} training runs, {len(plan.audits())} audits", flush=True)
    begun = last = time.monotonic()
    failed: dict[str, str] = {}

    def watch(outcome: Outcome, done: int, total: int) -> None:
        nonlocal last
        if outcome.folder is None:
            failed[outcome.job.name] = outcome.reason
            print(f"  failed: {outcome.job.name}: {outcome.reason}", flush=True)
        if time.monotonic() - last > OFTEN or done == total:
            last = time.monotonic()
            print(f"  {done} of {total}, {last - begun:.0f} s: {outcome.job.name} {outcome.seconds:.1f} s", flush=True)
            _keep(plan, dict(failed), out / f"{task}.json")

    found = run_treatments(plan, workers=workers, progress=watch, seconds=seconds)
    write_whole(out / f"{task}.json", json.dumps(nulled(treatments_facts(found))))
    for row in found.rows:
        cells = "  ".join(f"{c.line} {c.before:.3f}→{c.after:.3f} {c.word}" for c in row.cells)
        print(f"  {row.name}: {cells}", flush=True)
    print(f"{task}: {time.monotonic() - begun:.0f} s; {found.advice}", flush=True)


def _keep(plan: TreatmentPlan, failed: dict[str, str], path: Path) -> None:
    write_whole(path, json.dumps(nulled(treatments_facts(gather(plan, failed)))))


def necessary(corpus: Corpus, kept: Path, out: Path) -> None:
    """*Necessary* by retraining, for the untreated model and a few treated ones."""
    plain = plan_recipe(corpus)
    recipes = {"untreated": plain} | {name: treated(plain, corpus, name) for name in NECESSARY}
    found: dict[str, Any] = {}
    for name, recipe in recipes.items():
        start = time.monotonic()
        try:
            list(run_fits(fit_jobs([recipe], corpus, kept), kept))
            # All fits: swapping the weights may decide the line, and then nothing would be retrained.
            made = audit(
                kept / recipe.id,
                corpus,
                checks=["necessity"],
                refit=True,
                all_fits=True,
                store=kept,
                examples=100,
                train=corpus,
            )
        except HeatcheckError as error:
            found[name] = {"state": "not run", "reason": str(error)}
        else:
            line = made.card["necessary"]
            found[name] = {
                "state": line.state,
                "reason": line.reason,
                "evidence": [nulled(m._asdict()) for m in line.evidence],
                "not_fitted": dict(made.not_fitted),
            }
        write_whole(out / RETRAINED, json.dumps(nulled(found)))
        print(f"necessary, {name}: {found[name]['state']} {found[name]['reason']} {time.monotonic() - start:.0f} s")


def to_csv(out: Path, path: Path) -> None:
    """The numbers of all tasks as one CSV file, and *necessary* in another; the page beside them gets its blocks.

    What has no JSON file keeps the rows that it has: tasks, and treatments of a task that were run at another time.
    """
    from heatcheck.report.data_files import as_csv
    from heatcheck.report.treatments import columns_of

    there = [task for task in TASKS if (out / f"{task}.json").is_file()]
    found = {task: treatments_from(json.loads((out / f"{task}.json").read_text())) for task in there}
    with path.open(encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    earlier = {task: rows_of([row for row in before if row["task"] == task]) for task in found}
    together = {task: merged(earlier[task], new) for task, new in found.items()}
    columns = columns_of([*together.values()])
    for row in before:
        if row["task"] not in found:
            for name, values in columns.items():
                values.append(row[name])
    write_whole(path, as_csv(columns))
    kept = path.with_name(f"{path.stem}-necessary.csv")
    if (out / RETRAINED).is_file():
        of_lines: dict[str, list[Any]] = {name: [] for name in ("treatment", "quantity", "state", *ENDS, "n")}
        for name, line in json.loads((out / RETRAINED).read_text()).items():
            for quantity, m in _by_retraining(line.get("evidence", [])).items():
                values = (name, quantity, line["state"], *(m.get(end) for end in ENDS), m.get("n"))
                for column, value in zip(of_lines.values(), values, strict=True):
                    column.append(value)
        write_whole(kept, as_csv(of_lines))
    page = path.with_suffix(".md")
    blocks = {task: block(task, of, path.name, tables_of(earlier[task], found[task])) for task, of in together.items()}
    blocks |= {NECESSARY_TITLE: necessary_block(kept.name)} if kept.is_file() else {}
    write_whole(page, with_blocks(page.read_text(encoding="utf-8"), blocks))


def rows_of(kept: Sequence[Mapping[str, str]]) -> tuple[TreatedRow, ...]:
    """The rows of a table as `columns_of` has written them, without what the CSV file does not have."""

    def number(row: Mapping[str, str], name: str) -> float | None:
        return float(row[name]) if row[name] else None

    def difference(row: Mapping[str, str], names: Sequence[str]) -> Difference | None:
        value, low, high, p = (number(row, name) for name in names)
        return None if value is None or low is None or high is None else Difference(value, low, high, nan_if_none(p))

    def cell(row: Mapping[str, str]) -> TreatedCell:
        return TreatedCell(
            row["quantity"],
            cast(Word, row["verdict"]),
            nan_if_none(number(row, "before")),
            nan_if_none(number(row, "after")),
            number(row, "twin"),
            difference(row, ("value", "low", "high", "p")),
            difference(row, ("beyond", "beyond_low", "beyond_high", "beyond_p")),
            int(row["seeds"]),
            int(row["examples"]),
        )

    found = []
    for name in dict.fromkeys(row["treatment"] for row in kept):
        lines = [row for row in kept if row["treatment"] == name]
        cells = tuple(cell(row) for row in lines if row["quantity"] in LINES)
        (even,) = [row for row in lines if row["quantity"] == "evenness"]
        evenness = nan_if_none(number(even, "before")), nan_if_none(number(even, "after"))
        found.append(TreatedRow(name, "", cells, evenness, number(even, "twin")))
    return tuple(found)


def nan_if_none(value: float | None) -> float:
    return math.nan if value is None else value


def merged(earlier: Sequence[TreatedRow], new: Treatments) -> Treatments:
    """The treatments of a task from several runs, those of the last run last."""
    names = {row.name for row in new.rows}
    rows = (*(row for row in earlier if row.name not in names), *new.rows)
    return new._replace(rows=rows, advice=advise(rows))


def tables_of(earlier: Sequence[TreatedRow], new: Treatments) -> str:
    """Over which treatments false discoveries are controlled, where these are not all of the table."""
    last = [row.name for row in new.rows]
    first = [row.name for row in earlier if row.name not in last]
    if not first:
        return ""
    return (
        f"{named(last)} were run later, beside the same untreated models. So false discoveries are controlled over "
        "these treatments, and over the others, apart."
    )


def named(names: Sequence[str]) -> str:
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def _by_retraining(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """N over retrained models, and the accuracies with each kind of weights that it is from."""
    needed = [m for m in evidence if m["name"] == "N" and m["by"].get("against") == "retrained"]
    accuracies = [m for m in evidence if m["name"] == "accuracy" and m["by"].get("fit") == "retrained"]
    return dict(zip(["necessary"], needed, strict=False)) | {f"accuracy:{m['by']['weights']}": m for m in accuracies}


def with_blocks(page: str, blocks: Mapping[str, str]) -> str:
    """The page with these blocks in place of those with the same title, or after the last one."""
    begun, between, rest = page.partition(BEGIN)
    there, end, after = rest.partition(END)
    kept = {part.splitlines()[0]: f"### {part.strip()}\n" for part in there.split("### ")[1:]}
    return f"{begun}{between}\n\n{chr(10).join((kept | dict(blocks)).values())}{end}{after}"


def block(task: str, found: Treatments, file: str, apart: str = "") -> str:
    """The part of the page about one task: what helped, and two tables for docs/tables.py to fill.

    Args:
        apart: a sentence on runs that were judged apart.
    """
    means = " | ".join(f"{{{line}|before}} → {{{line}|after}} **{{{line}|verdict}}**" for line in LINES)
    changes = " | ".join(
        f"{{{line}}} / {{{line}|beyond}} [{{{line}|beyond_low}}, {{{line}|beyond_high}}]" for line in LINES[1:]
    )
    head = f"<!-- table {file} task={task} each=treatment\n"
    end = " -->\n\n\n<!-- /table -->\n"
    n = found.rows[0].cell("points").examples or found.examples
    return (
        f"### {task}\n\n{said(found)}\n\nMeans of {found.seeds} seeds; {n} examples per audit, "
        f"{found.rows[0].cell('accuracy').examples:,} for accuracy and context"
        f"{f'. {apart}' if apart else ':'}\n\n"
        f"{head}| treatment | accuracy ↑ | points: K ↑ | hard: q ↓ | context: G ↑ |\n|---|---|---|---|---|\n"
        f"| {{treatment}} | {means} |{end}\n"
        f"Treated minus untreated / treated minus temperature twin, with 95% intervals:\n\n"
        f"{head}| treatment | accuracy | points: K | hard: q | context: G | evenness of weights |\n"
        f"|---|---|---|---|---|---|\n| {{treatment}} | {{accuracy}} | {changes} | "
        f"{{evenness|before}} → {{evenness|after}} |{end}"
    )


def necessary_block(file: str) -> str:
    """The table of *necessary*."""
    return (
        f"### {NECESSARY_TITLE}\n\nN is the share of the gain that is lost without attention; above 0.1 means that "
        "attention is needed. Models without attention have uniform weights or read the last state; the better kind "
        f"counts. All are retrained, with five seeds each.\n\n<!-- table {file} each=treatment\n"
        "| model | learned weights | uniform weights | last state | N | answer |\n|---|---|---|---|---|---|\n"
        "| {treatment} | {accuracy:learned|.3} | {accuracy:uniform|.3} | {accuracy:last|.3} | {necessary} "
        "| {necessary|state} | -->\n\n\n<!-- /table -->\n"
    )


def said(found: Treatments) -> str:
    """What the verdicts of a task come to, in a few sentences."""
    words = {"helps": "helps", "seems better": "seems better", "worse": "makes it worse"}
    sentences = [found.advice]
    for row in found.rows:
        parts = [
            f"{words[word]} ({', '.join(lines)})"
            for word in words
            if (lines := [line for line in LINES[1:] if row.cell(line).word == word])
        ]
        parts += ["costs accuracy"] if row.cell("accuracy").word == "worse" else []
        if parts:
            sentences.append(f"`{row.name}` {' and '.join(parts)}.")
    idle = [f"`{row.name}`" for row in found.rows if not any(cell.word in words for cell in row.cells)]
    return " ".join(sentences + ([f"No change seen: {', '.join(idle)}."] if idle else []))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("prepare", "run", "necessary", "csv"))
    parser.add_argument("source", type=Path, help="Folder of the corpora, or of the JSON files (csv).")
    parser.add_argument("target", type=Path, nargs="?", help="Folder for the JSON files, or the CSV file (csv).")
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS, help="Tasks of run.")
    parser.add_argument("--treatments", default="all", help="Treatments of run, separated by commas.")
    parser.add_argument("--seconds", type=float, default=400.0, help="Time limit of run.")
    parser.add_argument("--workers", type=int, default=15, help="Processes for the audits.")
    parser.add_argument("--seeds", type=int, default=5, help="Models per treatment.")
    parser.add_argument("--quick", action="store_true", help="One epoch of the first task, to try the command.")
    chosen = parser.parse_args()
    if chosen.what == "prepare":
        prepare(chosen.source)
    elif chosen.what == "run":
        options = {
            name: getattr(chosen, name) for name in ("tasks", "treatments", "seconds", "workers", "seeds", "quick")
        }
        chosen.target.mkdir(parents=True, exist_ok=True)
        run(chosen.source, chosen.target, **options)
    elif chosen.what == "necessary":
        chosen.target.mkdir(parents=True, exist_ok=True)
        necessary(corpus_of(chosen.source, TASKS[0]), store(), chosen.target)
    else:
        to_csv(chosen.source, chosen.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())

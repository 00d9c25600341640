"""How often another seed is called a change: real small models stand in for treated ones, 100 draws.

    python -m benchmarks.placebo_treatment reviews.csv

It trains 20 seeds of one small model. Each draw takes five of them as untreated, five as treated and five as twins. The
true rate of a table is 5%, so at most 9 of 100 draws may show a change. It takes about 2 minutes of one idle core.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from heatcheck import engine
from heatcheck.auditing.treating import Judged, ModelNumbers, Trio, judge, plan_treatments
from heatcheck.auditing.treating.jobs import read_numbers, train_or_audit
from heatcheck.data import load_task
from heatcheck.engine import stream
from heatcheck.training import STORE, plan_recipe

SEEDS, DRAWS, OF_TABLE = 20, 100, 5
CHANGES = ("helps", "seems better", "worse")


def numbers(data: str, store: Path, workers: int) -> list[ModelNumbers]:
    """Of each seed of the small model; what is in the store is not made again."""
    corpus = load_task(data)
    recipe = plan_recipe(corpus, epochs=3, embedding=50, hidden=16)
    plan = plan_treatments(recipe, corpus, treatments="placebo", seeds=SEEDS, examples=150, store=store)
    audits = [plan.audit(one) for one in plan.untreated]
    wanted = {one.id for one in plan.untreated}
    jobs = [*(job for job in plan.fits() if job.id in wanted), *audits]
    for outcome in engine.map(train_or_audit, jobs, store, workers=workers):
        print(f"{outcome.job.name}: {outcome.state} {outcome.reason}", flush=True)
    return [read_numbers(store / job.id) for job in audits]


def called(found: list[ModelNumbers], treatments: int) -> tuple[int, Counter[str]]:
    """How many draws show a change, and how often each verdict was given."""
    count, words = 0, Counter[str]()
    for draw in range(DRAWS):
        order = stream(0, "placebo treatment", treatments, draw).permutation(len(found)).tolist()
        untreated, rest = order[:OF_TABLE], order[OF_TABLE:]
        judged = []
        for number in range(treatments):
            others = stream(0, "placebo treated", treatments, draw, number).permutation(rest).tolist()
            trios = [
                Trio(found[one], found[others[at]], found[others[OF_TABLE + at]]) for at, one in enumerate(untreated)
            ]
            judged.append(Judged(f"placebo {number}", "another seed", trios))
        said = [cell.word for row in judge(judged) for cell in row.cells]
        words.update(said)
        count += any(word in CHANGES for word in said)
    return count, words


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="Task or file to train on.")
    parser.add_argument("--store", type=Path, default=STORE / "fits", help="Folder of the models.")
    parser.add_argument("--workers", type=int, default=0, help="Number of processes.")
    chosen = parser.parse_args()
    found = numbers(chosen.data, chosen.store, chosen.workers)
    for treatments in (1, 3):
        count, words = called(found, treatments)
        print(f"{treatments} in a table: {count} of {DRAWS} draws show a change; verdicts: {dict(words)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Which heads of a fine-tuned classifier can go: pruning curves against random orders, and learned gates.

    python -m benchmarks.head_pruning MODEL [MODEL …] --task sst --out pruning.json

Orders are found on the dev split and tried on the test split. Gates are learned on the train split, several seeds per
penalty, with the weights fixed and with weights that learn too. A few minutes per model on a GPU.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck.data import Example, load_task
from heatcheck.heads.frontier import learn_frontier
from heatcheck.heads.gates import GateSettings
from heatcheck.heads.pruned import find_orders, leave_one, remove_singly, try_orders
from heatcheck.heads.pruning import RANDOM_ORDERS, least_first
from heatcheck.models import load, require_layers
from heatcheck.training import pick_device

PENALTIES = (0.0, 0.003, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)


def study(model: str, task: str, options: argparse.Namespace) -> dict[str, Any]:
    """All of it for one model."""
    subject = require_layers(load(model, device=str(pick_device(options.device))), "pruning")
    corpus = load_task(task)
    train, dev, test = (_some(corpus[split].examples, options.texts) for split in ("train", "dev", "test"))
    started = time.time()
    found: dict[str, Any] = {"model": model, "task": task, "texts": {"dev": len(dev), "test": len(test)}}
    on_dev, on_test = (remove_singly(subject, examples) for examples in (dev, test))
    points = learn_frontier(
        subject,
        train,
        test,
        penalties=options.penalties,
        seeds=options.seeds,
        settings=GateSettings(steps=options.steps),
        progress=lambda point: print(point.facts(), flush=True),
    )
    by_gates = np.mean([point.log_a for point in points if not point.weights], axis=0)
    orders = {**find_orders(subject, dev, on_dev, greedy=options.greedy), "gates": least_first(by_gates)}
    found["accuracy"] = float(on_dev.whole.mean())
    found["curves"] = try_orders(subject, test, orders, on_test, random=options.random)
    found["one head left per layer"] = leave_one(subject, dev, test).everywhere.value
    found["gates"] = [point.facts() for point in points]
    found["seconds"] = time.time() - started
    return found


def _some(examples: Sequence[Example], most: int | None) -> list[Example]:
    return list(examples[:most])


def show(found: dict[str, Any]) -> None:
    """A small table: accuracy by share removed, then the frontier."""
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    places = [found["curves"]["shares"].index(share) for share in shares]
    print(f"\n{found['model']} on {found['task']}, {found['seconds']:.0f} s; accuracy at each share of heads removed")
    print(
        f"{'order':26}" + "".join(f"{share:8.0%}" for share in shares) + "    area against random     free  interaction"
    )
    for name, curve in found["curves"].items():
        if name == "shares":
            continue
        cells = "".join(f"{curve['accuracy'][place]:8.3f}" for place in places)
        if name == "random":
            low, high = curve["band"]
            band = ", ".join(f"{low[place]:.3f} to {high[place]:.3f}" for place in places)
            print(f"{name:26}{cells}    band of {curve['orders']} orders: {band}")
            continue
        value, low, high, _ = curve["area"]
        share, of, to, _ = curve["interaction"]
        print(
            f"{name:26}{cells}    {value:+.3f} [{low:+.3f}, {high:+.3f}]  {curve['free_share']:.2f}  "
            f"{share:.2f} [{of:.2f}, {to:.2f}]"
        )
    print(f"one head left per layer: {found['one head left per layer']:.3f}")
    for weights in (False, True):
        print(f"\ngates{' and weights' if weights else ' alone'}: penalty, heads kept and accuracy of each seed")
        for penalty in dict.fromkeys(point["penalty"] for point in found["gates"]):
            own = [p for p in found["gates"] if p["penalty"] == penalty and p["weights"] == weights]
            print(f"{penalty:8g}  " + "  ".join(f"{p['kept']:3d} {p['accuracy']:.3f}" for p in own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", help="Folders or names of fine-tuned classifiers.")
    parser.add_argument("--task", default="sst", help="Task with train, dev and test.")
    parser.add_argument("--texts", type=int, default=None, help="Examples of each split at most.")
    parser.add_argument("--seeds", type=int, default=3, help="Seeds of the gates.")
    parser.add_argument("--steps", type=int, default=300, help="Steps of learning gates.")
    parser.add_argument("--penalties", type=float, nargs="+", default=list(PENALTIES), help="Penalties on open heads.")
    parser.add_argument("--random", type=int, default=RANDOM_ORDERS, help="Random orders.")
    parser.add_argument("--greedy", type=int, default=256, help="Examples for the greedy order; 0 leaves it out.")
    parser.add_argument("--device", default="auto", help="Device.")
    parser.add_argument("--out", type=Path, default=None, help="File for the numbers.")
    options = parser.parse_args()
    found = []
    for model in options.models:
        with torch.inference_mode(False):
            found.append(study(model, options.task, options))
        show(found[-1])
        if options.out is not None:
            options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

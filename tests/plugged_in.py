"""What people do with the package in tests/plugin_package once it is installed: run in a process of its own."""

import importlib
import io
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

# Where each group's additions land, and what the package calls its own.
TABLES = {
    "heatcheck.checks": ("heatcheck.checks", "CHECKS", "sharpness", "sharpness"),
    "heatcheck.lines": ("heatcheck.auditing.lines", "LINES", "sharp", "sharp"),
    "heatcheck.explainers": ("heatcheck.explainers", "EXPLAINERS", "word_length", "word_length"),
    "heatcheck.encoders": ("heatcheck.models", "ENCODERS", "rnn", "BiRNN"),
    "heatcheck.tasks": ("heatcheck.data", "TASKS", "weather", "weather"),
}


def use(folder: Path) -> Mapping[str, Any]:
    """Train with its encoder on its task, and audit with its check, explainer and line, retraining in two processes."""
    import heatcheck

    small = {"hidden": 8, "embedding": 8, "epochs": 4, "learning_rate": 0.05, "dropout": 0.0}
    fit = heatcheck.train("weather", encoder="rnn", out=folder / "model", device="cpu", progress=False, **small)
    found = heatcheck.audit(
        fit.folder,
        "weather",
        checks=["sharpness", "agreement", "seed_variance"],
        settings={"agreement.explainers": "attention,word_length,gradient", "seed_variance.seeds": 2},
        examples=40,
        refit=True,
        workers=2,
        device="cpu",
        store=folder / "fits",
    )
    page = heatcheck.write_report(found, folder / "report.html").read_text()
    pairs = [list(m.by["pair"]) for m in found.results["agreement"].measurements if "pair" in m.by]
    return {
        "accuracy": fit.test.accuracy,
        "state": found.card["sharp"].state,
        "order": [line.name for line in found.card.every_line],
        "explainers": sorted({name for pair in pairs for name in pair}),
        "retrained": len(list((folder / "fits").glob("[!.]*"))),
        "not run": dict(found.results["seed_variance"].not_run),
        "listed": [*_listed("explainers"), *_listed("tasks")],
        "page": [words in page for words in (found.card["sharp"].question, "Sharpness")],
    }


def _listed(command: str) -> list[str]:
    """The names before the package's own name, in what a command shows."""
    from heatcheck.cli import COMMANDS

    with redirect_stdout(io.StringIO()) as shown:
        COMMANDS[command]()
    before, said, _ = shown.getvalue().partition("from the package heatcheck-sharp")
    return re.findall(r"^(\w+)", before, flags=re.MULTILINE)[-1:] if said else []


def both_ways() -> Mapping[str, list[str]]:
    """By group, in which order the imports worked: the package first, or heatcheck's table first."""
    importlib.import_module("heatcheck_sharp")
    for module in [name for name in sys.modules if name.startswith("heatcheck")]:
        del sys.modules[module]  # what heatcheck needs of others stays, and is not imported again in each copy
    return {group: [order for order in ("package", "table") if _in_a_copy(group, order)] for group in TABLES}


def _in_a_copy(group: str, order: str) -> bool:
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        module, table, key, name = TABLES[group]
        for one in ("heatcheck_sharp", module) if order == "package" else (module, "heatcheck_sharp"):
            importlib.import_module(one)
        known = getattr(sys.modules[module], table)
        assert known[key] is getattr(sys.modules["heatcheck_sharp"], name)
        assert known.package_of(key) == "heatcheck-sharp"
    except BaseException as error:
        sys.stderr.write(f"{group}, {order} first: {error!r}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"both ways": both_ways(), **use(Path(sys.argv[1]))}))

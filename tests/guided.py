"""What people do with the additions of CONTRIBUTING: run in a process of its own, which prints what it found.

The additions stand in a copy of the house, or in an installed package: nothing here knows which.
"""

import importlib
import io
import json
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

# Where an addition lands, its name there, and the module of the package that has it. The first room, the last that
# measures, and the one that draws stand for all: tests/engine/test_plugins.py has the rest.
TABLES = {
    "heatcheck.encoders": ("heatcheck.models", "ENCODERS", "rnn", "rnn"),
    "heatcheck.studies": ("heatcheck.studies", "STUDIES", "mine2027", "mine2027"),
    "heatcheck.views": ("heatcheck.report.checks", "CHECK_VIEWS", "top_share", "top_share_view"),
}
ORDERS = ("package", "table")


def use(folder: Path, *, workers: int) -> Mapping[str, Any]:
    """Train with the encoder on the task; audit with check, explainer and line; reproduce the study.

    With workers the audit retrains the model in so many processes, which must find the encoder too.
    """
    import heatcheck
    from heatcheck.cli.fail_if import conditions
    from heatcheck.report import write_study, write_study_figures
    from heatcheck.studies import STUDIES, run_study

    small = {"hidden": 8, "embedding": 8, "epochs": 3, "learning_rate": 0.05, "dropout": 0.0}
    fit = heatcheck.train("weather", encoder="rnn", out=folder / "model", device="cpu", progress=False, **small)
    found = heatcheck.audit(
        fit.folder,
        "weather",
        checks=["top_share", "permutation", "agreement", *(["seed_variance"] if workers else [])],
        settings={
            "agreement.explainers": "attention,word_length,gradient",
            **({"seed_variance.seeds": 2} if workers else {}),
        },
        examples=40,
        refit=workers > 0,
        workers=workers,
        device="cpu",
        store=folder / "fits",
    )
    page = heatcheck.write_report(found, folder / "report.html").read_text()
    pairs = [list(m.by["pair"]) for m in found.results["agreement"].measurements if "pair" in m.by]
    line = found.card["sharp"]
    study = STUDIES["mine2027"]
    result = run_study(study, study.quick, folder / "study", device="cpu")
    return {
        "accuracy": fit.test.accuracy,
        "state": line.state,
        "order": [one.name for one in found.card.every_line],
        "explainers": sorted({name for pair in pairs for name in pair}),
        "not run": dict(found.results["seed_variance"].not_run) if workers else {},
        "retrained": sorted(path.name for path in (folder / "fits").glob("[!.]*")),
        "report": [words in page for words in (line.question, "Weight on the heaviest words", '"top-share"')],
        "quantity": "The weight is spread over many words." in page,
        "conditions": [one.line for one in conditions(["sharp=no"])],
        "study": [[row.task, row.quantity, row.paper, row.seeds] for row in result.rows],
        "study page": "Shuffles that keep the answer" in write_study(result, folder / "study.html").read_text(),
        "study figures": len(write_study_figures(result, folder / "figures", suffix="csv")),
        "listed": {command: _listed(command) for command in ("checks", "explainers", "tasks", "studies")},
        "shown": _shown(result),
    }


def _listed(command: str) -> str:
    from heatcheck.cli import COMMANDS

    with redirect_stdout(io.StringIO()) as shown:
        COMMANDS[command]()
    return shown.getvalue()


def _shown(result: Any) -> str:
    from heatcheck.cli import show_study

    with redirect_stdout(io.StringIO()) as shown:
        show_study.study(result)
    return shown.getvalue()


def both_ways() -> Mapping[str, list[str]]:
    """By kind, in which order the imports work: the package first, or heatcheck's table first."""
    importlib.import_module("heatcheck.studies")
    for module in [name for name in sys.modules if name.startswith("heatcheck")]:
        del sys.modules[module]  # what heatcheck needs of others stays, and is not imported again in each copy
    return {kind: [order for order in ORDERS if _in_a_copy(kind, order)] for kind in TABLES}


def _in_a_copy(kind: str, order: str) -> bool:
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        module, table, key, own = TABLES[kind]
        first, second = f"heatcheck_mine.{own}", module
        for one in (first, second) if order == "package" else (second, first):
            importlib.import_module(one)
        known = getattr(sys.modules[module], table)
        assert known[key] in vars(sys.modules[f"heatcheck_mine.{own}"]).values()
        assert known.package_of(key) == "heatcheck-mine"
    except BaseException as error:
        sys.stderr.write(f"{kind}, {order} first: {error!r}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    package = "--package" in sys.argv
    started = {"both ways": both_ways()} if package else {}
    sys.stdout.write(json.dumps({**started, **use(Path(sys.argv[1]), workers=1 if package else 0)}))

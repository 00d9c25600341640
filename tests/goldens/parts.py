"""What is recorded, a function a part. Each runs in an empty folder and goes through public entry points only."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .flat import Flat, flatten, of_folder
from .page import answers
from .results import of_audit, of_fit, of_study
from .texts import normal

STUDIES = (
    "abnar2020",
    "brunner2020",
    "chefer2021",
    "jain2019",
    "kobayashi2020",
    "pruthi2020",
    "pruthi2020_sequences",
    "serrano2019",
    "snell2021",
    "sun2020",
    "vashishth2019",
    "wiegreffe2019",
)
# Smoke runs of these on every task take minutes: the tasks that differ most in kind.
NARROWED: dict[str, dict[str, Any]] = {
    "jain2019": {"tasks": ("sst", "babi_1"), "encoders": ("lstm", "average"), "attentions": ("tanh",), "examples": 20},
    "pruthi2020": {"tasks": ("sst_wiki",)},
    "serrano2019": {"tasks": ("imdb_small",), "encoders": ("none", "gru"), "examples": 12},
    "wiegreffe2019": {"tasks": ("sst",)},
}
QUIET: dict[str, Any] = {"progress": False, "device": "cpu"}
TINY: dict[str, Any] = {"hidden": 8, "embedding": 8, "embedding_scale": 1.0, **QUIET}
LEARNS = {"epochs": 8, "learning_rate": 0.02}
SHORT = {"epochs": 2, "learning_rate": 0.02}
NAMED_BY_CONTENT = re.compile(r"(?:^|[-.])[0-9a-f]{12}(?:$|[-.])")


def demo() -> Flat:
    """What `heatcheck demo` does, on fewer texts and with a shorter training."""
    import heatcheck as hc

    fit = hc.train("rotten_tomatoes", epochs=2, **QUIET)
    found = flatten(of_fit(fit), "fit") | _audited("audit", fit.subject, "rotten_tomatoes", examples=150)
    for name in ("reader", "bystander_right", "bystander_wrong"):
        control = hc.audit(hc.load(f"known:{name}@planted_keyword"), "planted_keyword", examples=100)
        found |= flatten(of_audit(control), name)
    return found


def transformer() -> Flat:
    """A random BERT, with every check that can be run on it."""
    from .subjects import write_bert, write_reviews

    settings = {"eraser.draws": 100, "perturbation.draws": 100}
    name, data = write_bert(Path("bert")), write_reviews(Path("mine.jsonl"), 60)
    labels = ["negative", "positive"]
    found = _audited("words", name, data, examples=30, labels=labels, checks="all", settings=settings, split="all")
    return found | _audited("tokens", name, data, examples=12, labels=labels, units="tokens", split="all")


def pair() -> Flat:
    """A classifier of two texts and three labels."""
    from .subjects import write_pairs

    data = write_pairs(Path("pairs.jsonl"), 400)
    return _trained("pairs", data, {"encoder": "gru", **LEARNS}, examples=40)


def hierarchical() -> Flat:
    """Attention over words, and over sentences."""
    from .subjects import write_stories

    data = write_stories(Path("stories.jsonl"), 400)
    return _trained("stories", data, {"encoder": "gru", "hierarchical": True, **LEARNS}, examples=40)


def refit() -> Flat:
    """Everything that needs other fits of the model, as few and as short as they can be."""
    from .subjects import write_reviews

    checks = ("necessity", "adversarial_model", "seed_variance", "deception", "dynamics", "gauge", "plausibility")
    settings: dict[str, Any] = {f"{name}.seeds": 2 for name in checks[:5]}
    settings |= {"adversarial_model.epochs": 1, "adversarial_model.strengths": "0.001,0.1", "deception.strengths": "1"}
    settings |= {"dynamics.checkpoints": 3, "dynamics.examples": 20}
    settings |= {"card.seeds": 2}  # or no line is decided, and none of what it would say is recorded
    data = write_reviews(Path("mine.jsonl"), 300)
    chosen = {"checks": checks, "settings": settings, "refit": True}
    found = _trained("average", data, {"encoder": "average", **SHORT}, examples=40, **chosen)
    return found | _trained("lstm", data, {"encoder": "lstm", **SHORT}, examples=40, **chosen)


def study(name: str) -> Flat:
    """One study's smoke run: its numbers, its jobs, its page, its table and the numbers its figures draw."""
    from heatcheck.report import write_study, write_study_figures, write_study_table
    from heatcheck.studies import STUDIES as THERE

    jobs: dict[str, str] = {}
    one = THERE[name]
    try:
        from heatcheck.studies import run_study
    except ImportError:  # up to 0.6 each study had a function of its own
        run = one.run
    else:
        run = partial(run_study, one)
    found = run(
        replace(one.quick, **NARROWED.get(name, {})),
        Path("study"),
        device="cpu",
        progress=lambda outcome, *_: jobs.update({outcome.job.id: f"{outcome.job.name}: {outcome.state}"}),
    )
    drawn = Path("drawn")
    drawn.mkdir()
    write_study(found, drawn / "study.html")
    write_study_table(found, drawn / "table.csv")
    write_study_figures(found, drawn / "figures", suffix="csv")
    return flatten(of_study(found), "study") | flatten(jobs, "jobs") | _under("drawn", of_folder(drawn))


def studies_are_all_here() -> Flat:
    """A study that nobody records would be forgotten."""
    from heatcheck.studies import STUDIES as THERE

    return {"recorded": ", ".join(STUDIES), "there": ", ".join(THERE), "not recorded": ", ".join({*THERE} - {*STUDIES})}


def calibrate() -> Flat:
    """The card of every control whose answer is known, one seed."""
    code, said, complained = _heatcheck("calibrate", "--quick", "--first-seed", "7", "--json")
    facts = json.loads(said)
    facts.pop("code")  # of the source itself, which is about to change
    return flatten({"exit code": code, "standard error": normal(complained), **facts})


def command_line() -> Flat:
    """What the commands say to programs and to people, and what they write."""
    from .subjects import write_reviews

    write_reviews(Path("mine.jsonl"), 300)
    Path("both").mkdir()
    control = "audit known:reader@planted_contrast"
    commands = {
        "train": "train mine.jsonl --encoder average --set epochs=2 --set hidden=6 --out mine --json",
        "audit": "audit mine --data mine.jsonl --examples 40 --out one --format html,md,json,csv --figures csv --json",
        "audit in words": f"{control} --examples 60 --out two",
        "audit by default": f"{control} --examples 30 --checks permutation --json",
        "fail-if": f"{control} --examples 30 --checks permutation --fail-if 'points=not run'",
        "compare": "compare one two --out both/page.html --json",
        "compare in words": "compare one two --out both/page.md",
        "report": "report two --format html,md,json --out again --json",
        "explain": "explain mine 'a good film but so dull' --by attention,gradient,leave_one_out --json",
        "checks": "checks --json",
        "explainers": "explainers --json",
        "studies": "studies --json",
        "no such model": "audit nowhere",
        "no such check": f"{control} --checks permutatoin",
    }
    found: Flat = {}
    for name, command in commands.items():
        found |= _under(name, _said(shlex.split(command)))
    for folder in ("one", "two", "again", "both"):
        found |= _under(f"written/{folder}", of_folder(Path(folder)))
    return found


def _trained(name: str, data: Path, model: dict[str, Any], **choices: Any) -> Flat:
    """A tiny model of a file, and its audit."""
    import heatcheck as hc

    fit = hc.train(data, **{**TINY, **model})
    return flatten(of_fit(fit), f"{name}/fit") | _audited(name, fit.folder, data, **choices)


def _audited(name: str, subject: Any, data: Any, **choices: Any) -> Flat:
    """An audit, the text of its reports, and the numbers that its figures draw."""
    import heatcheck as hc
    from heatcheck.report import write_figures, write_markdown, write_report

    found = hc.audit(subject, data, device="cpu", **choices)
    drawn = Path("drawn") / name
    drawn.mkdir(parents=True)
    write_report(found, drawn / "report.html")
    write_markdown(found, drawn / "report.md")
    write_figures(found, drawn / "figures", suffix="csv")
    return flatten(of_audit(found), f"{name}/audit") | _under(f"{name}/drawn", of_folder(drawn))


def _heatcheck(*arguments: str) -> tuple[int, str, str]:
    """A command line, as people give it: exit code, standard output, standard error."""
    ended = subprocess.run([sys.executable, "-m", "heatcheck", *arguments], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def _said(command: Sequence[str]) -> Flat:
    code, said, complained = _heatcheck(*command)
    found: Flat = {"exit code": code, "standard error": normal(complained)}
    return found | (flatten(json.loads(said), "json") if "--json" in command and said else {"said": normal(said)})


def _under(name: str, found: Flat) -> Flat:
    return {f"{name}/{path}": value for path, value in found.items()}


def _kept() -> Flat:
    """Folders that are named by what decides them: of fits, jobs and audits."""
    folders = sorted(str(path) for path in Path().rglob("*") if path.is_dir())
    return {f"kept/{path}": "there" for path in folders if NAMED_BY_CONTENT.search(Path(path).name)}


PARTS: dict[str, Callable[[], Flat]] = {
    "demo": demo,
    "transformer": transformer,
    "pair": pair,
    "hierarchical": hierarchical,
    "refit": refit,
    "calibrate": calibrate,
    "cli": command_line,
    "page": answers,
    "studies": studies_are_all_here,
    **{f"study:{name}": partial(study, name) for name in STUDIES},
}
BY_CODE = ("calibrate",)  # its jobs are named by the source too: another commit, other names


def run_part(name: str) -> Flat:
    """All that one part records, in the folder one stands in."""
    found = PARTS[name]()
    return found if name in BY_CODE else found | _kept()

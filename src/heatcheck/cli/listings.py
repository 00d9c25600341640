"""`heatcheck checks` and `heatcheck explainers`: list the checks, and the methods that score words."""

from typing import TYPE_CHECKING

from heatcheck.cli.options import AsJson
from heatcheck.cli.packages import source, source_facts

if TYPE_CHECKING:
    from heatcheck.checks import Check
    from heatcheck.explainers import Explainer

RETRAINS = {
    "no": "",
    "if asked": "with --refit, also trains models to compare with",
    "always": "trains models to compare with: only with --refit",
}


def retrains(check: "Check") -> str:
    """Whether a check trains models to compare with: no, if asked (with --refit), or always."""
    if check.refits:
        return "always"
    return "if asked" if check.holds == "retrained" else "no"


def checks(json: AsJson = False) -> None:
    """List the checks: what each tests and which answer it decides.

    `heatcheck audit MODEL --checks NAME` runs one check. `--set NAME.KEY=VALUE` changes one of its settings.
    """
    from dataclasses import fields

    from heatcheck.auditing.lines import lines_decided_by
    from heatcheck.checks import CHECKS, Check
    from heatcheck.cli import show
    from heatcheck.report.checks import view_of

    def settings(check: Check) -> dict[str, object]:
        return {field.name: getattr(check.settings(), field.name) for field in fields(check.settings)}

    if json:
        keys = ("name", "question", "holds", "baseline", "paper", "default")
        facts = [
            {
                **{key: getattr(check, key) for key in keys},
                "title": view_of(check.name).title,
                "fits_again": retrains(check),
                "decides": lines_decided_by(check.name),
                "settings": settings(check),
                **source_facts(CHECKS, check.name),
            }
            for check in CHECKS.values()
        ]
        show.as_json(facts)
        return
    rows = []
    for check in CHECKS.values():
        given = ", ".join(f"{key}={show.setting(value)}" for key, value in settings(check).items())
        told = (
            view_of(check.name).title,
            check.question,
            _decides(lines_decided_by(check.name)),
            f"what stays the same: {view_of(check.name).what_stays(check.holds)}",
            f"baseline: {check.baseline}",
            f"paper: {check.paper}" if check.paper else "",
            _when(check),
            RETRAINS[retrains(check)],
            f"settings: {given}" if given else "",
            source(CHECKS, check.name),
        )
        rows.append([check.name, "\n".join(filter(None, told)) + "\n"])
    show.table(["check", "name, question and settings (change one with --set CHECK.KEY=VALUE)"], rows)


def _decides(lines: list[str]) -> str:
    """The lines of the card that a check decides, with their questions."""
    from heatcheck.auditing import LINES

    questions = {rule.short: rule.question for rule in LINES.values()}
    if not lines:
        return "decides no answer; its numbers are shown"
    return "decides the line " + ", ".join(f"{line} ({questions[line]})" for line in lines)


def _when(check: "Check") -> str:
    if check.default:
        return ""
    if check.default_on:
        return f"runs on transformers; on other models only by name: --checks {check.name}"
    return f"runs only by name: --checks {check.name}"


def explainers(json: AsJson = False) -> None:
    """List the methods that score words: attention and others.

    Scores from other tools work too, as file:PATH. The file is JSONL with id and scores (one score per word), or in
    ERASER's results format.
    """
    from heatcheck.cli import show
    from heatcheck.explainers import EXPLAINERS, Explainer

    if json:
        show.as_json(
            [
                {
                    **{key: getattr(explainer, key) for key in ("name", "about", "signed", "paper")},
                    **source_facts(EXPLAINERS, explainer.name),
                }
                for explainer in EXPLAINERS.values()
            ]
        )
        return

    def told(explainer: Explainer) -> str:
        paper = f"paper: {explainer.paper}" if explainer.paper else ""
        lines = (explainer.about, _direction(explainer), paper, source(EXPLAINERS, explainer.name))
        return "\n".join(filter(None, lines)) + "\n"

    rows = [[one.name, told(one)] for one in EXPLAINERS.values()]
    rows.append(["file:PATH", "your own scores: JSONL with id and scores, or ERASER's results format"])
    show.table(["explainer", "score of a word, its direction, paper"], rows)


def _direction(explainer: "Explainer") -> str:
    if not explainer.signed:
        return "no sign: higher means more"
    if explainer.aimed is None:
        return "signed, but not for or against a label"
    return "signed: above 0 supports the label, below 0 speaks against it"

"""`heatcheck checks` and `heatcheck explainers`."""

from typing import TYPE_CHECKING

from heatcheck.cli.options import AsJson

if TYPE_CHECKING:
    from heatcheck.checks import Check


def fits_again(check: "Check") -> str:
    """Whether a check compares with other fits of the model: no, if asked (with --refit), or always."""
    if check.refits:
        return "always"
    return "if asked" if check.holds == "retrained" else "no"


def checks(json: AsJson = False) -> None:
    """List the checks: the question each asks, the line it decides, what it holds fixed, its baseline, its settings."""
    from dataclasses import fields

    from heatcheck.auditing.lines import lines_decided_by
    from heatcheck.checks import CHECKS, Check
    from heatcheck.cli import show

    def settings(check: Check) -> dict[str, object]:
        return {field.name: getattr(check.settings(), field.name) for field in fields(check.settings)}

    if json:
        keys = ("name", "question", "holds", "baseline", "paper", "default")
        facts = [
            {**{key: getattr(c, key) for key in keys}, "fits_again": fits_again(c), "decides": lines_decided_by(c.name)}
            for c in CHECKS.values()
        ]
        show.as_json([{**one, "settings": settings(CHECKS[one["name"]])} for one in facts])
        return

    def decides(check: Check) -> str:
        lines = lines_decided_by(check.name)
        return f"\ndecides the line {', '.join(lines)}" if lines else ""

    def when(check: Check) -> str:
        unasked = "run on transformers, else only" if check.default_on else "run only"
        return "" if check.default else f"\n{unasked} when named: --checks {check.name}"

    again = {
        "no": "",
        "if asked": "\nwith --refit it also fits the model again",
        "always": "\nfits the model again: only with --refit",
    }
    rows = [
        [
            check.name,
            f"{check.question}{decides(check)}\nheld fixed: {check.holds}; baseline: {check.baseline}\n{check.paper}"
            f"{when(check)}{again[fits_again(check)]}\n"
            + ", ".join(f"{key}={show.setting(value)}" for key, value in settings(check).items()),
        ]
        for check in CHECKS.values()
    ]
    show.table(["check", "what it asks; change a setting with --set CHECK.KEY=VALUE"], rows)


def explainers(json: AsJson = False) -> None:
    """List the explainers: attention and its rivals.

    file:PATH are scores computed elsewhere: JSONL with id and scores (one a word), or ERASER's results format.
    """
    from heatcheck.cli import show
    from heatcheck.explainers import EXPLAINERS

    if json:
        show.as_json(
            [{"name": e.name, "about": e.about, "signed": e.signed, "paper": e.paper} for e in EXPLAINERS.values()]
        )
        return
    rows = [[e.name, e.about + ("; signed" if e.signed else ""), e.paper] for e in EXPLAINERS.values()]
    rows.append(["file:PATH", "scores computed elsewhere: JSONL of id and scores, or ERASER's results format", ""])
    show.table(["explainer", "what it is", "paper"], rows)

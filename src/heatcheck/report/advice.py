"""Advice for people who show heatmaps, drawn from the answers of an audit."""

from heatcheck.results import TREATED_BY, Audit, Card, Instead, Line


def shown_instead(card: Card) -> Instead | None:
    """The method to show where the heatmap fails; None where it does not fail, and where no method does better."""
    return next((line.instead for line in card.every_line if line.short == "points" and line.state == "no"), None)


def advised(card: Card) -> list[str]:
    """Advice from each decided line, for people who show these heatmaps."""
    decided = [line for line in card.lines if line.state in ("yes", "no")]
    return [advice(line) for line in [*decided, *(line for line in card.apart if line.advice)]]


def advice(line: Line) -> str:
    """Advice from one line, for people who show these heatmaps; for an undecided line, the reason."""
    if line.state in ("yes", "no"):
        return line.advice or line.sentence
    if line.state == "not run":
        return f"Not decided: {line.sentence}" if line.evidence else "Not run: nothing is known about this."
    return f"Not decided: {line.reason.rstrip('.')}." if line.reason else line.sentence


def treat_next(audit: Audit) -> str:
    """The command that may make a heatmap easier to read that fails; empty where nothing would."""
    command = audit.about.get(TREATED_BY)
    failed = [line for line in audit.card.lines if line.short in ("points", "hard") and line.state == "no"]
    if not command or not failed:
        return ""
    return str(command)

"""`--fail-if` and `--require`: answers that make the command fail, for CI."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heatcheck.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from heatcheck.results import Audit


class Condition(NamedTuple):
    """A line of the card and a state: forbidden by --fail-if, required by --require."""

    line: str
    state: str


def conditions(texts: Iterable[str] | None, option: str = "--fail-if") -> list[Condition]:
    """Parse each `LINE=STATE`; the line may be given by its name or its short name.

    >>> conditions(["context=not run", "plausible=no"])
    [Condition(line='works out of context', state='not run'), Condition(line='plausible to people', state='no')]
    """
    from heatcheck.auditing import LINES

    shorts = {rule.short: name for name, rule in LINES.items()}

    found = []
    for text in texts or []:
        name, equals, state = (part.strip() for part in text.partition("="))
        if not equals:
            raise BadInput(f"{option} takes LINE=STATE, such as 'necessary=no', not {text!r}.")
        line = shorts.get(name, name)
        if line not in LINES:
            raise UnknownName("line of the card", name, {*shorts, *LINES})
        if state not in (states := LINES[line].states):
            raise BadInput(f"{option} {text!r}: the state of {line} must be {', '.join(states[:-1])} or {states[-1]}.")
        found.append(Condition(line, state))
    return found


def holding(wanted: Sequence[Condition], audits: Iterable["Audit"]) -> str:
    """The conditions that hold, with their models; empty if none does."""
    held = [f"{line} is {state} ({_of(audit)})" for audit in audits for line, state in wanted
            if audit.card[line].state == state]  # fmt: skip
    return "; ".join(dict.fromkeys(held))


def lacking(required: Sequence[Condition], audits: Iterable["Audit"]) -> str:
    """The requirements that are not met, with the state found instead; empty if all are met."""
    lacks = [f"{line} is {audit.card[line].state}, not {state} ({_of(audit)})" for audit in audits
             for line, state in required if audit.card[line].state != state]  # fmt: skip
    return "; ".join(dict.fromkeys(lacks))


def _of(audit: "Audit") -> str:
    return f"{audit.subject}, {audit.heatmap}" if audit.heatmap else audit.subject

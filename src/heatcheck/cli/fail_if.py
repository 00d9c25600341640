"""`--fail-if` and `--require`: what on a card makes the command fail, for somebody's CI."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heatcheck.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from heatcheck.results import Audit


class Condition(NamedTuple):
    """A line of the card, and the state it must not have, or must have."""

    line: str
    state: str


def conditions(texts: Iterable[str] | None, option: str = "--fail-if") -> list[Condition]:
    """Each `LINE=STATE`, with the line by its name or in short; what no card can say is refused.

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
            raise BadInput(f"{option} {text!r}: {line} is {', '.join(states[:-1])} or {states[-1]}.")
        found.append(Condition(line, state))
    return found


def holding(wanted: Sequence[Condition], audits: Iterable["Audit"]) -> str:
    """Which conditions hold, of which model; empty if none does."""
    held = [f"{line} is {state} ({audit.subject})" for audit in audits for line, state in wanted
            if audit.card[line].state == state]  # fmt: skip
    return "; ".join(dict.fromkeys(held))


def lacking(required: Sequence[Condition], audits: Iterable["Audit"]) -> str:
    """Which required states a line does not have, and what it has instead; empty if all hold."""
    lacks = [f"{line} is {audit.card[line].state}, not {state} ({audit.subject})" for audit in audits
             for line, state in required if audit.card[line].state != state]  # fmt: skip
    return "; ".join(dict.fromkeys(lacks))

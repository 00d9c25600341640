"""What `heatcheck heads --circuits` prints: induction heads, who feeds them, and what their removal costs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from heatcheck.heads.circuits.removal import Cost
    from heatcheck.heads.circuits.survey import Circuits
    from heatcheck.heads.looking import Place, Values

SHOWN = 10  # heads of a kind
Row = tuple[str, ...]


def tell_circuits(found: "Circuits") -> None:
    """Print the heads of induction circuits, and what removing the induction heads costs beside random heads."""
    from heatcheck.cli import show

    count = len(found.induction)
    typer.echo("")
    typer.echo(_headline(found))
    if count:
        title = "Induction heads" + (f", the first {SHOWN}" if count > SHOWN else "")
        columns = ("head", "prefix matching", "copying", "direct effect (logits)", "from weights", "fed most by")
        show.table(columns, _induction_rows(found), title=title)
        typer.echo("")
        typer.echo(
            "Prefix matching: the weight on what followed earlier copies of the token; 1 is all. Copying: 1 means that "
            "the head raises the tokens it attends to, 0 that it does not; another token has about 0."
        )
        typer.echo(
            "Direct effect: what the head itself adds to the token that continues the copy; above 0 helps. Fed most "
            "by: the head whose output its keys read most, by weights; 1 times is random."
        )
        typer.echo("From weights: copying by eigenvalues, in deviations above random heads; no test for induction.")
    _others(found)
    _removal(found)


def _headline(found: "Circuits") -> str:
    many, count = len(found.places), len(found.induction)
    of_copies = [float(found.behaviour.loss_of_copy(number + 1).mean()) for number in range(found.behaviour.copies)]
    read = " → ".join(f"{loss:.2f}" for loss in of_copies)
    if not count:
        return (
            f"None of {many} heads is an induction head. The loss on random tokens, copy by copy: {read} nats; lower "
            "would mean that the model continues copies."
        )
    return (
        f"{count} of {many} heads {'is an induction head' if count == 1 else 'are induction heads'}. The loss on "
        f"random tokens, copy by copy: {read} nats; lower means that the model continues copies."
    )


def _induction_rows(found: "Circuits") -> list[Row]:
    from heatcheck.heads.circuits.behaviour import COPYING, PREFIX

    looked = found.behaviour.looked
    matching, copying = looked.of(PREFIX), looked.of(COPYING)
    feeders = {one.reader: f"{one.writer} ({one.times_random:.1f} times)" for one in found.fed_by}
    rows: list[Row] = []
    for place in found.induction[:SHOWN]:
        at, direct = found.places.index(place), found.direct_of(place)
        rows.append(
            (
                str(place),
                _with_interval(matching, at),
                _with_interval(copying, at),
                f"{direct.value:.2f} [{direct.low:.2f}, {direct.high:.2f}]",
                f"{round(found.copying.z[at])}",
                feeders.get(place, "–"),
            )
        )
    return rows


def _others(found: "Circuits") -> None:
    """Previous-token and duplicate-token heads, in a line each."""
    from heatcheck.heads.circuits.behaviour import DUPLICATE, PREVIOUS

    typer.echo("")
    for role, measure in (("previous token", PREVIOUS), ("duplicate token", DUPLICATE)):
        values, heads = found.behaviour.looked.of(measure), found.behaviour.with_role(role)
        named = ", ".join(f"{place} ({values.value[found.places.index(place)]:.2f})" for place in heads[:SHOWN])
        typer.echo(f"{role.capitalize()} heads, by their weight there (1 is all){_first(heads)}: {named or 'none'}.")


def _removal(found: "Circuits") -> None:
    from heatcheck.cli import show

    typer.echo("")
    if found.repeated is None:
        typer.echo(f"heatcheck removed no heads together: {found.why_no_removal}.")
        return
    rows = [_cost_row("repeated random tokens", found.repeated)]
    if found.ordinary is not None:
        rows.append(_cost_row("your texts", found.ordinary))
    columns = ("on", "induction heads", "random heads", "difference", "sets that cost as much")
    show.table(columns, rows, title=f"Added loss (nats) without the {len(found.induction)} induction heads")
    typer.echo("")
    typer.echo(
        "Each removed head hands on its mean output over other texts. Above 0, removal hurts. The difference to as "
        "many random heads is the claim; it holds if its whole interval is above 0."
    )


def _cost_row(on: str, cost: "Cost") -> Row:
    intervals = (cost.of_chosen(), cost.of_random(), cost.difference())
    shown = (f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in intervals)
    return (on, *shown, f"{cost.random_at_least} of {len(cost.random)}")


def _with_interval(values: "Values", at: int) -> str:
    return f"{values.value[at]:.2f} [{values.low[at]:.2f}, {values.high[at]:.2f}]"


def _first(heads: "Sequence[Place]") -> str:
    return f", the first {SHOWN} of {len(heads)}" if len(heads) > SHOWN else ""

"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heatcheck.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON on standard output.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder with corpora such as sst.jsonl.gz.", envvar="HEATCHECK_DATA", show_default="data"
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU where there is one.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given several times."),
]


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """`--set` as a dict."""
    found = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not {text!r}.")
        found[key.strip()] = value.strip()
    return found

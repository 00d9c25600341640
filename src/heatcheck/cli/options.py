"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Optional

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Write the result as JSON on standard output.")]
DataDir = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads it at run time
    typer.Option(
        "--data-dir",
        help="Folder with corpora such as sst.jsonl.gz.",
        envvar="HEATCHECK_DATA",
        show_default="data",
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU where there is one.")]

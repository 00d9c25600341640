"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heatcheck.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Every number behind each answer, not only the first.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder with corpora, such as sst.jsonl.gz.", envvar="HEATCHECK_DATA", show_default="data"
    ),
]
Units = Annotated[str, typer.Option(help="Scored units: words, or tokens (the pieces of a Hugging Face tokenizer).")]
Dtype = Annotated[
    str | None,
    typer.Option(help="Precision of a Hugging Face model: float32, bfloat16 or float16.", show_default="float32"),
]
Device = Annotated[str, typer.Option(help="Device: cpu, cuda, or auto (a GPU if there is one).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Setting to change; repeatable."),
]
TextColumn = Annotated[
    str | None,
    typer.Option(help="Text column of your file.", show_default="text, in upper or lower case"),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="Label column of your file.", show_default="label, in upper or lower case"),
]
SkipBadRows = Annotated[
    bool,
    typer.Option(
        "--skip-bad-rows", help="Skip rows of your file that have no text or no label; heatcheck counts them."
    ),
]
MergeLabels = Annotated[
    bool,
    typer.Option("--merge-labels", help="Merge labels that differ only in case or spaces."),
]

Workers = Annotated[
    int, typer.Option(help="Number of parallel processes for the checks and for --refit; 0 runs in this process.")
]
Engine = Annotated[
    str, typer.Option(help="Place of the parallel processes: here, ray (starts Ray), or ray:ADDRESS (a Ray cluster).")
]


def cluster_of(engine: str) -> str | None:
    """The cluster's name for `engine.map`; None for this machine.

    >>> cluster_of("here"), cluster_of("ray:10.0.0.1:6379")
    (None, 'ray:10.0.0.1:6379')
    """
    kind, colon, address = engine.partition(":")
    if engine == "here":
        return None
    if kind == "ray" and (address or not colon):
        return engine
    raise BadInput(f"--engine takes here, ray or ray:ADDRESS, not {engine!r}.")


def listed(text: str) -> list[str]:
    """The parts of a comma-separated option.

    >>> listed("attention, gradient")
    ['attention', 'gradient']
    """
    return [part.strip() for part in text.split(",")]


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """The `--set` options as a dict."""
    found = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not {text!r}.")
        found[key.strip()] = value.strip()
    return found

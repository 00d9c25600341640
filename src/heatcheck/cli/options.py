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
Units = Annotated[
    str, typer.Option(help="Units that get a score: words, or tokens (the pieces of a Hugging Face tokenizer).")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU where there is one.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be given several times."),
]
TextColumn = Annotated[
    str | None,
    typer.Option(help="Column of your own file that holds the text.", show_default="text, in any case"),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="Column of your own file that holds the label.", show_default="label, in any case"),
]
SkipBadRows = Annotated[
    bool,
    typer.Option(
        "--skip-bad-rows", help="Leave out rows of your file that cannot be used (no text, no label), and count them."
    ),
]
MergeLabels = Annotated[
    bool,
    typer.Option("--merge-labels", help="Make one label of those that differ only in case and spaces."),
]

Workers = Annotated[int, typer.Option(help="With --refit: fits at once, each in a process of its own; 0: one here.")]
Engine = Annotated[
    str, typer.Option(help="With --refit: where fits run: here, ray (started for them), or ray:ADDRESS of a cluster.")
]


def cluster_of(engine: str) -> str | None:
    """What `engine.map` calls the place: none for here.

    >>> cluster_of("here"), cluster_of("ray:10.0.0.1:6379")
    (None, 'ray:10.0.0.1:6379')
    """
    kind, colon, address = engine.partition(":")
    if engine == "here":
        return None
    if kind == "ray" and (address or not colon):
        return engine
    raise BadInput(f"--engine is here, ray or ray:ADDRESS, not {engine!r}.")


def listed(text: str) -> list[str]:
    """What a comma-separated option names.

    >>> listed("attention, gradient")
    ['attention', 'gradient']
    """
    return [part.strip() for part in text.split(",")]


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """`--set` as a dict."""
    found = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not {text!r}.")
        found[key.strip()] = value.strip()
    return found

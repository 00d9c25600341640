"""`heatcheck serve`: start a local page to try a model's heatmaps by hand."""

from pathlib import Path
from typing import Annotated

import typer

from heatcheck.cli.options import AsJson, Device, Dtype
from heatcheck.cli.prompts import Against, Answer, Chat, Labels, Prompt, Score, Shots, asked

KNOWN = ("known:reader@planted_contrast", "known:bystander_wrong@planted_contrast")


def serve(
    model: Annotated[
        list[str] | None,
        typer.Argument(
            help="Model folders, hf:NAME or known:NAME@TASK; or the folder of the study olsson2022.",
            show_default="the demo's model and two known models",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 picks a free one.")] = 8765,
    labels: Labels = None,
    prompt: Prompt = None,
    shots: Shots = None,
    chat: Chat = False,
    answer: Answer = None,
    against: Against = None,
    score: Score = "text",
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    device: Device = "cpu",
    dtype: Dtype = None,
    json: AsJson = False,
) -> None:
    """Open a local page to try a model's heatmaps by hand.

    Type a text, drag its attention weights or erase words, and see how the prediction changes.

    \b
    $ heatcheck serve models/mine
    $ heatcheck serve models/mine --open
    $ heatcheck serve heatcheck-out/studies/olsson2022

    The page is reachable from this machine only (127.0.0.1). It needs no network and stores no text.
    """
    from heatcheck import serve as room
    from heatcheck.cli import show
    from heatcheck.errors import BadInput
    from heatcheck.models import load, shown_names
    from heatcheck.results import STUDY
    from heatcheck.training import pick_device

    studies = [name for name in model or () if (Path(name) / STUDY).is_file()]
    if len(studies) > 1:
        raise BadInput(f"the page plays one study at a time, not {len(studies)}: name one folder of a study.")
    if studies:
        model = [name for name in model or () if name not in studies]
    place = str(pick_device(device))
    how = asked(labels, prompt, shots, chat, answer=answer, against=against, score=score)
    names = dict.fromkeys(model or ([] if studies else [_demo_model(shown=not json), *KNOWN]))
    if names and not json:
        typer.echo(f"loading {len(names)} model{'s' if len(names) > 1 else ''} …")
    loaded = [load(name, device=place, dtype=dtype, **how) for name in names]
    shown = shown_names(list(names), loaded)
    subjects, folders = dict(zip(shown, loaded, strict=True)), dict(zip(shown, names, strict=True))

    def started(address: str) -> None:
        if json:
            show.as_json({"address": address, "models": list(subjects)})
        else:
            typer.echo(f"the page: {address}   (ctrl-C ends it)")
            if studies and subjects:
                typer.echo(f"the study: {address}heads")
        if browser:
            import webbrowser

            webbrowser.open(address)

    room.serve(subjects, folders=folders, study=next(iter(studies), None), port=port, started=started)


def _demo_model(*, shown: bool) -> str:
    """The folder of the model that `heatcheck demo` trains; trains it if it is missing."""
    from heatcheck.training import train

    return str(train("rotten_tomatoes", progress=shown).folder)

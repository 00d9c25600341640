"""`heatcheck serve`."""

from typing import Annotated

import typer

from heatcheck.cli.options import AsJson, Device

KNOWN = ("known:reader@planted_contrast", "known:bystander_wrong@planted_contrast")


def serve(
    model: Annotated[
        list[str] | None,
        typer.Argument(help="Models' folders, hf:NAME, known:NAME@TASK; none: the demo's model and two known ones."),
    ] = None,
    port: Annotated[int, typer.Option(help="Of this machine; 0: any free one.")] = 8765,
    labels: Annotated[
        str | None, typer.Option(help="What the outputs of a Hugging Face classifier mean, in order: negative,positive")
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    device: Device = "cpu",
    json: AsJson = False,
) -> None:
    """A page to play with: type a text, drag its weights, erase words, and see what the model says.

    heatcheck serve models/mine

    Models are loaded once. The page answers this machine only (127.0.0.1), needs no network, and keeps no text.
    """
    from heatcheck import serve as room
    from heatcheck.cli import show
    from heatcheck.models import load, shown_names
    from heatcheck.training import pick_device

    place = str(pick_device(device))
    named = None if labels is None else [label.strip() for label in labels.split(",")]
    names = dict.fromkeys(model or [_demo_model(shown=not json), *KNOWN])
    if not json:
        typer.echo(f"loading {len(names)} model{'s' if len(names) > 1 else ''} …")
    loaded = [load(name, device=place, labels=named) for name in names]
    shown = shown_names(list(names), loaded)
    subjects, folders = dict(zip(shown, loaded, strict=True)), dict(zip(shown, names, strict=True))

    def started(address: str) -> None:
        if json:
            show.as_json({"address": address, "models": list(subjects)})
        else:
            typer.echo(f"the page: {address}   (ctrl-C ends it)")
        if browser:
            import webbrowser

            webbrowser.open(address)

    room.serve(subjects, folders=folders, port=port, started=started)


def _demo_model(*, shown: bool) -> str:
    """The folder of the model that `heatcheck demo` trains, trained now if it is not there."""
    from heatcheck.training import train

    return str(train("rotten_tomatoes", progress=shown).folder)

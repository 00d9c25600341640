"""`heatcheck explain`."""

import math
from typing import Annotated

import typer

from heatcheck.cli.options import AsJson, Device, Units


def explain(
    model: Annotated[str, typer.Argument(help="A model's folder, hf:NAME, or known:NAME@TASK.")],
    text: Annotated[str, typer.Argument(help="The text to look at.")],
    by: Annotated[str, typer.Option(help="Comma-separated; see `heatcheck explainers`.")] = (
        "attention,gradient,leave_one_out"
    ),
    pair: Annotated[str | None, typer.Option(help="The question, for a model that reads two texts.")] = None,
    units: Units = "words",
    labels: Annotated[
        str | None,
        typer.Option(
            help="For hf: what its outputs mean, in their order, comma-separated.", show_default="as the model says"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of random scores.")] = 0,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Draw heatmaps of one text: attention beside its rivals.

    heatcheck explain models/mine "what a waste of time" --by attention,gradient,leave_one_out
    """
    from heatcheck.cli import show
    from heatcheck.data import Example
    from heatcheck.errors import BadInput
    from heatcheck.explainers import explain as explain_text
    from heatcheck.models import in_units, load, name_units, unknown_words
    from heatcheck.training import pick_device, predict

    if not text.strip():
        raise BadInput("the text is empty.")
    named = None if labels is None else [label.strip() for label in labels.split(",")]
    subject = load(model, device=str(pick_device(device)), labels=named)
    methods = [name.strip() for name in by.split(",")]
    found = explain_text(subject, text, by=methods, text_pair=pair, seed=seed, units=units)
    example = Example("text", text, pair)
    logs = predict(subject, [example])[0, 0]
    label = int(logs.argmax())
    names = getattr(subject, "labels", [str(n) for n in range(len(logs))])
    probability, scored = math.exp(logs[label]), name_units(in_units(subject, [example], units), units)
    if json:
        show.as_json({"predicted": names[label], "probability": probability, "units": scored, "scores": found})
        return
    typer.echo(f"predicted: {names[label]} (p = {probability:.3f})")
    if scored != "words":
        typer.echo(f"scores are of {scored}")
    if unknown := unknown_words(subject, text):
        typer.echo(f"unknown to this model, and all the same to it: {', '.join(unknown)}")
    typer.echo("█ the size of a score, ░ of one that speaks against the prediction\n")
    show.heatmaps(found)

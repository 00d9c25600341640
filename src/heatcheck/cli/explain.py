"""`heatcheck explain`."""

import math
from typing import Annotated

import typer

from heatcheck.cli.options import AsJson, Device


def explain(
    model: Annotated[str, typer.Argument(help="A model's folder, hf:NAME, or known:NAME@TASK.")],
    text: Annotated[str, typer.Argument(help="The text to look at.")],
    by: Annotated[str, typer.Option(help="Comma-separated; see `heatcheck explainers`.")] = (
        "attention,gradient,leave_one_out"
    ),
    pair: Annotated[str | None, typer.Option(help="The question, for a model that reads two texts.")] = None,
    seed: Annotated[int, typer.Option(help="Of random scores.")] = 0,
    device: Device = "cpu",
    json: AsJson = False,
) -> None:
    """Draw heatmaps of one text: attention beside its rivals.

    heatcheck explain models/mine "what a waste of time" --by attention,gradient,leave_one_out
    """
    from heatcheck.cli import show
    from heatcheck.data import Example
    from heatcheck.errors import BadInput
    from heatcheck.explainers import explain as explain_text
    from heatcheck.models import load, unknown_words
    from heatcheck.training import pick_device, predict

    if not text.strip():
        raise BadInput("the text is empty.")
    subject = load(model, device=str(pick_device(device)))
    found = explain_text(subject, text, by=[name.strip() for name in by.split(",")], text_pair=pair, seed=seed)
    logs = predict(subject, [Example("text", text, pair)])[0, 0]
    label = int(logs.argmax())
    labels = getattr(subject, "labels", [str(n) for n in range(len(logs))])
    probability = math.exp(logs[label])
    if json:
        show.as_json({"predicted": labels[label], "probability": probability, "scores": found})
        return
    typer.echo(f"predicted: {labels[label]} (p = {probability:.3f})")
    if unknown := unknown_words(subject, text):
        typer.echo(f"unknown to this model, and all the same to it: {', '.join(unknown)}")
    typer.echo("█ the size of a score, ░ of one that speaks against the prediction\n")
    show.heatmaps(found)

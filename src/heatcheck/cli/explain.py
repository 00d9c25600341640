"""`heatcheck explain`."""

import json as json_format
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, Device, SkipBadRows, TextColumn, Units, listed

if TYPE_CHECKING:
    import numpy as np

    from heatcheck.data import Reading
    from heatcheck.models import Subject


def explain(
    model: Annotated[str, typer.Argument(help="A model's folder, hf:NAME, or known:NAME@TASK.")],
    text: Annotated[str | None, typer.Argument(help="The text to look at.", show_default="those of --data")] = None,
    by: Annotated[str, typer.Option(help="Comma-separated; see `heatcheck explainers`.")] = (
        "attention,gradient,leave_one_out"
    ),
    data: Annotated[Path | None, typer.Option(help="Your own file of many texts; labels are not needed.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --data: JSONL file to make, one line per text and method.")
    ] = None,
    text_column: TextColumn = None,
    skip_bad_rows: SkipBadRows = False,
    target: Annotated[
        str | None,
        typer.Option(help="The label that scores speak for, by name or number.", show_default="the predicted one"),
    ] = None,
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

    heatcheck explain models/mine --data reviews.csv --by attention --out scores.jsonl
    """
    from heatcheck.cli import show
    from heatcheck.data import Example, Reading
    from heatcheck.errors import BadInput
    from heatcheck.explainers import explain as explain_text
    from heatcheck.explainers import find_label
    from heatcheck.models import in_units, load, name_units, unknown_words
    from heatcheck.training import pick_device, predict

    if (text is None) == (data is None):
        raise BadInput("name one text, or a file of texts with --data.")
    if (data is None) != (out is None):
        raise BadInput("--data and --out go together: a file of texts, and the file to write their scores into.")
    if text is not None and not text.strip():
        raise BadInput("the text is empty.")
    if out is not None and out.exists():
        raise BadInput(f"output file {out} exists: choose another name with --out, or delete it.")
    named = None if labels is None else [label.strip() for label in labels.split(",")]
    subject = load(model, device=str(pick_device(device)), labels=named)
    methods = listed(by)
    if data is not None and out is not None:
        reading = Reading(text_column=text_column, skip_bad_rows=skip_bad_rows)
        said = explain_file(subject, data, out, methods, reading=reading, target=target, seed=seed, units=units)
        show.as_json(said) if json else typer.echo(f"{said['texts']:,} texts: {out}")
        if said["left_out"] and not json:
            typer.echo(f"Left out: {'; '.join(f'{why}: {count:,}' for why, count in said['left_out'].items())}.")
        return
    assert text is not None
    found = explain_text(subject, text, by=methods, text_pair=pair, target=target, seed=seed, units=units)
    example = Example("text", text, pair)
    logs = predict(subject, [example])[0, 0]
    label = int(logs.argmax())
    names = getattr(subject, "labels", [str(n) for n in range(len(logs))])
    probability, scored = math.exp(logs[label]), name_units(in_units(subject, [example], units), units)
    aimed = find_label(subject, target, example)
    if json:
        facts = {"predicted": names[label], "probability": probability, "units": scored, "scores": found}
        show.as_json(facts | _target_facts(names, aimed, logs))
        return
    typer.echo(f"predicted: {names[label]} (p = {probability:.3f})")
    if aimed is not None:
        typer.echo(f"scores speak for: {names[aimed]} (p = {math.exp(logs[aimed]):.3f})")
    if scored != "words":
        typer.echo(f"scores are of {scored}")
    if unknown := unknown_words(subject, text):
        typer.echo(f"unknown to this model, and all the same to it: {', '.join(unknown)}")
    typer.echo(
        f"█ the size of a score, ░ of one that speaks against {'the prediction' if aimed is None else names[aimed]}\n"
    )
    show.heatmaps(found)


def _target_facts(names: Sequence[str], aimed: int | None, logs: "np.ndarray") -> dict[str, Any]:
    """The label that was asked for, and how probable it is; nothing where none was."""
    return {} if aimed is None else {"target": names[aimed], "target_probability": math.exp(logs[aimed])}


def explain_file(
    subject: "Subject",
    data: Path,
    out: Path,
    methods: Sequence[str],
    *,
    reading: "Reading",
    seed: int,
    units: str,
    target: str | None = None,
) -> dict[str, Any]:
    """Scores of every text of a file, a JSON object per text and method.

    With one method, `heatcheck audit --set erasure.explainer=file:OUT` reads the file.
    """
    from heatcheck.data import read_texts
    from heatcheck.engine import write_whole
    from heatcheck.explainers import explain_one, find_explainer, find_label
    from heatcheck.models import in_units
    from heatcheck.training import predict

    texts, left_out = read_texts(data, reading=reading)
    examples = in_units(subject, texts, units)
    logs = predict(subject, examples)[:, 0]
    names = getattr(subject, "labels", [str(n) for n in range(logs.shape[1])])
    aimed = find_label(subject, target, examples[0])
    lines = []
    for method in methods:
        scores = explain_one(subject, examples, method, seed=seed, label=aimed)
        for row, example in enumerate(examples):
            label = int(logs[row].argmax())
            valid = scores.valid[row, : len(example.words)]
            facts = {
                "id": example.id,
                "method": find_explainer(method).name,
                "predicted": names[label],
                "probability": math.exp(logs[row, label]),
                **_target_facts(names, aimed, logs[row]),
                "words": list(example.words),
                "scores": [float(v) if ok else None for v, ok in zip(scores.values[row], valid, strict=False)],
            }
            lines.append(json_format.dumps(facts, ensure_ascii=False) + "\n")
    write_whole(out, "".join(lines).encode())
    return {"file": str(out), "texts": len(examples), "methods": list(methods), "left_out": left_out}

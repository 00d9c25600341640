"""`heatcheck explain`: score the words of a text, or of a file of texts, by attention and other methods."""

import json as json_format
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, Device, Dtype, SkipBadRows, TextColumn, Units, listed

if TYPE_CHECKING:
    from heatcheck.data import Reading
    from heatcheck.explainers.target import Target
    from heatcheck.models import Subject
from heatcheck.cli.prompts import Against, Answer, Chat, Labels, Prompt, Score, Shots, asked


def explain(
    model: Annotated[str, typer.Argument(help="Model folder, hf:NAME or known:NAME@TASK.")],
    text: Annotated[str | None, typer.Argument(help="Text to explain.", show_default="the texts of --data")] = None,
    by: Annotated[str, typer.Option(help="Methods, comma-separated; see `heatcheck explainers`.")] = (
        "attention,gradient,leave_one_out"
    ),
    data: Annotated[Path | None, typer.Option(help="File with many texts; it needs no labels.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="New JSONL file for the scores of --data, one line per text and method.")
    ] = None,
    text_column: TextColumn = None,
    skip_bad_rows: SkipBadRows = False,
    target: Annotated[
        str | None,
        typer.Option(
            help="Label to explain, by name or number; A-B explains A rather than B.",
            show_default="the predicted label",
        ),
    ] = None,
    pair: Annotated[str | None, typer.Option(help="Second text or question, for models that read two texts.")] = None,
    units: Units = "words",
    labels: Labels = None,
    prompt: Prompt = None,
    shots: Shots = None,
    chat: Chat = False,
    answer: Answer = None,
    against: Against = None,
    score: Score = "text",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    device: Device = "auto",
    dtype: Dtype = None,
    json: AsJson = False,
) -> None:
    """Show the heatmaps of a text: attention beside other methods.

    \b
    $ heatcheck explain models/mine "what a waste of time"
    $ heatcheck explain models/mine "what a waste of time" --by attention,lime
    $ heatcheck explain models/mine --data reviews.csv --by attention --out scores.jsonl
    $ heatcheck explain hf:models/lm "The capital of France is" --answer " Paris"
    """
    from heatcheck.cli import heatmaps, show
    from heatcheck.data import Example, Reading
    from heatcheck.errors import BadInput
    from heatcheck.explainers import explain as explain_text
    from heatcheck.explainers import find_explainer
    from heatcheck.models import asked_of, in_units, load, name_units, rows_of, unknown_words
    from heatcheck.training import pick_device

    if (text is None) == (data is None):
        raise BadInput("explain takes either one text or --data FILE.")
    if (data is None) != (out is None):
        raise BadInput("--data and --out go together: add --out FILE for the scores of the texts in --data.")
    if text is not None and not text.strip():
        raise BadInput("the text is empty.")
    if out is not None and out.exists():
        raise BadInput(f"output file {out} exists: choose another name with --out, or delete it.")
    reading = Reading(text_column=text_column, skip_bad_rows=skip_bad_rows)
    how = asked(labels, prompt, shots, chat, answer=answer, against=against, score=score, reading=reading)
    subject = load(model, device=str(pick_device(device)), dtype=dtype, **how)
    methods = listed(by)
    if data is not None and out is not None:
        said = explain_file(subject, data, out, methods, reading=reading, target=target, seed=seed, units=units)
        show.as_json(said) if json else typer.echo(f"Scores of {said['texts']:,} texts: {out}")
        if said["left_out"] and not json:
            typer.echo(f"Rows left out: {'; '.join(f'{why}: {count:,}' for why, count in said['left_out'].items())}.")
        if said["remark"] and not json:
            typer.echo(said["remark"])
        return
    assert text is not None
    found = explain_text(subject, text, by=methods, text_pair=pair, target=target, seed=seed, units=units)
    assert found.prediction is not None
    scored = name_units(in_units(subject, [Example("text", text, pair)], units), units)
    share = on_text(found["attention"]) if asked_of(subject) and "attention" in found else None
    if json:
        label, probability = found.prediction
        facts = {"predicted": label, "probability": probability, "units": scored, "scores": found}
        aim = {} if found.target is None else dict(zip(("target", "target_probability"), found.target, strict=True))
        asked_how = {} if share is None else {"weight_on_text": share, "asked": asked_of(subject)}
        show.as_json(facts | aim | asked_how | ({"remark": found.remark} if found.remark else {}))
        return
    for what, wording in asked_of(subject).items():
        typer.echo(f"{what}: {wording}")
    typer.echo(f"The model predicts {found.prediction}.")
    if found.target is not None and found.target.label != found.prediction.label:
        typer.echo(f"The scores explain {found.target} instead.")
    if found.remark:
        typer.echo(found.remark)
    if scored != "words":
        typer.echo(f"The scores are for {scored}.")
    if rows := rows_of(subject):
        typer.echo(rows)
    if unknown := unknown_words(subject, text):
        typer.echo(f"The model does not know these words and cannot tell them apart: {', '.join(unknown)}.")
    if share is not None:
        beside = "" if share > 0.995 else "; the prompt and added tokens have the rest"
        typer.echo(f"Words of the text have {share:.2f} of the attention weight{beside}.")
    explained = (found.target or found.prediction).label
    typer.echo("")
    heatmaps.legend(map(find_explainer, found), explained)
    typer.echo("")
    heatmaps.draw(found)


def on_text(scores: Sequence[tuple[str, float | None]]) -> float:
    """The weight that lies on words of the text.

    >>> on_text([("so", 0.25), ("good", 0.5), ("!", None)])
    0.75
    """
    return float(sum(score for _, score in scores if score is not None))


def _target_facts(names: Sequence[str], aim: "Target", log: float | None) -> dict[str, Any]:
    """What --target names and its probability; nothing without --target."""
    if aim.label is None or log is None:
        return {}
    return {"target": aim.name or names[aim.label], "target_probability": math.exp(log)}


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
    """Write the scores of every text of a file, one JSON object per text and method.

    With one method, `heatcheck audit --set erasure.explainer=file:OUT` reads the file.
    """
    from heatcheck.data import read_texts
    from heatcheck.engine import write_whole
    from heatcheck.explainers import explain_one, find_explainer, find_target
    from heatcheck.models import in_units
    from heatcheck.models.contract.lengths import JOINED, TOO_LONG, say_cut, texts_apart, texts_that_fit
    from heatcheck.training import predict

    texts, left_out = read_texts(data, reading=reading)
    readable = texts_that_fit(subject, texts)
    if len(readable) < len(texts):
        left_out = {**left_out, TOO_LONG: len(texts) - len(readable)}
    apart = texts_apart(subject, readable)
    if len(apart) < len(readable):
        left_out = {**left_out, JOINED: len(readable) - len(apart)}
    examples = in_units(subject, apart, units)
    aim = find_target(subject, target, examples[0])
    aim.require(methods)
    # A model with several decisions is asked about one of them.
    answering = aim.subject if getattr(subject, "several", False) else subject
    logs = predict(answering, examples)[:, 0]
    names = getattr(answering, "labels", [str(n) for n in range(logs.shape[1])])
    asked = [aim.of(example) for example in examples]
    aimed_at = None if aim.label is None else predict(aim.subject, asked)[:, 0, aim.label]
    lines = []
    for method in methods:
        scores = explain_one(aim.subject, asked, method, seed=seed, label=aim.label)
        for row, example in enumerate(examples):
            label = int(logs[row].argmax())
            valid = scores.valid[row, : len(example.words)]
            facts = {
                "id": example.id,
                "method": find_explainer(method).name,
                "predicted": names[label],
                "probability": math.exp(logs[row, label]),
                **_target_facts(names, aim, None if aimed_at is None else float(aimed_at[row])),
                "words": list(example.words),
                "scores": [float(v) if ok else None for v, ok in zip(scores.values[row], valid, strict=False)],
            }
            lines.append(json_format.dumps(facts, ensure_ascii=False) + "\n")
    write_whole(out, "".join(lines).encode())
    return {
        "file": str(out),
        "texts": len(examples),
        "methods": list(methods),
        "left_out": left_out,
        "remark": say_cut(subject, examples),
    }

"""`heatcheck train`: train a new model on a task, or fine-tune one from Hugging Face, and save it."""

from pathlib import Path
from typing import Annotated

import typer

from heatcheck.cli.options import (
    AsJson,
    DataDir,
    Device,
    LabelColumn,
    MergeLabels,
    Settings,
    SkipBadRows,
    TextColumn,
    pairs,
)
from heatcheck.errors import BadInput


def train(
    task: Annotated[str, typer.Argument(help="Task name (see `heatcheck tasks`) or your own file.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="Hugging Face model to fine-tune, as hf:NAME (a folder or a name on the hub).",
            show_default="a new model",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Encoder: average, cnn, conv, gru, lstm, lstm_ahead, none, orthogonal_lstm or orthogonal_lstm_ahead.",
            show_default="lstm",
        ),
    ] = None,
    attention: Annotated[str | None, typer.Option(help="Attention: tanh, dot or linear.", show_default="tanh")] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="Training preset: default, finetune, jw-paper, jw-release, pruthi, pruthi-seq2seq, serrano, "
            "snell-copy or wp."
        ),
    ] = "default",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Pretrained word vectors: a GloVe or word2vec text file, or .npz."),
    ] = None,
    impose: Annotated[
        str | None,
        typer.Option(help="Fixed attention weights for training: uniform or log_odds.", show_default="learned weights"),
    ] = None,
    loss: Annotated[str, typer.Option(help="Loss: likelihood or log_odds_regularised.")] = "likelihood",
    treatment: Annotated[
        str | None,
        typer.Option(
            help="Treatment, a change that is meant to give heatmaps that can be read; see docs/treatments.md.",
            show_default="none",
        ),
    ] = None,
    setting: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(help="New folder for the model.", show_default="heatcheck-out/fits/ID"),
    ] = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    skip_bad_rows: SkipBadRows = False,
    merge_labels: MergeLabels = False,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Train a classifier with attention and print its test scores.

    \b
    $ heatcheck train rotten_tomatoes
    $ heatcheck train reviews.csv --encoder cnn --seed 3 --out models/mine
    $ heatcheck train mine.csv --text-column Review --label-column Sentiment
    $ heatcheck train sst --preset jw-release --vectors glove.6B.300d.txt
    $ heatcheck train rotten_tomatoes --model hf:distilbert-base-uncased
    $ heatcheck train reviews --loss log_odds_regularised --set loss.strength=2
    $ heatcheck train reviews --treatment diversity --set treatment.strength=1

    `heatcheck train TASK --set help=` lists every KEY of --set.

    If training stops early, run the same command again to resume.
    """
    changes: dict[str, str] = pairs(setting)
    for name in ("seed", "preset", "vectors", "device", "out", "impose", "loss", "model", "treatment"):
        if name in changes:
            raise BadInput(f"--set does not take {name}: use --{name}.")
    changes |= {k: v for k, v in (("encoder", encoder), ("attention", attention)) if v is not None}
    of_loss, of_treatment = (
        {key.removeprefix(of): changes.pop(key) for key in list(changes) if key.startswith(of)}
        for of in ("loss.", "treatment.")
    )
    if of_treatment and treatment is None:
        raise BadInput(f"treatment.{next(iter(of_treatment))} is a setting of a treatment. Name one with --treatment.")

    from heatcheck.cli import show
    from heatcheck.data import label_counts, load_task
    from heatcheck.training import train as train_model

    corpus = load_task(
        task,
        data_dir=data_dir,
        text_column=text_column,
        label_column=label_column,
        skip_bad_rows=skip_bad_rows,
        merge_labels=merge_labels,
    )
    show.doubts(corpus)
    fit = train_model(
        corpus,
        model=model,
        preset=preset,
        seed=seed,
        out=out,
        vectors=vectors,
        device=device,
        progress=not json,
        impose={"weights": impose} if impose else None,
        loss={"name": loss, **of_loss},
        treatment={"name": treatment, **of_treatment} if treatment else None,
        **changes,
    )
    show.as_json(show.fit_facts(fit)) if json else show.fit_in_words(fit, label_counts(corpus))

"""Options of a model's labels, and of the prompt that makes a classifier of a language model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from heatcheck.errors import BadInput

Labels = Annotated[
    str | None,
    typer.Option(
        help="Label names of an hf: model in output order, comma-separated. With --prompt, each label with its word: "
        "no=' no',yes=' yes'.",
        show_default="the model's own names",
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(help="Question to a language model (hf:), with {text} where each text goes; needs --labels."),
]
Shots = Annotated[
    Path | None, typer.Option(help="File with labelled texts that the prompt shows first.", show_default="none")
]
Chat = Annotated[bool, typer.Option("--chat", help="Put the prompt into the model's chat template.")]


def asked(
    labels: str | None, prompt: str | None = None, shots: Path | None = None, chat: bool = False
) -> dict[str, Any]:
    """These options as `load` takes them.

    >>> asked("no,yes")
    {'labels': ['no', 'yes']}
    >>> asked("no= no,yes= yes", prompt="{text} Good?")["labels"]
    {'no': ' no', 'yes': ' yes'}
    """
    if prompt is None:
        if shots is not None or chat:
            raise BadInput("--shots and --chat belong to a prompt: add --prompt, with {text} in it.")
        if labels is not None and "=" in labels:
            raise BadInput("words for labels belong to a prompt: add --prompt, or give the labels' names alone.")
        return {"labels": None if labels is None else [label.strip() for label in labels.split(",")]}
    named = [_word(part) for part in labels.split(",") if part.strip()] if labels else []
    twice = next((label for label, _ in named if sum(label == other for other, _ in named) > 1), None)
    if twice is not None:
        raise BadInput(f"--labels gives the label {twice!r} twice. Give each label one word.")
    words = dict(named)
    if not words:
        raise BadInput("--prompt needs --labels with a word for each label, such as --labels no=' no',yes=' yes'.")
    return {"labels": words, "prompt": unescaped(prompt), "shown": _read(shots), "chat": chat}


def unescaped(prompt: str) -> str:
    r"""The prompt with line breaks and tabs that a shell hands over as two characters.

    >>> unescaped(r"Review: {text}\nIt is") == "Review: {text}\nIt is"
    True
    """
    return prompt.replace("\\n", "\n").replace("\\t", "\t")


def _word(part: str) -> tuple[str, str]:
    label, equals, word = part.partition("=")
    if not equals or not label.strip():
        raise BadInput(f"--labels must give each label a word, as label=word, not {part!r}.")
    if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        word = word[1:-1]  # quotes that a shell left
    return label.strip(), unescaped(word)


def _read(path: Path | None) -> list[tuple[str, str]]:
    if path is None:
        return []
    from heatcheck.data import load_task

    corpus = load_task(str(path), trainable=False)
    examples = [example for split in corpus.splits.values() for example in split]
    return [(example.text, corpus.labels[example.label]) for example in examples if isinstance(example.label, int)]

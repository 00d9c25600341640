"""Options of a model's labels, and of the prompt that makes a classifier of a language model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.errors import BadInput

if TYPE_CHECKING:
    from heatcheck.data import Reading

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
Answer = Annotated[
    str | None,
    typer.Option(
        help="What a language model (hf:) says next, such as ' Paris'; its rival is anything else, or --against.",
        show_default="none",
    ),
]
Against = Annotated[str | None, typer.Option(help="Second answer, to compare --answer with.", show_default="none")]
Score = Annotated[
    str,
    typer.Option(help="How answers of several tokens compare: text (probability), mean (per token) or pmi."),
]
Chat = Annotated[bool, typer.Option("--chat", help="Put the prompt into the model's chat template.")]


def asked(
    labels: str | None,
    prompt: str | None = None,
    shots: Path | None = None,
    chat: bool = False,
    *,
    answer: str | None = None,
    against: str | None = None,
    score: str = "text",
    reading: "Reading | None" = None,
) -> dict[str, Any]:
    """These options as `load` takes them; `reading` is how the file of --shots is read.

    >>> asked("no,yes")
    {'labels': ['no', 'yes']}
    >>> asked("no= no,yes= yes", prompt="{text} Good?")["labels"]
    {'no': ' no', 'yes': ' yes'}
    >>> asked(None, answer=" Paris", against=" Rome")["answer"]
    (' Paris', ' Rome')
    """
    if answer is None and against is not None:
        raise BadInput("--against is a second answer: give the first with --answer.")
    if answer is not None:
        return _answered(answer, against, labels, prompt, shots, chat, score)
    if prompt is None:
        if score != "text":
            raise BadInput("--score belongs to a prompt or an answer: add --prompt or --answer.")
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
    found = {"labels": words, "prompt": unescaped(prompt), "shown": _read(shots, reading), "chat": chat}
    return found if score == "text" else found | {"score": score}


def _answered(
    answer: str,
    against: str | None,
    labels: str | None,
    prompt: str | None,
    shots: Path | None,
    chat: bool,
    score: str,
) -> dict[str, Any]:
    if labels is not None or shots is not None:
        raise BadInput("--answer takes the place of --labels and --shots. Leave out one or the other.")
    own = unescaped(answer)
    found: dict[str, Any] = {"answer": own if against is None else (own, unescaped(against)), "chat": chat}
    if prompt is not None:
        found["prompt"] = unescaped(prompt)
    return found if score == "text" else found | {"score": score}


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


def _read(path: Path | None, reading: "Reading | None") -> list[tuple[str, str]]:
    if path is None:
        return []
    from heatcheck.data import load_task

    how = {} if reading is None else reading._asdict()
    corpus = load_task(str(path), trainable=False, **how)
    examples = [example for split in corpus.splits.values() for example in split]
    return [(example.text, corpus.labels[example.label]) for example in examples if isinstance(example.label, int)]

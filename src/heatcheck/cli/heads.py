"""`heatcheck heads`: which heads of a transformer matter, and what each looks at."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, DataDir, Device, Dtype, SkipBadRows, TextColumn
from heatcheck.cli.prompts import Against, Answer, Chat, Labels, Prompt, Score, Shots, asked

if TYPE_CHECKING:
    from heatcheck.data import Example, Reading
    from heatcheck.heads.circuits.survey import Circuits
    from heatcheck.heads.looking import Place
    from heatcheck.heads.survey import Survey
    from heatcheck.heads.treebank import TreebankScores
    from heatcheck.models import Subject

SHOWN = 10  # heads that matter, in the table
SHADES = " ░▒▓█"  # of an effect, from none to the largest
LETTERS = {
    "induction": "C",
    "previous token": "P",
    "mostly previous token": "P",
    "next token": "N",
    "mostly next token": "N",
    "same token": "I",
    "special tokens": "M",
    "punctuation": ",",
    "rare words": "R",
    "broad": "B",
    "sink": "S",
}
UNITS = {"broad": " nats"}  # of a role's number; other numbers are shares
MEANINGS = {
    "C": "induction (continues copies)",
    "P": "previous token",
    "N": "next token",
    "I": "same token",
    "M": "special tokens",
    ",": "punctuation",
    "R": "rare words",
    "B": "broad",
    "S": "sink",
}


def heads(
    model: Annotated[str, typer.Argument(help="Model folder or hf:NAME of a transformer.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="Task name or your own file with texts; it needs no labels.",
            show_default="the model's own task or file; for a language model, the built-in reviews",
        ),
    ] = None,
    texts: Annotated[int, typer.Option(help="Number of texts to look at.")] = 64,
    treebank: Annotated[
        int,
        typer.Option(help="Sentences per part of the treebank, to score syntactic roles; 0 leaves these out."),
    ] = 0,
    circuits: Annotated[
        bool,
        typer.Option(
            "--circuits",
            help="Also find a language model's induction heads, and remove them beside as many random heads.",
        ),
    ] = False,
    labels: Labels = None,
    prompt: Prompt = None,
    shots: Shots = None,
    chat: Chat = False,
    answer: Answer = None,
    against: Against = None,
    score: Score = "text",
    text_column: TextColumn = None,
    skip_bad_rows: SkipBadRows = False,
    data_dir: DataDir = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    device: Device = "auto",
    dtype: Dtype = None,
    json: AsJson = False,
) -> None:
    """Show which heads matter and what they look at.

    heatcheck removes each head in turn: its mean output on other texts takes its place. It prints a map of all heads,
    and the ten heads whose removal costs most, each with its roles.

    \b
    $ heatcheck heads models/mine
    $ heatcheck heads hf:models/sst2 --data mine.csv --texts 200
    $ heatcheck heads hf:models/lm --data texts.csv
    $ heatcheck heads hf:models/lm --circuits
    $ heatcheck heads models/mine --treebank 500
    $ heatcheck heads hf:models/lm --prompt "{text} It is" --labels bad=" bad",good=" good" --data mine.csv
    """
    from heatcheck.cli import show
    from heatcheck.data import Reading, data_folder
    from heatcheck.heads.survey import choose_texts, survey
    from heatcheck.heads.treebank import score_treebank
    from heatcheck.models import load, require_layers
    from heatcheck.models.hf.next_token import is_language_model, load_next_token
    from heatcheck.training import pick_device

    place = str(pick_device(device))
    reading = Reading(text_column=text_column, skip_bad_rows=skip_bad_rows)
    how = asked(labels, prompt, shots, chat, answer=answer, against=against, score=score, reading=reading)
    if prompt is None and labels is None and answer is None and is_language_model(model):
        subject: Subject = load_next_token(model, device=place, dtype=dtype)
    else:
        subject = load(model, device=place, dtype=dtype, **how)
    require_layers(subject, "heatcheck heads")
    examples = read_examples(model, subject, data, reading, data_dir)
    chosen, reference = choose_texts(examples, texts, seed=seed)
    wired = find_wires(subject, chosen, reference, seed) if circuits else None
    found = survey(subject, chosen, reference, seed=seed)
    if wired is not None:
        found = found.with_roles(wired.induction_roles)
    parsed = score_treebank(subject, data_folder(data_dir), treebank, seed=seed) if treebank else None
    if json:
        more = {name: part.facts() for name, part in (("syntax", parsed), ("circuits", wired)) if part is not None}
        show.as_json({"model": subject.id, **found.facts(), "syntax": None, "circuits": None, **more})
        return
    tell(found, model)
    if wired is not None:
        from heatcheck.cli.circuits import tell_circuits

        tell_circuits(wired)
    if parsed is not None:
        tell_syntax(parsed)


def find_wires(subject: "Subject", chosen: "list[Example]", reference: "list[Example]", seed: int) -> "Circuits":
    """The circuits of a language model; the texts are those on which removal is tried beside repeated tokens."""
    from heatcheck.heads.circuits.survey import TEXTS, find_circuits
    from heatcheck.models.contract.opened import require_opened

    opened = require_opened(subject, "heatcheck heads --circuits")
    return find_circuits(opened, chosen[:TEXTS], reference[:TEXTS], seed=seed)


def read_examples(
    model: str, subject: "Subject", data: str | None, reading: "Reading", data_dir: Path | None
) -> "list[Example]":
    """The texts: of a file without need of labels, of a task's test split, or of the model's own data."""
    from heatcheck.data import AS_IT_IS, is_task, load_task, read_texts
    from heatcheck.errors import BadInput
    from heatcheck.models.hf.next_token import NextToken
    from heatcheck.training import own_corpus

    name = data
    if name is None and isinstance(subject, NextToken):
        name = "reviews"
    if name is not None and not is_task(name):
        return read_texts(Path(name), reading=reading)[0]
    if name is not None:
        if reading != AS_IT_IS:
            raise BadInput(f"{name} is a built-in task. Leave out --text-column and --skip-bad-rows.")
        return list(load_task(name, data_dir=data_dir)["test"].examples)
    if subject.recipe is None:
        raise BadInput(f"{model} does not record its training data: name some texts with --data.")
    task = subject.recipe.task
    own = task.partition("@")[0]
    corpus = load_task(own, data_dir=data_dir) if is_task(own) else own_corpus(task, Path(model), reading)
    return list(corpus["test"].examples)


def tell(found: "Survey", model: str) -> None:
    """Print the map of all heads and the heads that matter."""
    from heatcheck.cli import show

    many, texts = len(found.places), len(found.looked.examples)
    matter = found.that_matter()
    typer.echo(_headline(len(matter), many, texts, model))
    if matter:
        said = [found.gaze[place].says for place in matter if place in found.gaze]
        typer.echo(
            f"{said.count('where')} of these {len(matter)} surely matter mostly for where they look in the text; "
            f"{said.count('what')} surely do not. For {said.count('open')} the texts do not decide."
        )
    sunk = sum(value > 0.3 for value in found.sinks.values())
    typer.echo(f"{sunk} of {many} heads are sinks: more than 0.3 of their weight lies on the first token.")
    typer.echo("")
    for line in drawn(found):
        typer.echo(line)
    typer.echo("")
    if not matter:
        return
    rows = [_row(found, place) for place in matter[:SHOWN]]
    title = f"The {len(rows)} heads whose removal costs most" if len(rows) > 1 else "The head whose removal costs most"
    show.table(("head", "added loss (nats)", "sink", "due to where", "map; roles"), rows, title=title)
    typer.echo("")
    typer.echo(
        f"Added loss: each head's mean output on {found.reference} other texts takes its place; 0 means no effect. "
        "Sink: its weight on the first token; a head near 1 looks at little else."
    )
    typer.echo(
        "Due to where: the effect of giving the head another text's weights, as a share of the added loss. "
        "Near 1, where it looks matters; near 0, it does not."
    )
    typer.echo(
        "A role says where a head looks, and how much (a share of 1, or nats of entropy). It does not say that the "
        "head matters for that."
    )


def _headline(matter: int, many: int, texts: int, model: str) -> str:
    on = f"on {texts:,} texts"
    if not matter:
        return f"No single head of {model} surely matters {on}: no removal surely adds to the loss."
    return f"{matter} of {many} heads of {model} surely matter {on}: removing such a head adds to the loss."


def _row(found: "Survey", place: "Place") -> tuple[str, ...]:
    effect = found.effects[place]
    roles = [f"{role.role} {role.value:.2f}{UNITS.get(role.role, '')}" for role in found.roles[place]]
    return (
        str(place),
        f"{effect.value:.3f} [{effect.low:.3f}, {effect.high:.3f}]",
        f"{found.sinks[place]:.2f}",
        _share(found, place),
        "; ".join([found.patterns[place], *roles]),
    )


def tell_syntax(parsed: "TreebankScores") -> None:
    """Print the best head of each relation beside its baselines, and how many heads have a syntactic role."""
    from heatcheck.cli import show

    found = parsed.syntax
    heads_with = len({role.place for role in found.roles})
    typer.echo("")
    typer.echo(
        f"{heads_with} heads surely find a syntactic relation, beyond their position, the best fixed distance and "
        "untrained heads."
    )
    by_score = sorted(
        found.found, key=lambda one: max(one.best_offset, one.offset_twin, one.untrained) - one.score.value
    )
    rows = [
        (
            one.relation,
            one.direction,
            str(one.place),
            f"{one.score.value:.2f} [{one.score.low:.2f}, {one.score.high:.2f}]",
            f"{one.best_offset:.2f}",
            f"{one.offset_twin:.2f}",
            f"{one.untrained:.2f}",
            f"{one.other_tree:.2f}",
        )
        for one in by_score[:SHOWN]
    ]
    columns = ("relation", "direction", "head", "score", "offset", "twin", "untrained", "tree")
    show.table(columns, rows, title="Best head per relation, chosen on train and scored on test")
    out = sum((Counter(reasons) for reasons in parsed.left_out.values()), Counter[str]())
    said = f" Left out: {'; '.join(f'{reason}: {n:,}' for reason, n in out.items())}." if out else ""
    typer.echo(f"Sentences: {parsed.sentences['train']:,} of train and {parsed.sentences['test']:,} of test.{said}")
    typer.echo(
        "Score: the share of arcs that the head finds; 1 is all. The columns after it are baselines (docs/heads.md)."
    )


def _share(found: "Survey", place: "Place") -> str:
    gaze = found.gaze.get(place)
    return "–" if gaze is None else f"{gaze.share.value:.2f} [{gaze.share.low:.2f}, {gaze.share.high:.2f}]"


def drawn(found: "Survey") -> list[str]:
    """The map of heads: one row per layer, a shade for the effect and a letter for the first role."""
    layers = max(place.layer for place in found.places)
    width = max(place.head for place in found.places)
    top = max((found.effects[place].value for place in found.places), default=0.0)
    letters: set[str] = set()
    rows = ["layer  " + " ".join(f"{head:>2}" for head in range(1, width + 1)) + "  head"]
    for layer in range(1, layers + 1):
        cells = []
        for head in range(1, width + 1):
            cell = _cell(found, layer, head, top)
            letters.add(cell[1])
            cells.append(cell)
        rows.append(f"{layer:>5}  " + " ".join(cells))
    meant = ", ".join(f"{letter} {MEANINGS[letter]}" for letter in MEANINGS if letter in letters)
    rows.append(f"Darker: removing the head adds more to the loss. Letters: {meant or 'no head has a role by rule'}.")
    return rows


def _cell(found: "Survey", layer: int, head: int, top: float) -> str:
    from heatcheck.heads.looking import Place

    place = Place(layer, head)
    if place not in found.effects:
        return "  "
    effect: Any = found.effects[place]
    share = max(effect.value, 0.0) / top if top > 0 and effect.matters else 0.0
    shade = SHADES[min(len(SHADES) - 1, int(share * (len(SHADES) - 1) + 0.999))]
    letter = next((LETTERS[role.role] for role in found.roles[place]), "·")
    return f"{shade}{letter}"

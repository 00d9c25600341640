"""Tries every family of the installed transformers on a tiny random network: `python tests/every_family.py [FAMILY …]`.

A family passes if these hold: weights are those that eager attention returns, and so are the logits; its own weights,
imposed, leave the logits as they are; even weights change them; a text alone is read as in a batch; and of the last
attention only the rows that the heatmap is made of have a gradient. With `--write` the table goes into
docs/transformers.md.
"""

import argparse
import contextlib
import io
import logging
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from any_family import CLASSIFIERS, LANGUAGE_MODELS, make
from heatcheck.errors import HeatcheckError
from heatcheck.models import Subject, differentiate, response
from heatcheck.models.hf import Prompted, Transformer, quiet
from tiny_transformers import EXAMPLES, tokenizer

CLOSE, WIDE = 1e-5, 120
PAGE = Path(__file__).parent.parent / "docs" / "transformers.md"
BEGIN, END = "<!-- families: begin -->", "<!-- families: end -->"
PASSES, REFUSED, CANNOT, ERROR = "passes", "refused", "not made here", "error"


class Tried(NamedTuple):
    """One family: how it went, and what the heatmap is or why there is none."""

    family: str
    status: str
    said: str

    def __str__(self) -> str:
        return f"{self.family:24s} {self.status:14s} {self.said}"


class Broken(AssertionError):
    """An invariant does not hold."""


def subject_of(family: str, *, causal: bool = False, **other: Any) -> Transformer:
    """A tiny network of the family as a model of heatcheck."""
    network = make(family, causal=causal, **other)
    if causal:
        words = {"no": " bad", "yes": " good"}
        return Prompted(network, tokenizer(marks=False), name="tiny", prompt="the {text} is", labels=words)
    return Transformer(network, tokenizer(marks=True), name="tiny")


def try_family(family: str, *, causal: bool = False, **other: Any) -> Tried:
    """Every invariant on one family; refusals and failures are told, not raised."""
    try:
        with _silent():
            network = make(family, causal=causal, **other)
            with torch.no_grad():
                network(input_ids=torch.tensor([[2, 5, 6, 7, 3]]), attention_mask=torch.ones(1, 5, dtype=torch.long))
    except Exception as error:  # whatever a family raises
        return Tried(family, CANNOT, _short(error))
    try:
        with _silent():
            subject = subject_of(family, causal=causal, **other)
            check(subject, lambda: make(family, causal=causal, eager=True, **other))
    except HeatcheckError as error:
        return Tried(family, REFUSED, re.sub(r"^tiny \([^)]*\):? ", "", str(error)))
    except Exception as error:
        return Tried(family, ERROR, f"{type(error).__name__}: {_short(error)}")
    return Tried(family, PASSES, heatmap_of(subject))


def heatmap_of(subject: Transformer) -> str:
    """What the heatmap is, in a few words."""
    row = {("start", 0): "first token", ("end", -1): "last token", ("mean", 0): "all tokens, their mean"}
    said = row.get(tuple(subject.reads), f"token {subject.reads.number} from the {subject.reads.by}")
    return f"{said}; decoder's view of the encoder" if subject.not_stacked else said


def check(subject: Transformer, fresh: Any) -> None:
    """Raise Broken if an invariant does not hold."""
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
        plain = subject.run(batch)
        own = subject.run(batch, edits={site: run.parts[site].clone() for site in subject.sites})
        even = subject.run(batch, edits={subject.sites[-1]: _even})
        _require(_near(run.logits, plain.logits), "reading weights changes the logits")
        _require(_near(own.logits, plain.logits), "its own weights, imposed, change the logits")
        _require(_far(even.logits, plain.logits), "even weights do not change the logits")
        _require(_near(response(subject, batch).logits(_own(subject, batch)), _again(subject, batch)), "response")
        for number, example in enumerate(EXAMPLES):
            alone = subject.run(subject.encode([example]), want=subject.sites[-1:])
            _require(_near(alone.logits[0], plain.logits[number]), "a text alone has other logits than in a batch")
            weights, size = alone.parts[subject.sites[-1]], int(batch.valid[number].sum())
            beside = run.parts[subject.sites[-1]][number, :, :size, :size]
            _require(_near(weights[0], beside), "a text alone has other weights than in a batch")
    _check_rows(subject, batch)
    _check_eager(subject, batch, run, fresh())


def _own(subject: Subject, batch: Any) -> Tensor:
    return response(subject, batch).attention[:, None]


def _again(subject: Transformer, batch: Any) -> Tensor:
    """Logits under the heatmap's weights: the model's own, or those with the mean in every row."""
    run = subject.run(batch, want=subject.sites[-1:])
    if run.pooled is None:
        return run.logits[:, None]
    used = run.parts[subject.sites[-1]]
    return subject.run(batch, edits={subject.sites[-1]: run.behind(used)[:, :, None].expand_as(used)}).logits[:, None]


def _check_rows(subject: Transformer, batch: Any) -> None:
    last = subject.sites[-1]
    slopes = differentiate(subject, batch, [last], lambda run: (run.logits[:, 0] * torch.tensor([1.0, 2.0])).sum(-1))
    found = (slopes[last].abs().amax((1, 3)) > 0) & batch.valid
    run = subject.run(batch)
    claimed = run.readers(found.shape[1]) > 0
    _require(torch.equal(found, claimed), "another row of the last attention has a gradient than the heatmap's")


def _check_eager(subject: Transformer, batch: Any, run: Any, network: Any) -> None:
    """Against the network as transformers runs it, where it returns weights."""
    inputs = {name: value for name, value in batch.inputs.items() if name != "position_ids"}
    with torch.no_grad():
        given = network(**inputs, output_attentions=True)
    if isinstance(subject, Prompted):
        rows = torch.arange(len(batch)), subject.rows(batch)
        logits = given.logits[rows][:, [one[0] for one in subject.answers.ids]]
    else:
        logits = given.logits
    if subject.network.config.model_type not in READ_PADDING:
        _require(_near(run.logits[:, 0], logits), "its logits are not those of eager attention")
    expected = list(_in_order(given))
    for site, weights in zip(subject.sites, expected, strict=False):
        if weights.shape != run.parts[site].shape or len(expected) != len(subject.sites):
            continue
        if bool((weights >= 0).all()):  # SqueezeBERT returns scores
            rows = batch.valid[:, None, :, None]
            _require(_near(run.parts[site] * rows, weights * rows), "its weights are not those of eager attention")


READ_PADDING = ("t5gemma", "xlnet")  # transformers reads another token where a text is padded


def _in_order(given: Any) -> Iterator[Tensor]:
    """Weights as they are made; a decoder's layer looks at itself first, then at the encoder."""
    if getattr(given, "cross_attentions", None):
        yield from given.encoder_attentions
        for pair in zip(given.decoder_attentions, given.cross_attentions, strict=True):
            yield from pair
    else:
        yield from (one for one in getattr(given, "attentions", None) or () if isinstance(one, Tensor))


def _even(own: Tensor) -> Tensor:
    seen = (own > 0).any(1, keepdim=True)
    return (seen / seen.sum(-1, keepdim=True).clamp(min=1)).to(own.dtype).expand_as(own)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def _near(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=CLOSE, atol=CLOSE * max(1.0, float(other.abs().max())))


def _far(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() > 10 * CLOSE)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:150]


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with quiet(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def main(asked: Sequence[str]) -> int:
    """Try families, print a line for each, and say with the exit status whether one ended in an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*")
    parser.add_argument("--causal", action="store_true", help="as language models that are asked in words")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/transformers.md")
    said = parser.parse_args(asked)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    kinds = [False, True] if said.write else [said.causal]
    tables = []
    for causal in kinds:
        tried = []
        for family in said.family or (LANGUAGE_MODELS if causal else CLASSIFIERS):
            tried.append(try_family(family, causal=causal))
            print(tried[-1], flush=True)
        counts = {status: sum(one.status == status for one in tried) for status in (PASSES, REFUSED, CANNOT, ERROR)}
        print(f"{len(tried)} families: " + ", ".join(f"{number} {status}" for status, number in counts.items()))
        tables.append(tried)
    if said.write and not said.family:
        write(tables)
    return int(any(one.status == ERROR for tried in tables for one in tried))


def write(tables: Sequence[Sequence[Tried]]) -> None:
    """The tables between the page's marks."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{_tables(tables)}\n{END}{after}", encoding="utf-8")


def _tables(tables: Sequence[Sequence[Tried]]) -> str:
    """Those that pass together, by the token that the answer is read from; the others one by one."""
    parts = []
    for title, tried in zip(("Classifiers", "Language models with a prompt"), tables, strict=True):
        passed = [one for one in tried if one.status == PASSES]
        rows = [
            f"The answer is read from: {kind}.\n\n```text\n"
            + textwrap.fill(", ".join(one.family for one in passed if one.said == kind), WIDE, break_on_hyphens=False)
            + "\n```"
            for kind in dict.fromkeys(one.said for one in passed)
        ]
        others = [f"| {one.family} | {one.status} | {one.said} |" for one in tried if one.status != PASSES]
        parts += [
            f"**{title}**: {len(passed)} of {len(tried)} pass.",
            *rows,
            "\n".join(["| family | | why |", "|---|---|---|", *others]),
        ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

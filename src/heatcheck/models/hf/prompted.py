"""A language model that is asked: a prompt around each text, and answers that it could go on with.

With a word for each label it is a classifier like any other: its logits are how probable each word is behind the
prompt. With one answer it says that answer or anything else. Only words of the text are scored: the prompt, its
examples, BOS and the answers belong to no word.

A language model has no mask token, and the one that is nearest to it often ends a document. So a masked word is hidden
from every token: nobody can attend to its pieces, and all others stay where they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response, within
from heatcheck.models.contract.subject import Edits, Run, Want
from heatcheck.models.hf.answers import SCORES, Answers
from heatcheck.models.hf.asking import TEXT, Seams, answer_ids, first_token, make_frame, of_texts
from heatcheck.models.hf.behind import append, hide_strangers, response_of_rows
from heatcheck.models.hf.hooks import first_time
from heatcheck.models.hf.pieces import Cutter, cut_texts
from heatcheck.models.hf.transformer import NOTHING, Transformer, first_position
from heatcheck.models.hf.trial import MADE_UP

if TYPE_CHECKING:
    from heatcheck.models.hf.next_token import NextToken

OTHER = "something else"  # the label of all that is not the answer
_ROWS: ContextVar[Int[Tensor, "example asked"] | None] = ContextVar("heatcheck_rows", default=None)


class Prompted(Transformer):
    """A causal language model with a prompt and a word for each label, as a classifier; or with one answer."""

    cuts = False

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        name: str,
        prompt: str = TEXT,
        labels: Mapping[Any, Any] | None = None,
        answer: str | None = None,
        aim: str | None = None,
        shown: Iterable[Any] = (),
        chat: bool = False,
        score: str = "text",
        recipe: Recipe | None = None,
    ) -> None:
        """
        Args:
            prompt: with `{text}` where a text goes.
            labels: what the model goes on with, by label.
            answer: in place of labels: what the model says, or something else.
            aim: the label that is explained where nobody names one; None: the predicted one.
            shown: texts with their labels that stand before the text, in the same form.
            chat: put the prompt into the tokenizer's chat template, as a user's message.
            score: `text` compares the probabilities of whole words; `mean` the mean log-probability of their tokens;
                `pmi` how much more probable the text makes each word.
        """
        if score not in SCORES:
            raise BadInput(f"an answer's score is {', '.join(SCORES)}, not {score!r}. Choose one of these.")
        self.words = of_texts({answer.strip() or answer: answer} if answer is not None else labels or {})
        if answer is None and len(self.words) < 2:
            raise BadInput("a prompt needs two labels or more, such as --labels no=' no',yes=' yes'.")
        self.alone, self.score = answer is not None, score
        self.frame = make_frame(tokenizer, prompt, self.words, list(shown), chat=chat)
        whole = Answers(answer_ids(tokenizer, self.frame, self.words))
        self.answers = whole.first  # while heatcheck finds out about the network: one token is read
        self._without_text: list[float] = []
        super().__init__(network, tokenizer, name=name, recipe=recipe)
        head = network.get_output_embeddings()
        if head is not None and first_time(head, "rows"):
            head.register_forward_pre_hook(_only_rows)
        self.answers = whole
        self._cutter = self._make_cutter()
        if whole.branches:
            self._try_branches()
        if score == "pmi":
            self._without_text = self._read_without_text()
        chosen = next(iter(self.words)) if answer is not None else aim
        self.aim: int | None = None if chosen is None else self.labels.index(chosen)

    @property
    def asked(self) -> dict[str, str]:
        """What the model is asked, and the words it can answer with, for the reader of a report."""
        words = ", ".join(f"{label}: {word!r}" for label, word in self.words.items())
        prompt = f"{self.frame.before}{TEXT}{self.frame.after}"
        found = {
            "prompt": prompt.replace("\n", "\\n").replace("\t", "\\t"),
            "answer" if self.alone else "words for labels": words,
            "first token": first_token(self.tokenizer, self.frame),
        }
        return found if self.score == "text" else found | {"score of a word": self.score}

    @property
    def shown_rows(self) -> str:
        if not self.answers.appended:
            return super().shown_rows
        return "The answer has several tokens, so the heatmap is the mean over the tokens that they are read from."

    def _name_labels(self, config: Any) -> None:
        self.labels, self.several = ((OTHER,) if self.alone else ()) + tuple(self.words), False

    def _pad(self) -> None:
        super()._pad()
        alone = len(self.tokenizer(self.frame.before + self.frame.after, verbose=False)["input_ids"])
        if alone >= self.longest:
            raise BadInput(
                f"the prompt alone has {alone:,} tokens, and {self._called} reads {self.longest:,}. Shorten it, or "
                "show fewer examples."
            )

    def _discover(self) -> None:
        super()._discover()
        with torch.no_grad():
            weights = self.run(self.encode(MADE_UP), want=self.sites[:1]).parts[self.sites[0]]
        if weights.triu(1).any():
            raise BadInput(
                f"{self._called} sees the words after a token too, so it is no causal language model. Leave out "
                "the prompt or answer."
            )

    @property
    def _counts_positions(self) -> bool:
        return "position_ids" in signature(self.network.forward).parameters

    def _try_branches(self) -> None:
        """Refuse a network that does not read several answers at once as it reads each alone."""
        try:
            with torch.no_grad():
                together = self._log_probabilities(self.answers)
                apart = torch.cat([self._log_probabilities(Answers([one])) for one in self.answers.ids], 1)
            same = torch.allclose(together, apart, rtol=1e-3, atol=1e-3)
        except Exception:  # whatever a family raises that takes no such mask
            same = False
        if not same:
            raise NotSupported(
                f"{self._called} cannot read several answers of more than one token at once. Give words of one token."
            )

    def _log_probabilities(self, answers: Answers) -> Float[Tensor, "example output"]:
        own, self.answers = self.answers, answers
        try:
            batch = self.encode(MADE_UP)
            with _reading(answers.rows(self.rows(batch))):
                return answers.log_probabilities(self._vocabulary(batch.inputs))
        finally:
            self.answers = own

    def _read_without_text(self) -> list[float]:
        """Scores of the answers behind the prompt with an empty text."""
        before, after, special = self.frame
        ids = self.tokenizer(before + after, add_special_tokens=special)["input_ids"]
        ids = ids or [one for one in (self.tokenizer.bos_token_id,) if one is not None]
        if not ids:
            raise BadInput(
                "without a text this prompt is empty, and score=pmi compares with that. Write words around {text}."
            )
        read = torch.tensor([ids], device=self.device)
        there = torch.ones_like(read, dtype=torch.bool)
        inputs = {"input_ids": read, "attention_mask": there.long()}
        batch = Batch(("",), inputs, there, there, torch.zeros_like(read), None, {})
        batch = self._placed(batch)
        with torch.no_grad(), _reading(self.answer_rows(batch)):
            found: list[float] = self.answers.log_probabilities(self._vocabulary(batch.inputs))[0].tolist()
        return found

    def _make_cutter(self) -> Cutter:
        return Cutter(self.tokenizer, self.longest - self.answers.deepest, frame=self.frame)

    @cached_property
    def _seams(self) -> Seams:
        return Seams(self.tokenizer, self.frame, self.words, self.answers.ids)

    def joined(self, examples: Sequence[Example]) -> dict[int, str]:
        """The places of texts whose end becomes one token with an answer, and that answer."""
        found = ((place, self._seams.broken(example.text)) for place, example in enumerate(examples))
        return {place: word for place, word in found if word}

    def cut(self, examples: Sequence[Example], units: str) -> list[Example]:
        """Examples whose words are those of the text, or pieces as the model reads them within the prompt."""
        for place, word in self.joined(examples).items():
            raise BadInput(
                f"example {examples[place].id}: the end of its text and the answer {word!r} become one token. End the "
                "prompt with words after {text}."
            )

        def within(_: Any, text: str) -> list[tuple[int, int]]:
            (found,), _number = self.cutter([Example("", text)])
            return [(max(int(start), 0), int(end)) for start, end in found.offsets[found.word >= 0]]

        return cut_texts(self.tokenizer, examples, units, within)

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return [tokens + len(self.answers.appended) for tokens in super().lengths(examples)]

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The text's tokens that the last token sees: weights on the prompt stay the same."""
        return super().readable(batch) & batch.scored

    def response(self, batch: Batch) -> Response:
        """Logits under other weights within the text; the prompt keeps its own, and the text each head's mass on it."""
        if self.answers.appended:
            return response_of_rows(self, batch)
        whole = super().response(batch)
        return within(replace(whole, allowed=whole.allowed & batch.scored))

    def encode(self, examples: Sequence[Example]) -> Batch:
        return self._placed(super().encode(examples))

    def _placed(self, batch: Batch) -> Batch:
        """The batch with a position for each token, and with the answers' tokens behind each prompt.

        A hidden word moves no other.
        """
        if batch.masked is not None:
            hidden = batch.inputs["attention_mask"] * ~batch.masked
            batch = replace(batch, inputs={**batch.inputs, "attention_mask": hidden})
        if self._counts_positions:
            places = torch.arange(batch.valid.shape[1], device=self.device) + first_position(self.network)
            batch = replace(batch, inputs={**batch.inputs, "position_ids": places.expand(batch.valid.shape)})
        return append(batch, self.answers) if self.answers.appended else batch

    @cached_property
    def _rows_suffice(self) -> bool:
        with _reading(None):  # a pass that finds this out may be within another one
            return super()._rows_suffice

    @cached_property
    def _beginnings_suffice(self) -> bool:
        windowed = getattr(self.network.config, "sliding_window", None) is not None
        # Of a beginning that is remembered, a window forgets some; the mask for branches does not know how many.
        return not (self.answers.branches and windowed) and super()._beginnings_suffice

    @cached_property
    def _one_row_suffices(self) -> bool:
        return not self.answers.appended and super()._one_row_suffices

    def _after(self, batch: Batch, shared: int) -> Float[Tensor, "example decision label"]:
        first = torch.zeros(1, 1, dtype=torch.long, device=batch.valid.device)
        with _reading(first):  # nobody asks what follows the beginning
            return super()._after(batch, shared)

    def _run(self, batch: Batch, edits: Edits, want: Want, known: Mapping[str, Any] = NOTHING) -> Run:
        rows = self.answer_rows(batch)
        with _reading(rows):
            found = super()._run(batch, edits, want, known)
        pooled = torch.zeros_like(batch.valid).scatter(1, rows, True)
        return replace(found, pooled=pooled) if self.answers.appended else found

    def _ask(self, inputs: Mapping[str, Any]) -> Tensor:
        """Scores of the answers, from what the model says behind the prompt."""
        found = self._vocabulary(inputs)
        if self.alone:
            return self.answers.odds(found)
        if self.answers.appended:
            scores = self.answers.log_probabilities(found)
        else:  # behind one row, logits are log-probabilities up to a constant
            scores = found[:, 0, [one[0] for one in self.answers.ids]]
        if self.score == "mean":
            return scores / torch.tensor([len(one) for one in self.answers.ids], device=scores.device)
        if self._without_text:
            return scores - torch.tensor(self._without_text, device=scores.device, dtype=scores.dtype)
        return scores

    def _vocabulary(self, inputs: Mapping[str, Any]) -> Float[Tensor, "example asked label"]:
        """Logits of the whole vocabulary, of the rows that answers are read from."""
        ids, rows = inputs["input_ids"], _ROWS.get()
        if rows is None:
            end = (inputs["attention_mask"] * torch.arange(ids.shape[1], device=ids.device)).argmax(1)
            rows = self.answers.rows(end - len(self.answers.appended))
        if self.answers.branches:
            inputs = hide_strangers(inputs, self.answers, rows[:, 0], self.network)
        with _reading(rows):
            found: Tensor = self.network(**inputs).logits
        if found.shape[1] != rows.shape[1]:
            found = found[torch.arange(len(rows), device=rows.device)[:, None], rows]
        return found

    def as_next_token(self) -> "NextToken":
        """The same network without its prompt: it reads plain texts and decides on each next token."""
        from heatcheck.models.hf.next_token import NextToken  # which is loaded beside this one

        return NextToken(self.network, self.tokenizer, name=self.name)

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The last token of each prompt: the one that the next is guessed from."""
        return batch.valid.sum(1) - 1 - len(self.answers.appended)

    def answer_rows(self, batch: Batch) -> Int[Tensor, "example asked"]:
        """All tokens that the answers are read from: the prompt's last, and what stands behind it."""
        return self.answers.rows(self.rows(batch))


@contextmanager
def _reading(rows: Int[Tensor, "example asked"] | None) -> Iterator[None]:
    token = _ROWS.set(rows)
    try:
        yield
    finally:
        _ROWS.reset(token)


def _only_rows(_: Any, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A vocabulary's logits are needed of few tokens of each text."""
    rows = _ROWS.get()
    if rows is None or not given or given[0].ndim != 3 or given[0].shape[0] != len(rows):
        return None
    states = given[0]
    return (states[torch.arange(len(rows), device=rows.device)[:, None], rows], *given[1:])

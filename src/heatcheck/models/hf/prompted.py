"""A language model that is asked to classify: a prompt around each text, and a word that it could go on with per label.

Its logits are those of the labels' tokens at the prompt's last token, so that it is a classifier like any other. Only
words of the text are scored: the prompt, its examples and BOS belong to no word.

A language model has no mask token, and the one that is nearest to it often ends a document. So a masked word is hidden
from every token: nobody can attend to its pieces, and all others stay where they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import signature
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, in_short
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response, within
from heatcheck.models.contract.subject import Edits, Run, Want
from heatcheck.models.hf.hooks import first_time
from heatcheck.models.hf.pieces import Cutter, Frame, cut_texts
from heatcheck.models.hf.transformer import NOTHING, Transformer, first_position
from heatcheck.models.hf.trial import MADE_UP

TEXT = "{text}"
BETWEEN = "\n\n"  # two examples, or an example and the text
_PLACE = "\u2063heatcheck\u2063"  # stands for the text while a chat template is filled in: no template writes this
_ROWS: ContextVar[Int[Tensor, " example"] | None] = ContextVar("heatcheck_rows", default=None)


class Prompted(Transformer):
    """A causal language model with a prompt and a word for each label, as a classifier."""

    cuts = False

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        name: str,
        prompt: str,
        labels: Mapping[Any, Any],
        shown: Iterable[Any] = (),
        chat: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        """
        Args:
            prompt: with `{text}` where a text goes.
            labels: what the model goes on with, by label: one token each.
            shown: texts with their labels that stand before the text, in the same form.
            chat: put the prompt into the tokenizer's chat template, as a user's message.
        """
        self.words = _of_texts(labels)
        self.frame = make_frame(tokenizer, prompt, self.words, list(shown), chat=chat)
        self._ids = label_ids(tokenizer, self.frame, self.words)
        super().__init__(network, tokenizer, name=name, recipe=recipe)
        head = network.get_output_embeddings()
        if head is not None and first_time(head, "rows"):
            head.register_forward_pre_hook(_only_rows)

    @property
    def asked(self) -> dict[str, str]:
        """What the model is asked, and the words it can answer with, for the reader of a report."""
        words = ", ".join(f"{label}: {word!r}" for label, word in self.words.items())
        prompt = f"{self.frame.before}{TEXT}{self.frame.after}"
        return {"prompt": prompt.replace("\n", "\\n").replace("\t", "\\t"), "words for labels": words}

    def _name_labels(self, config: Any) -> None:
        self.labels, self.several = tuple(self.words), False

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
                "the prompt."
            )

    def _make_cutter(self) -> Cutter:
        return Cutter(self.tokenizer, self.longest, frame=self.frame)

    def cut(self, examples: Sequence[Example], units: str) -> list[Example]:
        """Examples whose words are those of the text, or pieces as the model reads them within the prompt."""

        def within(_: Any, text: str) -> list[tuple[int, int]]:
            (found,), _number = self.cutter([Example("", text)])
            return [(max(int(start), 0), int(end)) for start, end in found.offsets[found.word >= 0]]

        return cut_texts(self.tokenizer, examples, units, within)

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The text's tokens that the last token sees: weights on the prompt stay the same."""
        return super().readable(batch) & batch.scored

    def response(self, batch: Batch) -> Response:
        """Logits under other weights within the text; the prompt keeps its own, and the text each head's mass on it."""
        whole = super().response(batch)
        return within(replace(whole, allowed=whole.allowed & batch.scored))

    def encode(self, examples: Sequence[Example]) -> Batch:
        return self._placed(super().encode(examples))

    def _placed(self, batch: Batch) -> Batch:
        """With the position of each token: a hidden word moves no other."""
        inputs = dict(batch.inputs)
        if "position_ids" in signature(self.network.forward).parameters:
            places = torch.arange(batch.valid.shape[1], device=self.device) + first_position(self.network)
            inputs["position_ids"] = places.expand(batch.valid.shape)
        if batch.masked is not None:
            inputs["attention_mask"] = inputs["attention_mask"] * ~batch.masked
        return replace(batch, inputs=inputs)

    def _run(self, batch: Batch, edits: Edits, want: Want, known: Mapping[str, Any] = NOTHING) -> Run:
        with _reading(self.rows(batch)):
            return super()._run(batch, edits, want, known)

    def _ask(self, inputs: Mapping[str, Any]) -> Tensor:
        """Logits of the labels' tokens at the last token of each text."""
        ids, rows = inputs["input_ids"], _ROWS.get()
        if rows is None:
            rows = (inputs["attention_mask"] * torch.arange(ids.shape[1], device=ids.device)).argmax(1)
        with _reading(rows):
            found: Tensor = self.network(**inputs).logits
        if found.shape[1] > 1:
            found = found[torch.arange(len(rows), device=rows.device), rows][:, None]
        return found[:, 0, self._ids]

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The last token of each text: the one that the next is guessed from."""
        return (batch.valid * torch.arange(batch.valid.shape[1], device=batch.valid.device)).argmax(1)


@contextmanager
def _reading(rows: Int[Tensor, " example"]) -> Iterator[None]:
    token = _ROWS.set(rows)
    try:
        yield
    finally:
        _ROWS.reset(token)


def _only_rows(_: Any, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A vocabulary's logits are needed of one token of each text."""
    rows = _ROWS.get()
    if rows is None or not given or given[0].ndim != 3 or given[0].shape[0] != len(rows):
        return None
    states = given[0]
    return (states[torch.arange(len(rows), device=rows.device), rows][:, None], *given[1:])


def make_frame(
    tokenizer: Any, prompt: str, labels: Mapping[str, str], shown: Sequence[Any] = (), *, chat: bool = False
) -> Frame:
    """What stands before and after each text.

    >>> make_frame(None, "Review: {text} It is", {"good": " good"}, [("Fine.", "good")])
    Frame(before='Review: Fine. It is good\\n\\nReview: ', after=' It is', special=True)
    """
    if prompt.count(TEXT) != 1:
        raise BadInput(f"the prompt {prompt!r} has {prompt.count(TEXT)} places for a text. Write {TEXT} in it once.")
    if not all(isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str) for one in shown):
        raise BadInput("examples of a prompt must be pairs of a text and a label, such as [('so dull', 'negative')].")
    unknown = next((str(label) for _, label in shown if label not in labels), None)
    if unknown is not None:
        raise BadInput(f"an example of the prompt has the label {unknown!r}; known: {', '.join(labels)}.")
    parts = [prompt.replace(TEXT, text) + labels[label] for text, label in shown]
    whole = BETWEEN.join([*parts, prompt.replace(TEXT, _PLACE)])
    if whole.count(_PLACE) != 1:
        raise BadInput("an example of the prompt holds invisible characters that heatcheck needs. Remove it.")
    if not chat:
        before, _, after = whole.partition(_PLACE)
        return Frame(before, after)
    if not getattr(tokenizer, "chat_template", None):
        raise BadInput("the tokenizer has no chat template. Leave out --chat, and write the prompt as a text.")
    message = [{"role": "user", "content": whole}]
    try:
        filled = str(tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # a template is a program
        raise BadInput(f"the tokenizer's chat template does not work: {in_short(error)}. Leave out --chat.") from None
    before, _, after = filled.partition(_PLACE)
    if filled.count(_PLACE) != 1:
        raise BadInput("the tokenizer's chat template does not write the prompt exactly once. Leave out --chat.")
    return Frame(before, after, special=False)


def _of_texts(labels: Mapping[Any, Any]) -> dict[str, str]:
    wrong = next((one for pair in labels.items() for one in pair if not isinstance(one, str)), None)
    if wrong is not None:
        raise BadInput(f"labels of a prompt must be texts, each with a text, such as {{'no': ' no'}}, not {wrong!r}.")
    return dict(labels)


def label_ids(tokenizer: Any, frame: Frame, labels: Mapping[str, str]) -> list[int]:
    """The token that each label is, after the prompt; different ones."""
    if len(labels) < 2:
        raise BadInput("a prompt needs two labels or more, such as --labels no=' no',yes=' yes'.")
    if frame.special:
        _require_open_end(tokenizer)
    prompt = f"{frame.before}a{frame.after}"
    own = tokenizer(prompt, add_special_tokens=frame.special)["input_ids"]
    found: dict[int, str] = {}
    for label, word in labels.items():
        if not word:
            raise BadInput(f"the label {label!r} has no word. Give one, such as --labels {label}=' {label}'.")
        whole = tokenizer(prompt + word, add_special_tokens=frame.special)["input_ids"]
        if whole[: len(own)] != own:
            raise BadInput(
                f"the end of the prompt and the word {word!r} of the label {label!r} become one token. Move the space: "
                "end the prompt without one, and begin each word with it (or the reverse)."
            )
        rest = whole[len(own) :]
        if len(rest) != 1:
            pieces = ", ".join(repr(tokenizer.decode([token])) for token in rest)
            raise BadInput(
                f"the word {word!r} of the label {label!r} is {len(rest)} tokens ({pieces}), and heatcheck compares "
                "single ones. Choose a shorter word, or a letter."
            )
        if rest[0] in found:
            raise BadInput(f"the labels {found[rest[0]]!r} and {label!r} have the same token. Choose other words.")
        found[rest[0]] = label
    return list(found)


def _require_open_end(tokenizer: Any) -> None:
    """Refuse a tokenizer that puts a token after each text: it would stand between the prompt and the answer."""
    plain, own = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    if own[-1] != plain[-1]:
        raise BadInput(
            "the tokenizer ends each text with a token of its own, so nothing can follow the prompt. Set its "
            "add_eos_token to false."
        )

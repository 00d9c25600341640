"""What stands around a text that a language model is asked about, and the tokens of the answers behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.errors import BadInput, in_short
from heatcheck.models.hf.pieces import Frame

TEXT = "{text}"
BETWEEN = "\n\n"  # two examples, or an example and the text
TAIL = 64  # characters before an answer that can decide how it is cut into tokens
_PLACE = "\u2063heatcheck\u2063"  # stands for the text while a chat template is filled in: no template writes this


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


def answer_ids(tokenizer: Any, frame: Frame, words: Mapping[str, str]) -> list[tuple[int, ...]]:
    """The tokens of each word, as they stand behind the prompt; no word may begin another."""
    if frame.special:
        _require_open_end(tokenizer)
    own, found = _behind(tokenizer, f"{frame.before}a{frame.after}", words, special=frame.special)
    for label, word in words.items():
        if not word:
            raise BadInput(f"the label {label!r} has no word. Give one, such as --labels {label}=' {label}'.")
        if found[label][: len(own)] != own:
            raise BadInput(
                f"the end of the prompt and the word {word!r} of the label {label!r} become one token. Move the space: "
                "end the prompt without one, and begin each word with it (or the reverse)."
            )
        if len(found[label]) == len(own):
            raise BadInput(f"the word {word!r} of the label {label!r} has no token. Choose another word.")
    ids = {label: tuple(found[label][len(own) :]) for label in words}
    for label, one in ids.items():
        for other, two in ids.items():
            if label != other and two[: len(one)] == one:
                if one == two:
                    raise BadInput(f"the labels {label!r} and {other!r} have the same token. Choose other words.")
                raise BadInput(
                    f"the word of the label {other!r} begins with that of {label!r}, so nobody can tell where the "
                    "shorter one ends. Choose other words."
                )
    return list(ids.values())


class Seams:
    """Says whether the answers' tokens stay what they are behind a text: its end may become one token with a word."""

    def __init__(self, tokenizer: Any, frame: Frame, words: Mapping[str, str], ids: Sequence[Sequence[int]]) -> None:
        self.frame, self.words = frame, words
        self._tokenizer, self._ids = tokenizer, [list(one) for one in ids]
        self._known: dict[str, str] = {}

    def broken(self, text: str) -> str:
        """The first word that does not keep its tokens behind this text; "" if all do."""
        tail = f"{self.frame.before[-TAIL:]}{text}{self.frame.after}"[-TAIL:]
        if tail not in self._known:
            own, found = _behind(self._tokenizer, tail, self.words, special=False)
            kept = [found[label] == own + ids for label, ids in zip(self.words, self._ids, strict=True)]
            self._known[tail] = "" if all(kept) else list(self.words.values())[kept.index(False)]
        return self._known[tail]


def _behind(
    tokenizer: Any, prompt: str, words: Mapping[str, str], *, special: bool
) -> tuple[list[int], dict[str, list[int]]]:
    """The tokens of a prompt, and of the prompt with each word behind it."""
    texts = [prompt, *(prompt + word for word in words.values())]
    own, *wholes = tokenizer(texts, add_special_tokens=special, verbose=False)["input_ids"]
    return own, dict(zip(words, wholes, strict=True))


def first_token(tokenizer: Any, frame: Frame) -> str:
    """What the tokenizer puts before a prompt, for a reader."""
    if not frame.special:
        return "as the chat template writes it"
    plain, own = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    added = own[: len(own) - len(plain)]
    return f"the tokenizer adds {tokenizer.decode(added)!r}" if added else "the tokenizer adds none"


def of_texts(labels: Mapping[Any, Any]) -> dict[str, str]:
    wrong = next((one for pair in labels.items() for one in pair if not isinstance(one, str)), None)
    if wrong is not None:
        raise BadInput(f"labels of a prompt must be texts, each with a text, such as {{'no': ' no'}}, not {wrong!r}.")
    return dict(labels)


def _require_open_end(tokenizer: Any) -> None:
    """Refuse a tokenizer that puts a token after each text: it would stand between the prompt and the answer."""
    plain, own = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    if own[-1] != plain[-1]:
        raise BadInput(
            "the tokenizer ends each text with a token of its own, so nothing can follow the prompt. Set its "
            "add_eos_token to false."
        )

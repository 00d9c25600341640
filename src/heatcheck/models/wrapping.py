"""`heatcheck.wrap`: finds out how a user's own torch module is to be read, and tries it before it believes it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import PAD
from heatcheck.engine import expect_if_given, expect_names
from heatcheck.errors import BadInput, HeatcheckError, NotSupported
from heatcheck.models.arguments import first_tensor
from heatcheck.models.found_attention import Said, find_attention
from heatcheck.models.intercepted import OUTPUT
from heatcheck.models.own_module import CLOSE, OwnModule, OwnSettings, device_of
from heatcheck.models.own_tokens import OwnTokenizer, encode_own
from heatcheck.models.subject import Tap

DRY = ((2, 5), (3, 7))  # examples and tokens of two passes: an axis is known by how its size changes
MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "True at tokens": lambda valid: valid,
    "True at padding": lambda valid: ~valid,
    "1 at tokens": lambda valid: valid.long(),
    "how many tokens": lambda valid: valid.sum(1),
}

Reading: TypeAlias = Callable[[Any], Tensor]
Mask: TypeAlias = tuple[str, Callable[[Tensor], Tensor]]  # the keyword, and what is made of what is no padding


def wrap(
    module: nn.Module,
    tokenizer: OwnTokenizer,
    *,
    attention: Said = None,
    embedding: str | None = None,
    output: Callable[[Any], Tensor] | None = None,
    labels: Sequence[str] | None = None,
    mask: str | None = None,
    row: Literal["first", "last", "mean"] | int | None = None,
    padding: int | None = None,
    sample: Sequence[str] = (),
    name: str | None = None,
) -> OwnModule:
    """Your own torch module as a subject of every explainer and check.

    The module is called with token ids [example token], and put into evaluation mode.

    Args:
        tokenizer: a function from a text to ids, one a word, or to pairs (id, word number); a fast tokenizer of Hugging
            Face; or a `Vocabulary`.
        attention: the path of the module that makes the weights, several such paths in order (the read-out last), or
            `{path: axes}` with axes such as "example key 1"; None: what is seen in a dry pass.
        embedding: the path of the module whose output the gradients are taken at; None: the one that is given the ids.
        output: what the module returns to its logits [example label] (or [example], for the second of two labels);
            None: the tensor itself, the first of a tuple, or `.logits`.
        mask: the keyword of the padding mask; which kind of mask it is is found out. None: only texts of one length are
            run together.
        row: the query behind the decision, "mean" for a module that pools over all of them; None: the only one, or the
            only one that the decision depends on.
        padding: the id that fills up short texts.
        sample: a few texts of different lengths for the dry pass, where made-up ids do not do.

    >>> class Tiny(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embed, self.score, self.out = nn.Embedding(9, 4), nn.Linear(4, 1), nn.Linear(4, 2)
    ...     def forward(self, ids):
    ...         states = self.embed(ids)
    ...         weights = self.score(states).softmax(1)
    ...         return self.out((weights * states).sum(1))
    >>> wrap(Tiny(), lambda text: [len(word) for word in text.split(" ")], labels=["bad", "good"])
    Tiny(attention: '' (softmax: example key 1); embedding: 'embed'; row: 0; no padding; labels: bad, good)
    """
    _check_given(module, tokenizer, labels)
    expect_if_given("a text", embedding=embedding, mask=mask, name=name)
    expect_if_given("a whole number", padding=padding)
    paths = list(attention) if isinstance(attention, Mapping) else attention
    expect_names(sample=sample, attention=() if paths is None else paths)
    _check_choices(output, row)
    name = name or type(module).__name__
    _require_whole_precision(module, name)
    module.eval()
    read = _reading(output, name)
    filler = _padding(module, tokenizer, padding)
    passes = _dry_tokens(module, tokenizer, sample, filler)
    known, logits = _masked(module, read, mask, passes, filler, name)

    def call(tokens: Tensor) -> Any:
        return module(tokens, **_named(known, torch.ones_like(tokens, dtype=torch.bool)))

    found = OwnSettings(
        name=name,
        labels=_labels(logits, labels, name),
        places=find_attention(module, call, passes, attention, name=name),
        embedding=_embedding(module, call, passes[0]) if embedding is None else embedding,
        mask=known,
        row=0,
        padding=filler,
        output=read,
    )
    _try_out(OwnModule(module, tokenizer, found), passes[1])
    return OwnModule(module, tokenizer, replace(found, row=_row(OwnModule(module, tokenizer, found), passes, row)))


def _check_given(module: Any, tokenizer: Any, labels: Any) -> None:
    if not isinstance(module, nn.Module):
        raise BadInput(f"wrap takes a torch module, not {module!r}: heatcheck.load reads one from its folder.")
    if not isinstance(tokenizer, Vocabulary) and not callable(tokenizer):
        raise BadInput(
            f"the tokenizer must be a function from a text to ids, a tokenizer of Hugging Face or a Vocabulary, not "
            f"{tokenizer!r}."
        )
    if labels is None:
        return
    if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
        raise BadInput(f"labels must be a list of names in the order of the logits, not {labels!r}.")
    if len(set(labels)) < len(labels):
        raise BadInput(f"labels must differ, and {', '.join(labels)} do not.")


def _check_choices(output: Any, row: Any) -> None:
    if output is not None and not callable(output):
        raise BadInput(f"output must be a function from what the module returns to logits, not {output!r}.")
    named = row is None or (isinstance(row, str) and row in ("first", "last", "mean"))
    if not named and (not isinstance(row, int) or isinstance(row, bool)):
        raise BadInput(f"row must be 'first', 'last', 'mean' or the number of a query, not {row!r}.")


def _require_whole_precision(module: nn.Module, name: str) -> None:
    """Weights that are put in and the tolerances of every comparison are those of 32 bits."""
    held = {part.dtype for part in (*module.parameters(), *module.buffers()) if part.dtype.is_floating_point}
    if half := sorted(str(kind).removeprefix("torch.") for kind in held - {torch.float32, torch.float64}):
        raise NotSupported(
            f"{name} computes in {half[0]}, which is too coarse to compare answers: call module.float() before "
            "wrapping it."
        )


def _reading(output: Callable[[Any], Tensor] | None, name: str) -> Callable[[Any], Float[Tensor, "example label"]]:
    """What a module returns to logits; a lone output z is the pair of logits (0, z)."""

    def read(returned: Any) -> Float[Tensor, "example label"]:
        found = _first_tensor(returned) if output is None else output(returned)
        if not isinstance(found, Tensor) or found.ndim not in (1, 2):
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise NotSupported(
                f"{name} gives {shape}, and a decision is logits [example label]: choose one with output=, such as "
                "output=lambda out: out[:, 0] for that of the first token."
            )
        logits = found[:, None] if found.ndim == 1 else found
        pair = nn.functional.pad(logits, (1, 0)) if logits.shape[1] == 1 else logits
        return pair if pair.dtype == torch.float64 else pair.float()

    return read


def _first_tensor(returned: Any) -> Any:
    if isinstance(returned, tuple | list):
        return returned[0]
    if isinstance(returned, Mapping):
        return returned.get("logits", returned)
    return getattr(returned, "logits", returned)


def _padding(module: nn.Module, tokenizer: OwnTokenizer, said: int | None) -> int:
    if said is not None:
        return said
    if isinstance(tokenizer, Vocabulary):
        return PAD
    of_tokenizer = getattr(tokenizer, "pad_token_id", None)
    if of_tokenizer is not None:
        return int(of_tokenizer)
    named = [part.padding_idx for part in module.modules() if isinstance(part, nn.Embedding)]
    return next((number for number in named if number is not None), 0)


def _dry_tokens(
    module: nn.Module, tokenizer: OwnTokenizer, sample: Sequence[str], padding: int
) -> tuple[Tensor, Tensor]:
    """Ids for two passes: of the sample's first text and of one of another length, or made up."""
    device = device_of(module)
    if not sample:
        sizes = [part.num_embeddings for part in module.modules() if isinstance(part, nn.Embedding)]
        of_words = min((size for size in sizes if size > DRY[1][1]), default=max(sizes, default=3))
        some = [number for number in range(of_words) if number != padding] or [padding]
        first, second = (
            torch.tensor([[some[(row + place) % len(some)] for place in range(tokens)] for row in range(examples)])
            for examples, tokens in DRY
        )
        return first.to(device), second.to(device)
    examples = [Example(str(number), text) for number, text in enumerate(sample)]
    batch = encode_own(tokenizer, examples, padding=padding, gold=None, options=None, device=device)
    lengths = batch.valid.sum(1)
    others = (lengths != lengths[0]).nonzero()[:, 0].tolist()
    if not others:
        raise BadInput("the texts of sample= have one length only: give two that differ in their number of tokens.")
    first, second = (batch.inputs["tokens"][row, : lengths[row]] for row in (0, others[0]))
    return first.repeat(DRY[0][0], 1), second.repeat(DRY[1][0], 1)


def _masked(
    module: nn.Module, read: Reading, mask: str | None, passes: tuple[Tensor, Tensor], padding: int, name: str
) -> tuple[Mask | None, list[Tensor]]:
    """How the module is told of padding, tried; and the logits of both passes."""
    reasons = []
    refused: list[HeatcheckError] = []
    reads_padding = False
    for kind, make in MASKS.items() if mask is not None else [("", torch.clone)]:
        known = None if mask is None else (mask, make)
        try:
            with torch.no_grad():
                logits = [read(module(t, **_named(known, torch.ones_like(t, dtype=torch.bool)))) for t in passes]
                if known is None or _padding_is_not_read(module, read, known, passes, padding):
                    return known, logits
            reads_padding = True
        except HeatcheckError as error:
            if known is None:
                raise
            refused.append(error)  # another kind of mask may do
        except Exception as error:  # whatever somebody else's module raises
            said = str(error).splitlines()[:1]
            reasons.append(f"{f'{kind}: ' if kind else ''}{type(error).__name__} {' '.join(said)}".rstrip())
    if len(refused) == len(MASKS):
        raise refused[0]
    reasons += map(str, refused)
    needed = _needed(module)
    apart = "" if mask in needed else " Or leave mask out, and texts of different lengths are run apart."
    if reads_padding:
        raise BadInput(
            f"{name} gives a padded text another answer than the text alone, whatever it is given as {mask!r}: let it "
            f"set the scores of padding to -inf before the softmax.{apart}"
        )
    if mask is not None:
        raise BadInput(
            f"{name} takes no padding mask under {mask!r} ({'; '.join(reasons)}): wrap it in a module that makes what "
            f"it needs from ids and one of these.{apart}"
        )
    if len(needed) == 1:
        raise BadInput(
            f"{name} also needs {needed[0]!r}: say mask={needed[0]!r} if that is a padding mask or the number of "
            "tokens of each text; else wrap it in a module that takes ids alone and fills it in."
        )
    if needed:
        raise BadInput(
            f"{name} also needs {', '.join(map(repr, needed))}: wrap it in a module that takes ids alone and fills "
            "them in."
        )
    raise BadInput(
        f"{name} cannot be run on a batch of token ids [example token] ({'; '.join(reasons)}): give sample=[…] with "
        "two texts that it can read, or wrap it in a module that takes ids alone."
    )


def _needed(module: nn.Module) -> list[str]:
    """What its forward must be given beside the ids."""
    try:
        taken = [*inspect.signature(module.forward).parameters.values()]
    except (TypeError, ValueError):
        return []
    alone = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in taken[1:] if one.default is one.empty and one.kind not in alone]


def _named(known: Mask | None, valid: Tensor) -> dict[str, Tensor]:
    return {} if known is None else {known[0]: known[1](valid)}


def _padding_is_not_read(
    module: nn.Module, read: Reading, known: Mask, passes: tuple[Tensor, Tensor], padding: int
) -> bool:
    """Whether a text gives the same logits alone and beside a longer one."""
    short, long = sorted((tokens[:1] for tokens in passes), key=lambda tokens: tokens.shape[1])
    filled = nn.functional.pad(short, (0, long.shape[1] - short.shape[1]), value=padding)
    valid = torch.ones_like(torch.cat([filled, long]), dtype=torch.bool)
    valid[0, short.shape[1] :] = False
    beside = read(module(torch.cat([filled, long]), **_named(known, valid)))[:1]
    alone = read(module(short, **_named(known, torch.ones_like(short, dtype=torch.bool))))
    return torch.allclose(beside, alone, atol=CLOSE, rtol=CLOSE)


def _labels(logits: Sequence[Tensor], said: Sequence[str] | None, name: str) -> tuple[str, ...]:
    number = logits[0].shape[1]
    if not all(bool(part.isfinite().all()) for part in logits):
        raise BadInput(f"{name} gives logits that are not finite.")
    if all(bool((part >= 0).all()) and torch.allclose(part.sum(1), torch.ones(len(part)).to(part)) for part in logits):
        raise BadInput(f"{name} gives probabilities, not logits: take output=lambda out: out.log().")
    if said is None:
        return tuple(map(str, range(number)))
    if len(said) != number:
        raise BadInput(f"{name} decides between {number} labels, and {len(said)} were named: {', '.join(said)}.")
    return tuple(said)


def _embedding(module: nn.Module, call: Callable[[Tensor], Any], tokens: Tensor) -> str | None:
    """The one nn.Embedding that is given the ids; None where none or several are."""
    given: list[str] = []
    hooks = []
    for path, part in module.named_modules():
        if isinstance(part, nn.Embedding):

            def note(_: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], path: str = path) -> None:
                ids = first_tensor(inputs, named)  # RoFormer's positions are given a size, no tensor
                if ids is not None and torch.equal(ids, tokens):
                    given.append(path)

            hooks.append(part.register_forward_pre_hook(note, with_kwargs=True))
    try:
        with torch.no_grad():
            call(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return given[0] if len(set(given)) == 1 else None


def _try_out(subject: OwnModule, tokens: Tensor) -> None:
    """Each attention: its own weights must give the same logits, and other weights may not be ignored as a copy."""
    valid = torch.ones_like(tokens, dtype=torch.bool)
    with torch.no_grad():
        plain = subject.read(tokens, valid, Tap({}, ()))
        if not torch.allclose(subject.read(tokens[:1], valid[:1], Tap({}, ())), plain[:1], atol=CLOSE, rtol=CLOSE):
            raise BadInput(
                f"{subject.id} gives another answer for a text alone than beside others: it mixes the texts of a "
                "batch, or draws at random in evaluation mode. Mend that first."
            )
        for site, place in zip(subject.sites, subject.settings.places, strict=True):
            tap = Tap({}, [site])
            subject.read(tokens, valid, tap)
            own = tap.parts[site]
            if own.shape[3] != tokens.shape[1] or not torch.allclose(
                own.sum(-1), torch.ones_like(own[..., 0]), atol=CLOSE
            ):
                raise BadInput(f"the weights at {place.where!r} do not sum to 1 over the tokens as {place.axes}.")
            alone = Tap({}, [site])
            subject.read(tokens[:1], valid[:1], alone)
            if not torch.allclose(alone.parts[site], own[:1], atol=CLOSE):
                raise BadInput(
                    f"a text has other weights at {place.where!r} alone than beside others: they are not {place.axes} "
                    "(head*example, perhaps), or the module mixes texts."
                )
            same = subject.read(tokens, valid, Tap({site: own.clone()}, ()))
            if not torch.allclose(same, plain, atol=CLOSE, rtol=CLOSE):
                raise NotSupported(f"{subject.id} gives other logits with its own weights at {place.where!r} imposed.")
            moved = subject.read(tokens, valid, Tap({site: own.roll(1, -1)}, ()))
            if place.kind == OUTPUT and torch.equal(moved, same):
                raise NotSupported(
                    f"{place.where!r} of {subject.id} hands out a copy of its weights: imposing others there changes "
                    "nothing. Let it compute them with softmax, or hand them to what uses them."
                )


def _row(
    subject: OwnModule, passes: tuple[Tensor, Tensor], said: Literal["first", "last", "mean"] | int | None
) -> int | Literal["mean"]:
    """The query behind the decision, counted from the end where that is how it stays the same."""
    _require_gradient(subject, passes[0])
    if isinstance(said, int):
        return said
    if said in ("first", "last"):
        return 0 if said == "first" else -1
    found = [_rows_that_matter(subject, tokens) for tokens in passes]
    queries = [rows.shape[0] for rows in found]
    if queries == [1, 1]:
        return 0
    if said == "mean":
        return "mean"
    chosen = [rows.nonzero()[:, 0].tolist() for rows in found]
    if all(len(rows) == 1 for rows in chosen):
        first, second = chosen[0][0], chosen[1][0]
        if first == second:
            return int(first)
        if first - queries[0] == second - queries[1]:
            return int(first - queries[0])
    raise BadInput(
        f"the decision of {subject.id} depends on {len(chosen[0])} of {queries[0]} queries at "
        f"{subject.sites[-1].where!r}: say row='mean' where it pools over all of them, or which one is behind it, "
        "row='first', 'last' or a number."
    )


def _require_gradient(subject: OwnModule, tokens: Tensor) -> None:
    site = subject.sites[-1]
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        leaf = Tap({site: lambda own: own.detach().requires_grad_()}, ())
        logits = subject.read(tokens, torch.ones_like(tokens, dtype=torch.bool), leaf)
    if not logits.requires_grad:
        raise NotSupported(
            f"{subject.id} cuts its answer off from what it is computed from (detach, no_grad, .data or numpy), so it "
            "has no gradients: let it return what it computes."
        )


def _rows_that_matter(subject: OwnModule, tokens: Tensor) -> Bool[Tensor, " query"]:
    """Which queries of the read-out the logits depend on."""
    site = subject.sites[-1]
    tap = Tap({site: lambda own: own.detach().requires_grad_()}, [site])
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        logits = subject.read(tokens, torch.ones_like(tokens, dtype=torch.bool), tap)
        different = torch.linspace(1.0, 2.0, logits.shape[1], device=logits.device)
        (slope,) = torch.autograd.grad((logits * different).sum(), [tap.parts[site]], allow_unused=True)
    if slope is None:
        raise NotSupported(
            f"the answer of {subject.id} does not depend on the weights at {site.where!r}: name with attention= those "
            "that it is read from."
        )
    return (slope != 0).any(3).any(1).any(0)

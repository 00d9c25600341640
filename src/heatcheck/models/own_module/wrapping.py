"""`heatcheck.wrap`: find out how to read a user's own torch module, and test it before trusting it."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import PAD
from heatcheck.engine import expect_if_given, expect_names
from heatcheck.errors import BadInput, HeatcheckError, NotSupported
from heatcheck.models.contract.arguments import first_tensor
from heatcheck.models.contract.response import CLOSE
from heatcheck.models.contract.subject import Tap
from heatcheck.models.own_module.found_attention import Said, find_attention
from heatcheck.models.own_module.module import OwnModule, OwnSettings, device_of
from heatcheck.models.own_module.taps import OUTPUT
from heatcheck.models.own_module.tokens import OwnTokenizer, encode_own

if TYPE_CHECKING:
    from heatcheck.models.hf.transformer import Transformer

DRY = ((2, 5), (3, 7))  # examples and tokens of two passes: an axis is known by how its size changes


def _counted(valid: Tensor) -> Tensor:
    return valid.sum(1)


# Functions with a name, because a wrapped module may go to another process.
MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "True at tokens": Tensor.bool,
    "True at padding": torch.logical_not,
    "1 at tokens": Tensor.long,
    "how many tokens": _counted,
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
    labels: Sequence[str] | Mapping[Any, Any] | None = None,
    mask: str | None = None,
    row: Literal["first", "last", "mean"] | int | None = None,
    padding: int | None = None,
    sample: Sequence[str] = (),
    name: str | None = None,
    prompt: str | None = None,
    shown: Iterable[Any] = (),
    chat: bool = False,
) -> "OwnModule | Transformer":
    """Wrap your own torch module as a model that every explainer and check accepts.

    heatcheck calls the module with token ids [example token] and switches it to evaluation mode. A classifier or
    language model of Hugging Face needs its tokenizer and nothing else: it becomes what `heatcheck.load` would make of
    its folder, with all its layers. Adapters (LoRA) may be merged or not.

    Args:
        module: a torch module with attention that classifies texts.
        tokenizer: a function from a text to ids (one per word) or to pairs (id, word number); a fast Hugging Face
            tokenizer; or a `Vocabulary`.
        attention: the path of the module that computes the weights; several paths in order, the read-out last; or
            `{path: axes}` with axes such as "example key 1". None: heatcheck finds them in a dry pass.
        embedding: the path of the module whose output the gradients are taken at. None: the one that gets the ids.
        output: a function from the module's return value to logits [example label], or [example] for the second of two
            labels. None: the tensor itself, the first of a tuple, or `.logits`.
        labels: names of the labels, in the order of the logits. None: their numbers. With a prompt: the word that the
            model goes on with for each label, such as `{"no": " no", "yes": " yes"}`.
        mask: the keyword of the padding mask; heatcheck finds out which kind of mask it is. None: only texts of equal
            length are run together.
        row: the query that the decision is read from, or "mean" if the module pools over all queries. None: the only
            query, or the only one that the decision depends on.
        padding: the id that fills up short texts. None: the tokenizer's or the embedding's padding id, or 0.
        sample: texts of at least two lengths for the dry pass, if made-up ids do not work.
        name: the name of the model in results. None: its class.
        prompt: makes a classifier of a Hugging Face language model: a text with `{text}` where each text goes.
        shown: texts with their labels that the prompt shows first.
        chat: put the prompt into the model's chat template.

    Returns:
        The wrapped model; `print` shows what heatcheck found.

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
    expect_if_given("a text", embedding=embedding, mask=mask, name=name, prompt=prompt)
    plain = attention is None and embedding is None and output is None and mask is None and row is None
    if plain and padding is None and not sample and _of_hugging_face(module, tokenizer):
        from heatcheck.models.hf.in_memory import of_memory  # transformers takes a second to import

        _check_given(module, tokenizer, None if isinstance(labels, Mapping) else labels)
        return of_memory(module, tokenizer, name=name, labels=labels, prompt=prompt, shown=shown, chat=chat)
    if prompt is not None or shown or chat or isinstance(labels, Mapping):
        raise BadInput("a prompt needs a Hugging Face language model and its tokenizer, with labels and nothing else.")
    _check_given(module, tokenizer, labels)
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


def _of_hugging_face(module: Any, tokenizer: Any) -> bool:
    """Whether both are of transformers, which somebody has imported then."""
    if "transformers" not in sys.modules or not isinstance(module, nn.Module) or not hasattr(tokenizer, "is_fast"):
        return False
    from heatcheck.models.hf.in_memory import is_of_hugging_face

    return is_of_hugging_face(module)


def _check_given(module: Any, tokenizer: Any, labels: Any) -> None:
    if not isinstance(module, nn.Module):
        raise BadInput(f"wrap takes a torch module, not {module!r}. To load a saved model, use heatcheck.load.")
    if not isinstance(tokenizer, Vocabulary) and not callable(tokenizer):
        raise BadInput(
            "the tokenizer must be a function from a text to ids, a Hugging Face tokenizer or a Vocabulary, not "
            f"{tokenizer!r}."
        )
    if labels is None:
        return
    if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
        raise BadInput(f"labels must be a list of names in the order of the logits, not {labels!r}.")
    if len(set(labels)) < len(labels):
        raise BadInput(f"labels must differ from each other, not {', '.join(labels)}.")


def _check_choices(output: Any, row: Any) -> None:
    if output is not None and not callable(output):
        raise BadInput(f"output must be a function from the module's return value to logits, not {output!r}.")
    named = row is None or (isinstance(row, str) and row in ("first", "last", "mean"))
    if not named and (not isinstance(row, int) or isinstance(row, bool)):
        raise BadInput(f"row must be 'first', 'last', 'mean' or the number of a query, not {row!r}.")


def _require_whole_precision(module: nn.Module, name: str) -> None:
    """Refuse half precision: imposed weights and the tolerances of comparisons need 32 bits."""
    held = {part.dtype for part in (*module.parameters(), *module.buffers()) if part.dtype.is_floating_point}
    if half := sorted(str(kind).removeprefix("torch.") for kind in held - {torch.float32, torch.float64}):
        raise NotSupported(
            f"{name} computes in {half[0]}, which is too coarse to compare answers. Call module.float() before "
            "wrapping it."
        )


def _reading(output: Callable[[Any], Tensor] | None, name: str) -> Callable[[Any], Float[Tensor, "example label"]]:
    """A function from the module's return value to logits; a lone output z becomes the pair of logits (0, z)."""
    return partial(_read, output, name)


def _read(output: Callable[[Any], Tensor] | None, name: str, returned: Any) -> Float[Tensor, "example label"]:
    found = _first_tensor(returned) if output is None else output(returned)
    if not isinstance(found, Tensor) or found.ndim not in (1, 2):
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise NotSupported(
            f"{name} returns {shape}, but heatcheck needs logits [example label]. Choose them with output=, "
            "such as output=lambda out: out[:, 0] for the first token."
        )
    logits = found[:, None] if found.ndim == 1 else found
    pair = nn.functional.pad(logits, (1, 0)) if logits.shape[1] == 1 else logits
    return pair if pair.dtype == torch.float64 else pair.float()


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
    """Ids for two passes: from sample texts of two lengths, or made up."""
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
        raise BadInput("all texts of sample= have the same number of tokens: give at least two that differ.")
    first, second = (batch.inputs["tokens"][row, : lengths[row]] for row in (0, others[0]))
    return first.repeat(DRY[0][0], 1), second.repeat(DRY[1][0], 1)


def _masked(
    module: nn.Module, read: Reading, mask: str | None, passes: tuple[Tensor, Tensor], padding: int, name: str
) -> tuple[Mask | None, list[Tensor]]:
    """Find out by trying how to pass the padding mask; also return the logits of both passes."""
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
    apart = "" if mask in needed else " Or leave mask out: heatcheck then runs texts of different lengths separately."
    if reads_padding:
        raise BadInput(
            f"{name} gives a padded text another answer than the text alone, whatever mask heatcheck passes as "
            f"{mask!r}. Let it set the scores of padding to -inf before the softmax.{apart}"
        )
    if mask is not None:
        raise BadInput(
            f"{name} accepts no padding mask as {mask!r} ({'; '.join(reasons)}). Wrap it in a module that takes "
            f"ids and one of these masks.{apart}"
        )
    if len(needed) == 1:
        raise BadInput(
            f"{name} also needs {needed[0]!r}. Say mask={needed[0]!r} if that is a padding mask or the number of "
            "tokens per text. Otherwise wrap it in a module that takes only ids."
        )
    if needed:
        raise BadInput(
            f"{name} also needs {', '.join(map(repr, needed))}: wrap it in a module that takes only ids and fills "
            "in the rest."
        )
    raise BadInput(
        f"{name} failed on a batch of token ids [example token] ({'; '.join(reasons)}). Give sample=[…] with two "
        "texts that it can read, or wrap it in a module that takes only ids."
    )


def _needed(module: nn.Module) -> list[str]:
    """The arguments that forward requires besides the ids."""
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
        raise BadInput(f"{name} returns logits that are NaN or infinite: check its parameters.")
    if all(bool((part >= 0).all()) and torch.allclose(part.sum(1), torch.ones(len(part)).to(part)) for part in logits):
        raise BadInput(f"{name} returns probabilities, not logits: use output=lambda out: out.log().")
    if said is None:
        return tuple(map(str, range(number)))
    if len(said) != number:
        raise BadInput(f"{name} has {number} labels, but {len(said)} names were given: {', '.join(said)}.")
    return tuple(said)


def _embedding(module: nn.Module, call: Callable[[Tensor], Any], tokens: Tensor) -> str | None:
    """The path of the only nn.Embedding that gets the ids; None if none or several do."""
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
    """Test each attention: imposing its own weights must keep the logits, and other weights must not be ignored."""
    valid = torch.ones_like(tokens, dtype=torch.bool)
    with torch.no_grad():
        plain = subject.read(tokens, valid, Tap({}, ()))
        if not torch.allclose(subject.read(tokens[:1], valid[:1], Tap({}, ())), plain[:1], atol=CLOSE, rtol=CLOSE):
            raise BadInput(
                f"{subject.id} gives a text another answer alone than in a batch. It mixes the texts of a batch or "
                "is random in evaluation mode; fix that first."
            )
        for site, place in zip(subject.sites, subject.settings.places, strict=True):
            tap = Tap({}, [site])
            subject.read(tokens, valid, tap)
            own = tap.parts[site]
            if own.shape[3] != tokens.shape[1] or not torch.allclose(
                own.sum(-1), torch.ones_like(own[..., 0]), atol=CLOSE
            ):
                raise BadInput(
                    f"the weights at {place.where!r} do not sum to 1 over the tokens if their axes are "
                    f"{place.axes}. Give the right axes with attention=."
                )
            alone = Tap({}, [site])
            subject.read(tokens[:1], valid[:1], alone)
            if not torch.allclose(alone.parts[site], own[:1], atol=CLOSE):
                raise BadInput(
                    f"a text has other weights at {place.where!r} alone than in a batch. The axes are not "
                    f"{place.axes} (perhaps head*example), or the module mixes texts."
                )
            same = subject.read(tokens, valid, Tap({site: own.clone()}, ()))
            if not torch.allclose(same, plain, atol=CLOSE, rtol=CLOSE):
                raise NotSupported(
                    f"{subject.id} gives other logits when heatcheck imposes its own weights at {place.where!r}, "
                    "so weights cannot be replaced there."
                )
            moved = subject.read(tokens, valid, Tap({site: own.roll(1, -1)}, ()))
            if place.kind == OUTPUT and torch.equal(moved, same):
                raise NotSupported(
                    f"{place.where!r} of {subject.id} returns a copy of its weights, so replacing them there "
                    "changes nothing. Let it compute them with softmax, or pass them to the code that uses them."
                )


def _row(
    subject: OwnModule, passes: tuple[Tensor, Tensor], said: Literal["first", "last", "mean"] | int | None
) -> int | Literal["mean"]:
    """The query that the decision is read from, counted from the end if that is what stays the same."""
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
        f"{subject.sites[-1].where!r}. Say row='mean' if it pools over all of them; otherwise row='first', 'last' "
        "or a number."
    )


def _require_gradient(subject: OwnModule, tokens: Tensor) -> None:
    site = subject.sites[-1]
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        leaf = Tap({site: lambda own: own.detach().requires_grad_()}, ())
        logits = subject.read(tokens, torch.ones_like(tokens, dtype=torch.bool), leaf)
    if not logits.requires_grad:
        raise NotSupported(
            f"{subject.id} has no gradients: its answer is cut off by detach, no_grad, .data or numpy. Let it "
            "return the logits as it computes them."
        )


def _rows_that_matter(subject: OwnModule, tokens: Tensor) -> Bool[Tensor, " query"]:
    """The queries of the read-out that the logits depend on."""
    site = subject.sites[-1]
    tap = Tap({site: lambda own: own.detach().requires_grad_()}, [site])
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        logits = subject.read(tokens, torch.ones_like(tokens, dtype=torch.bool), tap)
        different = torch.linspace(1.0, 2.0, logits.shape[1], device=logits.device)
        (slope,) = torch.autograd.grad((logits * different).sum(), [tap.parts[site]], allow_unused=True)
    if slope is None:
        raise NotSupported(
            f"the answer of {subject.id} does not depend on the weights at {site.where!r}. Name with attention= "
            "the weights that it is computed from."
        )
    return (slope != 0).any(3).any(1).any(0)

"""A Hugging Face sequence classifier as a subject."""

import re
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Seen
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.classifier import NOT_AN_OPTION
from heatcheck.models.encoding import options_of
from heatcheck.models.hf.passing import ACTIVE, NAME, Pass, passing
from heatcheck.models.hf.pieces import encode_pieces
from heatcheck.models.recipe import Recipe
from heatcheck.models.response import Logits, Response, Weights
from heatcheck.models.subject import NO_EDITS, Edits, Run, Site, Tap

# Families that are tried in the tests; most of the 340 that dispatch through transformers' registry should do.
SUPPORTED = ("ALBERT", "BERT", "DistilBERT", "ELECTRA", "GPT-2", "Llama", "ModernBERT", "Qwen2", "Qwen3", "RoBERTa")
_POSITIONS_AFTER_PADDING = ("camembert", "roberta", "xlm-roberta", "xlm-roberta-xl")
AT_ONCE = 4096  # other weights that are tried together, each on one token


class Transformer(nn.Module):
    """Reads word pieces; every layer is an attention site, the last is the read-out.

    Sites: `attention`, `score` (masked, before the softmax), `query`, `key`, `value`, `context` at an attention's path,
    each [example head …]; `embedding`; `state` and `input` at the path of any module. A block whose `state` is given as
    a tensor is not computed, nor is any before it.
    """

    def __init__(self, network: Any, tokenizer: Any, *, name: str, recipe: Recipe | None = None) -> None:
        super().__init__()
        if not getattr(tokenizer, "is_fast", False):
            raise NotSupported(f"{name}: its tokenizer does not say where in the text a piece stands (not a fast one).")
        self.network = network.eval()
        self.tokenizer = tokenizer
        self.name = name
        self.recipe = recipe
        self.seen: Seen | None = None
        config = network.config
        self.labels = tuple(str(config.id2label[number]) for number in range(config.num_labels))
        if config.num_labels == 1:
            self.labels = ("0", "1")
        self.several = getattr(config, "problem_type", None) == "multi_label_classification"
        if getattr(config, "classifier_pooling", "cls") == "mean":
            raise NotSupported(
                f"{name} decides from the mean of all tokens: no row of its last attention is behind it."
            )
        self._pad()
        self._install()
        self._watched: set[str] = set()  # modules whose inputs and outputs the tap sees
        self._several: dict[str, int] = {}  # block -> how many things it hands on, 0 for a lone tensor
        self._lock = threading.Lock()
        self._discover()
        self.eval()

    def _pad(self) -> None:
        tokenizer, config = self.tokenizer, self.network.config
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = tokenizer.pad_token_id
        tokenizer.padding_side = "right"
        room = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 512
        if config.model_type in _POSITIONS_AFTER_PADDING:
            room -= config.pad_token_id + 1
        self.longest = min(room, tokenizer.model_max_length)

    def _install(self) -> None:
        try:
            self.network.set_attn_implementation(NAME)
        except (ValueError, AttributeError, ImportError) as error:
            reason = str(error).splitlines()[0]
            raise NotSupported(f"{self.name} ({self.network.config.model_type}): {reason} {_WHAT_WORKS}") from None
        self._names = {id(module): path for path, module in self.network.named_modules()}

    def _discover(self) -> None:
        """One dry pass: which attentions fire, in which order, and in which blocks they stand."""
        other_than_padding = int(self.network.config.pad_token_id == 0)
        tokens = torch.full((1, 3), other_than_padding, device=self.device)
        tap = Tap({}, ())
        with torch.no_grad(), passing(Pass(tap, self._names)):
            self.network(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        self.sites = tuple(tap.passed)
        if not self.sites:
            kind = self.network.config.model_type
            raise NotSupported(f"no attention of {self.name} ({kind}) went through the registry. {_WHAT_WORKS}")
        used: Counter[str] = Counter()
        places: list[Site] = []
        for site in self.sites:
            path = _block_of(site.where)
            places.append(Site("state", f"{path}@{used[path]}" if used[path] else path))
            used[path] += 1
        self.blocks = tuple(places)  # the output of the block around each attention
        self._number = {place.where: number for number, place in enumerate(places)}
        for path in used:
            block = self.network.get_submodule(path)
            block.forward = partial(self._block, path, block.forward)
        self._watched = set(used)
        self.network.get_input_embeddings().register_forward_hook(self._embedded)

    @property
    def id(self) -> str:
        return self.recipe.id if self.recipe else self.name

    @property
    def device(self) -> torch.device:
        found: torch.device = self.network.device
        return found

    def encode(self, examples: Sequence[Example]) -> Batch:
        options = options_of(examples, len(self.labels), self.device)
        return encode_pieces(
            self.tokenizer,
            examples,
            longest=self.longest,
            gold=self._gold(examples),
            options=None if self.several else options,
            device=self.device,
        )

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        tap = Tap(edits, want)
        self._watch({site.where.partition("@")[0] for site in {*edits, *want} if site.part in ("state", "input")})
        given = [self._number[s.where] for s, e in edits.items() if s in self.blocks and isinstance(e, Tensor)]
        with passing(Pass(tap, self._names, taken_over=max(given, default=-1))):
            outputs = self.network(**batch.inputs).logits
        logits = self._decisions(outputs.float(), batch.options)
        return tap.run(logits, self.rows(batch)[:, None].expand(logits.shape[:2]))

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The query of the last layer that the answer is read from: the first token, or in a decoder the last."""
        if self.reads_last:
            return batch.valid.sum(1) - 1
        return torch.zeros(len(batch), dtype=torch.long, device=batch.valid.device)

    @property
    def reads_last(self) -> bool:
        """Whether it is a decoder, whose classification head looks at the last token of a text."""
        return hasattr(self.network, "score")

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The keys of the read-out that may carry weight: every token, [CLS] and [SEP] too."""
        return batch.valid

    def response(self, batch: Batch) -> Response:
        """Other weights in the read-out's row, in all heads of the last layer.

        Only what that row becomes matters after the attention, and nothing after it looks at another token: so each
        set of weights is one token's way through the last block and the head, whatever the length of the text.
        """
        site, values = self.sites[-1], Site("value", self.sites[-1].where)
        start = self.blocks[-2] if len(self.blocks) > 1 else Site("input", self.blocks[-1].where)
        run = self.run(batch, want=[site, values, start])
        rows = run.row[:, 0]
        one = torch.arange(len(batch), device=rows.device)
        state, decisions = run.parts[start][one, rows][:, None], run.logits.shape[1]
        alone = _row_of(batch, rows)

        def impose(weights: Tensor) -> Tensor:
            """[example draw head token] to [example draw decision label]."""
            draws = weights.shape[1]
            place = one.repeat_interleave(draws)
            context = torch.einsum("enht,ehtf->enhf", weights.to(state.dtype), run.parts[values])
            edits = {start: state[place], Site("context", site.where): context.flatten(0, 1)[:, :, None]}
            again = self.run(_take(alone, place), edits=edits)
            return again.logits.reshape(len(batch), draws, *again.logits.shape[1:])

        def logits(weights: Weights) -> Logits:
            step = max(1, AT_ONCE // len(batch))
            return torch.cat(
                [
                    torch.stack([impose(part[:, :, d])[:, :, d] for d in range(decisions)], dim=2)
                    for part in torch.split(weights, step, dim=1)
                ],
                dim=1,
            )

        attention = run.parts[site][one, :, rows][:, None].expand(-1, decisions, -1, -1)
        if not torch.allclose(logits(attention[:, None])[:, 0], run.logits, rtol=1e-3, atol=1e-3):
            raise NotSupported(f"{self.id}: more than the attention of its last block looks at other tokens.")
        return Response(attention, self.readable(batch), logits)

    def _block(self, path: str, forward: Any, *given: Any, **named: Any) -> Any:
        """A block's forward pass; one whose output is taken over is not computed."""
        now = ACTIVE.get()
        if now is None or id(self.network.get_submodule(path)) not in now.names:
            return forward(*given, **named)
        where = now.use(self.network.get_submodule(path))
        assert where is not None
        state = given[0] if given else named["hidden_states"]
        number = self._number[where]
        if number <= now.taken_over:
            now.used[self.sites[number].where.partition("@")[0]] += 1
            edit = now.tap.edits.get(self.blocks[number])
            if not isinstance(edit, Tensor):
                return self._like(path, state)
            return self._like(path, now.send("state", where, edit))
        state = now.send("input", where, state)
        given, named = ((state, *given[1:]), named) if given else ((), {**named, "hidden_states": state})
        found = forward(*given, **named)
        self._several.setdefault(path, len(found) if isinstance(found, tuple) else 0)
        if not isinstance(found, tuple):
            return now.send("state", where, found)
        return (now.send("state", where, found[0]), *found[1:])

    def _like(self, path: str, state: Tensor) -> Any:
        """A state as the block at this path would hand it on."""
        several = self._several.get(path, 0)
        return (state, *[None] * (several - 1)) if several else state

    def _watch(self, paths: Collection[str]) -> None:
        """Lets the tap see what goes into and comes out of these modules, from now on."""
        with self._lock:
            for path in set(paths) - self._watched:
                try:
                    module = self.network.get_submodule(path)
                except AttributeError:
                    raise BadInput(f"{self.name} has no module {path!r}.") from None
                module.register_forward_pre_hook(self._entered, with_kwargs=False)
                module.register_forward_hook(self._left)
                self._watched.add(path)

    def _entered(self, module: nn.Module, given: tuple[Any, ...]) -> Any:
        now = ACTIVE.get()
        where = None if now is None or not given else now.peek(module)
        if now is None or where is None:
            return None
        return (now.send("input", where, given[0]), *given[1:])

    def _left(self, module: nn.Module, given: Any, found: Any) -> Any:
        now = ACTIVE.get()
        where = None if now is None else now.use(module)
        if now is None or where is None:
            return None
        if isinstance(found, tuple):
            return (now.send("state", where, found[0]), *found[1:])
        return now.send("state", where, found)

    def _embedded(self, module: nn.Module, given: Any, found: Tensor) -> Tensor | None:
        now = ACTIVE.get()
        return None if now is None or id(module) not in now.names else now.send("embedding", "", found)

    def _decisions(self, outputs: Tensor, options: Tensor | None) -> Tensor:
        """Outputs [example output] to logits [example decision label]; a lone output z is the logits (0, z)."""
        if self.several:
            return nn.functional.pad(outputs[..., None], (1, 0))
        logits = nn.functional.pad(outputs, (1, 0)) if outputs.shape[-1] == 1 else outputs
        if options is not None:
            logits = logits.masked_fill(~options, NOT_AN_OPTION)
        return logits[:, None]

    def _gold(self, examples: Sequence[Example]) -> Int[Tensor, "example decision"] | None:
        labels = [example.label for example in examples]
        if any(label is None for label in labels):
            return None
        if self.several:
            sets = [label if isinstance(label, tuple) else (label,) for label in labels]
            rows = [[int(number in chosen) for number in range(len(self.labels))] for chosen in sets]
            return torch.tensor(rows, device=self.device)
        return torch.tensor(labels, device=self.device)[:, None]


def _take(batch: Batch, rows: Int[Tensor, " example"]) -> Batch:
    """The batch with these examples, as often as each is named."""
    ids = tuple(batch.ids[row] for row in rows.tolist())
    inputs = {name: value[rows] for name, value in batch.inputs.items()}
    options = None if batch.options is None else batch.options[rows]
    return replace(
        batch,
        ids=ids,
        inputs=inputs,
        valid=batch.valid[rows],
        scored=batch.scored[rows],
        word=batch.word[rows],
        gold=None,
        marks={},
        options=options,
    )


def _row_of(batch: Batch, rows: Int[Tensor, " example"]) -> Batch:
    """The batch with one token left of each text."""
    at = rows[:, None]
    return replace(
        batch,
        inputs={name: value.gather(1, at) for name, value in batch.inputs.items()},
        valid=batch.valid.gather(1, at),
        scored=batch.scored.gather(1, at),
        word=batch.word.gather(1, at),
        marks={},
    )


def _block_of(path: str) -> str:
    """The block that an attention stands in: what comes first of its path that is one of a list.

    >>> _block_of("bert.encoder.layer.3.attention.self")
    'bert.encoder.layer.3'
    """
    found = re.match(r"(.*?\.\d+)(?:\.|@|$)", path)
    return found.group(1) if found else path.partition("@")[0]


_WHAT_WORKS = f"Tried and known to work: {', '.join(SUPPORTED)}; for your own torch module use heatcheck.wrap."

"""A Hugging Face sequence classifier as a model of heatcheck."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Seen
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.classifiers.classifier import NOT_AN_OPTION
from heatcheck.models.contract.encoding import options_of
from heatcheck.models.contract.lengths import with_tokens
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response, of_whole_mass
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap, Want
from heatcheck.models.hf import views
from heatcheck.models.hf.given_ids import encode_given
from heatcheck.models.hf.kernel import LONG
from heatcheck.models.hf.long_texts import ALL_WEIGHTS, rows_suffice
from heatcheck.models.hf.longformer import global_half, has_global_rows
from heatcheck.models.hf.pieces import Cutter, count_pieces, cut_texts, encode_pieces, read_ids
from heatcheck.models.hf.precision import require_numbers
from heatcheck.models.hf.prefixes import common_beginning, in_families
from heatcheck.models.hf.read_out import answer_by_row, respond, seen_keys
from heatcheck.models.hf.shown_rows import describe_rows
from heatcheck.models.hf.tapped import Tapped
from heatcheck.models.hf.taps import passing
from heatcheck.models.hf.trial import MADE_UP
from heatcheck.models.hf.window import too_long

CACHED, MANY = 2**10, 2**16  # tokens in a batch, on a CPU and on a GPU
FAR = 2**20  # tokens of a text that no family reads
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Transformer(Tapped):
    """A Hugging Face classifier, which reads word pieces; every layer is an attention site, the last is the read-out.

    Sites: `attention`, `score` (masked, before the softmax), `query`, `key`, `value`, `context` at an attention's path,
    each [example head …]; `embedding`; `state` and `input` at the path of any module. If a block's `state` is given as
    a tensor, that block and all earlier ones are not computed.
    """

    _decide: Callable[[Tensor], Tensor] | None = None  # one number of all outputs, which the answer then is
    _by_rows = False  # whatever the length (long_texts.py)
    cuts = True  # a text that is too long, where another kind of model refuses it

    def __init__(self, network: Any, tokenizer: Any, *, name: str, recipe: Recipe | None = None) -> None:
        super().__init__(network, name)
        if not getattr(tokenizer, "is_fast", False):
            raise NotSupported(
                f"{name}: its tokenizer cannot say where in the text a piece stands, because it is not a fast one. "
                "Use a fast tokenizer."
            )
        self.tokenizer = tokenizer
        self.recipe = recipe
        self.seen: Seen | None = None
        self.called = ""
        config = network.config
        self._told_padding: int | None = getattr(config, "pad_token_id", None)
        self._known_ids: int | None = _embedded_ids(network)
        self._name_labels(config)
        self._pad()
        self.watch_network()
        self.eval()

    def _name_labels(self, config: Any) -> None:
        self.labels = tuple(str(config.id2label.get(number, number)) for number in range(config.num_labels))
        if config.num_labels == 1:
            self.labels = ("0", "1")
        self.several = getattr(config, "problem_type", None) == "multi_label_classification"

    def _pad(self) -> None:
        tokenizer, config = self.tokenizer, self.network.config
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        if tokenizer.pad_token is None:
            raise BadInput(
                f"{self._called}: its tokenizer has no token for padding, for the end or for unknown words. Set its "
                "pad_token."
            )
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = tokenizer.pad_token_id
        tokenizer.padding_side = "right"
        room = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 512
        room -= first_position(self.network)
        if getattr(config, "attention_type", None) == "block_sparse":
            room = min(room, (5 + 2 * config.num_random_blocks) * config.block_size)  # longer ones are not read whole
        said = tokenizer.model_max_length
        if not isinstance(said, int | float) or not said >= 1:
            raise BadInput(
                f"{self._called}: model_max_length of its tokenizer must be a number of tokens, not {said!r}."
            )
        self.longest = int(min(room if room > 0 else FAR, said))  # XLNet: -1
        self._cutter = self._make_cutter()

    @property
    def adapted(self) -> bool:
        """Whether it has adapters that are not merged, so that a layer's weights are not all that it computes with."""
        return any(hasattr(part, "base_layer") for part in self.network.modules())

    @property
    def shown_rows(self) -> str:
        """What the heatmap is made of, if it is not the row of one token of the text."""
        return describe_rows(self)

    def values_read(self, values: Float[Tensor, "example head key feature"]) -> Float[Tensor, "example head key size"]:
        """What the row that the answer is read from reads of an attention's values."""
        return global_half(values) if has_global_rows(self.network) else values

    @property
    def id(self) -> str:
        return self.recipe.id if self.recipe else self.name

    def encode(self, examples: Sequence[Example]) -> Batch:
        options = options_of(examples, len(self.labels), self.device)
        return encode_pieces(
            self.cutter,
            examples,
            known=self._known_ids,
            gold=self._gold(examples),
            options=None if self.several else options,
            device=self.device,
        )

    def encode_ids(self, ids: Sequence[Sequence[Any]], *, bos: bool) -> Batch:
        """A batch of token ids as they are given, each a word of its own; with `bos` the tokenizer's BOS goes first."""
        return self._placed(
            encode_given(self.tokenizer, ids, bos=bos, longest=self.longest, known=self._known_ids, device=self.device)
        )

    def _placed(self, batch: Batch) -> Batch:
        """The batch with what else this kind of model is told."""
        return batch

    def place(self, what: str, layer: int | None = None) -> Site:
        """The site of `attention_out`, `mlp_out` (of a layer), `final_norm` or `unembedding`, whatever the family."""
        from heatcheck.models.hf.places import find_place  # which knows families, and they know this class

        return find_place(self, what, layer)

    @cached_property
    def heads(self) -> tuple[int, ...]:
        """How many heads each layer has."""
        counted = dict.fromkeys(self.sites, _count_heads)
        with torch.no_grad():
            parts = self.run(self.encode(MADE_UP), want=counted).parts
        return tuple(int(parts[site]) for site in self.sites)

    @property
    def cutter(self) -> Cutter:
        """Cuts texts into the pieces of this tokenizer, each text once."""
        if self._cutter.tokenizer is not self.tokenizer:
            self._cutter = self._make_cutter()
        return self._cutter

    def _make_cutter(self) -> Cutter:
        return Cutter(self.tokenizer, self.longest)

    @property
    def tokens_at_once(self) -> int:
        """In a batch: few enough for a processor's cache, or many for a GPU, which waits for the next otherwise."""
        return CACHED if self.device.type == "cpu" else MANY

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        """How many tokens the network reads of each text."""
        return count_pieces(self.cutter, examples)

    def too_long(self, examples: Sequence[Example]) -> dict[int, int]:
        """The places of texts that are longer than the network reads, and how many tokens each has."""
        return too_long(self.cutter, examples)

    def cut(self, examples: Sequence[Example], units: str) -> list[Example]:
        """Examples whose words are those of both texts, or pieces of the tokenizer."""
        return cut_texts(self.tokenizer, examples, units)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        return self._run(batch, edits, want)

    def _run(self, batch: Batch, edits: Edits, want: Want, known: Mapping[str, Any] = NOTHING) -> Run:
        """`known`: of tokens before those of the batch, as the network takes it."""
        tap = Tap(edits, want)
        self._watch({site.where.partition("@")[0] for site in {*edits, *want} if site.part in ("state", "input")})
        given = [self._number[s.where] for s, e in edits.items() if self._gives_block(s, e)]
        inputs = {**batch.inputs, **known}
        now = self._pass(tap, max(given, default=-1), rows_only=self._rows_only(inputs["attention_mask"].shape[1]))
        with passing(now):
            outputs = self._ask(inputs)
        if not edits:
            require_numbers(outputs, self._called)
        rows = self.rows(batch)
        if now.every_row is not None and now.every_row.shape[:2] == batch.valid.shape:
            outputs = now.every_row[torch.arange(len(batch), device=rows.device), rows]
        logits = self._decisions(outputs.float(), batch.options)
        found = tap.run(logits, rows[:, None].expand(logits.shape[:2]))
        return replace(found, pooled=batch.valid) if self.pools else found

    def in_one_way(self, examples: Sequence[Example]) -> "Transformer":
        """A model whose answers to these texts, and to changed ones, can be compared to the last digit.

        If one of them is long, it computes all of them by rows; else it is this model.
        """
        return views.in_one_way(self, examples)

    def _rows_only(self, tokens: int) -> bool:
        if self.training or ALL_WEIGHTS.get():
            return False
        return (self._by_rows or tokens > LONG) and self._rows_suffice

    @cached_property
    def _rows_suffice(self) -> bool:
        return rows_suffice(self, self._pass)

    def together(self, examples: Sequence[Example]) -> Iterator[list[int]]:
        """Places of examples in batches that `answer` reads best."""
        if self.device.type == "cpu" and self._beginnings_suffice:
            return in_families(read_ids(self.cutter, examples), self.tokens_at_once)
        return with_tokens(self.lengths(examples), self.tokens_at_once)

    def answer(self, batch: Batch) -> Float[Tensor, "example decision label"]:
        """Logits alone: a beginning that all texts share is read once, and after the last attention only one token."""
        shared = common_beginning(batch, self.rows(batch)) if self._beginnings_suffice else 0
        return self._after(batch, shared) if shared else self._answer(batch)

    def _after(self, batch: Batch, shared: int) -> Float[Tensor, "example decision label"]:
        """Logits of texts that begin with so many tokens alike, which are read first and remembered."""
        first = {name: value[:1, :shared] for name, value in batch.inputs.items()}
        now = self._pass(Tap({}, ()), rows_only=self._rows_only(batch.valid.shape[1]))
        with torch.no_grad(), passing(now):
            keys = self.network(**first, use_cache=True).past_key_values
        keys.batch_repeat_interleave(len(batch))
        known = {"past_key_values": keys, "attention_mask": batch.inputs["attention_mask"]}
        return self._answer(batch.after(shared), known)

    @cached_property
    def _beginnings_suffice(self) -> bool:
        """Whether a beginning can be read once for several texts: tried on two that begin alike."""
        if not self.reads_last:
            return False
        texts = [Example("one", "a b c a b c a b c a b c b"), Example("two", "a b c a b c a b c a b c a c")]
        try:
            batch = self.encode(texts)
            shared = common_beginning(batch, self.rows(batch))
            with torch.no_grad():
                apart, together = self.run(batch).logits, self._after(batch, shared)
            return shared > 0 and torch.allclose(apart, together, rtol=1e-4, atol=1e-5)
        except Exception:  # whatever a family raises that remembers otherwise, or not at all
            return False

    def _answer(self, batch: Batch, known: Mapping[str, Any] = NOTHING) -> Float[Tensor, "example decision label"]:
        """Logits alone: after the last attention, only the token that they are read from goes on."""
        if not self._one_row_suffices:
            return self._run(batch, NO_EDITS, (), known).logits
        return answer_by_row(self, batch, known)

    def answer_edited(self, batch: Batch, edits: Edits) -> Float[Tensor, "example decision label"]:
        """Logits alone, of a pass with edits at attentions and blocks."""
        late = {site for site in edits if site.part in ("input", "state") and site not in self.blocks[:-1]}
        if late or not self._one_row_suffices:
            return self.run(batch, edits=edits).logits
        return answer_by_row(self, batch, NOTHING, edits)

    @cached_property
    def _one_row_suffices(self) -> bool:
        """Whether nothing after the last attention reads another token: tried on two short texts."""
        if self.not_layered:
            return False
        batch = self.encode(MADE_UP)
        self.__dict__["_one_row_suffices"] = True
        try:
            with torch.no_grad():
                return torch.allclose(self._answer(batch), self.run(batch).logits, rtol=1e-4, atol=1e-5)
        except Exception:  # whatever a family raises on a single token
            return False
        finally:
            del self.__dict__["_one_row_suffices"]

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The query of the last layer that the answer is read from: the first token, in a decoder the last, or another.

        The first, if the answer is read from all.
        Classification heads of transformers skip trailing tokens with the padding id. A masked word may have that id
        too, but is not skipped: hiding a word moves no row.
        """
        if not self.reads_last:
            return self.reads.rows(batch)
        read = batch.valid
        if self._told_padding is not None:
            text = batch.inputs["input_ids"] != self._told_padding
            read = read & (text if batch.masked is None else text | batch.masked)
        return (read * torch.arange(read.shape[1], device=read.device)).argmax(1)

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The keys that the read-out's query sees, [CLS] and [SEP] included; no padding, nothing beyond the window.

        The mask alone decides this, so the last block is run on empty states, and no earlier block is computed.
        """
        return seen_keys(self, batch)

    def response(self, batch: Batch) -> Response:
        """Logits under other weights in the read-out's row, in all heads of the last layer.

        After the attention only that row matters, and nothing later reads another token. So each set of weights costs
        one token's pass through the last block and the head, whatever the length of the text.
        """
        return of_whole_mass(self, respond(self, batch))

    def contrast(self, label: int, against: int) -> "Transformer":
        """The same model with one question: this label or that one; its second label is the first that is named."""
        return views.contrast(self, label, against)

    def only(self, label: int) -> "Transformer":
        """The same model with one of its decisions, of a model that says yes or no to each label."""
        return views.only(self, label)

    def _decisions(self, outputs: Tensor, options: Tensor | None) -> Tensor:
        """Outputs [example output] to logits [example decision label]; a lone output z is the logits (0, z)."""
        if self._decide is not None:
            outputs, options = self._decide(outputs)[:, None], None
        if self.several:
            return nn.functional.pad(outputs[..., None], (1, 0))
        logits = nn.functional.pad(outputs, (1, 0)) if outputs.shape[-1] == 1 else outputs
        if options is not None:
            logits = logits.masked_fill(~options, NOT_AN_OPTION)
        return logits[:, None]

    def _gold(self, examples: Sequence[Example]) -> Int[Tensor, "example decision"] | None:
        labels = [example.label for example in examples]
        if self._decide is not None or any(label is None for label in labels):
            return None
        if self.several:
            sets = [label if isinstance(label, tuple) else (label,) for label in labels]
            rows = [[int(number in chosen) for number in range(len(self.labels))] for chosen in sets]
            return torch.tensor(rows, device=self.device)
        return torch.tensor(labels, device=self.device)[:, None]


def _count_heads(weights: Float[Tensor, "example head query key"]) -> Tensor:
    return torch.tensor(weights.shape[1])


def first_position(network: Any) -> int:
    """The number of a text's first position: RoBERTa and its kin begin after that of padding."""
    tables = (part for path, part in network.named_modules() if path.endswith("position_embeddings"))
    marked = [padding for table in tables if (padding := getattr(table, "padding_idx", None)) is not None]
    return marked[0] + 1 if marked else 0


def _embedded_ids(network: Any) -> int | None:
    """How many ids the network has a vector for; None where that is not known."""
    try:
        return getattr(network.get_input_embeddings(), "num_embeddings", None)
    except NotImplementedError:  # transformers' own answer for a family without such a table (CANINE hashes characters)
        return None

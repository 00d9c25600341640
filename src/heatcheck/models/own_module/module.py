"""A user's own torch module as a model of heatcheck; `heatcheck.wrap` (wrapping.py) finds out how to read it."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, HeatcheckError, NotSupported, in_short
from heatcheck.models.classifiers.classifier import NOT_AN_OPTION
from heatcheck.models.contract.encoding import options_of
from heatcheck.models.contract.memory import is_out_of_memory
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import CLOSE, Logits, Response, Weights, as_sums
from heatcheck.models.contract.subject import NO_EDITS, Edit, Edits, Run, Site, Tap, Want
from heatcheck.models.contract.weights import visible
from heatcheck.models.own_module.found_attention import Place
from heatcheck.models.own_module.taps import OUTPUT, Interception, Memory, Pass
from heatcheck.models.own_module.tokens import OwnTokenizer, encode_own

AT_ONCE = 256  # texts with other weights that are run together
EMBEDDING = Site("embedding")
Group = tuple[Tensor, int]  # which examples, and how many tokens of each are read
Memories = dict[tuple[int, ...], Memory | None]  # by how many texts of how many tokens; None: it cannot be used


@dataclass(frozen=True)
class OwnSettings:
    """How to call and read a module: what `wrap` was told, or found out.

    `mask` is the keyword of the padding mask, with the function that makes it from the valid tokens. `row` is the query
    that the decision is read from, negative if counted from the end, or `mean` if the answer is read from all queries.
    `output` turns the module's return value into logits.
    """

    name: str
    labels: tuple[str, ...]
    places: tuple[Place, ...]
    embedding: str | None
    mask: tuple[str, Callable[[Tensor], Tensor]] | None
    row: int | Literal["mean"]
    padding: int
    output: Callable[[Any], Float[Tensor, "example label"]]


class OwnModule:
    """A wrapped module, which reads tokens.

    Sites: `attention` where weights are computed; `score` for the masked scores before the softmax (not available for
    weights that a module returns); `embedding`; `state` and `input` of any module.

    With no edits and nothing wanted, a run is a plain call of the module. Without a mask, texts of different lengths
    are run separately, so that padding is never read.
    """

    recipe: Recipe | None = None

    def __init__(self, module: nn.Module, tokenizer: OwnTokenizer, settings: OwnSettings) -> None:
        self.module = module
        self.tokenizer = tokenizer
        self.settings = settings
        self.labels = settings.labels
        self.sites = tuple(Site("attention", place.where) for place in settings.places)
        self._interception = Interception(module)
        self._axes = {place.path: (place.where, place.axes) for place in settings.places}
        self._takes = {place.path: place.taken for place in settings.places if place.kind == OUTPUT}

    @property
    def id(self) -> str:
        return self.settings.name

    @property
    def device(self) -> torch.device:
        return device_of(self.module)

    def __repr__(self) -> str:
        known = self.settings
        read = "no padding" if known.mask is None else f"mask: {known.mask[0]!r}"
        return (
            f"{self.id}(attention: {', '.join(map(str, known.places))}; embedding: {known.embedding!r}; "
            f"row: {known.row}; {read}; labels: {', '.join(self.labels)})"
        )

    def encode(self, examples: Sequence[Example]) -> Batch:
        labels = [example.label for example in examples]
        known = all(isinstance(label, int) for label in labels)
        batch = encode_own(
            self.tokenizer,
            examples,
            padding=self.settings.padding,
            gold=torch.tensor(labels, device=self.device)[:, None] if known else None,
            options=options_of(examples, len(self.labels), self.device),
            device=self.device,
        )
        self._check_ids(batch)
        row = 0 if self.settings.row == "mean" else self.settings.row
        furthest = row + 1 if row >= 0 else -row
        for name, length in zip(batch.ids, batch.valid.sum(1).tolist(), strict=True):
            if length < furthest:
                raise BadInput(
                    f"example {name} has {length} token(s), but the model reads its decision at token {furthest}. "
                    "Leave out such short texts."
                )
        return batch

    def _check_ids(self, batch: Batch) -> None:
        """Check ids before a GPU does, whose error names no text and breaks all later work."""
        path = self.settings.embedding
        table = None if path is None else self.module.get_submodule(path)
        if not isinstance(table, nn.Embedding):
            return
        tokens = batch.inputs["tokens"]
        foreign = ((tokens < 0) | (tokens >= table.num_embeddings)) & batch.valid
        if bool(foreign.any()):
            row, place = foreign.nonzero()[0].tolist()
            raise BadInput(
                f"example {batch.ids[row]}: the tokenizer gives the id {int(tokens[row, place]):,}, but the "
                f"embedding of {self.id} has {table.num_embeddings:,} rows, counted from 0. Give wrap the "
                "tokenizer that belongs to the module."
            )

    def cut(self, examples: Sequence[Example], units: str) -> list[Example]:
        """Examples whose words are pieces of the tokenizer, if it is a Hugging Face one."""
        if hasattr(self.tokenizer, "is_fast"):
            from heatcheck.models.hf.pieces import cut_texts  # transformers takes a second to import

            return cut_texts(self.tokenizer, examples, units)
        if units == "tokens":
            raise NotSupported(f"units=tokens needs a Hugging Face tokenizer, and {self.id} has none. Use units=words.")
        return list(examples)

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The tokens of the text that the read-out's query sees, whether they get a score or not.

        heatcheck does not see the mask of weights that a module returns; there every token may carry weight.
        """
        with torch.no_grad():
            return self._seen(self.run(batch, want=self._scores), batch)

    @property
    def _scores(self) -> list[Site]:
        """The scores before the read-out's softmax, if heatcheck sees them."""
        return [] if self.settings.places[-1].kind == OUTPUT else [Site("score", self.sites[-1].where)]

    def _seen(self, run: Run, batch: Batch) -> Bool[Tensor, "example key"]:
        if not self._scores:
            return batch.valid
        keys = visible(run.parts[self._scores[0]]).any(1)  # [example query key]
        readers = run.readers(keys.shape[1]) > 0
        return (keys & readers[:, :, None]).any(1) & batch.valid

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The query that the decision is read from; the first, if there are several."""
        row = 0 if self.settings.row == "mean" else self.settings.row
        return batch.valid.sum(1) + row if row < 0 else torch.full_like(batch.valid[:, 0], row, dtype=torch.long)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        return self._run(batch, edits, want, None)

    @property
    def not_stacked(self) -> str:
        """Why the sites are not all layers of one `nn.TransformerEncoder`, which has residuals; "" if they are."""
        stacks = {path: part for path, part in self.module.named_modules() if isinstance(part, nn.TransformerEncoder)}
        expected = [
            [f"{path}.layers.{number}.self_attn".lstrip(".") for number in range(len(stack.layers))]
            for path, stack in stacks.items()
        ]
        if [place.path for place in self.settings.places] in expected:
            return ""
        return f"the attention sites of {self.id} are not all layers of one nn.TransformerEncoder."

    def response(self, batch: Batch) -> Response:
        """Logits under other weights in the read-out's row, in all heads; earlier layers are computed once.

        If the answer is read from all rows, the heatmap is their mean, and other weights are imposed on every row. With
        one head, heatcheck tests whether the logits are linear in the weights, and if so computes the relevances.
        """
        site = self.sites[-1]
        with torch.no_grad():
            run = self.run(batch, want=[site, *self._scores])
        used, rows, seen = run.parts[site].detach(), run.row[:, 0], self._seen(run, batch)
        pooled = run.pooled is not None
        memories: Memories = {}

        def impose(weights: Float[Tensor, "example draw head token"]) -> Float[Tensor, "example draw label"]:
            draws = weights.shape[1]
            place = torch.arange(len(batch), device=rows.device).repeat_interleave(draws)
            edited = used[place]
            new = weights.flatten(0, 1).to(used.dtype)
            if pooled:
                edited[:] = new[:, :, None]
            else:
                edited[torch.arange(len(place), device=rows.device), :, rows[place]] = new
            again = self._run(batch.take(place), {site: edited}, (), memories)
            return again.logits[:, 0].reshape(len(batch), draws, -1)

        def logits(weights: Weights) -> Logits:
            step = max(1, AT_ONCE // len(batch))
            parts = [weights[:, start : start + step, 0] for start in range(0, weights.shape[1], step)]
            return torch.cat([impose(part) for part in parts], dim=1)[:, :, None]

        own = run.behind(used)[:, None]
        found = Response(own, seen, logits)
        if own.shape[2] > 1:
            return found
        with torch.no_grad():  # one heatmap in every row may give another answer than the rows themselves
            same = not pooled or torch.allclose(logits(own[:, None])[:, 0], run.logits, atol=CLOSE, rtol=CLOSE)
        return as_sums(found) or found if same else found

    def _run(self, batch: Batch, edits: Edits, want: Want, memories: Memories | None) -> Run:
        """`memories` keep what is computed before the read-out's weights from run to run; None keeps nothing."""
        self._check({*edits, *want})
        groups = list(self._groups(batch))
        if len(groups) == 1 and groups[0][1] == batch.valid.shape[1]:
            tap = Tap(edits, want)
            logits = self._pass(batch.inputs["tokens"], batch.valid, tap, memories)
            return self._pooled(tap.run(self._decided(logits, batch), self.rows(batch)[:, None]), batch)
        settled = {site: edit for site, edit in edits.items() if isinstance(edit, Tensor)}
        waiting = {site: edit for site, edit in edits.items() if not isinstance(edit, Tensor)}
        while waiting:  # a function sees all texts at once: what it is given is computed first, then put into each
            seen, order = self._apart(batch, groups, settled, [*waiting], memories)
            site = next(site for site in order if site in waiting)
            settled[site] = waiting.pop(site)(seen.parts[site])
            if settled[site].shape != seen.parts[site].shape:
                raise BadInput(
                    f"the edit at {site} has shape {tuple(settled[site].shape)}, but the site has shape "
                    f"{tuple(seen.parts[site].shape)}."
                )
        run, _ = self._apart(batch, groups, settled, {*want} - settled.keys(), memories)
        parts = {**run.parts, **{site: settled[site] for site in want if site in settled}}
        kept = Tap(NO_EDITS, want).reduced  # of all texts together
        return self._pooled(replace(run, parts={site: kept(site, part) for site, part in parts.items()}), batch)

    def _pooled(self, run: Run, batch: Batch) -> Run:
        return replace(run, pooled=batch.valid) if self.settings.row == "mean" else run

    def _check(self, asked: Collection[Site]) -> None:
        """Refuse edits and wishes that this module does not support, before it is run."""
        if EMBEDDING in asked and self.settings.embedding is None:
            raise NotSupported(f"heatcheck found no embedding in {self.id}: name it with wrap(…, embedding='path').")
        known = {path for path, _ in self.module.named_modules()}
        for site in asked:
            if site.part in ("state", "input") and site.where.partition("@")[0] not in known:
                raise BadInput(f"{self.id} has no module {site.where!r}.")

    def _groups(self, batch: Batch) -> Iterator[Group]:
        """Examples that can be run together."""
        lengths = batch.valid.sum(1)
        if self.settings.mask is not None:
            yield torch.arange(len(batch), device=lengths.device), batch.valid.shape[1]
            return
        for length in sorted(set(lengths.tolist())):
            yield (lengths == length).nonzero()[:, 0], length

    def _apart(
        self,
        batch: Batch,
        groups: Sequence[Group],
        settled: dict[Site, Tensor],
        want: Collection[Site],
        memories: Memories | None,
    ) -> tuple[Run, list[Site]]:
        """A run of groups of like length, joined; and the sites in the order they were passed."""
        found: list[Run] = []
        order: list[Site] = []
        longest = batch.valid.shape[1]
        for rows, length in groups:
            edits = {site: _cut(value, rows, length, longest) for site, value in settled.items()}
            tap = Tap(edits, want)
            logits = self._pass(batch.inputs["tokens"][rows, :length], batch.valid[rows, :length], tap, memories)
            found.append(tap.run(logits[:, None], rows[:, None]))
            order = tap.passed
        back = torch.cat([rows for rows, _ in groups]).argsort()
        for site in want:
            for run, (rows, _) in zip(found, groups, strict=True):
                if run.parts[site].shape[0] != len(rows):
                    raise NotSupported(
                        f"the first axis at {site} is not the examples: run texts of equal length there."
                    )
        parts = {site: _joined(site, [run.parts[site] for run in found], longest)[back] for site in want}
        logits = torch.cat([run.logits[:, 0] for run in found])[back]
        return Run(self._decided(logits, batch), self.rows(batch)[:, None], parts), order

    def _pass(
        self,
        tokens: Int[Tensor, "example token"],
        valid: Bool[Tensor, "example token"],
        tap: Tap,
        memories: Memories | None,
    ) -> Float[Tensor, "example label"]:
        if memories is None:
            return self.read(tokens, valid, tap, None)
        key = tuple(tokens.shape)
        kept = memories[key] if key in memories else self._remember(tokens, valid, tap.edits)
        memories[key] = kept if kept is not None and kept.usable else None
        return self.read(tokens, valid, tap, memories[key])

    def _remember(self, tokens: Tensor, valid: Tensor, edits: Edits) -> Memory | None:
        """Store what comes before the read-out's weights; None if a pass that starts there ends differently.

        This happens if a module overwrites what it computed before, or gives another answer each time.
        """
        kept = Memory(until=self.settings.places[-1].path)
        with torch.no_grad():
            whole = self.read(tokens, valid, Tap(edits, ()), kept)
            if not kept.usable:
                return None
            again = self.read(tokens, valid, Tap(edits, ()), kept)
        return kept if torch.allclose(whole, again, atol=CLOSE, rtol=CLOSE) else None

    def read(
        self, tokens: Tensor, valid: Tensor, tap: Tap, memory: Memory | None = None
    ) -> Float[Tensor, "example label"]:
        """One call of the module: its logits, with what the tap edits and takes out."""
        named = {} if self.settings.mask is None else {self.settings.mask[0]: self.settings.mask[1](valid)}
        with self._in_a_sentence(tokens):
            logits = self._read(tokens, named, tap, memory)
        if logits.shape != (len(tokens), len(self.labels)):
            raise BadInput(
                f"{self.id} returned logits of shape {tuple(logits.shape)} for {len(tokens)} texts and "
                f"{len(self.labels)} labels. It must return [example label] for every batch, as it did in wrap."
            )
        return logits

    @contextmanager
    def _in_a_sentence(self, tokens: Tensor) -> Iterator[None]:
        """Turn errors of the user's module into one sentence, except running out of memory: a smaller batch helps."""
        try:
            yield
        except HeatcheckError:
            raise
        except Exception as error:
            if isinstance(error, RuntimeError) and is_out_of_memory(error):
                raise
            raise BadInput(
                f"{self.id} failed on a batch of {tokens.shape[0]} texts of {tokens.shape[1]} tokens "
                f"({in_short(error)}). Call module(ids) on such a batch to see why."
            ) from error

    def _read(self, tokens: Tensor, named: dict[str, Tensor], tap: Tap, memory: Memory | None) -> Tensor:
        if not tap.edits and not tap.want:
            return self.settings.output(self.module(tokens, **named))
        started = Pass(
            tap,
            axes=self._axes,
            takes=self._takes,
            embedding=self.settings.embedding,
            examples=len(tokens),
            memory=memory,
        )
        with self._interception.passing(started):
            returned = self.module(tokens, **named)
        return self.settings.output(returned)

    def _decided(self, logits: Tensor, batch: Batch) -> Float[Tensor, "example 1 label"]:
        if batch.options is not None:
            logits = logits.masked_fill(~batch.options, NOT_AN_OPTION)
        return logits[:, None]


def device_of(module: nn.Module) -> torch.device:
    """Where its parameters are."""
    for held in (*module.parameters(), *module.buffers()):
        return held.device
    return torch.device("cpu")


def _cut(value: Tensor, rows: Tensor, length: int, longest: int) -> Edit:
    """An edit of all texts, for these: as many of each axis of tokens as they have."""

    def edit(own: Tensor) -> Tensor:
        chosen = value[rows]
        for axis in range(1, min(own.ndim, chosen.ndim)):
            if own.shape[axis] == length and chosen.shape[axis] == longest:
                chosen = chosen.narrow(axis, 0, length)
        return chosen

    return edit


def _joined(site: Site, pieces: Sequence[Tensor], longest: int) -> Tensor:
    """Pieces for texts of different lengths as one, with zeros where a text has ended."""
    sizes = [max(size) for size in zip(*(piece.shape for piece in pieces), strict=True)]
    for axis in (2, 3) if site.part in ("attention", "score") else (1,):
        if len(pieces) > 1 and len({piece.shape[axis] for piece in pieces}) > 1:
            sizes[axis] = longest
    filled = []
    for piece in pieces:
        missing = [size - own for size, own in zip(sizes[1:], piece.shape[1:], strict=True)]
        filled.append(nn.functional.pad(piece, [n for size in reversed(missing) for n in (0, size)]))
    return torch.cat(filled)

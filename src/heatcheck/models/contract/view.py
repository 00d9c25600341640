"""The heatmap of one layer, or of one head, as a model of its own: the same answers, another place to read weights.

Checks read and replace the weights at the last of a model's sites. A view has a single site: the row of the chosen
layer that belongs to the token the answer is read from, for all heads or for one. Everything else is the model's own.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.lengths import CountsTokens
from heatcheck.models.contract.naming import asked_of
from heatcheck.models.contract.parts import AttendsToParts, HasLayers, ReadsMore, readable_keys
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Logits, Responds, Response, Weights, as_sums, within
from heatcheck.models.contract.subject import NO_EDITS, Edit, Edits, Run, Site, Subject
from heatcheck.models.contract.weights import visible

AT_ONCE = 2**12  # tokens of texts with other weights that are run together, where the model does not say
CLOSE = 1e-3  # logits that far apart may be rounding


class _Rows(NamedTuple):
    """Which queries of a layer make the heatmap: one of each text, or several, whose mean it is."""

    one: Int[Tensor, " example"] | None
    several: Bool[Tensor, "example query"] | None

    def pick(self, weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head 1 key"]:
        """The heatmap of each head."""
        if self.one is not None:
            return weights[torch.arange(len(weights), device=weights.device), :, self.one][:, :, None]
        assert self.several is not None
        share = self.several / self.several.sum(1, keepdim=True)
        return torch.einsum("eq,ehqk->ehk", share.to(weights.dtype), weights)[:, :, None]

    def put(
        self, weights: Float[Tensor, "example head query key"], heatmap: Float[Tensor, "example head one key"]
    ) -> Float[Tensor, "example head query key"]:
        """The same weights with another heatmap: in its row, or in all rows that it is the mean of."""
        if self.one is None:
            assert self.several is not None
            return torch.where(self.several[:, None, :, None], heatmap.to(weights.dtype), weights)
        changed = weights.clone()
        changed[torch.arange(len(weights), device=weights.device), :, self.one] = heatmap[:, :, 0].to(weights.dtype)
        return changed

    def often(self, place: Int[Tensor, " item"]) -> "_Rows":
        """Those of these texts."""
        return _Rows(
            None if self.one is None else self.one[place], None if self.several is None else self.several[place]
        )


class View:
    """One layer's heatmap of a model that has several attention sites; `head` alone, or all heads.

    The site of a view has one query. Its `value` and `score` are those of the layer, in the chosen head or in all.
    """

    def __init__(self, of: Subject, layer: int, head: int | None = None) -> None:
        """
        Args:
            of: the whole model.
            layer: the number of the layer, from 0.
            head: the number of the head, from 0; None for all heads.
        """
        self.of = of
        self.layer, self.head = layer, head
        self._full = of.sites[layer]
        where = f"{self._full.where}#{'row' if head is None else f'head{head}'}"
        self.sites: tuple[Site, ...] = (Site("attention", where),)
        self._heads = slice(None) if head is None else slice(head, head + 1)

    @property
    def id(self) -> str:
        return self.of.id

    @property
    def is_last(self) -> bool:
        """Whether it is the layer that the model's own heatmap shows."""
        return self.layer == len(self.of.sites) - 1

    @property
    def recipe(self) -> Recipe | None:
        return self.of.recipe

    @property
    def labels(self) -> tuple[str, ...]:
        found: tuple[str, ...] = self.of.labels  # type: ignore[attr-defined]  # a model without names has none here too
        return found

    @property
    def asked(self) -> dict[str, str]:
        """What a language model is asked."""
        return asked_of(self.of)

    def encode(self, examples: Sequence[Example]) -> Batch:
        return self.of.encode(examples)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        whole, wanted = dict(edits), set(want)
        mine = {part: Site(part, self.sites[0].where) for part in ("attention", "score", "value")}
        asked = {part: site for part, site in mine.items() if site in wanted or site in whole}
        if not asked:
            return self._own(self.of.run(batch, edits=edits, want=want))
        rows = self._rows(batch)
        for part, site in asked.items():
            full = Site(site.part, self._full.where)
            if site in wanted:
                wanted = wanted - {site} | {full}
            if site in whole:
                if part != "attention":
                    raise NotSupported("only the weights of one layer's heatmap can be edited.")
                whole[full] = self._within(rows, whole.pop(site), whole.get(full))
        run = self.of.run(batch, edits=whole, want=wanted)
        parts = {site: value for site, value in run.parts.items() if site in want}
        for part, site in asked.items():
            if site in want:
                value = run.parts[Site(site.part, self._full.where)][:, self._heads]
                parts[site] = value if part == "value" else rows.pick(value)
        return self._own(replace(run, parts=parts))

    @staticmethod
    def _own(run: Run) -> Run:
        """The site has one query."""
        return replace(run, row=torch.zeros_like(run.row), pooled=None)

    def _within(self, rows: _Rows, edit: Edit, before: Edit | None) -> Edit:
        """An edit of the heatmap as one of the whole layer; `before` is one that the whole layer has already."""

        def edited(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
            if before is not None:
                own = before if isinstance(before, Tensor) else before(own)
            heads = own[:, self._heads]
            if isinstance(edit, Tensor):
                new = rows.put(heads, edit)
            elif rows.one is None:  # a function sees all rows that the heatmap is the mean of
                new = rows.put(heads, edit(heads))
            else:
                new = rows.put(heads, edit(rows.pick(heads)))
            return new if self.head is None else torch.cat([own[:, : self.head], new, own[:, self.head + 1 :]], dim=1)

        return edited

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The keys that the heatmap's row sees."""
        if not isinstance(self.of, ReadsMore) or self.is_last:
            return readable_keys(self.of, batch)
        with torch.no_grad():
            run = self.of.run(batch, want=self._scores)
        return self._seen(run, batch, self._rows(batch))

    def _seen(self, run: Run, batch: Batch, rows: _Rows) -> Bool[Tensor, "example key"]:
        if not isinstance(self.of, ReadsMore):
            return readable_keys(self.of, batch)
        seen = batch.valid & batch.scored if self.asked else batch.valid
        if not self._scores:
            return seen
        keys = visible(run.parts[self._scores[0]][:, self._heads]).any(1)  # [example query key]
        return seen & (rows.pick(keys[:, None].float())[:, 0, 0] > 0)

    def response(self, batch: Batch) -> Response:
        """Logits under other weights in the heatmap's row; what comes before the layer is computed once.

        The weights of several texts and draws are run together, from the block before the layer on. A language model
        keeps its weights on the prompt.
        """
        if self.is_last and isinstance(self.of, Responds):
            return self._of_head(self.of.response(batch))
        rows = self._rows(batch)
        run = self.of.run(batch, want=[self._full, *self._before, *self._scores])
        one = torch.arange(len(batch), device=run.logits.device)
        own = rows.pick(run.parts[self._full][:, self._heads])[:, :, 0][:, None]  # [example decision head token]

        def impose(weights: Float[Tensor, "example draw head token"]) -> Float[Tensor, "example draw decision label"]:
            draws = weights.shape[1]
            place = one.repeat_interleave(draws)
            edits: dict[Site, Edit] = {site: run.parts[site][place] for site in self._before}
            edits[self._full] = self._within(rows.often(place), weights.flatten(0, 1)[:, :, None], None)
            logits = self.of.run(_repeated(batch, place), edits=edits).logits
            return logits.reshape(len(batch), draws, *logits.shape[1:])

        def logits(weights: Weights) -> Logits:
            step = max(1, self._at_once // batch.valid.numel())
            return torch.cat([impose(part[:, :, 0]) for part in torch.split(weights, step, dim=1)], dim=1)

        if rows.one is not None:
            same = logits(own[:, None])[:, 0]
            if not torch.allclose(same, run.logits, rtol=CLOSE, atol=CLOSE):
                raise NotSupported(
                    f"{self.id} answers differently when its own weights are put into layer {self.layer + 1}."
                )
        found = Response(own, self._seen(run, batch, rows), logits)
        if self.asked:
            return within(replace(found, allowed=found.allowed & batch.scored))
        if own.shape[2] > 1 or isinstance(self.of, HasLayers):
            return found
        return as_sums(found) or found

    def _of_head(self, whole: Response) -> Response:
        """The last layer's own short cut; the other heads keep their weights."""
        if self.head is None:
            return whole
        head = self.head

        def logits(weights: Weights) -> Logits:
            before, after = (
                part[:, None].expand(-1, weights.shape[1], -1, -1, -1)
                for part in (whole.attention[:, :, :head], whole.attention[:, :, head + 1 :])
            )
            return whole.logits(torch.cat([before, weights.to(before.dtype), after], dim=3))

        return Response(whole.attention[:, :, head : head + 1], whole.allowed, logits)

    @property
    def _at_once(self) -> int:
        return self.of.tokens_at_once if isinstance(self.of, CountsTokens) else AT_ONCE

    @property
    def _before(self) -> list[Site]:
        """The output of the block before, where passes can start from it."""
        return [self.of.blocks[self.layer - 1]] if isinstance(self.of, HasLayers) and self.layer else []

    def _rows(self, batch: Batch) -> _Rows:
        """Where the model reads from several queries, or this layer has others than the last, their mean."""
        pooled, own = self._kind
        if own and not pooled:
            known = getattr(self.of, "rows", None)
            rows: Tensor = known(batch) if known is not None else self.of.run(batch).row[:, 0]
            return _Rows(rows, None)
        if pooled and own:
            with torch.no_grad():
                return _Rows(None, self.of.run(batch).pooled)
        single = self._queries == 1
        return (
            _Rows(torch.zeros_like(batch.valid[:, 0], dtype=torch.long), None) if single else _Rows(None, batch.valid)
        )

    def try_on(self, examples: Sequence[Example]) -> int:
        """Learn on a few texts how this layer is read; returns the number of its heads."""
        batch = self.of.encode(examples)
        last = self.of.sites[-1]
        with torch.no_grad():
            run = self.of.run(batch, want=[self._full, last])
            here, there = run.parts[self._full].shape, run.parts[last].shape
            self._queries = here[2]
            self._kind = run.pooled is not None, here[2] == there[2]
            score = Site("score", self._full.where)
            try:
                self.of.run(batch, want=[score])
                self._scores = [score]
            except BadInput:  # weights that a module returns: nobody sees its mask
                self._scores = []
        return int(here[1])


class TransformerView(View):
    """The same of a transformer, which counts its tokens."""

    of: HasLayers

    @cached_property
    def blocks(self) -> tuple[Site, ...]:
        return self.of.blocks

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The site's only query."""
        return torch.zeros(len(batch), dtype=torch.long, device=batch.valid.device)

    @property
    def tokens_at_once(self) -> int:
        return self._at_once

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        if isinstance(self.of, CountsTokens):
            return self.of.lengths(examples)
        return [len(example.words) for example in examples]


def view_of(subject: Subject, layer: int, head: int | None, examples: Sequence[Example]) -> View:
    """One layer's heatmap, or one head's; numbers count from 1, as on every page of heatcheck.

    Args:
        examples: a few, which show how many heads there are.
    """
    called = "layer" if head is None else "head"
    if isinstance(subject, AttendsToParts) or len(subject.sites) < 2:
        raise BadInput(
            f"{subject.id} has no layers to choose from, so it has no heatmap of one {called}. Use last_layer, or the "
            "name of an explainer."
        )
    if not 1 <= layer <= len(subject.sites):
        raise BadInput(f"{subject.id} has no layer {layer}: its layers are 1 to {len(subject.sites)}.")
    kind = TransformerView if isinstance(subject, HasLayers) else View
    found = kind(subject, layer - 1, None if head is None else head - 1)
    heads = found.try_on(examples[:2])
    if head is not None and not 1 <= head <= heads:
        known = "its only head is 1" if heads == 1 else f"its heads are 1 to {heads}"
        raise BadInput(f"layer {layer} of {subject.id} has no head {head}: {known}.")
    return found


def whole_model(subject: Subject) -> Subject:
    """The model itself, where this is a view of it."""
    return subject.of if isinstance(subject, View) else subject


def _repeated(batch: Batch, place: Int[Tensor, " item"]) -> Batch:
    """The batch with these examples, as often as each is named."""
    tokens = {"tokens": batch.valid.shape[1]} | {name: part.shape[1] for name, part in batch.inputs.items()}
    return batch.take(place, tuple(batch.ids[row] for row in place.tolist()), **tokens)

"""The heatmap of one layer, or of one head, as a model of its own: the same answers, another place to read weights.

Checks read and replace the weights at the last of a model's sites. A view has a single site: the row of the chosen
layer that belongs to the token the answer is read from, for all heads or for one. Everything else is the model's own.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.lengths import CountsTokens, in_one_way
from heatcheck.models.contract.naming import asked_of, rows_of
from heatcheck.models.contract.parts import AttendsToParts, HasLayers, ReadsMore, has_layers, readable_keys
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import TINY, Logits, Responds, Response, Weights, as_sums, within
from heatcheck.models.contract.rows import OnRows, Rows
from heatcheck.models.contract.subject import NO_EDITS, Edit, Edits, Reduce, Run, Site, Subject, Want
from heatcheck.models.contract.weights import visible

AT_ONCE = 2**12  # tokens of texts with other weights that are run together, where the model does not say
CLOSE, HALF_CLOSE = 1e-3, 0.05  # logits that far apart may be rounding, in single and in half precision


class _Rows(NamedTuple):
    """Which queries of a layer make the heatmap: one of each text, or several, whose mean it is."""

    one: Int[Tensor, " example"] | None
    several: Bool[Tensor, "example query"] | None
    causal: bool = False  # a row of a language model does not see those after it

    @property
    def pick(self) -> Reduce:
        """Makes the heatmap of each head, [example head 1 key], from the weights of the layer."""
        return self._mean if self.one is None else Rows(self.one[:, None])

    def put(self, edit: Edit) -> Edit:
        """An edit of the layer from one of its heatmap; where that is a mean, a function sees all rows."""
        if self.one is not None:
            return OnRows(self.one[:, None], edit)
        assert self.several is not None
        mask = self.several[:, None, :, None]

        def edited(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
            new = (edit.to(own) if isinstance(edit, Tensor) else edit(own)).expand_as(own)
            if not self.causal:
                return torch.where(mask, new, own)
            kept = new * (own > 0).any(1, keepdim=True)
            factor = new.sum(-1, keepdim=True) / kept.sum(-1, keepdim=True).clamp(min=TINY)
            return torch.where(mask, kept * factor, own)

        return edited

    def often(self, place: Int[Tensor, " item"]) -> "_Rows":
        """Those of these texts."""
        return _Rows(
            None if self.one is None else self.one[place],
            None if self.several is None else self.several[place],
            self.causal,
        )

    def _mean(self, weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head 1 key"]:
        assert self.several is not None
        share = self.several / self.several.sum(1, keepdim=True)
        return torch.einsum("eq,ehqk->ehk", share.to(weights.dtype), weights)[:, :, None]


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

    @property
    def shown_rows(self) -> str:
        """What the heatmap is made of, where it is not the row of one token."""
        return rows_of(self.of)

    def encode(self, examples: Sequence[Example]) -> Batch:
        return self.of.encode(examples)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        mine = {
            site: Site(site.part, self._full.where) for site in {*edits, *want} if site.where == self.sites[0].where
        }
        if not mine:
            return self._own(self.of.run(batch, edits=edits, want=want))
        rows = self._rows(batch)
        asked = dict(want) if isinstance(want, Mapping) else dict.fromkeys(want, _whole)
        whole_edits, whole_want = dict(edits), {site: reduce for site, reduce in asked.items() if site not in mine}
        for site, full in mine.items():
            if site in edits:
                if site.part != "attention":
                    raise NotSupported("only the weights of one layer's heatmap can be edited.")
                edit = rows.put(self._of_heads(whole_edits.pop(site)))
                whole_edits[full] = _after(whole_edits[full], edit) if full in whole_edits else edit
            if site in asked:  # where the whole layer is wanted too, both are made from it
                whole_want[full] = _whole if full in asked or site.part == "value" else rows.pick
        run = self.of.run(batch, edits=whole_edits, want=whole_want)
        parts = {}
        for site, reduce in asked.items():
            value = run.parts[mine.get(site, site)]
            if site in mine:
                picked = value if site.part == "value" or whole_want[mine[site]] is not _whole else rows.pick(value)
                value = reduce(picked[:, self._heads])
            elif site in mine.values():
                value = reduce(value)
            parts[site] = value
        return self._own(replace(run, parts=parts))

    @staticmethod
    def _own(run: Run) -> Run:
        """The site has one query."""
        return replace(run, row=torch.zeros_like(run.row), pooled=None)

    def _of_heads(self, edit: Edit) -> Edit:
        """An edit of all heads from one of those that the heatmap shows."""
        if self.head is None:
            return edit
        before, after = slice(self.head), slice(self.head + 1, None)

        def edited(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
            mine = own[:, self._heads]
            new = edit.to(mine) if isinstance(edit, Tensor) else edit(mine)
            return torch.cat([own[:, before], new.expand_as(mine), own[:, after]], dim=1)

        return edited

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The keys that the heatmap's row sees."""
        if not isinstance(self.of, ReadsMore) or self.is_last:
            return readable_keys(self.of, batch)
        rows = self._rows(batch)
        with torch.no_grad():
            run = self.of.run(batch, want=dict.fromkeys(self._scores, self._sees(rows)))
        return self._seen(run, batch)

    def _sees(self, rows: _Rows) -> Reduce:
        """Makes of the scores before the softmax, which keys the heatmap's row sees."""
        if rows.one is not None:
            return rows.pick  # a row alone, whatever the text's length
        return lambda scores: rows.pick(visible(scores).float())

    def _seen(self, run: Run, batch: Batch) -> Bool[Tensor, "example key"]:
        if not isinstance(self.of, ReadsMore):
            return readable_keys(self.of, batch)
        seen = batch.valid & batch.scored if self.asked else batch.valid
        if not self._scores:
            return seen
        found = run.parts[self._scores[0]][:, self._heads, 0]  # [example head key]: scores, or shares of rows
        keys = found > 0 if self._is_mean else visible(found)
        return seen & keys.any(1)

    def response(self, batch: Batch) -> Response:
        """Logits under other weights in the heatmap's row; what comes before the layer is computed once.

        The weights of several texts and draws are run together, from the block before the layer on. A language model
        keeps its weights on the prompt.
        """
        if self.is_last and isinstance(self.of, Responds):
            return self._of_head(self.of.response(batch))
        rows = self._rows(batch)
        asked: dict[Site, Reduce] = {self._full: rows.pick, **dict.fromkeys(self._before, _whole)}
        run = self.of.run(batch, want={**asked, **dict.fromkeys(self._scores, self._sees(rows))})
        one = torch.arange(len(batch), device=run.logits.device)
        own = run.parts[self._full][:, self._heads, 0][:, None]  # [example decision head token]
        half = own.dtype in (torch.float16, torch.bfloat16)
        own = own.float() if half else own

        def impose(weights: Float[Tensor, "example draw head token"]) -> Float[Tensor, "example draw decision label"]:
            draws = weights.shape[1]
            place = one.repeat_interleave(draws)
            edits: dict[Site, Edit] = {site: run.parts[site][place] for site in self._before}
            edits[self._full] = rows.often(place).put(self._of_heads(weights.flatten(0, 1)[:, :, None]))
            logits = self.of.run(batch.take(place), edits=edits).logits
            return logits.reshape(len(batch), draws, *logits.shape[1:])

        def logits(weights: Weights) -> Logits:
            step = max(1, self._at_once // batch.valid.numel())
            return torch.cat([impose(part[:, :, 0]) for part in torch.split(weights, step, dim=1)], dim=1)

        if rows.one is not None:
            same = logits(own[:, None])[:, 0]
            near = HALF_CLOSE if half else CLOSE
            if not torch.allclose(same, run.logits, rtol=near, atol=near):
                raise NotSupported(
                    f"{self.id} answers differently with its own weights imposed in layer {self.layer + 1}."
                )
        found = Response(own, self._seen(run, batch), logits)
        if self.asked:
            return within(replace(found, allowed=found.allowed & batch.scored))
        if half or getattr(self.of, "sinks", False):  # weights that do not sum to 1 over the tokens
            return within(found)
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
        if not isinstance(self.of, HasLayers) or not has_layers(self.of) or not self.layer:
            return []
        return [self.of.blocks[self.layer - 1]]

    def _rows(self, batch: Batch) -> _Rows:
        """Where the model reads from several queries, or this layer has others than the last, their mean."""
        pooled, own = self._kind
        if own and not pooled:
            known = getattr(self.of, "rows", None)
            rows: Tensor = known(batch) if known is not None else self.of.run(batch).row[:, 0]
            return _Rows(rows, None)
        if pooled and own:
            with torch.no_grad():
                return _Rows(None, self.of.run(batch).pooled, causal=bool(self.asked))
        if self._queries == 1:
            return _Rows(torch.zeros_like(batch.valid[:, 0], dtype=torch.long), None)
        return _Rows(None, batch.valid)

    @property
    def _is_mean(self) -> bool:
        """Whether the heatmap is the mean of several rows."""
        pooled, own = self._kind
        return pooled if own else self._queries > 1

    def try_on(self, examples: Sequence[Example]) -> int:
        """Learn on a few texts how this layer is read; returns the number of its heads."""
        batch = self.of.encode(sorted(examples, key=lambda example: len(example.text))[:2])
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

    @property
    def not_layered(self) -> str:
        """Why the model's layers cannot be taken one by one."""
        return str(getattr(self.of, "not_layered", ""))

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

    def in_one_way(self, examples: Sequence[Example]) -> "TransformerView":
        """The same view, of a model that reads long texts and short ones in one way."""
        found = copy(self)
        found.of = in_one_way(self.of, examples)  # type: ignore[assignment]  # what it has layers of, it has still
        return found


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
    if isinstance(subject, HasLayers) and (reason := str(getattr(subject, "not_stacked", ""))):
        raise BadInput(f"there is no heatmap of one {called} here: {reason.rstrip('.')}. Use last_layer.")
    if not 1 <= layer <= len(subject.sites):
        raise BadInput(f"{subject.id} has no layer {layer}: its layers are 1 to {len(subject.sites)}.")
    kind = TransformerView if isinstance(subject, HasLayers) else View
    found = kind(subject, layer - 1, None if head is None else head - 1)
    heads = found.try_on(examples)
    if head is not None and not 1 <= head <= heads:
        known = "its only head is 1" if heads == 1 else f"its heads are 1 to {heads}"
        raise BadInput(f"layer {layer} of {subject.id} has no head {head}: {known}.")
    return found


def whole_model(subject: Subject) -> Subject:
    """The model itself, where this is a view of it."""
    return subject.of if isinstance(subject, View) else subject


def _whole(value: Tensor) -> Tensor:
    """All of it."""
    return value


def _after(first: Edit, then: Edit) -> Edit:
    """Two edits of one site, one after the other."""

    def edited(own: Tensor) -> Tensor:
        between = first.to(own) if isinstance(first, Tensor) else first(own)
        return then.to(own) if isinstance(then, Tensor) else then(between)

    return edited

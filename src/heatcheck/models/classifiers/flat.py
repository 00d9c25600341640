"""A classifier with one attention over the words of a text, or of the first text of a pair."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.vocabulary import PAD
from heatcheck.errors import BadInput
from heatcheck.models.classifiers.attention import ATTENTIONS, Attention
from heatcheck.models.classifiers.classifier import ENCODERS, Classifier, ClassifierSettings
from heatcheck.models.classifiers.encoder import Encoder
from heatcheck.models.classifiers.normalisers import NORMALISERS
from heatcheck.models.classifiers.partial_softmax import Partial, TextSums
from heatcheck.models.contract.encoding import encode_words
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap, Want
from heatcheck.models.contract.without_each import Changed, Gaps, Piece, Same, Without, groups, word_gaps


class FlatClassifier(Classifier):
    """Embedding, encoder, attention over all words at once, decoder."""

    attention: Attention

    def __init__(
        self,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        settings: ClassifierSettings,
        *,
        recipe: Recipe | None = None,
        vectors: Float[Tensor, "word feature"] | None = None,
    ) -> None:
        super().__init__(vocabulary, labels, settings, recipe=recipe, vectors=vectors)
        make_encoder = ENCODERS[settings.encoder]
        self.encoder = make_encoder(settings.embedding, settings.hidden)
        size = self.encoder.size
        self.embed_question = self._embedding(vectors) if settings.segments == 2 else None
        self.encode_question = make_encoder(settings.embedding, settings.hidden) if settings.segments == 2 else None
        self.attention = ATTENTIONS[settings.attention](
            size,
            question=size if settings.segments == 2 else 0,
            queries=len(self.labels) if settings.label_wise else 1,
        )
        merged = settings.decoder == "merge"
        self.of_context = nn.Linear(size, size // 2) if merged else None
        self.of_question = nn.Linear(size, size // 2) if merged else None
        self.output = self._output(size // 2 if merged else size)

    @property
    def sites(self) -> tuple[Site, ...]:
        return (Site("attention"),)

    def encode(self, examples: Sequence[Example]) -> Batch:
        return encode_words(
            self.vocabulary,
            examples,
            segments=self.settings.segments,
            gold=self._gold(examples),
            device=self.device,
            options=self._options(examples),
        )

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        tap = Tap(edits, want)
        states, question = self._states(batch, tap)
        scores = tap(Site("score"), self.attention(states, question)[:, None])  # [example head query key]
        weights = tap(Site("attention"), self.weights_of(scores, batch.scored))
        context = tap(Site("context"), torch.einsum("eqk,ekf->eqf", weights[:, 0], states))
        logits = self._decide(self._before_output(context, question), batch.options)
        queries = torch.arange(logits.shape[1], device=self.device)
        return tap.run(logits, queries.expand(logits.shape[:2]))

    def weights_of(
        self, scores: Float[Tensor, "example head query key"], scored: Bool[Tensor, "example key"]
    ) -> Float[Tensor, "example head query key"]:
        """The weights that scores become; exact zeros where no weight may lie."""
        return NORMALISERS[self.settings.normaliser].of(scores, scored, self.settings.top_share)

    def response(self, batch: Batch) -> Response:
        """Map weights to logits while the hidden states stay the same; linear unless the decoder merges."""
        states, question = self._states(batch, Tap(NO_EDITS, ()))
        weights = self.weights_of(self.attention(states, question)[:, None], batch.scored)
        attention = weights.transpose(1, 2)  # [example decision head token]: each decision has its own query
        if self.of_context is None:
            return self._linear_response(attention, batch.scored, states, batch.options)
        # The merge needs only the projected states: half as wide, and never the encoder again.
        projected = self._project(states)

        def logits(
            weights: Float[Tensor, "example draw decision head token"],
        ) -> Float[Tensor, "example draw decision label"]:
            mixed = torch.einsum("edqht,etf->edqf", weights, projected)
            return self._decide(self._merge(mixed, question, draws=True), batch.options)

        return Response(attention, batch.scored, logits)

    def without_each(self, batch: Batch, *, tolerance: float = 0.0) -> Iterator[Without]:
        """Logits without each word; what the word's absence does not change is reused (contract/without_each.py)."""
        if not 0 <= tolerance < math.inf:
            raise BadInput(f"tolerance must be at least 0, not {tolerance}.")
        for rows in groups(batch.valid, self.encoder.tokens_at_once):
            yield self._without_each(batch, rows, tolerance)

    @torch.no_grad()
    def _without_each(self, batch: Batch, rows: Int[Tensor, " example"], tolerance: float) -> Without:
        tokens = batch.inputs["tokens"][rows, : int(batch.valid[rows].sum(1).max())]
        valid, scored, word = (part[rows, : tokens.shape[1]] for part in (batch.valid, batch.scored, batch.word))
        question = self._question(batch, Tap(NO_EDITS, ()), rows)
        asked = self.attention.asked(question)
        of_attention = self.attention.mapping(self.encoder.size, self.device)
        mapping = torch.cat([of_attention, self._voted()])

        def read(readings: Tensor, example: Tensor) -> tuple[Tensor, Tensor]:
            """Readings [… token column] to scores [… query token] and values [… query token column]."""
            mapped, values = readings[..., : len(of_attention)], readings[..., len(of_attention) :]
            scores = self.attention.scores_of(mapped, None if asked is None else asked[example])
            return scores, values.transpose(1, 2)[..., None] if self.settings.label_wise else values[:, None]

        # Most words come more than once: what each is to the encoder need not be worked out each time.
        seen = torch.zeros(len(self.vocabulary), dtype=torch.bool, device=self.device)
        seen[tokens] = True
        table, place = self.embed(seen.nonzero()[:, 0]), (seen.cumsum(0) - 1)[tokens]
        gaps = word_gaps(scored, word)
        each = torch.arange(len(rows), device=self.device)
        inputs = (table, place, valid, scored, gaps, mapping)
        if NORMALISERS[self.settings.normaliser].is_softmax:
            mixed = _by_parts(*self.encoder.without_each(*inputs, tolerance=tolerance), read, scored, gaps)
        else:  # what a word is worth may depend on all others: no part can be kept
            whole, pieces = Encoder.without_each(self.encoder, *inputs)
            found = [(each, Changed(each, whole, scored))]
            found += [(gaps.example[piece.gap], piece) for piece in pieces if isinstance(piece, Changed)]
            mixed = torch.cat([self._mixed(*read(piece.readings, of), piece.present) for of, piece in found])
        example = torch.cat([each, gaps.example])
        logits = self._decide_mixed(
            mixed,
            None if question is None else question[example],
            None if batch.options is None else batch.options[rows[example]],
        )
        left_out = torch.cat([torch.full_like(each, -1), word[gaps.example, gaps.start]])
        return Without(rows[example], left_out, logits)

    def _mixed(
        self,
        scores: Float[Tensor, "gap query key"],
        values: Float[Tensor, "gap query key column"],
        present: Bool[Tensor, "gap key"] | None,
    ) -> Float[Tensor, "gap query column"]:
        """The weighted mean of the values of whole texts, in float64."""
        assert present is not None, "a whole text is padded"
        weights = self.weights_of(scores.double()[:, None], present)[:, 0]
        return (weights[..., None, :] @ values.double())[..., 0, :]

    def _states(self, batch: Batch, tap: Tap) -> tuple[Tensor, Tensor | None]:
        embedded = tap(Site("embedding"), self.embed(batch.inputs["tokens"]))
        states = tap(Site("state"), self.encoder(self.dropout(embedded), batch.valid))
        return states, self._question(batch, tap)

    def _question(self, batch: Batch, tap: Tap, rows: Int[Tensor, " example"] | slice = slice(None)) -> Tensor | None:
        """The question's summary, for two segments."""
        if self.embed_question is None or self.encode_question is None:
            return None
        asked = batch.inputs["question"][rows]
        embedded_question = tap(Site("embedding", "question"), self.embed_question(asked))
        of_question = self.encode_question(self.dropout(embedded_question), asked != PAD)
        return self.encode_question.summary(of_question, asked != PAD)

    def _project(self, contexts: Tensor) -> Tensor:
        assert self.of_context is not None
        return nn.functional.linear(contexts, self.of_context.weight)

    def _merge(self, projected: Tensor, question: Tensor | None, *, draws: bool = False) -> Tensor:
        assert self.of_context is not None
        assert self.of_question is not None
        of_question: Tensor = self.of_question(question)[:, None]
        return (projected + self.of_context.bias + (of_question[:, None] if draws else of_question)).tanh()

    def _before_output(self, context: Tensor, question: Tensor | None) -> Tensor:
        context = self.dropout(context)
        return context if self.of_context is None else self._merge(self._project(context), question)

    def _voted(self) -> Float[Tensor, "column feature"]:
        """The linear map of states whose mixture decides: before the merge, to the outputs, or where these are many
        none."""
        if self.of_context is not None:
            return self.of_context.weight
        few = self.settings.label_wise or self.output.out_features <= self.encoder.size
        return self.output.weight if few else torch.eye(self.encoder.size, device=self.device)

    def _decide_mixed(
        self,
        mixed: Float[Tensor, "example query column"],
        question: Float[Tensor, "example asked"] | None,
        options: Bool[Tensor, "example label"] | None,
    ) -> Float[Tensor, "example decision label"]:
        """Mixtures of `_voted` states to logits, in the precision of the mixture."""
        weight, bias = self.output.weight.to(mixed.dtype), self.output.bias.to(mixed.dtype)
        if self.settings.label_wise:
            return self._logits(mixed + bias[:, None], options)
        if self.of_context is not None:
            mixed = self._merge(mixed, question)
        elif mixed.shape[-1] == len(weight):
            return self._logits(mixed + bias, options)
        return self._logits(nn.functional.linear(mixed, weight, bias), options)


def _by_parts(
    whole: Float[Tensor, "example token column"],
    pieces: Iterator[Piece],
    read: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    scored: Bool[Tensor, "example token"],
    gaps: Gaps,
) -> Float[Tensor, "text query feature"]:
    """The softmax-weighted means of the whole texts and of those with gaps, from parts that many gaps share."""
    each = torch.arange(len(whole), device=whole.device)
    texts = TextSums(*read(whole, each), scored)
    found = Partial.of_nothing(len(gaps), texts.scores.shape[1], texts.values.shape[-1], whole.device)
    for piece in pieces:
        example = gaps.example[piece.gap]
        if isinstance(piece, Same):
            part = (texts.first if piece.side == "before" else texts.last)(example, piece.token)
        else:
            part = Partial.of_tokens(*read(piece.readings, example), piece.present)
        found.absorb(piece.gap, part)
    of_whole = texts.first(each, torch.full_like(each, whole.shape[1]))
    return torch.cat([of_whole.mean(), found.mean()])

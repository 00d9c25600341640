"""What a treatment adds to the likelihood: a penalty per example, times a strength (training/losses.py)."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import FlatClassifier, Run, Site, Subject, readable_keys
from heatcheck.stats import conicity, jensen_shannon_nats
from heatcheck.training.recorded import read_rows

EMBEDDINGS, STATES = Site("embedding"), Site("state")
# The least weight on the marked words whose logarithm is taken: sparse weights may leave none there.
LEAST_MARKED = 1e-12
Penalty = Callable[[Subject, Run, Batch, Facts], Float[Tensor, " example"]]


def spread_of_states(_: Subject, run: Run, batch: Batch, __: Facts) -> Float[Tensor, " example"]:
    """Conicity of the states that carry weight: the Diversity LSTM of Mohankumar et al. (2020)."""
    return conicity(run.parts[STATES], batch.scored)


def distance_to_embeddings(_: Subject, run: Run, batch: Batch, __: Facts) -> Float[Tensor, " example"]:
    """‖h_t − e_t‖, a mean over the words of a text: tying, of Tutek & Šnajder (2020)."""
    one_width("tying", run.parts[STATES].shape[-1], run.parts[EMBEDDINGS].shape[-1])
    apart = torch.linalg.vector_norm(run.parts[STATES] - run.parts[EMBEDDINGS], dim=-1)  # [example token]
    kept: Tensor = apart.masked_fill(~batch.scored, 0.0)
    return kept.sum(1) / batch.scored.sum(1)


def masked_words(subject: Subject, _: Run, batch: Batch, facts: Facts) -> Float[Tensor, " example"]:
    """How badly the states of hidden words predict these words, in nats: a mean over the hidden words of a text.

    A share of the words, rounded up, is hidden: their embeddings are zeros. The output is the table of embeddings, so
    there are no further parameters. The text is read once more for this; the answer is still given from all words.
    """
    flat = of_words(subject, "masked_words")
    one_width("masked_words", flat.encoder.size, flat.embed.embedding_dim)
    hidden, counted = _hidden(flat, batch.scored, float(facts["share"]))
    mask = torch.zeros_like(batch.scored).scatter(1, hidden, counted)

    def blank(own: Float[Tensor, "example token feature"]) -> Float[Tensor, "example token feature"]:
        return own.masked_fill(mask[..., None], 0.0)

    states = flat.run(batch, edits={EMBEDDINGS: blank}, want=(STATES,)).parts[STATES]
    # All hidden words in one row: with a vocabulary along the middle axis this takes half as long again.
    guessed = states.take_along_dim(hidden[..., None], 1).flatten(0, 1) @ flat.embed.weight.T
    right = batch.inputs["tokens"].gather(1, hidden).flatten()
    each = torch.nn.functional.cross_entropy(guessed, right, reduction="none").view_as(counted)
    return (each * counted).sum(1) / counted.sum(1)


def _hidden(
    subject: FlatClassifier, scored: Bool[Tensor, "example token"], share: float
) -> tuple[Int[Tensor, "example item"], Bool[Tensor, "example item"]]:
    """Random places of each text, as many as the longest text needs, and which of them count.

    As many for all: a step that is recorded on a GPU needs one shape.
    """
    noise = torch.rand(scored.shape, device=scored.device, generator=subject.generator)
    most = math.ceil(share * scored.shape[1])
    places = noise.masked_fill(~scored, torch.inf).topk(most, dim=1, largest=False).indices
    enough = (share * scored.sum(1, keepdim=True)).ceil()
    return places, torch.arange(most, device=scored.device) < enough


def off_rationale(subject: Subject, run: Run, batch: Batch, facts: Facts) -> Float[Tensor, " example"]:
    """−log of the weight on the words that people marked: 0 if all weight is there, and for a text without marks.

    It is the divergence of the weights from the nearest ones that lie on marked words alone.
    """
    mark = str(facts["mark"])
    if mark not in batch.marks:
        raise BadInput(f"attention is guided to words marked {mark!r}, but these examples have no such marks.")
    marked = batch.marks[mark] & readable_keys(subject, batch)
    own = read_rows(run.parts[subject.sites[-1]], run.row)  # [example head decision key]
    off = -(own * marked[:, None, None]).sum(-1).clamp(min=LEAST_MARKED).log().mean((1, 2))
    return off.masked_fill(~marked.any(1), 0.0)


def off_relevance(subject: Subject, run: Run, batch: Batch, _: Facts) -> Float[Tensor, " example"]:
    """JSD(the model's weights, |output relevance| as weights), in nats; a mean over heads and decisions.

    The relevance of a token is what its state would say alone, r_tk = W_k·h_t. No gradient goes into it: the weights
    follow the relevance, and the relevance does not follow the weights.
    """
    size = relevance_sizes(of_words(subject, "relevance_guided"), run.parts[STATES]).masked_fill(~batch.scored, 0.0)
    target = (size / size.sum(1, keepdim=True).clamp(min=LEAST_MARKED))[:, None, None]
    own = read_rows(run.parts[subject.sites[-1]], run.row)
    apart: Tensor = jensen_shannon_nats(own, target.to(own.dtype).expand_as(own))
    return apart.mean((1, 2))


def relevance_sizes(
    subject: FlatClassifier, states: Float[Tensor, "example token feature"]
) -> Float[Tensor, "example token"]:
    """How much a state alone says for one label over the others: |W·h_t|, or the spread of W_k·h_t over labels."""
    votes = torch.nn.functional.linear(states, subject.output.weight).detach()
    if votes.shape[-1] == 1:
        return votes[..., 0].abs()
    return (votes - votes.mean(-1, keepdim=True)).square().sum(-1).sqrt()


def one_width(loss: str, states: int, embeddings: int) -> None:
    """Raise BadInput unless states and embeddings are as wide."""
    if states != embeddings:
        raise BadInput(
            f"the loss {loss} compares states with embeddings, but states have {states} numbers and embeddings "
            f"{embeddings}. Set hidden so that both are as wide."
        )


def of_words(subject: Subject, loss: str) -> FlatClassifier:
    """The model, if it is a classifier with one attention over words."""
    if not isinstance(subject, FlatClassifier):
        raise NotSupported(f"the loss {loss} needs a classifier of heatcheck with one attention over words.")
    return subject

"""A recorder for training: the model's answers on a fixed set of examples at chosen steps.

Each checkpoint is one file, written when it is taken, so that memory holds one at a time however many there are. The
training never notices: nothing random is drawn, no gradient is left behind, and the weights end the same, bit for bit.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Corpus, Example
from heatcheck.engine import Facts, read_json, stream, write_json, write_whole
from heatcheck.errors import BadInput, BrokenFolder, NotSupported, UnknownName
from heatcheck.models import Edits, Erases, Recipe, Seq2Seq, Site, Trainable, readable_keys, require_words, response
from heatcheck.models.contract.memory import in_memory
from heatcheck.training.evaluation import batches_by_length
from heatcheck.training.imposed import imposed
from heatcheck.training.left_out import token_left_out
from heatcheck.training.observing_seq2seq import OF_STEPS, ObservedSeq2Seq, observe_seq2seq
from heatcheck.training.recorded import Recorded, read_rows

FOLDER, TEXTS = "observed", "texts.json"
OF_TOKENS = ("attention", "relevance", "influence")  # one number a token; answers are always kept
LEFT_OUT = "leave_one_out"  # one more, which must be asked for: it takes several times as long as the others together
FIRST = 10  # the first step after the start that is looked at: before it little has happened
EMBEDDING = Site("embedding")


@dataclass(frozen=True)
class Observed:
    """The recorded answers on the probe examples after one step of training.

    `relevance` is what a token's state votes for the right label, over the mean of the others. `influence` is how much
    the loss falls as a gate on the token's embedding opens: −dL/dg at g = 1. `leave_one_out` is how much it falls by
    the token's being there: L(without it) − L, and 0 for a lone token.
    """

    step: int
    ids: tuple[str, ...]
    gold: Int[np.ndarray, " example"]
    log_probabilities: Float[np.ndarray, "example label"]
    lengths: Int[np.ndarray, " example"]
    of_tokens: Mapping[str, Float[np.ndarray, " token"]]  # the tokens of all texts, one text after the other

    @property
    def right(self) -> Float[np.ndarray, " example"]:
        """1 where the likeliest label is the right one, else 0."""
        return np.asarray((self.log_probabilities.argmax(-1) == self.gold).astype(float))

    @cached_property
    def valid(self) -> Bool[np.ndarray, "example token"]:
        """Which places of a padded quantity are tokens."""
        return np.asarray(np.arange(self.lengths.max()) < self.lengths[:, None])

    def padded(self, quantity: str) -> Float[np.ndarray, "example token"]:
        """A quantity with one row per text and zeros after its last token."""
        if quantity not in self.of_tokens:
            raise UnknownName("observed quantity", quantity, self.of_tokens)
        found = np.zeros(self.valid.shape)
        found[self.valid] = self.of_tokens[quantity]
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """As they are kept."""
        return {
            "step": np.array(self.step),
            "ids": np.array(self.ids),
            "gold": self.gold,
            "log_probabilities": self.log_probabilities.astype(np.float32),
            "lengths": self.lengths,
            **{f"of_tokens/{name}": values.astype(np.float32) for name, values in self.of_tokens.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Observed":
        """What `arrays` gave."""
        prefix = "of_tokens/"
        return cls(
            step=int(arrays["step"]),
            ids=tuple(map(str, arrays["ids"])),
            gold=arrays["gold"],
            log_probabilities=arrays["log_probabilities"].astype(np.float64),
            lengths=arrays["lengths"],
            of_tokens={
                name.removeprefix(prefix): of.astype(np.float64) for name, of in arrays.items() if prefix in name
            },
        )


def checkpoint_steps(whole: int, checkpoints: int) -> list[int]:
    """Steps to record: the first, the last, and others evenly spaced on a logarithmic scale.

    >>> checkpoint_steps(3000, 8)
    [0, 10, 26, 67, 173, 448, 1159, 3000]
    """
    first = min(FIRST, max(1, whole // checkpoints))
    wanted = np.geomspace(first, whole, max(1, checkpoints - 1)).round().astype(int)
    return sorted({0, whole, *wanted.tolist()})


def plan_observe(
    steps: Sequence[int], *, examples: int = 200, split: str = "test", quantities: Sequence[str] = OF_TOKENS
) -> dict[str, Any]:
    """Plan what to record: after which steps, on how many examples of a split, which quantities per token."""
    return {"steps": [*steps], "examples": examples, "split": split, "quantities": [*quantities]}


def check_observe(observe: Facts, corpus: Corpus) -> None:
    """Raise BadInput, before training, if something cannot be observed."""
    try:
        steps, examples, split, quantities = (observe[key] for key in ("steps", "examples", "split", "quantities"))
    except KeyError as error:
        raise BadInput(f"observe lacks the key {error.args[0]!r}. Make it with plan_observe.") from None
    if not steps or min(steps) < 0 or any(later <= earlier for earlier, later in pairwise(steps)):
        raise BadInput(
            f"the steps to observe must be increasing and at least 0, but are {', '.join(map(str, steps)) or 'empty'}."
        )
    if examples < 1:
        raise BadInput(f"the number of examples to observe must be at least 1, not {examples}.")
    for quantity in quantities:
        if quantity not in (*OF_TOKENS, LEFT_OUT):
            raise UnknownName("observed quantity", quantity, (*OF_TOKENS, LEFT_OUT))
        if corpus.of_sequences and quantity not in OF_STEPS:
            raise BadInput(
                f"{quantity} needs labels, but {corpus.name} has none. Observe {' and '.join(OF_STEPS)} instead."
            )
    for example in probe_of(observe, corpus):
        if not corpus.of_sequences and not isinstance(example.label, int):
            raise BadInput(
                f"the example {example.id} of {split} does not have exactly one label. Observing needs gold labels."
            )


def probe_of(observe: Facts, corpus: Corpus) -> tuple[Example, ...]:
    """The examples to record: the same for a corpus, whatever the seed of the training run."""
    every = corpus[observe["split"]].examples
    if not every:
        raise BadInput(f"the {observe['split']} split of {corpus.name} is empty, so there are no examples to observe.")
    chosen = stream(0, "probe", observe["split"]).permutation(len(every))[: observe["examples"]]
    return tuple(every[place] for place in sorted(chosen.tolist()))


class Observer:
    """Writes a file after each of the recipe's steps; where the recipe observes nothing, it does nothing."""

    def __init__(
        self,
        subject: Trainable,
        corpus: Corpus,
        recipe: Recipe,
        folder: Path,
        *,
        parent: Recorded | None = None,
    ) -> None:
        self.subject, self.impose, self.parent, self.folder = subject, recipe.impose, parent, folder
        self.steps: frozenset[int] = frozenset((recipe.observe or {}).get("steps", ()))
        if recipe.observe is not None:
            self.quantities = tuple(recipe.observe["quantities"])
            self.probe = probe_of(recipe.observe, corpus)
            self._require()

    def _require(self) -> None:
        """Raise NotSupported before training instead of at the first step."""
        if isinstance(self.subject, Seq2Seq):
            return  # whatever its recipe says, its steps can be looked at
        require_words(self.subject, "observing a training")
        with torch.no_grad(), _evaluating(self.subject):
            batch = self.subject.encode(self.probe[:1])
            decisions, linear = self.subject.run(batch).logits.shape[1], response(self.subject, batch).relevance
        if decisions != 1:
            raise NotSupported(f"{self.subject.id} makes several decisions per text; observing supports one.")
        if "relevance" in self.quantities and linear is None:
            raise NotSupported(
                f"relevance needs logits that are linear in the weights, and those of {self.subject.id} are not. "
                "Observe attention and influence only."
            )
        if LEFT_OUT in self.quantities and (self.impose is not None or not isinstance(self.subject, Erases)):
            raise NotSupported(
                f"{LEFT_OUT} needs a classifier over words with its own weights, which {self.subject.id} is not. "
                "Observe influence instead."
            )

    def after(self, step: int) -> None:
        """Record the model, if this is one of the steps."""
        if step in self.steps:
            if not (self.folder / FOLDER / TEXTS).is_file():
                write_json(self.folder / FOLDER / TEXTS, [example.facts() for example in self.probe])
            found = self.look(step)
            write_whole(self.folder / FOLDER / f"{step:08d}.npz", _packed(found.arrays()))

    def at_the_end(self, step: int) -> None:
        """Always record the last step, also if training stopped early."""
        if self.steps and step not in self.steps:
            self.steps |= {step}
            self.after(step)

    def look(self, step: int) -> Observed | ObservedSeq2Seq:
        """What the model says of the probe as it stands."""
        rows: dict[int, dict[str, np.ndarray]] = {}
        with _evaluating(self.subject):
            if isinstance(self.subject, Seq2Seq):
                return observe_seq2seq(
                    self.subject, self.probe, step, self.quantities, impose=self.impose, parent=self.parent
                )
            for indices, found in in_memory(batches_by_length(self.probe, 128), self._of_batch):
                rows.update(zip(indices, found, strict=True))
        ordered = [rows[place] for place in range(len(self.probe))]
        return Observed(
            step=step,
            ids=tuple(example.id for example in self.probe),
            gold=np.array([example.label for example in self.probe]),
            log_probabilities=np.stack([row["logs"] for row in ordered]),
            lengths=np.array([row["length"] for row in ordered]),
            of_tokens={name: np.concatenate([row[name] for row in ordered]) for name in self.quantities},
        )

    def _of_batch(self, indices: list[int]) -> list[dict[str, np.ndarray]]:
        batch = self.subject.encode([self.probe[i] for i in indices])
        edits = imposed(self.subject, batch, self.impose, self.parent)
        logs, of_keys = look(self.subject, batch, edits, influence="influence" in self.quantities)
        if LEFT_OUT in self.quantities and isinstance(self.subject, Erases):
            of_keys[LEFT_OUT] = token_left_out(self.subject, batch)
        keys = readable_keys(self.subject, batch)
        arrays = {name: of_keys[name].float().cpu().numpy() for name in self.quantities}
        said, readable = logs.detach().cpu().numpy(), keys.cpu().numpy()
        return [
            {
                "logs": said[row],
                "length": np.array(readable[row].sum()),
                **{name: values[row][readable[row]] for name, values in arrays.items()},
            }
            for row in range(len(indices))
        ]


def look(
    subject: Trainable, batch: Batch, edits: Edits, *, influence: bool = True
) -> tuple[Float[Tensor, "example label"], dict[str, Float[Tensor, "example token"]]]:
    """Log-probabilities of the first decision, and weight, relevance and influence of each token, in one pass.

    Where the logits are linear in the weights, the slope of the right label's margin in a weight is what that token
    votes: no second pass over the encoder. Its path back ends at the weights, so it costs next to nothing.
    """
    assert batch.gold is not None  # `check_observe` refuses others
    site, gold = subject.sites[-1], batch.gold[:, :1]
    seen: dict[Site, Tensor] = {}

    def gate(embedded: Tensor) -> Tensor:
        seen[EMBEDDING] = embedded.detach().requires_grad_(influence)
        return seen[EMBEDDING]

    def hold(own: Tensor) -> Tensor:
        edit = edits.get(site)
        value = own if edit is None else edit if isinstance(edit, Tensor) else edit(own)
        seen[site] = value if value.requires_grad else value.detach().requires_grad_()
        return seen[site]

    # cuDNN's recurrent kernels cannot go backward in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=not influence), _frozen(subject):
        run = subject.run(batch, edits={**edits, EMBEDDING: gate, site: hold})
        logits = run.logits[:, 0]
        logs = logits.double().log_softmax(-1)
        own = logits.gather(1, gold)
        margin = own - (logits.sum(1, keepdim=True) - own) / (logits.shape[1] - 1)
        (slope,) = torch.autograd.grad(margin.sum(), seen[site], retain_graph=influence)
        used = {"attention": seen[site].detach(), "relevance": slope}
        found = {name: read_rows(of, run.row)[:, :, 0].mean(1) for name, of in used.items()}
        if influence:
            (slope,) = torch.autograd.grad(logs.gather(1, gold).sum(), seen[EMBEDDING])
            found["influence"] = (slope * seen[EMBEDDING].detach()).sum(-1)
    return logs, found


@contextmanager
def _evaluating(subject: Trainable) -> Iterator[None]:
    """Without dropout, and so without a random number; then as it was."""
    was_training = subject.training
    subject.eval()
    try:
        yield
    finally:
        if was_training:
            subject.train()


@contextmanager
def _frozen(subject: Trainable) -> Iterator[None]:
    """No slopes of parameters are wanted: without them the way back is a third shorter."""
    trained = [parameter for parameter in subject.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)


def _packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    named: dict[str, Any] = {**arrays}
    opened = io.BytesIO()
    np.savez(opened, **named)
    return opened.getvalue()


def observed_steps(folder: Path | str) -> list[int]:
    """The recorded steps of the training run in this folder, in order.

    >>> observed_steps("no-such-fit")
    []
    """
    found = (Path(folder) / FOLDER).glob("*.npz")
    return sorted(int(path.stem) for path in found if path.stem.isdecimal())  # others are not the recorder's


def observed_texts(folder: Path | str) -> tuple[Example, ...]:
    """The examples that were recorded during the training run in this folder."""
    path = Path(folder) / FOLDER / TEXTS
    if not path.is_file():
        raise BrokenFolder(f"{path} is missing, perhaps because an older heatcheck did not save it. Retrain {folder}.")
    try:
        return tuple(map(Example.from_facts, read_json(path)))
    except (KeyError, TypeError, AttributeError):
        raise BrokenFolder(f"{path} is damaged. Delete {folder} and retrain it.") from None


def read_observed(folder: Path | str, step: int | None = None) -> Observed | ObservedSeq2Seq:
    """Read what was recorded after a step of the training run in this folder; by default the last step."""
    steps = observed_steps(folder)
    if not steps:
        raise BadInput(
            f"no checkpoints were recorded when {folder} was trained. Train it with observe=20 for 20 checkpoints."
        )
    step = steps[-1] if step is None else step
    if step not in steps:
        raise UnknownName("observed step", str(step), [str(known) for known in steps])
    path = Path(folder) / FOLDER / f"{step:08d}.npz"
    try:
        # From memory: numpy leaves a file open that is not what it says.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        return (ObservedSeq2Seq if "written" in arrays else Observed).from_arrays(arrays)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BrokenFolder(f"{path} is damaged ({error}). Delete {folder} and retrain it.") from error

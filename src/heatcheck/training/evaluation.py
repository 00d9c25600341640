"""Accuracy and other scores of a model on examples."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.stats import binomtest
from torch import Tensor

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.models import Seq2Seq, Subject, require_subject, whole_model
from heatcheck.models.contract.direct_answers import AnswersDirectly
from heatcheck.models.contract.lengths import CountsTokens, with_tokens
from heatcheck.models.contract.memory import in_memory
from heatcheck.training.imposed import Parent, imposed

NO_GOLD = "these examples have no gold labels to compare predictions with. Add labels to the data."


class Scores(NamedTuple):
    """Accuracy and other scores of a model; `majority` is the accuracy of the majority-class baseline.

    `f1`, `auc` and `average_precision` are for the second of two labels, and nan if there are more labels.
    """

    n: int
    loss: float  # nats per decision
    accuracy: float
    low: float  # 95% Wilson interval of the accuracy over decisions
    high: float
    majority: float
    f1: float
    auc: float
    average_precision: float

    def facts(self) -> dict[str, float | int | None]:
        """As plain JSON, with None instead of nan."""
        return {name: None if value != value else value for name, value in self._asdict().items()}


def batches_by_length(
    examples: Sequence[Example], size: int, subject: Subject | None = None, *, times: int = 1
) -> Iterator[list[int]]:
    """Indices of examples of like length, so that little of a batch is padding.

    A subject that counts its tokens gets batches of as many tokens as suit its device, whatever the `size`, each
    text counted so many `times`.
    """
    if isinstance(subject, CountsTokens):
        yield from with_tokens(subject.lengths(examples), subject.tokens_at_once // times)
        return
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].masked_text))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def predict(
    subject: Subject,
    examples: Sequence[Example],
    *,
    impose: Facts | None = None,
    parent: Parent | None = None,
    batch_size: int = 128,
) -> Float[np.ndarray, "example decision label"]:
    """Log-probabilities that the model gives, in the order of the examples."""
    subject = subject if impose is not None else whole_model(subject)  # which may have a short cut
    return _answers(subject, examples, impose, parent, batch_size)[0]


@torch.inference_mode()
def _answers(
    subject: Subject, examples: Sequence[Example], impose: Facts | None, parent: Parent | None, batch_size: int = 128
) -> tuple[Float[np.ndarray, "example decision label"], Int[np.ndarray, "example decision"] | None]:
    """Log-probabilities that the model gives, and the right labels where all are known."""
    if not examples:
        raise BadInput("there are no examples to predict. Give at least one.")

    direct = subject if impose is None and isinstance(subject, AnswersDirectly) else None
    batches = batches_by_length(examples, batch_size, subject) if direct is None else direct.together(examples)

    def said(indices: list[int]) -> tuple[Tensor, Tensor | None]:
        batch = subject.encode([examples[i] for i in indices])
        if direct is not None:
            logits = direct.answer(batch)
        else:
            logits = subject.run(batch, edits=imposed(subject, batch, impose, parent)).logits
        return logits.double().log_softmax(-1), batch.gold

    # What a GPU found is fetched after the last batch: fetching waits, and the next batch can be made meanwhile.
    parts = list(in_memory(batches, said))
    order = np.argsort([place for indices, _ in parts for place in indices])
    logs = np.concatenate([of_part.cpu().numpy() for _, (of_part, _) in parts])[order]
    gold = [of_part.cpu().numpy() for _, (_, of_part) in parts if of_part is not None]
    return logs, np.concatenate(gold)[order] if len(gold) == len(parts) else None


def evaluate(
    subject: Subject, examples: Iterable[Example], *, impose: Facts | None = None, parent: Parent | None = None
) -> Scores:
    """Score a model on examples: accuracy, loss, F1, AUC and the majority-class baseline.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models.known_answers import Reader
    >>> evaluate(Reader("planted_keyword"), load_task("planted_keyword")["test"]).accuracy
    1.0
    """
    require_subject(subject)
    examples = tuple(examples) if isinstance(examples, Iterable) else (examples,)
    if foreign := [type(one).__name__ for one in examples if not isinstance(one, Example)]:
        raise BadInput(f"evaluate cannot use a {foreign[0]}. Give examples, such as load_task('sst')['test'].")
    if isinstance(subject, Seq2Seq):
        return _evaluate_steps(subject, examples, impose, parent)
    logs, gold = _answers(subject, examples, impose, parent)
    if gold is None:
        raise BadInput(NO_GOLD)
    return score(logs, gold)


@torch.inference_mode()
def _evaluate_steps(
    subject: Seq2Seq, examples: Sequence[Example], impose: Facts | None, parent: Parent | None
) -> Scores:
    """Over all words to be written, each step told the right last word; a batch at a time, for labels are many."""
    if not examples:
        raise BadInput("there are no examples to evaluate on. Give at least one.")

    def told(indices: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        batch = subject.encode([examples[i] for i in indices])
        run = subject.run(batch, edits=imposed(subject, batch, impose, parent))
        assert batch.gold is not None
        decided = batch.gold != -100
        gold, logits = batch.gold[decided], run.logits[decided]
        lost = torch.nn.functional.cross_entropy(logits, gold, reduction="none").double()
        return lost.cpu().numpy(), (logits.argmax(-1) == gold).cpu().numpy(), gold.cpu().numpy()

    parts = [found for _, found in in_memory(batches_by_length(examples, 128), told)]
    lost, right, gold = (np.concatenate([part[place] for part in parts]) for place in range(3))
    interval = binomtest(int(right.sum()), len(right)).proportion_ci(0.95, method="wilson")
    nan = float("nan")
    return Scores(
        n=len(examples),
        loss=float(lost.mean()),
        accuracy=float(right.mean()),
        low=float(interval.low),
        high=float(interval.high),
        majority=float(np.bincount(gold).max() / len(gold)),
        f1=nan,
        auc=nan,
        average_precision=nan,
    )


def score(logs: Float[np.ndarray, "example decision label"], gold: Int[np.ndarray, "example decision"]) -> Scores:
    """Scores of log-probabilities, whoever gave them, over all decisions."""
    chosen = logs.argmax(-1)
    picked = np.take_along_axis(logs, gold[..., None], -1)
    right = int((chosen == gold).sum())
    interval = binomtest(right, gold.size).proportion_ci(0.95, method="wilson")
    nan = float("nan")
    two = logs.shape[-1] == 2
    likely, is_last = logs[..., -1].ravel(), gold.ravel() == logs.shape[-1] - 1
    return Scores(
        n=len(logs),
        loss=float(-picked.mean()),
        accuracy=stats.accuracy(chosen.ravel(), gold.ravel()),
        low=float(interval.low),
        high=float(interval.high),
        majority=float(np.bincount(gold.ravel()).max() / gold.size),
        f1=stats.f1(chosen.ravel(), gold.ravel(), 1) if two else nan,
        auc=stats.roc_auc(likely, is_last) if two else nan,
        average_precision=stats.average_precision(likely, is_last) if two else nan,
    )


def gold_of(subject: Subject, examples: Sequence[Example]) -> Int[np.ndarray, "example decision"]:
    """The right label of each of the subject's decisions."""
    rows = []
    for start in range(0, len(examples), 512):
        gold = subject.encode(examples[start : start + 512]).gold
        if gold is None:
            raise BadInput(NO_GOLD)
        rows.append(gold.cpu().numpy())
    return np.concatenate(rows)

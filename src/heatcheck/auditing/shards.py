"""The examples of an audit in parts (shards) that several processes work on; each part's rows are kept in a folder.

The folders stand in `heatcheck-out/shards/ID` while an audit runs. ID depends on all that decides the numbers, so an
audit that was killed finds the parts that were finished.
"""

import hashlib
import pickle
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from heatcheck.auditing.planning import STATISTICS, Plan, Planned
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.case import STANDARDISED
from heatcheck.checks.passes import searches, to_explain
from heatcheck.checks.shared_work import Rows, Work, joined, other_weights_for, scores_by
from heatcheck.data import Example
from heatcheck.engine import Crew, Job, content_id, whole_file
from heatcheck.errors import BadInput, in_short
from heatcheck.explainers import find_explainer
from heatcheck.models import Subject, whole_model
from heatcheck.training import STORE
from heatcheck.version import __version__

WORTH = 20.0  # seconds of work in an audit below which more processes would take longer to start than they save
SMALL = 0.3  # seconds of one piece of work below which it is done in this process
START = 5.0  # seconds until the processes are there
EACH = 4  # parts per worker, so that no worker waits long for the last one
ROWS, MODEL = "rows.npz", "model"
NOT_LOADED = "its model could not be loaded in another process"


@contextmanager
def in_shards(plan: Plan, *, workers: int = 0, cluster: str | None = None, store: Path | None = None) -> Iterator[None]:
    """Within the block, several processes share the work of the plan's checks, if there is enough of it.

    Args:
        workers: number of processes; 0 and 1 work in this process, unless there is a cluster (then 0: one per CPU).
        cluster: `ray`, or `ray:ADDRESS`.
        store: folder of the shards, which the processes must all see.
    """
    if (cluster is None and workers < 2) or sum(cost.seconds for cost in plan.costs()) < WORTH:
        yield
        return
    shards = Shards(plan, workers=workers, cluster=cluster, store=store or STORE / "shards")
    case = plan.case
    alone, case.share = case.share, shards.share
    try:
        shards.ahead(plan)
        yield
    except BaseException:
        shards.close(keep=True)  # the same command goes on from there
        raise
    else:
        shards.close(keep=False)
    finally:
        case.share = alone


def seconds_in_parallel(costs: Sequence[Planned], workers: int) -> float:
    """About how long the checks take with so many processes; what does not depend on the model stays in this one."""
    alone = sum(cost.seconds for cost in costs)
    if workers < 2 or alone < WORTH:
        return alone
    here = sum(min(cost.seconds, STATISTICS) for cost in costs)
    return START + here + (alone - here) / workers


class Part(NamedTuple):
    """Some examples of a piece of work, by their places, and the job that makes their rows."""

    places: list[int]
    job: Job


class Shards:
    """Shares the work on examples among processes, which stay for the whole audit."""

    def __init__(self, plan: Plan, *, workers: int, cluster: str | None, store: Path) -> None:
        self._case, self._seconds_a_pass = plan.case, plan.seconds_a_pass
        self._store = store.absolute() / decides(plan.case)
        self._parts = EACH * max(workers, 2)
        self._digest = _keep_model(plan.case.subject, self._store / MODEL)
        self._crew = Crew(make_shard, self._store, workers=workers, cluster=cluster)

    def close(self, *, keep: bool) -> None:
        """End the processes, and remove the shards unless they are to be kept for the next attempt."""
        self._crew.stop()
        (self._store / MODEL).unlink(missing_ok=True)
        if not keep:
            shutil.rmtree(self._store, ignore_errors=True)

    def share(self, work: Work, examples: Sequence[Example], /, **facts: Any) -> Rows:
        """The rows of some work, from all processes; an error is raised as it would be in one."""
        if not self._worth(work, examples, facts):
            return work(self._case.subject, examples, **facts)
        parts = self._split(work, examples, facts)
        self._crew.give([part.job for part in parts], first=True)
        rows: list[Rows] = []
        for part, outcome in zip(parts, self._crew.wait([part.job.id for part in parts]), strict=True):
            if NOT_LOADED in outcome.reason:
                raise BadInput(f"{self._case.subject.id}: {outcome.reason.rstrip('.')}. Leave out workers.")
            if outcome.log:  # an exception, which this process says with the whole of the work as one process would
                return work(self._case.subject, examples, **facts)
            found = _read(outcome.folder)
            if found is None:  # a process died twice at it, or somebody removed the folder
                found = work(self._case.subject, [examples[place] for place in part.places], **facts)
            rows.append(found)
        return joined(rows, [part.places for part in parts])

    def ahead(self, plan: Plan) -> None:
        """Let the processes begin with the scores that the checks will ask for, in the order of the checks."""
        case = plan.case
        for name, chosen in plan.checks.items():
            check = CHECKS[name]
            if plan.is_refused(name) or not check.cost(case, chosen):
                continue  # it will say why it does not run
            logits = getattr(chosen, "logits", STANDARDISED)
            for explainer in check.explains(chosen):
                if explainer == "attention" or (explainer == "counterfactual" and "counterfactual" in plan.checks):
                    continue  # one pass, which the case may have made already; weights that the check finds too
                if find_explainer(explainer).together:
                    continue  # a part of the examples would have other scores
                facts = case.wanted_scores(explainer, case.scale_of(logits))
                if self._worth(scores_by, case.examples, facts):
                    self._crew.give([part.job for part in self._split(scores_by, case.examples, facts)])

    def _worth(self, work: Work, examples: Sequence[Example], facts: Mapping[str, Any]) -> bool:
        return len(examples) > 1 and self._seconds_a_pass * _passes(self._case, work, examples, facts) > SMALL

    def _split(self, work: Work, examples: Sequence[Example], facts: Mapping[str, Any]) -> list[Part]:
        """Parts of about equal work, texts of like length together, the longest first."""
        parts = []
        for places in split([len(example.words) for example in examples], self._parts, squared=work is scores_by):
            chosen = [examples[place] for place in places]
            argument = {"work": work, "examples": chosen, "facts": dict(facts), "model": self._digest}
            told = {"work": f"{work.__module__}.{work.__qualname__}", "facts": facts, "examples": fingerprint(chosen)}
            parts.append(Part(places, Job(content_id(told), f"{work.__name__} of {len(chosen)} texts", (), argument)))
        return parts


def split(words: Sequence[int], parts: int, *, squared: bool = False) -> list[list[int]]:
    """Places of texts in at most so many parts of about equal work, by their numbers of words.

    >>> split([1, 9, 2, 8, 4], 3)
    [[1], [3], [4, 2, 0]]
    """
    order = sorted(range(len(words)), key=lambda place: (-words[place], place))
    work = np.array([(words[place] + 1.0) ** (2 if squared else 1) for place in order])
    number = ((np.cumsum(work) - work / 2) / work.sum() * parts).astype(int)  # the part that its middle lies in
    found: dict[int, list[int]] = {}
    for place, part in zip(order, number, strict=True):
        found.setdefault(int(part), []).append(place)
    return list(found.values())


def decides(case: Case) -> str:
    """An id of all that decides the numbers of an audit: the model with its weights, the examples, the versions."""
    subject = whole_model(case.subject)
    weights = hashlib.sha256()
    module = getattr(subject, "module", subject)  # of a user's own, or what heatcheck or transformers made
    for name, tensor in module.state_dict().items() if isinstance(module, torch.nn.Module) else ():
        if isinstance(tensor, torch.Tensor):
            weights.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            weights.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    told = {
        "model": f"{type(subject).__module__}.{type(subject).__qualname__} {subject.id}",
        "weights": weights.hexdigest(),
        # What it makes of the examples: tokenizers and code have no weights.
        "answers": hashlib.sha256(case.log_probabilities.tobytes()).hexdigest(),
        "examples": fingerprint(case.examples),
        "labels": list(case.labels),
        "versions": [__version__, torch.__version__, np.__version__],
    }
    if not case.heatmap.is_last_layer:
        told["heatmap"] = case.heatmap.name
    return content_id(told)


def fingerprint(examples: Sequence[Example]) -> str:
    """A digest of all that examples say."""
    found = hashlib.sha256()
    for example in examples:
        found.update(repr(example).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def make_shard(argument: Mapping[str, Any], folder: Path, store: Path) -> None:
    """Write the rows of one part, in a process of the crew."""
    subject = _load_model(store / MODEL, argument["model"])
    rows: Rows = argument["work"](subject, argument["examples"], **argument["facts"])
    np.savez(folder / ROWS, **rows)  # type: ignore[arg-type]  # numpy's names of keywords


def _keep_model(subject: Subject, path: Path) -> str:
    """Write the model for the processes that share the work; returns the digest by which they know it."""
    try:
        data = pickle.dumps(subject)
    except Exception as error:  # whatever a user's module holds
        raise BadInput(
            f"{subject.id} cannot be sent to other processes ({in_short(error)}). Leave out workers."
        ) from error
    with whole_file(path) as aside:
        aside.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


_LOADED: dict[str, Subject] = {}  # the last one, by its digest


def _load_model(path: Path, digest: str) -> Subject:
    if digest not in _LOADED:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise BadInput(f"{NOT_LOADED}: {path} was written by somebody else.")
        try:
            subject: Subject = pickle.loads(data)
        except Exception as error:
            raise BadInput(f"{NOT_LOADED} ({in_short(error)}).") from error
        _LOADED.clear()
        _LOADED[digest] = subject
    return _LOADED[digest]


def _read(folder: Path | None) -> Rows | None:
    """The rows in a folder; None if they are not there."""
    if folder is None:
        return None
    try:
        with np.load(folder / ROWS, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError):
        return None


def _passes(case: Case, work: Work, examples: Sequence[Example], facts: Mapping[str, Any]) -> int:
    """About how many texts the model reads for this."""
    if work is scores_by:
        return to_explain(case, [facts["name"]])
    return len(examples) + (searches(case, len(facts["asked"])) if work is other_weights_for else 0)

"""Retrained models beside the audited one: where they are stored, how they are trained, what they answer."""

import hashlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from heatcheck.data import Corpus, Example
from heatcheck.engine import FolderExists, Job, Outcome, content_id, whole_folder
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Recipe, Trainable, load_folder, save, support_of
from heatcheck.training.fit import STORE, vectors_reference
from heatcheck.training.jobs import describe, fit_jobs
from heatcheck.training.recorded import Recorded, record
from heatcheck.training.stack import run_fits


@dataclass
class Fits:
    """Retrained models in a store, to be compared with the audited model.

    `base` is the audited model's own folder in the store. Its name comes from the weights, because the same recipe
    gives other weights on another machine.
    """

    subject: Trainable
    corpus: Corpus  # what the subject was trained on
    store: Path = STORE / "fits"
    vectors: Path | str | None = None
    device: str = "auto"
    own: Recipe | None = None  # how to retrain a model that has no training recipe
    failed: dict[str, str] = field(default_factory=dict)  # recipe id -> why its training failed

    def __post_init__(self) -> None:
        recipe = self.own or self.subject.recipe
        if recipe is None:
            raise NotSupported(f"{self.subject.id} has no training recipe, so heatcheck cannot retrain it.")
        if recipe.task != self.corpus.reference:
            raise BadInput(
                f"{self.subject.id} was trained on {recipe.task}, not on {self.corpus.reference}. "
                "Name its training data with --train."
            )
        wanted = recipe.model.get("vectors")
        if wanted != vectors_reference(self.vectors) and wanted is not None:
            raise BadInput(f"{self.subject.id} started from the word vectors {wanted}. Name that file with --vectors.")
        if wanted is None:
            self.vectors = None
        # A retrained model need not be observed because the audited one was: observing changes no weights.
        self.recipe: Recipe = replace(recipe, observe=None)
        self._recorded: dict[tuple[str, str], Recorded] = {}

    @property
    def base(self) -> str:
        """The name of the audited model's own folder in the store."""
        return fingerprint(self.subject)

    def make(
        self,
        recipes: Sequence[Recipe],
        *,
        workers: int = 0,
        cluster: str | None = None,
        progress: Callable[[Outcome, int, int], None] | None = None,
    ) -> list[Outcome]:
        """Train the models that are not in the store yet; record the failures and continue with the others."""
        return list(self.train(recipes, workers=workers, cluster=cluster, progress=progress))

    def train(
        self,
        recipes: Sequence[Recipe],
        *,
        workers: int = 0,
        cluster: str | None = None,
        progress: Callable[[Outcome, int, int], None] | None = None,
        more: Callable[[], Sequence[Recipe]] = tuple,
    ) -> Generator[Outcome, None, None]:
        """The same, one outcome after the other; `more` is asked after each for further models to train."""
        self.keep(self.subject)
        for outcome in run_fits(
            self._jobs(recipes),
            self.store,
            workers=workers,
            cluster=cluster,
            progress=progress,
            more=lambda: self._jobs(more()),
        ):
            if outcome.folder is None:
                self.failed[outcome.job.id] = outcome.reason
            yield outcome

    def _jobs(self, recipes: Sequence[Recipe]) -> list[Job]:
        wanted = [recipe for recipe in recipes if recipe != self.recipe]
        return fit_jobs(wanted, self.corpus, self.store, vectors=self.vectors, device=self.device)

    def keep(self, subject: Trainable) -> Path:
        """Save a model without a recipe in the store, in a folder named by its weights."""
        support = support_of(subject)
        if support is not None and subject.recipe is not None and subject.recipe.extract is not None:
            self._keep(support, str(subject.recipe.extract["parent"]))  # the same one chooses for retrained models
        return self._keep(subject, fingerprint(subject))

    def _keep(self, subject: Trainable, name: str) -> Path:
        try:
            with whole_folder(self.store / name) as scratch:
                save(subject, scratch)
        except FolderExists:
            pass  # kept by an earlier audit
        return self.store / name

    def load(self, recipe: Recipe) -> Trainable:
        """Load the retrained model of a recipe."""
        if recipe == self.recipe:
            return self.subject
        return load_folder(self.folder_of(recipe), device=str(self.subject.device))

    def folder_of(self, recipe: Recipe) -> Path:
        """The folder of a recipe's model; raise NotSupported with the reason if there is none."""
        if not (self.store / recipe.id).is_dir():
            raise NotSupported(
                f"{describe(recipe)} was not trained: {self.failed.get(recipe.id, 'it was not requested')}"
            )
        return self.store / recipe.id

    def said(self, recipe: Recipe, examples: Sequence[Example], where: str) -> Recorded:
        """The answers of a recipe's model on these examples, cached under the name `where`.

        Raises NotSupported with the reason if there is no such model.
        """
        return self._once(recipe.id, examples, where, lambda: self._record(recipe, examples, where))

    def of_base(self, examples: Sequence[Example], where: str) -> Recorded:
        """The answers of the audited model itself."""
        return self.said(self.recipe, examples, where)

    def _record(self, recipe: Recipe, examples: Sequence[Example], where: str) -> Recorded:
        fit = self.load(recipe)
        if fit is self.subject:
            return record(fit, examples)
        return record(fit, examples, impose=recipe.impose, parent=self._parent(recipe, examples, where))

    def _parent(self, recipe: Recipe, examples: Sequence[Example], where: str) -> Recorded | None:
        name = (recipe.impose or {}).get("parent")
        if name is None:
            return None
        if name == self.base:
            return self.of_base(examples, where)
        if not (self.store / name).is_dir():
            raise NotSupported(
                f"{describe(recipe)} uses the attention weights of the model {name}, which is not in {self.store}."
            )
        parent = self.store / name
        device = str(self.subject.device)
        return self._once(name, examples, where, lambda: record(load_folder(parent, device=device), examples))

    def _once(self, name: str, examples: Sequence[Example], where: str, make: Callable[[], Recorded]) -> Recorded:
        """What was recorded under this name, or is now; other examples under the same name are recorded afresh."""
        found = self._recorded.get((name, where))
        if found is None or found.ids != tuple(example.id for example in examples):
            found = self._recorded[name, where] = make()
        return found


def fingerprint(subject: Trainable) -> str:
    """A name made from the subject's weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(subject.state_dict().items()):
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return content_id({"weights": digest.hexdigest()})

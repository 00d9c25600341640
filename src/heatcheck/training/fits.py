"""Other fits of a subject: where they are kept, how they are made, and what they say of the examples at hand."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from heatcheck import engine
from heatcheck.data import Corpus, Example
from heatcheck.engine import FolderExists, Outcome, content_id, whole_folder
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Recipe, Trainable, load_folder, save
from heatcheck.training.fit import STORE, vectors_reference
from heatcheck.training.jobs import describe, fit_job, fit_jobs
from heatcheck.training.recorded import Recorded, record


@dataclass
class Fits:
    """Fits of recipes in a store, beside the subject they are compared with.

    `base` is the subject's own folder there, named by its weights: a recipe alone would not do, for the same recipe
    gives other weights on another machine.
    """

    subject: Trainable
    corpus: Corpus  # what the subject was trained on
    store: Path = STORE / "fits"
    vectors: Path | str | None = None
    device: str = "auto"
    own: Recipe | None = None  # how it would be made again, where nobody knows how it was made
    failed: dict[str, str] = field(default_factory=dict)  # recipe id -> why it could not be fitted

    def __post_init__(self) -> None:
        recipe = self.own or self.subject.recipe
        if recipe is None:
            raise NotSupported(f"nobody knows how {self.subject.id} was made, so it cannot be fitted again.")
        if recipe.task != self.corpus.reference:
            raise BadInput(
                f"{self.subject.id} was trained on {recipe.task}, and {self.corpus.reference} is not that: name the "
                "texts it was trained on with --train."
            )
        wanted = recipe.model.get("vectors")
        if wanted != vectors_reference(self.vectors) and wanted is not None:
            raise BadInput(f"{self.subject.id} started from the word vectors {wanted}: name that file with --vectors.")
        if wanted is None:
            self.vectors = None
        # Other fits are not observed because the subject was: that decides no weight of it.
        self.recipe: Recipe = replace(recipe, observe=None)
        self._recorded: dict[tuple[str, str], Recorded] = {}

    @property
    def base(self) -> str:
        """The name of the subject's own folder in the store."""
        return fingerprint(self.subject)

    def make(
        self,
        recipes: Sequence[Recipe],
        *,
        workers: int = 0,
        cluster: str | None = None,
        progress: Callable[[Outcome, int, int], None] | None = None,
    ) -> list[Outcome]:
        """Trains what is not in the store yet; what fails is kept by name and loses nothing else."""
        self.keep(self.subject)
        wanted = [recipe for recipe in recipes if recipe != self.recipe]
        jobs = fit_jobs(wanted, self.corpus, self.store, vectors=self.vectors, device=self.device)
        outcomes = list(engine.map(fit_job, jobs, self.store, workers=workers, cluster=cluster, progress=progress))
        self.failed |= {outcome.job.id: outcome.reason for outcome in outcomes if outcome.folder is None}
        return outcomes

    def keep(self, subject: Trainable) -> Path:
        """Puts a model that no recipe makes into the store, as a folder named by its weights."""
        folder = self.store / fingerprint(subject)
        try:
            with whole_folder(folder) as scratch:
                save(subject, scratch)
        except FolderExists:
            pass  # kept by an earlier audit
        return folder

    def load(self, recipe: Recipe) -> Trainable:
        """The fit of a recipe itself."""
        if recipe == self.recipe:
            return self.subject
        return load_folder(self.folder_of(recipe), device=str(self.subject.device))

    def folder_of(self, recipe: Recipe) -> Path:
        """Where the fit of a recipe is; raises NotSupported where it is not there, with the reason."""
        if not (self.store / recipe.id).is_dir():
            raise NotSupported(f"{describe(recipe)} could not be fitted: {self.failed.get(recipe.id, 'not asked for')}")
        return self.store / recipe.id

    def said(self, recipe: Recipe, examples: Sequence[Example], where: str) -> Recorded:
        """What the fit of a recipe says of these examples; `where` names them, so that it is asked once.

        Raises NotSupported where the fit is not there, with the reason.
        """
        return self._once(recipe.id, examples, where, lambda: self._record(recipe, examples, where))

    def of_base(self, examples: Sequence[Example], where: str) -> Recorded:
        """What the subject itself says."""
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
            raise NotSupported(f"{describe(recipe)} reads with the weights of {name}, which is not in {self.store}.")
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

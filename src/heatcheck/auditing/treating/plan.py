"""What a comparison of treatments will train and audit: recipes per treatment and seed, and the jobs that they need."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from heatcheck.auditing.treating.costs import affordable, mean_words, seconds_of
from heatcheck.auditing.treating.jobs import VERSION
from heatcheck.data import Corpus
from heatcheck.engine import Job, content_id, expect, expect_if_given, expect_names
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import Recipe
from heatcheck.training import STORE, TREATMENTS, describe_model, fit_jobs, treated

SEEDS, EXAMPLES, LONG_EXAMPLES = 5, 200, 100
LONG = 100  # words of a text, on average, from which a quick audit takes fewer examples
PLACEBO = "placebo"  # changes nothing, so it is tried only by name
# The order in which a quick run tries them, as long as it has time; others come after these.
QUICK = (
    "diversity",
    "entmax",
    "relevance_guided",
    "rationale_guided",
    "sparsemax",
    "top_k",
    "tying",
    "orthogonal",
    "masked_words",
)
# What a short audit does in place of the checks' own settings.
SHORT: Mapping[str, Any] = {
    "erasure.rivals": ("leave_one_out", "gradient_x_input"),
    "erasure.random_orders": 2,
    "erasure.draws": 100,
    "permutation.repeats": 40,
    "permutation.draws": 100,
    "guide.draws": 200,
}


@dataclass(frozen=True)
class TreatmentPlan:
    """The untreated recipe, what treats it, and how the models are audited."""

    corpus: Corpus
    untreated: tuple[Recipe, ...]  # one per seed
    treated: Mapping[str, tuple[Recipe, ...]]  # by treatment, of the same seeds
    not_applied: Mapping[str, str]  # treatment -> why it does not apply
    left_out: Mapping[str, str] = field(default_factory=dict)
    examples: int = EXAMPLES
    settings: Mapping[str, Any] = field(default_factory=lambda: dict(SHORT))
    store: Path = STORE / "fits"
    vectors: Path | str | None = None
    device: str = "auto"
    model: str = ""  # as people call it

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the models."""
        return tuple(recipe.seed for recipe in self.untreated)

    def fits(self) -> list[Job]:
        """The training runs, the untreated models first."""
        recipes = [*self.untreated, *(recipe for of in self.treated.values() for recipe in of)]
        return fit_jobs(recipes, self.corpus, self.store, vectors=self.vectors, device=self.device)

    def audits(self) -> list[Job]:
        """One audit per model and temperature twin, which needs the models that it reads."""
        found = [self.audit(recipe) for recipe in self.untreated]
        for of in self.treated.values():
            for recipe, beside in zip(of, self.untreated, strict=True):
                found += [self.audit(recipe), self.audit(beside, sharp_as=recipe)]
        return list({job.id: job for job in found}.values())

    def audit(self, recipe: Recipe, *, sharp_as: Recipe | None = None) -> Job:
        """The audit of one model; `sharp_as` makes its weights as sharp as another's first."""
        settings = {name: list(value) if isinstance(value, tuple) else value for name, value in self.settings.items()}
        decides = {
            "model": recipe.id,
            "sharp as": None if sharp_as is None else sharp_as.id,
            "examples": self.examples,
            "settings": settings,
        }
        needs = (recipe.id,) if sharp_as is None else (recipe.id, sharp_as.id)
        corpus = content_id({"corpus": self.corpus.reference})  # where `fit_jobs` keeps it
        audited = recipe if sharp_as is None else sharp_as
        kind = "" if sharp_as is None else "the temperature twin of "
        return Job(
            content_id({"numbers": VERSION, **decides}),
            f"audit of {kind}{describe_model(audited)}",
            needs,
            {"numbers_of": recipe.id, "sharp_as": decides["sharp as"], "corpus": corpus, **decides},
        )

    @property
    def seconds(self) -> float:
        """About how many seconds of one core it takes, if nothing is there."""
        return seconds_of(
            self.untreated[0], self.corpus, [*self.treated], seeds=len(self.untreated), examples=self.examples
        )

    def facts(self) -> dict[str, Any]:
        """What decides the numbers, as JSON has it."""
        return {
            "recipe": asdict(self.untreated[0]),
            "seeds": list(self.seeds),
            "examples": self.examples,
            "checks": {name: list(v) if isinstance(v, tuple) else v for name, v in self.settings.items()},
        }


def plan_treatments(
    recipe: Recipe,
    corpus: Corpus,
    *,
    treatments: Sequence[str] | str | None = None,
    seeds: int = SEEDS,
    examples: int | None = None,
    settings: Mapping[str, Any] | None = None,
    store: Path | str = STORE / "fits",
    vectors: Path | str | None = None,
    device: str = "auto",
    model: str = "",
) -> TreatmentPlan:
    """Find which treatments apply to a training recipe, without running anything.

    Args:
        recipe: of the untreated model; its seed is the first one.
        treatments: names, as a list or comma-separated; `all` for every one; by default as many as a quick run has time
            for: 10 minutes with two workers.
        seeds: models per treatment.
        examples: examples per audit; by default 200, of long texts 100.
        settings: settings of the checks by `check.key`, such as `{"permutation.repeats": 100}`.
    """
    expect("a whole number", seeds=seeds)
    expect_if_given("a whole number", examples=examples)
    if examples is None:
        examples = LONG_EXAMPLES if mean_words(corpus) > LONG else EXAMPLES
    if seeds < 1 or examples < 1:
        raise BadInput(f"treat needs at least one seed and one example, not {seeds} and {examples}.")
    if recipe.task != corpus.reference:
        raise BadInput(
            f"the model was trained on {recipe.task}, not on {corpus.reference}. Name its training data with --data."
        )
    base = replace(recipe, observe=None)
    of_seed = tuple(replace(base, seed=base.seed + number) for number in range(seeds))
    applying, not_applied = _applying(of_seed, corpus, _named(treatments))
    if not applying:
        raise BadInput(f"none of these treatments applies to this model: {next(iter(not_applied.values()))}")
    chosen, left_out = list(applying), {}
    if treatments is None:
        chosen = affordable(base, corpus, chosen, seeds=seeds, examples=examples)
        if rest := [name for name in applying if name not in chosen]:
            left_out["treatments"] = f"{', '.join(rest)} (--treatments all)"
    return TreatmentPlan(
        corpus,
        of_seed,
        {name: applying[name] for name in chosen},
        not_applied,
        left_out,
        examples,
        {**SHORT, **(settings or {})},
        Path(store),
        vectors,
        device,
        model,
    )


def _named(treatments: Sequence[str] | str | None) -> list[str]:
    """The treatments that were asked for; all but the placebo where none is named."""
    if treatments is None or treatments == "all":
        return sorted(
            (name for name in TREATMENTS if name != PLACEBO),
            key=lambda name: QUICK.index(name) if name in QUICK else len(QUICK),
        )
    expect_names(treatments=treatments)
    names = [name.strip() for name in treatments.split(",")] if isinstance(treatments, str) else list(treatments)
    for name in names:
        if name not in TREATMENTS:
            raise UnknownName("treatment", name, TREATMENTS)
    return names


def _applying(
    untreated: Sequence[Recipe], corpus: Corpus, names: Sequence[str]
) -> tuple[dict[str, tuple[Recipe, ...]], dict[str, str]]:
    """The treated recipes of each treatment that applies, and why others do not."""
    found: dict[str, tuple[Recipe, ...]] = {}
    not_applied: dict[str, str] = {}
    for name in names:
        try:
            found[name] = tuple(treated(recipe, corpus, name) for recipe in untreated)
        except NotSupported as error:
            not_applied[name] = str(error)
    return found, not_applied

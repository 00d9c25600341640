"""The input of a check: a model and some examples, with shared results computed once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_softmax

from heatcheck import stats
from heatcheck.checks.answers import Answers
from heatcheck.checks.heatmap import LAST_LAYER, Heatmap
from heatcheck.checks.shared_work import (
    Rows,
    Share,
    Work,
    answers_to,
    as_recorded,
    as_scores,
    as_stand_ins,
    other_weights_for,
    records_of,
    scores_by,
)
from heatcheck.data import Corpus, Example
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, MissingPackage, NotSupported
from heatcheck.explainers import (
    EPSILON,
    Readout,
    Scores,
    StandIns,
    explain_one,
    find_explainer,
    of_readout,
    of_words,
    pad_scores,
    read_out,
    responses,
    words_of,
)
from heatcheck.models import Subject
from heatcheck.training import Fits, Recorded, record

STANDARD = 2.0  # median |logit| to which logits are scaled before any threshold on probabilities
PUBLISHED, STANDARDISED = "published", "standardised"  # logits as the model gives them (as in papers), or scaled
OWN_OUTPUT = (EPSILON, 1.0)  # the ε of the explainer `counterfactual`, and logits as the model gives them
TIE_ORDERS = 5  # random orders of words with equal scores; results are means over them


class Case:
    """A model, the examples to audit, and a seed. Scores and predictions are computed on first use."""

    def __init__(
        self,
        subject: Subject,
        examples: Sequence[Example],
        *,
        labels: Sequence[str],
        seed: int = 0,
        tested: Sequence[Example] | None = None,
        trained_on: Corpus | None = None,
        fits: Fits | None = None,
        witnesses: Mapping[str, Subject] = MappingProxyType({}),
        heatmap: Heatmap = LAST_LAYER,
        beside: "Case | None" = None,
    ) -> None:
        """
        Args:
            tested: all the examples that `examples` were sampled from, for checks that can afford every one.
            trained_on: the corpus that the model was trained on, if known.
            fits: retrained models, if they were asked for.
            witnesses: models by name that may give the same answers with other weights.
            heatmap: the picture of the model that is audited.
            beside: another heatmap's case of the same model and examples, with which it shares what is no heatmap's.
        """
        if not examples:
            raise BadInput("there is no example to audit: give at least one.")
        self.tested = tuple(examples if tested is None else tested)
        self.trained_on = trained_on
        self.fits = fits
        self.witnesses = witnesses
        self.heatmap = heatmap.of(subject)
        self.subject = self.heatmap.on(subject, examples)
        self.examples = tuple(examples)
        self.labels = tuple(labels)
        self.seed = seed
        self.spared: set[str] = set()  # checks that do without retrained models, which could not change an answer
        self.share: Share = self._alone  # an audit with several processes sets another
        # To changed texts: each is read once, whichever check asks.
        self.answers: Answers = Answers(
            subject,
            lambda texts: self.share(answers_to, texts)["logs"],
            known=None if beside is None else beside.answers,
        )
        self._scores: dict[tuple[str, str], Scores] = {}
        # Those of explainers that do not depend on the heatmap.
        self._common: dict[tuple[str, str], Scores] = {} if beside is None else beside._common
        self._other_weights: dict[tuple[float, float], StandIns] = {}  # by ε and scale

    def about(self, heatmap: Heatmap) -> "Case":
        """The same model and examples, and another heatmap; what does not depend on it is computed once for both."""
        return Case(
            self.subject,
            self.examples,
            labels=self.labels,
            seed=self.seed,
            tested=self.tested,
            trained_on=self.trained_on,
            fits=self.fits,
            witnesses=self.witnesses,
            heatmap=heatmap,
            beside=self,
        )

    def retrains(self, check: str) -> bool:
        """Whether a check that can do without retrained models is to use them."""
        return self.fits is not None and check not in self.spared

    @cached_property
    def log_probabilities(self) -> Float[np.ndarray, "example label"]:
        """Log-probabilities of the first decision: the checks support models with one decision per text."""
        return self.answers(self.examples)

    @cached_property
    def predicted(self) -> Int[np.ndarray, " example"]:
        found: Int[np.ndarray, " example"] = self.log_probabilities.argmax(-1)
        return found

    @cached_property
    def gold(self) -> Int[np.ndarray, " example"]:
        """The labels of `tested`; raises NotSupported if an example has no label, or several."""
        for example in self.tested:
            if not isinstance(example.label, int):
                raise NotSupported(
                    f"example {example.id} does not have exactly one label; this check needs gold labels."
                )
        return np.array([example.label for example in self.tested])

    @cached_property
    def own(self) -> Recorded:
        """The model's weights and log-probabilities on `tested`."""
        if self.fits is not None and self.heatmap.is_last_layer:
            return self.fits.of_base(self.tested, "tested")
        return self.recorded()

    def recorded(self, impose: Facts | None = None) -> Recorded:
        """The model's weights and log-probabilities on `tested`, with imposed weights if asked."""
        if len({example.id for example in self.tested}) < len(self.tested):
            return record(self.subject, self.tested, impose=impose)  # which refuses them
        return as_recorded(self.tested, self.share(records_of, self.tested, impose=impose))

    @cached_property
    def logit_scale(self) -> float:
        """The factor that standardises the logits, so that confidence alone does not change a result."""
        ordered = np.sort(self.log_probabilities, axis=-1)
        margins = ordered[:, -1] - ordered[:, -2]
        if not margins.any():
            return 1.0
        # If most margins are 0, take the median of the others.
        return STANDARD / float(np.median(margins) or np.median(margins[margins > 0]))

    def standardised(self, log_probabilities: Float[np.ndarray, "example label"]) -> Float[np.ndarray, "example label"]:
        """Probabilities from standardised logits."""
        found: Float[np.ndarray, "example label"] = np.exp(log_softmax(self.logit_scale * log_probabilities, axis=-1))
        return found

    @cached_property
    def readout(self) -> Readout | None:
        """Weights and relevances, if the logits are linear in the weights; None otherwise."""
        return read_out(self.subject, self.examples)

    @cached_property
    def weights(self) -> tuple[Float[np.ndarray, "example token"], Bool[np.ndarray, "example token"]]:
        """The read-out's weights for the first decision, mean over heads, and a mask of tokens that may have weight.

        If the read-out attends to sentences, these take the place of tokens.
        """
        attention, allowed = self.head_weights
        return np.asarray(attention.mean(1)), allowed

    @cached_property
    def head_weights(self) -> tuple[Float[np.ndarray, "example head token"], Bool[np.ndarray, "example token"]]:
        """The same weights for each head."""
        if self.readout is not None:
            return self.readout.attention[:, :1], self.readout.allowed
        rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for indices, _, found in responses(self.subject, self.examples):
            attention = found.attention[:, 0].double().cpu().numpy()
            rows.update(zip(indices, zip(attention, found.allowed.cpu().numpy(), strict=True), strict=True))
        ordered = [rows[place] for place in range(len(self.examples))]
        longest = max(len(allowed) for _, allowed in ordered)
        attention = np.stack([np.pad(w, ((0, 0), (0, longest - w.shape[1]))) for w, _ in ordered])
        return attention, np.stack([np.pad(allowed, (0, longest - len(allowed))) for _, allowed in ordered])

    @property
    def tokens(self) -> Int[np.ndarray, " example"]:
        """The number of tokens (or sentences, if the read-out attends to those) that may have weight, per example."""
        return np.asarray(self.weights[1].sum(1))

    @property
    def max_attention(self) -> Float[np.ndarray, " example"]:
        return np.asarray(self.weights[0].max(1))

    @property
    def own_logits(self) -> Float[np.ndarray, "example label"]:
        """Logits of the first decision; up to a constant per example if the read-out is not linear."""
        return self.log_probabilities if self.readout is None else self.readout.logits[:, 0]

    def scores(self, explainer: str, logits: str = STANDARDISED) -> Scores:
        """One score per word, by an explainer's name (or `file:PATH` for scores computed elsewhere).

        Explainers of a probability read standardised logits, unless the published definition is asked for. Scores that
        differ only by rounding become equal.
        """
        asked = explainer, logits
        if asked not in self._scores:
            found = self._common.get(asked)
            if found is None:
                made = self._explain(explainer, self.scale_of(logits))
                found = replace(made, values=stats.level_ties(made.values, made.valid))
            self._scores[asked] = found
            if not find_explainer(explainer).of_heatmap:
                self._common[asked] = found
        return self._scores[asked]

    def other_weights(self, asked: Sequence[tuple[float, float]]) -> list[StandIns]:
        """For each ε and scale of the logits: weights as different as can be found that give about the same output."""
        new = [one for one in dict.fromkeys(asked) if one not in self._other_weights]
        if new and self.readout is not None:
            ids = [example.id for example in self.examples]
            for epsilon, scale in new:
                found = of_readout(self.readout, ids, epsilon=epsilon, scale=scale, seed=self.seed)
                self._other_weights[epsilon, scale] = found
        elif new:
            rows = self.share(other_weights_for, self.examples, asked=new, seed=self.seed)
            self._other_weights.update(zip(new, as_stand_ins(rows), strict=True))
        return [self._other_weights[one] for one in asked]

    def _explain(self, explainer: str, scale: float) -> Scores:
        """Compute the scores; weights come from where they are known already."""
        if explainer == "counterfactual" and self.readout is None and OWN_OUTPUT in self._other_weights:
            other = words_of(self.subject, self.examples, self._other_weights[OWN_OUTPUT])
            return pad_scores(find_explainer(explainer), self.examples, other)
        if explainer == "attention" and self.readout is not None and self.readout.of_word is not None:
            weights = of_words(self.readout.attention[:, 0], self.readout.word, self.examples)
            return pad_scores(find_explainer(explainer), self.examples, weights)
        if (
            self.share == self._alone or find_explainer(explainer).together
        ):  # others know nothing of the answers that are known here
            return explain_one(self.subject, self.examples, explainer, seed=self.seed, scale=scale, read=self.answers)
        found = self.share(scores_by, self.examples, **self.wanted_scores(explainer, scale))
        return as_scores(explainer, self.examples, found)

    def wanted_scores(self, explainer: str, scale: float) -> dict[str, str | int | float]:
        """What decides an explainer's scores, beside the model and the examples."""
        return {"name": explainer, "seed": self.seed, "scale": scale if find_explainer(explainer).scaled else 1.0}

    def _alone(self, work: Work, examples: Sequence[Example], /, **facts: Any) -> Rows:
        """Do some work in this process."""
        return work(self.subject, examples, **facts)

    def scale_of(self, logits: str) -> float:
        """The factor for these logits: that of standardised ones, or 1."""
        return self.logit_scale if logits == STANDARDISED else 1.0

    def tie_orders(
        self,
        values: Float[np.ndarray, "example item"],
        valid: Bool[np.ndarray, "example item"],
        rows: Sequence[int] | None = None,
    ) -> list[Float[np.ndarray, "example item"] | None]:
        """Random keys that break ties, one array per random order; a single None if there are no ties.

        The draws depend on an example's id only, so they are the same in every sample. `rows` names the examples, if
        these are not all.
        """
        tied = np.flatnonzero(stats.has_ties(values, valid))
        if not len(tied):
            return [None]
        drawn: list[Float[np.ndarray, "example item"] | None] = []
        for draw in range(TIE_ORDERS):
            keys = np.zeros(values.shape)
            for place in tied:
                example = self.examples[int(place) if rows is None else rows[int(place)]]
                items = np.flatnonzero(valid[place])
                keys[place, items] = stream(self.seed, "ties", draw, example.id).random(len(items))
            drawn.append(keys)
        return drawn

    def exclusions(self, scores: Mapping[str, Scores]) -> dict[str, str]:
        """Examples that these scores cannot rank, each with the reason for leaving it out."""
        reasons: dict[str, str] = {}
        for row, example in enumerate(self.examples):
            missing = [f"{name}: {s.missing[example.id]}" for name, s in scores.items() if example.id in s.missing]
            if missing:
                reasons[example.id] = missing[0]
            elif np.logical_and.reduce([found.valid[row] for found in scores.values()]).sum() < 2:
                reasons[example.id] = "fewer than two words to rank"
        return reasons

    @property
    def explained(self) -> dict[str, str]:
        """The explainers run so far, each with the logits it read (standardised ones if it read both)."""
        return dict(sorted(self._scores, key=lambda of: of[1] == STANDARDISED))

    def available(
        self, explainers: Iterable[str], logits: str = STANDARDISED
    ) -> tuple[dict[str, Scores], dict[str, str]]:
        """Scores of the explainers that can run here, and the reasons why others cannot."""
        found: dict[str, Scores] = {}
        not_run: dict[str, str] = {}
        for name in explainers:
            try:
                found[name] = self.scores(name, logits)
            except (MissingPackage, NotSupported) as error:
                not_run[name] = str(error)
        return found, not_run

"""*across models*: is there another model that gives the same answers and shows another heatmap?

Reported apart from the four lines: it is about the family, not about this model. That a search found nothing proves
nothing, so there is no yes.
"""

from heatcheck.auditing.lines.rule import (
    REFIT,
    CardSettings,
    Found,
    LineRule,
    lookup,
    nothing_known,
    present,
    too_few_seeds,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import in_brief

NAME = "across models"
HOLDS = "the answers, as closely as another seed keeps them; the whole model may change"


def judge_across(adversarial: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> Line:
    """No if a model as close as another seed has a heatmap much further off than theirs; else not found."""
    excess = lookup(adversarial, "J_excess")
    found = _not_run(gauge) if adversarial is None else _decide(adversarial, excess, settings)
    reversed_twin = [lookup(gauge, name, twin="reversed") for name in ("jsd", "agreement", "tvd")]
    numbers = [lookup(adversarial, name) for name in ("J_star", "J_seed", "cost", "reach")]
    return RULE.line(found, present(excess, *numbers, *reversed_twin), HOLDS)


def _decide(adversarial: CheckResult, excess: Measurement | None, settings: CardSettings) -> Found:
    texts, seeds = len(adversarial.examples), _seeds(adversarial)
    if texts < settings.texts:
        return too_few_texts(texts, settings)
    if seeds < settings.seeds:
        return too_few_seeds(seeds, settings, adversarial)
    star = lookup(adversarial, "J_star")
    if excess is None or star is None:
        return Found(
            "not found",
            "no model that was tried stays as close to this one as other seeds do",
            "heatcheck found no other model with the same answers and another heatmap. A longer search might find one.",
        )
    zones = (Zone(settings.excess, "none found"), Zone(0.7, "no"))
    strip = Strip(excess, -0.7, zones, (Mark(0.0, "other seeds"),))
    if excess.low > settings.excess:
        sentence = (
            f"{_described(star, adversarial)} gives the same answers, as closely as another seed would, with very "
            f"different heatmaps. They are {star.value:.2f} nats away; {_of_seeds(adversarial)}."
        )
        return Found("no", "", sentence, strip=strip)
    reason = f"beyond other seeds, its heatmaps are {in_brief(excess)} nats away, not significantly {settings.excess:g}"
    sentence = (
        f"heatcheck found no model whose heatmaps are significantly {settings.excess:g} nats further away than those "
        f"of other seeds. The furthest are {star.value:.2f} nats away; {_of_seeds(adversarial)}. A longer search might "
        "find more."
    )
    return Found("not found", reason, sentence, strip=strip)


def _seeds(adversarial: CheckResult) -> int:
    """The model, and the other seeds on the frontier."""
    return 1 + len([m for m in adversarial.measurements if m.name == "jsd" and m.by.get("model") == "seed"])


def _of_seeds(adversarial: CheckResult) -> str:
    seed = lookup(adversarial, "J_seed")
    return f"those of other seeds are {seed.value:.2f} away" if seed is not None else "other seeds were not compared"


def _described(star: Measurement, adversarial: CheckResult) -> str:
    imitator = "A model trained on this one's answers alone"
    if adversarial.facts.get("imitator starts") == "away":  # or a reader would take its heatmap for a mere accident
        imitator = "A model that starts with other weights and learns only this one's answers"
    kinds = {
        "adversary": "A model trained to differ",
        "imitator": imitator,
        "gauge": "A twin in closed form",
        "uniform": "A model with equal weights",
    }
    return kinds.get(str(star.by.get("model")), "Another model")


def _not_run(gauge: CheckResult | None) -> Found:
    equal, jsd = (lookup(gauge, name, twin="reversed") for name in ("agreement", "jsd"))
    sentence = "Not tested."
    if equal is not None and jsd is not None:
        sentence = (
            f"A twin in closed form makes {equal.value:.0%} of the same decisions with heatmaps {jsd.value:.2f} nats "
            "away. Only retraining can tell how far other seeds are."
        )
    return nothing_known(REFIT, sentence, needs_refit=True)


RULE = LineRule(
    NAME,
    "across",
    "Is this the only heatmap that goes with these answers?",
    "models that the search did not reach: finding none proves nothing",
    ("adversarial_model",),
    lambda results, settings: judge_across(results.get("adversarial_model"), results.get("gauge"), settings),
    {
        "no": "Another model gives the same answers with a very different heatmap. Do not present this heatmap as the "
        "only account of these answers."
    },
    group="apart",
    heading="about other models",
    preface="This line is about all models of this kind, not about this one. A search that finds nothing proves "
    "nothing, so the answer is never yes.",
    states=("no", "not found", "unclear", "not run"),
    do_not_say={
        "no": "This heatmap is the only account of these answers.",
    },
)

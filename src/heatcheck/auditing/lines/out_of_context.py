"""*works out of context*: do the weights help somebody who knows only what each word says by itself?"""

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    lookup,
    needs_more_data,
    present,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Measurement
from heatcheck.results.written import in_brief

NAME = "works out of context"
HOLDS = "weights, words and labels only: nothing is trained, and the model takes no part"
FROZEN, REFITTED = "log_odds", "refitted"


def judge_out_of_context(guide: CheckResult | None, settings: CardSettings) -> Line:
    """G of the guide that is not fitted: above ½ is yes, below is no.

    A guide that is fitted under the weights decides nothing, for weights that encode the label teach it the code; that
    it gains where the other does not is how such a leak is found.
    """
    if guide is None:
        return RULE.not_run(HOLDS, "heatcheck audit MODEL --checks guide")
    gained = lookup(guide, "G", guide=FROZEN)
    room, carries = guide.find("headroom", guide=FROZEN), guide.find("carries")
    lasts = lookup(guide, "lasts", guide=FROZEN) or room
    refitted = lookup(guide, "G", guide=REFITTED)
    found = _decide(gained, room, lasts, carries, settings)
    if found.state == "no" and refitted is not None and _gains(refitted, settings):
        leak = (
            f" A model trained under these weights does learn from them (G = {refitted.value:.2f}): the weights encode "
            "the label; the words do not carry it."
        )
        found = found._replace(sentence=found.sentence + leak)
    weights = ("own", "uniform", "base", "learned", "adversary")
    accuracies = [lookup(guide, "accuracy", guide=kind, weights=w) for kind in (FROZEN, REFITTED) for w in weights]
    return RULE.line(
        found,
        present(
            *((room, carries, gained) if found.undecided == "cannot be asked" else (gained,)),
            *accuracies,
            *(lookup(guide, name, guide=FROZEN) for name in ("weighted", "unweighted")),
            lookup(guide, "base_accuracy"),
            lookup(guide, "prior"),
            room,
            lookup(guide, "lasts", guide=FROZEN),
            carries,
            refitted,
        ),
        HOLDS,
    )


def _decide(
    gained: Measurement | None, room: Measurement, lasts: Measurement, carries: Measurement, settings: CardSettings
) -> Found:
    if room.n < settings.texts:
        return too_few_texts(room.n, settings)
    if not carries.low >= settings.guide_room:
        return cannot_be_asked(
            f"by themselves the words say too little about the label, {in_brief(carries)} more than its "
            f"commonest one, and not surely {settings.guide_room:g}",
            "No word here speaks for a label by itself, so whoever has only words, weights and labels cannot tell "
            "weights that mean something from weights that encode the label.",
        )
    if gained is None or not room.low >= settings.guide_room:
        return cannot_be_asked(
            f"words that are all weighted alike already do as well as the model, which has {in_brief(room)} "
            f"more, and not surely {settings.guide_room:g}",
            "Without any weights the words alone do as well as the model, so there is nothing for weights to add.",
        )
    if not lasts.low >= settings.guide_room:
        return needs_more_data(
            f"unweighted words still gain from every text they are counted in; with more training texts "
            f"the model would have {in_brief(lasts)} more than they, not surely {settings.guide_room:g}",
            "The words were counted in too few training texts to tell weights that pick out telling words from weights "
            "that only leave out badly counted ones.",
        )
    gap = "of the gap between the words alone and the model"
    if gained.low > settings.gain:
        return Found(
            "yes",
            "",
            f"Given what each word says by itself, the weights close {gained.value:.0%} {gap}: they pick out the words "
            "that tell the label, with or without this model.",
        )
    if gained.high < settings.gain:
        return Found(
            "no",
            "",
            f"Given what each word says by itself, the weights close {_share(gained)} {gap}: outside this model "
            "do not use them as a list of telling words.",
        )
    return needs_more_data(
        f"G = {in_brief(gained)} lies across {settings.gain:g} with n = {gained.n}",
        f"The weights close {_share(gained)} {gap}; whether that is at least {settings.gain:.0%} is not settled.",
    )


def _gains(refitted: Measurement, settings: CardSettings) -> bool:
    return refitted.n >= settings.seeds and refitted.low > settings.gain


def _share(gained: Measurement) -> str:
    return "nothing" if gained.value <= 0 else f"{gained.value:.0%}"


RULE = LineRule(
    NAME,
    "context",
    "Do the weights help without this model around them?",
    "whether the model uses its weights",
    ("guide",),
    lambda results, settings: judge_out_of_context(results.get("guide"), settings),
    {
        "yes": "The weights pick out telling words even outside this model: they say something about the text itself.",
        "no": "The weights do not help outside this model: do not reuse them as a list of important words.",
    },
    may_say={
        "yes": "The weights pick out words that tell the label even without this model.",
    },
    do_not_say={
        "no": "These words are important for the label in general.",
    },
)

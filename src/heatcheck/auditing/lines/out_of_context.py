"""*works out of context*: do the weights help a reader who knows only how each word by itself goes with the labels?"""

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    examples_to_decide,
    lookup,
    needs_more_data,
    present,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import in_brief

NAME = "works out of context"
HOLDS = "the weights, the words and the labels; nothing is trained, and the model takes no part"
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
            f" A model trained with these weights does gain from them ({refitted.value:.2f}): the weights encode the "
            "label, and the words do not carry it."
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
    least = settings.guide_room
    if not carries.low >= least:
        return cannot_be_asked(
            f"beyond the majority class, single words predict the label by {in_brief(carries)}, not significantly "
            f"{least:g}",
            "No single word says enough about the label. So useful weights cannot be told from weights that only "
            "encode the label.",
        )._replace(strip=_room_strip(carries, "majority class", settings))
    if gained is None or not room.low >= least:
        return cannot_be_asked(
            f"the model's accuracy is {in_brief(room)} above that of a bag of words, not significantly {least:g}",
            "A bag of words already does about as well as the model. There is no clear gap that the weights could "
            "close.",
        )._replace(strip=_room_strip(room, "bag of words", settings))
    strip = Strip(
        gained,
        -0.25,
        (Zone(settings.gain, "no"), Zone(1.25, "yes")),
        (Mark(0.0, "bag of words"), Mark(1.0, "the model")),
    )
    if not lasts.low >= least:
        return needs_more_data(
            f"word counts still improve with more training examples. With enough of them the model would be "
            f"{in_brief(lasts)} ahead, not significantly {least:g}",
            "The words were counted in too few training examples. The weights may only leave out badly counted words.",
        )._replace(strip=strip)
    gap = "of the gap between a bag of words and the model"
    if gained.low > settings.gain:
        sentence = f"The weights pick out words that tell the label. They close {gained.value:.0%} {gap}."
        return Found("yes", "", sentence, strip=strip)
    if gained.high < settings.gain:
        sentence = f"The weights do not help significantly outside this model. They close {_share(gained)} {gap}."
        if gained.low > 0:
            sentence = f"The weights help little outside this model. They close {_share(gained)} {gap}."
        return Found("no", "", sentence, strip=strip)
    return needs_more_data(
        f"{in_brief(gained)} includes {settings.gain:g}",
        f"The weights close {_share(gained)} {gap}. The interval, {in_brief(gained)}, includes {settings.gain:g}.",
        examples_to_decide(gained, settings.gain),
    )._replace(strip=strip)


def _room_strip(room: Measurement, baseline: str, settings: CardSettings) -> Strip:
    zones = (Zone(settings.guide_room, "cannot be asked"), Zone(0.5, "can be asked"))
    return Strip(room, -0.15, zones, (Mark(0.0, baseline),))


def _gains(refitted: Measurement, settings: CardSettings) -> bool:
    return refitted.n >= settings.seeds and refitted.low > settings.gain


def _share(gained: Measurement) -> str:
    return "nothing" if gained.value <= 0 else f"{gained.value:.0%}"


RULE = LineRule(
    NAME,
    "context",
    "Do the weights help outside this model?",
    "whether the model uses its weights",
    ("guide",),
    lambda results, settings: judge_out_of_context(results.get("guide"), settings),
    {
        "yes": "The weights pick out words that tell the label even outside this model.",
        "no": "Do not reuse the weights outside this model as a list of important words.",
    },
    may_say={
        "yes": "The weights pick out words that tell the label even without this model.",
    },
    do_not_say={
        "no": "These words are important for the label in general.",
    },
    fits_decide=False,
    settled=lambda line: line.state != "no",  # a retrained guide may add to a no that the weights encode the label
)

"""*points at what matters*: do the highlighted words matter at least half as much as the best other method's words?"""

from collections.abc import Sequence

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    examples_to_decide,
    needs_more_data,
    straddles,
    too_few_texts,
)
from heatcheck.results import CheckResult, Instead, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import decimals, in_brief

NAME = "points at what matters"
HOLDS = "the trained model; it reads each example again without the removed words"
SIGNED = " (signed)"  # the end of a ranking's name that keeps the sign of its scores
NO_BETTER = "no better than random"  # the route of a no whose K is not even significantly above 0


def judge_points(erasure: CheckResult | None, settings: CardSettings) -> Line:
    """K above ½ under every way of removing words."""
    if erasure is None:
        return RULE.not_run(HOLDS, "heatcheck audit MODEL --checks erasure")
    operators = erasure.settings["operators"]
    shares = [erasure.find("K", operator=operator) for operator in operators]
    rooms = [erasure.find("room", operator=operator) for operator in operators]
    effects = [
        erasure.find("effect", operator=operators[0], ranking=ranking)
        for ranking in (erasure.settings["explainer"], "random", "best rival")
    ]
    signed = [m for m in erasure.measurements if m.name == "K_signed"]  # what the heatmap's lack of a sign costs
    found = _decide(shares, rooms, effects, settings)
    if found.state == "no":
        found = found._replace(instead=_instead(erasure))
    return RULE.line(found, (*shares, *effects, *rooms, *signed), HOLDS)


def _instead(erasure: CheckResult) -> Instead | None:
    """The method whose top words did most beyond random ones; None where none did significantly more."""
    explainer, operator = erasure.settings["explainer"], erasure.settings["operators"][0]
    found = {
        str(m.by["ranking"]): m
        for m in erasure.measurements
        if m.name == "beyond_random" and m.by.get("operator") == operator
    }
    others = {name: m for name, m in found.items() if name.removesuffix(SIGNED) in erasure.facts["rivals"]}
    best = max(others, key=lambda name: others[name].value, default=None)
    if best is None or explainer not in found or not others[best].low > 0:
        return None
    return Instead(best.removesuffix(SIGNED), best.endswith(SIGNED), others[best], found[explainer])


def _strip(share: Measurement, settings: CardSettings) -> Strip:
    zones = (Zone(settings.points, "no"), Zone(1.25, "yes"))
    return Strip(share, -0.25, zones, (Mark(0.0, "random words"), Mark(1.0, "best other method")))


def _decide(
    shares: Sequence[Measurement], rooms: Sequence[Measurement], effects: Sequence[Measurement], settings: CardSettings
) -> Found:
    if shares[0].n < settings.texts:
        return too_few_texts(shares[0].n, settings)
    if any(not room.low >= settings.room for room in rooms):
        worst = min(rooms, key=lambda room: room.low)
        strip = Strip(worst, -0.1, (Zone(settings.room, "cannot be asked"), Zone(0.5, "can be asked")), (_RANDOM,))
        return cannot_be_asked(
            f"beyond random words, the best other method moves the probability by {in_brief(worst)}, not "
            f"significantly {settings.room:g}",
            "No method clearly finds words that matter more than random words. So there is nothing to point at.",
        )._replace(strip=strip)
    strip = _strip(min(shares, key=lambda m: abs(m.value - settings.points)), settings)
    score = decimals(shares[0].value, ".2f")
    scale = f"From random words (0) to the best other method's words (1), removing them scores {score}."
    if all(share.low > settings.points for share in shares):
        sentence = f"The highlighted words matter. {scale} {_effects(effects)}"
        return Found("yes", "", sentence, strip=_strip(shares[0], settings))
    if all(share.high < settings.points for share in shares):
        beyond = any(share.low > 0 for share in shares)
        lead = (
            "They matter less than half as much as another method's words."
            if beyond
            else "The highlighted words do not matter significantly more than random words."
        )
        route = "" if beyond else NO_BETTER
        return Found("no", "", f"{lead} {scale} {_effects(effects)}", route=route, strip=_strip(shares[0], settings))
    return _undecided(shares, settings)._replace(strip=strip)


def _effects(effects: Sequence[Measurement]) -> str:
    """The three effects behind K."""
    own, random, best = (f"{m.value:.2f}" for m in effects)
    return (
        f"Removing them moves the probability by {own}; random words move it by {random}, the best other method's by "
        f"{best}. All methods here rank words without a sign, as a heatmap does."
    )


def _undecided(shares: Sequence[Measurement], settings: CardSettings) -> Found:
    """Which intervals include the threshold; or that the ways of removing words disagree."""
    limit = settings.points
    across = [m for m in shares if straddles(m, limit)]
    each = ", ".join(f"{m.by['operator']} {in_brief(m)}" for m in shares)
    if not across:
        why = f"deletion and masking disagree: {each}; a yes or a no needs both on one side of {limit:g}"
        sentence = (
            "The two ways of removing words disagree. Deleting the words and masking them give different answers."
        )
        return Found("unclear", why, sentence, undecided="disagreement")
    # The one that is nearest to the threshold needs the most examples.
    nearest = min(across, key=lambda m: abs(m.value - limit))
    sentence = (
        "These examples do not show whether the highlighted words matter. From random words (0) to the best other "
        f"method's words (1), they score {in_brief(nearest)}. The interval includes {limit:g}."
    )
    return needs_more_data(f"{each}; {limit:g} is inside", sentence, examples_to_decide(nearest, limit))


_RANDOM = Mark(0.0, "random words")

RULE = LineRule(
    NAME,
    "points",
    "Do the highlighted words matter?",
    "whether the model uses its weights. A model that ignores its attention (a bystander) passes too, if its heatmap "
    "marks the right words",
    ("erasure",),
    lambda results, settings: judge_points(results.get("erasure"), settings),
    {
        "yes": "You may use the heatmap to point at words that the answer depends on, on average.",
        "no": "Do not present the highlighted words as the words the answer depends on. Another method finds words "
        "that matter more.",
        (
            "no",
            NO_BETTER,
        ): "Do not present the highlighted words as the words the answer depends on. They do not matter "
        "significantly more than random words.",
    },
    may_say={
        "yes": "The highlighted words are, on average, words the answer depends on.",
    },
    do_not_say={
        "no": "The highlighted words are the words the answer depends on.",
    },
)

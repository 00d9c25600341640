"""*plausible to people*: does the heatmap mark the words that people marked?

Apart from the four lines and from the one across models: those are about the model, this is about its readers. A
heatmap that pleases people says nothing about why the model decided, and every sentence here says so.
"""

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
from heatcheck.results import ATTENTION, CheckResult, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import in_brief

NAME = "plausible to people"
HOLDS = "the weights, the words and people's marks; the model's answer plays no part"
NOT_WHY = "This says nothing about why the model decided."


def judge_plausible(plausibility: CheckResult | None, settings: CardSettings) -> Line:
    """P, the share of the way from chance to full agreement: above a twentieth is yes, below is no."""
    heat = ATTENTION if plausibility is None else plausibility.heatmap
    share, room = (lookup(plausibility, name, explainer=heat) for name in ("P", "room"))
    if plausibility is None or share is None or room is None:
        return RULE.not_run(HOLDS, "heatcheck audit MODEL --checks plausibility")
    found = _decide(share, room, settings)
    first = (room, share) if found.undecided == "cannot be asked" else (share,)
    hard = {"rationale": "top k", "average": "macro"}
    of_each = [
        lookup(plausibility, name, **who, **how)
        for name, how in (("auprc", {}), ("token_f1", hard), ("iou_f1", hard))
        for who in (
            {"explainer": heat},
            {"explainer": "random"},
            {"explainer": "random spans", "matched": heat},
        )
    ]
    gains = [
        lookup(plausibility, "auprc_gain", explainer=heat, against=chance) for chance in ("random", "random spans")
    ]
    evidence = present(*first, *of_each[:3], *gains, *of_each[3:], lookup(plausibility, "marked"), room)
    return RULE.line(found._replace(sentence=f"{found.sentence} {NOT_WHY}"), evidence, HOLDS)


def _decide(share: Measurement, room: Measurement, settings: CardSettings) -> Found:
    if share.n < settings.texts:
        return too_few_texts(share.n, settings)
    if not room.low >= settings.plausible_room:
        zones = (Zone(settings.plausible_room, "cannot be asked"), Zone(1.0, "can be asked"))
        return cannot_be_asked(
            f"between chance and full agreement there is only {in_brief(room)}, not significantly "
            f"{settings.plausible_room:g}",
            "People marked nearly every word. Any heatmap agrees with them.",
        )._replace(strip=Strip(room, 0.0, zones, (Mark(0.0, "chance"),)))
    way = "of the way from chance to full agreement"
    zones = (Zone(settings.plausible, "no"), Zone(1.0, "yes"))
    strip = Strip(share, -0.25, zones, (Mark(0.0, "chance"), Mark(1.0, "full agreement")))
    if share.low > settings.plausible:
        sentence = f"The heatmaps mark people's words more than chance does. They go {share.value:.0%} {way}."
        return Found("yes", "", sentence, strip=strip)
    if share.high < settings.plausible:
        gone = "none" if share.value <= 0 else f"only {share.value:.0%}"
        sentence = f"The heatmaps mark people's words hardly more than chance does. They go {gone} {way}."
        return Found("no", "", sentence, strip=strip)
    return needs_more_data(
        f"{in_brief(share)} includes {settings.plausible:g}",
        f"The heatmaps go {share.value:.0%} {way}. The interval, {in_brief(share)}, includes {settings.plausible:g}.",
        examples_to_decide(share, settings.plausible),
    )._replace(strip=strip)


RULE = LineRule(
    NAME,
    "plausible",
    "Does the heatmap mark the words that people marked?",
    "why the model decided. A heatmap that people like may be unfaithful, and a faithful one may displease them",
    ("plausibility",),
    lambda results, settings: judge_plausible(results.get("plausibility"), settings),
    {},
    group="apart",
    heading="about people, whatever the model does",
    preface="A heatmap that people find plausible is no better an account of the model, and one that they do not is no "
    "worse.",
    refusal="{reason}",
)

"""*plausible to people*: does the heatmap mark the words that people marked?

Apart from the four lines and from the one across models: those are about the model, this is about its readers. That a
heatmap pleases people says nothing about why the model decided, and every sentence here says so.
"""

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    lookup,
    needs_more_data,
    present,
    too_few_texts,
    would_decide,
)
from heatcheck.results import CheckResult, Line, Measurement
from heatcheck.results.written import in_brief

NAME = "plausible to people"
HOLDS = "weights, words and people's marks only: the model's answer is not looked at"
EXPLAINER = "attention"
NOT_WHY = "This is about how heatmaps look to people and says nothing about why the model decided."


def judge_plausible(plausibility: CheckResult | None, settings: CardSettings) -> Line:
    """P, the share of the way from chance to full agreement: above a twentieth is yes, below is no."""
    share, room = (lookup(plausibility, name, explainer=EXPLAINER) for name in ("P", "room"))
    if plausibility is None or share is None or room is None:
        return RULE.not_run(HOLDS, "heatcheck audit MODEL --checks plausibility")
    found = _decide(share, room, settings)
    first = (room, share) if found.undecided == "cannot be asked" else (share,)
    hard = {"rationale": "top k", "average": "macro"}
    of_each = [
        lookup(plausibility, name, **who, **how)
        for name, how in (("auprc", {}), ("token_f1", hard), ("iou_f1", hard))
        for who in (
            {"explainer": EXPLAINER},
            {"explainer": "random"},
            {"explainer": "random spans", "matched": EXPLAINER},
        )
    ]
    gains = [
        lookup(plausibility, "auprc_gain", explainer=EXPLAINER, against=chance) for chance in ("random", "random spans")
    ]
    evidence = present(*first, *of_each[:3], *gains, *of_each[3:], lookup(plausibility, "marked"), room)
    return RULE.line(found._replace(sentence=f"{found.sentence} {NOT_WHY}"), evidence, HOLDS)


def _decide(share: Measurement, room: Measurement, settings: CardSettings) -> Found:
    if share.n < settings.texts:
        return too_few_texts(share.n, settings)
    if not room.low >= settings.plausible_room:
        return cannot_be_asked(
            f"people marked so much that chance agrees with them but for {in_brief(room)}, and not surely "
            f"{settings.plausible_room:g}",
            "People marked nearly every word, so any heatmap agrees with them.",
        )
    way = "of the way from chance to full agreement with people"
    if share.low > settings.plausible:
        return Found(
            "yes", "", f"These heatmaps go {share.value:.0%} {way}: they mark people's words more than chance does."
        )
    if share.high < settings.plausible:
        gone = "none" if share.value <= 0 else f"only {share.value:.0%}"
        return Found(
            "no", "", f"These heatmaps go {gone} {way}: they mark hardly more of people's words than chance does."
        )
    return needs_more_data(
        f"P = {in_brief(share)} lies across {settings.plausible:g} with n = {share.n}"
        f"{would_decide(share, settings.plausible)}",
        f"Whether these heatmaps go at least {settings.plausible:.0%} {way} is not settled.",
    )


RULE = LineRule(
    NAME,
    "plausible",
    "Does the heatmap mark the words that people marked?",
    "why the model decided: a heatmap that pleases may be unfaithful, and a faithful one may displease",
    ("plausibility",),
    lambda results, settings: judge_plausible(results.get("plausibility"), settings),
    {},
    group="apart",
    heading="about people, whatever the model does",
    preface="A heatmap that people find plausible is no better an account of the model, and one that they do not is no "
    "worse.",
    refusal="{reason}",
)

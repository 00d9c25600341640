"""Tables of text for the check plausibility: every number beside both kinds of chance."""

from heatcheck.report.table import Table
from heatcheck.report.wording import said, spaced
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import alone, interval, number, shown

RANDOM, SPANS = "random", "random spans"


def plausibility_tables(result: CheckResult) -> list[Table]:
    """Areas, choices of words, and the published definitions."""
    explainers = [str(name) for name in result.facts.get("explainers", ())]
    return [_areas(result, explainers), _hard(result, explainers), _published(result, explainers)]


def _areas(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    for name in explainers:
        own = _find(result, "auprc", explainer=name)
        share = _find(result, "P", explainer=name)
        if own is None:
            continue
        rows.append(
            (
                spaced(name),
                number(own.value),
                interval(own),
                *_chances(result, "auprc", name),
                shown(share),
                f"{own.n:,}",
            )
        )
    columns = ("method", "AUPRC", "95% interval", "random scores", "random spans", "P", "n")
    title = (
        "How high each method ranks the marked words; P goes from the better kind of chance (0) to full agreement (1)"
    )
    return Table(title, columns, rows)


def _hard(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    for kind in ("top k", "window"):
        for name in explainers:
            how = {"rationale": kind, "average": "macro"}
            found = [_find(result, measure, explainer=name, **how) for measure in ("token_f1", "iou_f1")]
            cells = [
                (shown(own), *_chances(result, measure, name, **how))
                for measure, own in zip(("token_f1", "iou_f1"), found, strict=True)
            ]
            if any(found):
                rows.append((f"{spaced(name)}, {kind}", *cells[0], *cells[1]))
    chance = ("random scores", "random spans")
    columns = ("method", "F1 of words", *chance, "F1 of spans", *chance)
    share = result.facts.get("share_of_words")
    size = f"{share:.0%} of the words of each text" if isinstance(share, float) else "as many words as people mark"
    origin = said(result.settings.get("share", ""))
    title = f"Choosing {size} ({origin}): the highest words, or the best run of words; means over texts"
    return Table(title, columns, rows, dense=True)


def _published(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    who = [{"explainer": name} for name in [*explainers, RANDOM]]
    for by in who:
        areas = [_find(result, name, **by) for name in ("auprc", "average_precision")]
        spans = [
            _find(result, "iou_f1", **by, rationale="top k", average=average)
            for average in ("macro as published", "macro", "micro")
        ]
        if any(areas):
            rows.append((spaced(by["explainer"]), *map(alone, (*areas, *spans))))
    columns = (
        "method",
        "AUPRC, trapezoids (published)",
        "average precision",
        "F1 of spans, from mean precision and recall (published)",
        "mean F1 of spans",
        "F1 of all spans",
    )
    return Table("The same agreement by the published definitions and by alternatives", columns, rows)


def _find(result: CheckResult, name: str, **by: str) -> Measurement | None:
    """The measurement with exactly these facts."""
    return next((m for m in result.measurements if m.name == name and dict(m.by) == by), None)


def _chances(result: CheckResult, name: str, explainer: str, **how: str) -> tuple[str, str]:
    chance = _find(result, name, explainer=RANDOM, **how)
    spans = _find(result, name, explainer=SPANS, matched=explainer, **how)
    return alone(chance), alone(spans)

"""Audits for tests of what is shown: a tiny real one, and its odd relatives, which are made from it."""

from dataclasses import replace

import numpy as np

from heatcheck.auditing import LINES
from heatcheck.results import Instead
from tiny_audit import tiny_audit

NAN = float("nan")
CHECKS = ("agreement", "erasure", "permutation", "counterfactual")
REFITTED = ("gauge", "necessity", "seed_variance", "adversarial_model", "guide")


def full(count=None, checks=CHECKS):
    """The real audit, with the results of these checks, to do with as one likes; of so many texts, if it is said."""
    audit = tiny_audit()
    results = {check: copied(audit.results[check]) for check in checks}
    audit = replace(audit, results=results, examples=[*audit.examples])
    return audit if count is None else of_texts(audit, count)


def copied(result):
    return replace(result, per_example={name: values.copy() for name, values in result.per_example.items()})


def of_texts(audit, count):
    """Of its first texts only, or of all of them again and again under other ids; the numbers over texts stay."""
    again = range(-(-count // len(audit.examples)))
    examples = [e._replace(id=named(e.id, time)) for time in again for e in audit.examples][:count]
    ids = {e.id for e in examples}
    results = {check: of_ids(result, ids, again) for check, result in audit.results.items()}
    available = max(audit.available, count)
    return replace(audit, n=count, available=available, examples=examples, results=results)


def named(text, time):
    return f"{text}-{time}" if time else text


def of_ids(result, ids, again):
    """What was found of each of these texts."""
    places = [(named(text, time), at) for time in again for at, text in enumerate(result.examples)]
    places = [place for place in places if place[0] in ids]
    rows = np.array([at for _, at in places], dtype=int)
    return replace(
        result,
        examples=tuple(text for text, _ in places),
        per_example={name: values[rows] for name, values in result.per_example.items()},
        excluded={named(text, time): why for time in again for text, why in result.excluded.items()
                  if named(text, time) in ids},
    )  # fmt: skip


def with_line(audit, line):
    """The same audit with another line of this name on its card."""
    lines = tuple(line if line.name == other.name else other for other in audit.card.every_line)
    return replace(audit, card=replace(audit.card, every_line=lines))


def in_state(line, state, **changes):
    """The line as it would be had it been judged so, by whatever way."""
    rule = LINES[line.name]
    said = {name: getattr(rule, name).get(state, "") for name in ("advice", "may_say", "do_not_say")}
    return line._replace(state=state, reason="", undecided="", route="", certified=False, **said)._replace(**changes)


def not_run(line, reason="heatcheck audit"):
    """The line as it is where its checks were not run."""
    nothing = {"sentence": "Not tested.", "evidence": (), "cannot_see": "", "strip": None, "instead": None}
    return in_state(line, "not run", reason=reason, undecided="not run", **nothing)


def undecided(line):
    """The line as it is where more data would decide."""
    return in_state(line, "unclear", undecided="more data", reason="more data would decide: it lies across 0.5")


def in_every_state():
    """The real audit, but that on its card stands every answer there is, and across models a no."""
    audit = full()
    necessary, points, hard, context, across, plausible = audit.card.every_line
    lines = (not_run(necessary), points, hard, undecided(context), in_state(across, "no"), plausible)
    return replace(audit, card=replace(audit.card, every_line=lines))


def pointing_elsewhere(method="leave_one_out"):
    """The real audit, but that the highlighted words do not matter; this method's do, or no method's."""
    audit = full()
    effects = [m for m in audit.card["points"].evidence if m.name == "effect"]
    gain, own = (effects[0]._replace(value=v, low=v - 0.01, high=v + 0.01) for v in (0.3, -0.03))
    instead = Instead(method, False, gain, own) if method else None
    return with_line(audit, in_state(audit.card["points"], "no", instead=instead))


def nothing_run():
    """Every line not run, no results, no texts."""
    audit = full(0, checks=())
    lines = tuple(not_run(line) for line in audit.card.every_line)
    unmarked = {"reason": "nobody marked a rationale in these texts.", "undecided": "cannot be run"}
    lines = (*lines[:-1], lines[-1]._replace(**unmarked))
    return replace(audit, card=replace(audit.card, every_line=lines), accuracy=NAN, commonest=None)


def no_numbers():
    """Every value NaN, as a check on one text gives."""
    audit = full(1)
    blank = {
        name: replace(
            result,
            measurements=tuple(m._replace(value=NAN, low=NAN, high=NAN, n=0) for m in result.measurements),
            per_example={key: np.full(len(values), NAN) for key, values in result.per_example.items()},
        )
        for name, result in audit.results.items()
    }
    return replace(audit, results=blank)


def hostile():
    """Words that are markup, half an emoji, no scores, NaN scores, one very long text."""
    words = ("<script>alert(1)</script>", '"quoted"', "</script>", "a&b", "👩🏽‍🚀", "\ud83d", "it's", "\u2028")
    audit = full(3)
    odd = audit.examples[0]._replace(
        id="<b>id</b>", words=words, text_pair="a <i>pair</i>", gold="<u>gold</u>", predicted="</li>", probability=NAN,
        scores={"attention": (0.5, None, NAN, 0.1, 0.2, 0.0, 0.0, 0.2), "leave_one_out": (None,) * 8},
        rationale=(True,) + (False,) * 7, tau=None,
    )  # fmt: skip
    long = audit.examples[0]._replace(
        id="long", words=("word",) * 3000, gold=None, scores={"attention": (1 / 3000,) * 3000}, rationale=None, tau=None
    )
    ids = ("é", 'a "quoted"\nid', "half an emoji \ud83d")
    results = {**audit.results, "permutation": replace(audit.results["permutation"], examples=ids)}
    results.pop("counterfactual")
    examples = [odd, long, *audit.examples]
    return replace(audit, subject="<img src=http://evil.example/x.png>", examples=examples, results=results)


def bounded(result, method):
    """A search for other weights that was not exact: more might be found, up to a bound above."""
    above = {name: values + 0.02 for name, values in result.per_example.items() if name.partition(":")[0] == "upper"}
    return replace(result, facts={**result.facts, "method": method}, per_example={**result.per_example, **above})

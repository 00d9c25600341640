"""The numbers behind a line of the card, each statistic in a line of its own, what it is read against in another."""

from collections.abc import Iterator, Sequence

from heatcheck.results import Measurement
from heatcheck.results.written import in_brief

AGAINST = {
    "swap": "this model under uniform weights",
    "swap everywhere": "this model under uniform weights at every attention site",
    "closed form": "the best of its family without attention, in closed form",
    "retrained": "models trained without learned attention",
}
GUIDES = {"log_odds": "what words say by themselves", "refitted": "a model trained under the weights"}
FITS = {"retrained": "trained again", "closed form": "in closed form", "swapped": "this model, weights swapped"}


Said = tuple[Measurement, str]  # the first number of a sentence, and the sentence


def in_words(measurements: Sequence[Measurement]) -> list[str]:
    """What a terminal shows of a line's evidence, in its order; the report has the rest."""
    groups = (_of_necessary, _of_points, _of_hard, _out_of_context, _across, _plausible)
    said = [one for group in groups for one in group(measurements)]
    place = {id(m): number for number, m in enumerate(measurements)}
    return [text for m, text in sorted(said, key=lambda one: place[id(one[0])])]


def _of_necessary(measurements: Sequence[Measurement]) -> Iterator[Said]:
    several = any(m.by.get("against") == "swap everywhere" for m in measurements)
    for place, m in enumerate(measurements):
        if m.name == "most_change" and place == 0:
            yield m, f"largest change of a probability under uniform weights = {m.value:.2g}, n = {m.n:,}"
        elif m.name == "N":
            free = f", {m.by['free']} weights" if "free" in m.by else ""
            counted = "seeds" if m.by["against"] == "retrained" else "texts"
            read = f" ({m.baseline})" if place == 0 else ""
            alone = " at the heatmap's site alone (decides nothing)" if several and m.by["against"] == "swap" else ""
            yield m, f"N against {AGAINST[m.by['against']]}{alone}{free} = {in_brief(m)}, n = {m.n:,} {counted}{read}"
        elif m.name == "headroom" and "against" in m.by:
            yield m, f"accuracy above the commonest label's share = {in_brief(m)}, n = {m.n:,}"
    for fit, words in FITS.items():
        found = [m for m in measurements if m.name == "accuracy" and m.by.get("fit") == fit]
        if found:
            yield found[0], f"accuracy, {words}: {_each(found, 'weights')}"
    changed = [m for m in measurements if m.name == "change"]
    if changed:
        told = f"change of probability by other weights: {_each(changed, 'weights')}"
        yield changed[0], f"used (decides nothing): {told}"
    twin = {m.name: m for m in measurements if m.by.get("twin") == "uniform"}
    if "agreement" in twin:
        moved = f", probabilities {in_brief(twin['tvd'])} apart" if "tvd" in twin else ""
        equal = f"{twin['agreement'].value:.0%} of {twin['agreement'].n:,} decisions equal{moved}"
        yield twin["agreement"], f"the twin with uniform weights: {equal}"


def _of_points(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "K":
            yield m, f"K by {m.by['operator']} = {in_brief(m)}, n = {m.n} ({m.baseline})"
    effects = [m for m in measurements if m.name == "effect"]
    if effects:
        each = ", ".join(f"{m.by['ranking']} {m.value:.2f}" for m in effects)
        yield effects[0], f"change of probability, {effects[0].by['operator']} by: {each}"


def _of_hard(measurements: Sequence[Measurement]) -> Iterator[Said]:
    found = {m.name: m for m in measurements}
    if "q" in found:
        q = found["q"]
        yield q, f"q, shuffles that keep the answer = {in_brief(q)}, n = {q.n} ({q.baseline})"
    if "U" in found:
        beside = {"U_upper": "at most", "U_null": "relevances shuffled"}
        if "U_upper" in found and found["U_upper"].value == found["U"].value:
            beside.pop("U_upper")  # it is exact
        against = "".join(f"; {word} {in_brief(found[name])}" for name, word in beside.items() if name in found)
        at = f" at ε = {found['U'].by['epsilon']}" if "epsilon" in found["U"].by else ""
        yield found["U"], f"U, share of the possible difference{at} = {in_brief(found['U'])}{against}"
    words = {"floor": "floor of any two words", "most": "most of any weights"}
    sizes = {name: f"{word} {found[name].value:.2f}" for name, word in words.items() if name in found}
    if sizes:
        told = f"JSD in nats: {', '.join(sizes.values())} (a large JSD alone says nothing)"
        yield found[next(iter(sizes))], told


def _out_of_context(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "G":
            frozen = m.by["guide"] == "log_odds"
            counted, read = ("texts", m.baseline) if frozen else ("seeds", "decides nothing by itself")
            yield m, f"G, {GUIDES[m.by['guide']]} = {in_brief(m)}, n = {m.n:,} {counted} ({read})"
        elif m.name == "headroom" and "guide" in m.by:
            yield m, f"headroom, the model over unweighted words = {in_brief(m)}, n = {m.n:,}"
        elif m.name == "lasts":
            yield m, f"headroom that endless training texts to count words in would leave = {in_brief(m)}"
        elif m.name == "carries":
            yield m, f"what the words say by themselves, over the commonest label = {in_brief(m)}, n = {m.n:,}"
    for guide, words in GUIDES.items():
        found = [m for m in measurements if m.name == "accuracy" and m.by.get("guide") == guide]
        if found:
            yield found[0], f"accuracy by {words}: {_each(found, 'weights')}"
    ways = {"weighted": "with the weights", "unweighted": "without any"}
    found = [m for m in measurements if m.name in ways]
    if found:
        each = ", ".join(f"{ways[m.name]} {in_brief(m)} ({m.by['reading']})" for m in found)
        yield found[0], f"accuracy of the best way to read the words: {each}"
    beside = {"base_accuracy": "the model", "prior": "always saying the commonest label"}
    found = [m for m in measurements if m.name in beside]
    if found:
        yield found[0], "accuracy of " + ", ".join(f"{beside[m.name]} {in_brief(m)}" for m in found)


def _across(measurements: Sequence[Measurement]) -> Iterator[Said]:
    found = {m.name: m for m in measurements}
    if "J_excess" in found:
        excess = found["J_excess"]
        yield excess, f"J* − J of seeds = {in_brief(excess)} nats, n = {excess.n:,} ({excess.baseline})"
    sizes = {"J_star": "the most different that is as close as a seed", "J_seed": "other seeds"}
    jsd = {name: f"{words} {in_brief(found[name])}" for name, words in sizes.items() if name in found}
    if jsd:
        yield found[next(iter(jsd))], f"JSD of the heatmaps in nats: {', '.join(jsd.values())}"
    if "cost" in found:
        cost = found["cost"]
        yield cost, f"TVD of its answers beyond an imitator's = {in_brief(cost)}, n = {cost.n:,} ({cost.baseline})"
    twin = {m.name: m for m in measurements if m.by.get("twin") == "reversed"}
    if "jsd" in twin and "agreement" in twin:
        equal = f"{twin['agreement'].value:.0%} of {twin['agreement'].n:,} decisions equal"
        yield twin["jsd"], f"the twin with reversed weights: {equal}, heatmaps {in_brief(twin['jsd'])} nats apart"


def _plausible(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "P":
            yield m, f"P = {in_brief(m)}, n = {m.n:,} ({m.baseline})"
        elif m.name == "marked":
            yield m, f"people marked {in_brief(m)} of the words"
    words = {"auprc": "AUPRC", "token_f1": "F1 of words, top k", "iou_f1": "F1 of spans, top k"}
    for name, told in words.items():
        found = [m for m in measurements if m.name == name]
        if found:
            yield found[0], f"{told}: {_each(found, 'explainer')}"
    gains = [m for m in measurements if m.name == "auprc_gain"]
    if gains:
        yield gains[0], f"AUPRC beyond {_each(gains, 'against')}"


def _each(measurements: Sequence[Measurement], key: str) -> str:
    return ", ".join(f"{m.by[key]} {in_brief(m)}" for m in measurements)

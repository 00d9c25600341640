"""The numbers behind each answer of an audit: one row per statistic, with what high and low values mean."""

from collections.abc import Iterator, Sequence

from heatcheck.report.measurement_words import quantity_of
from heatcheck.results import Measurement
from heatcheck.results.written import in_brief

WITHOUT = {
    "swap": "this model has equal weights",
    "swap everywhere": "this model has equal weights at every attention site",
    "closed form": "the best model of this kind has no attention (in closed form)",
    "retrained": "the best retrained model has no learned attention",
}
FITS = {
    "retrained": "accuracy of retrained models",
    "closed form": "accuracy in closed form",
    "swapped": "accuracy of this model",
}
GUIDES = {"log_odds": "a bag of words", "refitted": "a model trained with these weights"}
REMOVED = {"deletion": "deleted", "masking": "masked"}
RANKINGS = {"attention": "the heatmap's top words", "random": "random words", "best rival": "the best other method's"}
WEIGHTS = {
    "own": "own weights",
    "learned": "learned weights",
    "uniform": "uniform weights",
    "uniform everywhere": "uniform weights at every site",
    "last": "the last state alone",
    "permuted": "shuffled weights",
    "random": "random weights",
    "base": "the audited model's weights",
    "adversary": "weights trained to differ",
    "free": "no attention",
}
EXPLAINERS = {"attention": "the heatmap", "random": "random scores", "random spans": "random spans"}

Said = tuple[Measurement, str]  # the first number of a sentence, and the sentence


def in_words(measurements: Sequence[Measurement], check: str = "") -> list[str]:
    """What a terminal shows of a line's evidence, in its order; the report has the rest.

    What high and low values mean follows the first row of each quantity, as `check` means it.
    """
    groups = (_of_necessary, _of_points, _of_hard, _out_of_context, _across, _plausible)
    said = [one for group in groups for one in group(measurements)]
    place = {id(m): number for number, m in enumerate(measurements)}
    told, rows = set(), []
    for m, text in sorted(said, key=lambda one: place[id(one[0])]):
        rows.append(text)
        quantity = quantity_of(m.name, check)
        if quantity is not None and m.name not in told:
            rows.append(f"    high: {quantity.high} low: {quantity.low}")
            told.add(m.name)
    return rows


def _of_necessary(measurements: Sequence[Measurement]) -> Iterator[Said]:
    several = any(m.by.get("against") == "swap everywhere" for m in measurements)
    for place, m in enumerate(measurements):
        if m.name == "most_change" and place == 0:
            yield m, f"largest change of a probability with equal weights = {m.value:.2g}, n = {m.n:,} examples"
        elif m.name == "N":
            free = f", {WEIGHTS.get(str(m.by['free']), m.by['free'])}" if "free" in m.by else ""
            counted = "seeds" if m.by["against"] == "retrained" else "examples"
            alone = ", at the heatmap's site alone (decides nothing)" if several and m.by["against"] == "swap" else ""
            lost = f"share of the gain over the majority class that is lost when {WITHOUT[m.by['against']]}"
            yield m, f"{lost}{alone}{free} (N) = {in_brief(m)}, n = {m.n:,} {counted} (0 nothing, 1 all of it)"
        elif m.name == "headroom" and "against" in m.by:
            yield m, f"accuracy above the majority class = {in_brief(m)}, n = {m.n:,}"
    for fit, words in FITS.items():
        found = [m for m in measurements if m.name == "accuracy" and m.by.get("fit") == fit]
        if found:
            yield found[0], f"{words} with {_each(found, 'weights', WEIGHTS)}"
    changed = [m for m in measurements if m.name == "change"]
    if changed:
        told = f"mean change of the probability with {_each(changed, 'weights', WEIGHTS)}"
        yield changed[0], f"{told} (decides nothing)"
    twin = {m.name: m for m in measurements if m.by.get("twin") == "uniform"}
    if "agreement" in twin:
        moved = f"; its probabilities are {in_brief(twin['tvd'])} away" if "tvd" in twin else ""
        equal = f"{twin['agreement'].value:.0%} of {twin['agreement'].n:,} decisions"
        yield twin["agreement"], f"the twin with uniform weights makes the same decision in {equal}{moved}"


def _of_points(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "K":
            removed = REMOVED.get(m.by["operator"], f"removed ({m.by['operator']})")
            scale = "0 random words, 1 best other method"
            yield m, f"score when the words are {removed} (K) = {in_brief(m)}, n = {m.n:,} ({scale})"
    effects = [m for m in measurements if m.name == "effect"]
    if effects:
        removed = REMOVED.get(effects[0].by["operator"], "removed")
        # The heatmap's comes first, whatever it shows.
        told = [RANKINGS["attention"], *(RANKINGS.get(m.by["ranking"], m.by["ranking"]) for m in effects[1:])]
        each = ", ".join(f"{words} {m.value:.2f}" for words, m in zip(told, effects, strict=True))
        yield effects[0], f"mean change of the probability when these words are {removed}: {each}"


def _of_hard(measurements: Sequence[Measurement]) -> Iterator[Said]:
    found = {m.name: m for m in measurements}
    if "q" in found:
        q = found["q"]
        scale = "0 every shuffle changes it, 1 none does"
        yield q, f"share of shuffles that keep the answer (q) = {in_brief(q)}, n = {q.n:,} ({scale})"
    if "U" in found:
        beside = {"U_upper": "at most", "U_null": "with shuffled relevances"}
        if "U_upper" in found and found["U_upper"].value == found["U"].value:
            beside.pop("U_upper")  # it is exact
        others = "".join(f"; {word} {in_brief(found[name])}" for name, word in beside.items() if name in found)
        at = f" within ε = {found['U'].by['epsilon']}" if "epsilon" in found["U"].by else ""
        share = "share of the possible difference that weights with the same answer can have"
        yield found["U"], f"{share}{at} (U) = {in_brief(found['U'])} (0 these weights only, 1 any weights){others}"
    words = {"floor": "at least, in any model", "most": "at most, whatever the answer"}
    sizes = {name: f"{word} {found[name].value:.2f}" for name, word in words.items() if name in found}
    if sizes:
        told = f"JSD of the most different weights in nats: {', '.join(sizes.values())} (decides nothing)"
        yield found[next(iter(sizes))], told


def _out_of_context(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "G":
            frozen = m.by["guide"] == "log_odds"
            counted, rest = ("examples", "") if frozen else ("seeds", "; decides nothing alone")
            scale = f"0 none of it, 1 all of it{rest}"
            gap = f"share of the gap that the weights close in {GUIDES[m.by['guide']]} (G)"
            yield m, f"{gap} = {in_brief(m)}, n = {m.n:,} {counted} ({scale})"
        elif m.name == "headroom" and "guide" in m.by:
            yield m, f"the gap: accuracy of the model above a bag of words = {in_brief(m)}, n = {m.n:,}"
        elif m.name == "lasts":
            yield m, f"the gap that endless training examples for the bag of words would leave = {in_brief(m)}"
        elif m.name == "carries":
            yield m, f"accuracy of single words above the majority class = {in_brief(m)}, n = {m.n:,}"
    for guide, words in GUIDES.items():
        found = [m for m in measurements if m.name == "accuracy" and m.by.get("guide") == guide]
        if found:
            yield found[0], f"accuracy of {words} with {_each(found, 'weights', WEIGHTS)}"
    ways = {"weighted": "with the weights", "unweighted": "without them"}
    found = [m for m in measurements if m.name in ways]
    if found:
        each = ", ".join(f"{ways[m.name]} {in_brief(m)} ({m.by['reading']})" for m in found)
        yield found[0], f"accuracy of the best way to read the words: {each}"
    beside = {"base_accuracy": "the model", "prior": "the majority class"}
    found = [m for m in measurements if m.name in beside]
    if found:
        yield found[0], "accuracy of " + ", ".join(f"{beside[m.name]} {in_brief(m)}" for m in found)


def _across(measurements: Sequence[Measurement]) -> Iterator[Said]:
    found = {m.name: m for m in measurements}
    if "J_excess" in found:
        excess = found["J_excess"]
        further = "distance of the other model's heatmaps beyond that of other seeds (J* − J)"
        yield excess, f"{further} = {in_brief(excess)} nats, n = {excess.n:,} seeds (0 no further than seeds)"
    sizes = {"J_star": "the most different model", "J_seed": "other seeds"}
    jsd = {name: f"{words} {in_brief(found[name])}" for name, words in sizes.items() if name in found}
    if jsd:
        yield found[next(iter(jsd))], f"distance of the heatmaps (JSD) in nats: {', '.join(jsd.values())}"
    if "cost" in found:
        cost = found["cost"]
        further = "distance of its answers (TVD) beyond that of a model trained on the same answers"
        yield cost, f"{further} = {in_brief(cost)}, n = {cost.n:,}"
    twin = {m.name: m for m in measurements if m.by.get("twin") == "reversed"}
    if "jsd" in twin and "agreement" in twin:
        equal = f"{twin['agreement'].value:.0%} of {twin['agreement'].n:,} decisions"
        away = f"its heatmaps are {in_brief(twin['jsd'])} nats away"
        yield twin["jsd"], f"the twin with reversed weights makes the same decision in {equal}; {away}"


def _plausible(measurements: Sequence[Measurement]) -> Iterator[Said]:
    for m in measurements:
        if m.name == "P":
            scale = "0 chance, 1 full agreement"
            yield m, f"share of the way from chance to people's marks (P) = {in_brief(m)}, n = {m.n:,} ({scale})"
        elif m.name == "marked":
            yield m, f"share of the words that people marked = {in_brief(m)}"
    words = {"auprc": "AUPRC", "token_f1": "F1 of the top words", "iou_f1": "F1 of the top spans"}
    for name, told in words.items():
        found = [m for m in measurements if m.name == name]
        if found:
            yield found[0], f"{told}: {_each(found, 'explainer', EXPLAINERS)}"
    gains = [m for m in measurements if m.name == "auprc_gain"]
    if gains:
        yield gains[0], f"AUPRC beyond {_each(gains, 'against', EXPLAINERS)}"


def _each(measurements: Sequence[Measurement], key: str, words: dict[str, str]) -> str:
    return ", ".join(f"{words.get(str(m.by[key]), m.by[key])} {in_brief(m)}" for m in measurements)

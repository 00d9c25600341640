"""Audits made by hand: a full one that looks like a real one, and its odd relatives."""

from dataclasses import replace

import numpy as np

from heatcheck.auditing import LINES, CardSettings
from heatcheck.auditing.lines import judge_plausible
from heatcheck.checks import CHECKS as ROWS
from heatcheck.results import Audit, Card, CheckResult, Line, Looked, Measurement

NAN = float("nan")
EXPLAINERS = ("attention", "gradient", "leave_one_out", "integrated_gradients", "random", "counterfactual")
TEXTS = (
    "the plot is thin but the two leads make every scene a pleasure to watch",
    "a tedious and overlong mess that mistakes volume for feeling",
    "warm funny and quietly devastating this is the best film of the year",
    "i kept looking at my watch and so did everybody else in the room",
    "not without charm though the jokes rarely land and the ending is a cheat",
)


def measured(name, value, n=180, half=0.03, baseline="random", **by):
    return Measurement(name, value, value - half, value + half, n, baseline, by)


def looked(number, words, rng, *, explainers=EXPLAINERS):
    scores = {}
    for name in explainers:
        weights = name in ("attention", "counterfactual")
        raw = rng.dirichlet(np.full(len(words), 0.3)) if weights else rng.normal(0, 0.1, len(words))
        scores[name] = tuple(float(v) for v in raw)
    gold, predicted = ("positive", "negative")[number % 2], ("positive", "negative")[(number + (number % 7 == 3)) % 2]
    rationale = tuple(place in (2, 3) for place in range(len(words))) if number % 3 == 0 else None
    return Looked(f"test-{number}", tuple(words), None, gold, predicted, 0.5 + 0.49 * rng.random(), scores, rationale)


def many(count, words=None):
    rng = np.random.default_rng(0)
    return [looked(i, words or TEXTS[i % len(TEXTS)].split(" "), rng) for i in range(count)]


def agreement(examples):
    rng = np.random.default_rng(1)
    means = {("attention", "gradient"): 0.34, ("attention", "leave_one_out"): 0.28, ("attention", "random"): 0.0}
    means |= {("gradient", "leave_one_out"): 0.61, ("gradient", "random"): -0.01, ("leave_one_out", "random"): 0.01}
    ids = tuple(e.id for e in examples)
    rows = []
    for pair, mean in means.items():
        rows.append(measured("tau", mean, len(ids), pair=list(pair)))
        for label in ("positive", "negative"):
            rows.append(measured("tau", mean - 0.02, len(ids) // 2, pair=list(pair), **{"class": label}))
        rows.append(measured("significant_share", abs(mean), len(ids), pair=list(pair), correction="holm"))
        rows.append(measured("top_k_overlap", abs(mean), len(ids), pair=list(pair)))
    for kind, value in (("shuffled relevance", 0.21), ("uniform attention", 0.12)):
        rows.append(measured("tau_mechanical_floor", value, len(ids), pair=["attention", "gradient"], kind=kind))
    for minus, value in ((["attention", "leave_one_out"], 0.25), (["attention", "gradient"], 0.21)):
        rows.append(measured("tau_difference", value, len(ids), of=["gradient", "leave_one_out"], minus=minus))
    rows.append(measured("tau_above_uniform", 0.44, len(ids), pair=["attention", "gradient"]))
    rows.append(measured("top_k_distance", 0.38, len(ids), pair=["attention", "gradient"], k=3))
    values = {f"tau:{a}|{b}": np.clip(rng.normal(m, 0.18, len(ids)), -1, 1) for (a, b), m in means.items()}
    for other in ("attention|leave_one_out", "attention|gradient"):
        values[f"difference:gradient|leave_one_out-{other}"] = (
            values["tau:gradient|leave_one_out"] - values[f"tau:{other}"]
        )
    excluded = {"test-901": "one word only: no order to compare", "test-902": "one word only: no order to compare"}
    settings = {"top": [1, 2, 4], "correction": "holm"}
    return CheckResult("agreement", "bilstm-tanh", "states", tuple(rows), ids, values, excluded, settings, 0)


def erasure(examples):
    ids = tuple(e.id for e in examples)
    effects = {"leave_one_out": 0.31, "gradient": 0.24, "attention": 0.27, "random": 0.06}
    rows = []
    for at, operator in enumerate(("deletion", "masking")):
        rows.append(measured("K", 0.84 - 0.05 * at, len(ids), 0.07, operator=operator))
        rows.append(measured("room", 0.25, len(ids), operator=operator))
        for ranking, value in effects.items():
            rows.append(measured("effect", value - 0.02 * at, len(ids), 0.015, ranking=ranking, operator=operator))
    values = {"effect:attention": np.full(len(ids), 0.27)}
    return CheckResult("erasure", "bilstm-tanh", "re-encoded", tuple(rows), ids, values, {}, {"counts": [1, 2, 4]}, 0)


BINS = ("0.00–0.25", "0.25–0.50", "0.50–0.75", "0.75–1.00")


def largest_weights(count):
    return np.random.default_rng(7).beta(1.3, 2.6, count)


def by_class(examples, name, values, **by):
    """A row over all texts and one a predicted class, as the checks have them."""
    labels = np.array([e.predicted for e in examples])
    yield measured(name, float(np.mean(values)), len(values), 0.02, **by)
    for label in ("positive", "negative"):
        if (labels == label).any():
            yield measured(name, float(values[labels == label].mean()), int((labels == label).sum()), 0.03,
                           **by, **{"class": label})  # fmt: skip


def permutation(examples):
    ids = tuple(e.id for e in examples)
    rng, largest = np.random.default_rng(3), largest_weights(len(ids))
    delta = np.clip(largest * rng.beta(1.2, 4, len(ids)), 0, 1)
    values = {"max_attention": largest, "delta": delta, "q": 1 - largest**0.5, "flips": delta / 2}
    values["evenness"] = 1 - largest**2
    rows = list(by_class(examples, "delta", delta))
    rows += [measured(name, float(values[name].mean()), len(ids)) for name in ("q", "flips", "evenness")]
    for number, label in enumerate(BINS):
        here = np.clip((largest * 4).astype(int), 0, 3) == number
        for predicted in ("positive", "negative"):
            part = here & np.array([e.predicted == predicted for e in examples], dtype=bool)
            if part.any():
                by = {"class": predicted, "bin": label}
                rows.append(measured("delta", float(delta[part].mean()), int(part.sum()), **by))
    settings = {"repeats": 100, "epsilon": 0.05}
    return CheckResult("permutation", "bilstm-tanh", "states", tuple(rows), ids, values, {}, settings, 0)


def counterfactual(examples, method="exact"):
    """As the check gives it; a bracket has an upper bound above what was found."""
    ids = tuple(e.id for e in examples)
    rng, largest = np.random.default_rng(4), largest_weights(len(ids))
    floor = 0.6 * (1 - largest) ** 1.2
    values = {"max_attention": largest, "floor": floor, "most": np.full(len(ids), 0.68)}
    values["support"] = np.full(len(ids), 2.0)
    rows = [measured(name, float(values[name].mean()), len(ids)) for name in ("floor", "most")]
    for logits, epsilon in (("published", 0.05), ("published", 0.01), ("published", 0.001), ("standardised", 0.05)):
        where, by = f"{logits}:{epsilon:g}", {"epsilon": epsilon, "logits": logits}
        found = np.minimum(floor + (0.66 - floor) * rng.beta(3, 2, len(ids)) * (0.6 + 8 * epsilon), 0.67)
        values[f"jsd:{where}"], values[f"upper:{where}"] = found, found + (0.02 if method == "bracket" else 0)
        values[f"change:{where}"] = np.full(len(ids), epsilon)
        values[f"null:{where}"] = np.minimum(found + 0.03, 0.68)
        rows += by_class(examples, "jsd", found, **by)
        rows += [measured(name, float(values[f"{name}:{where}"].mean()), len(ids), **by) for name in ("upper", "null")]
        rows.append(measured("gap", 0.06, len(ids), 0.01, **by))
    by = {"epsilon": 0.05, "logits": "standardised"}
    rows += [measured("U", 0.94, len(ids), 0.01, **by), measured("U_null", 0.97, len(ids), 0.01, **by)]
    settings, facts = {"epsilons": [0.05, 0.01, 0.001], "search": "jain2019"}, {"method": method}
    return CheckResult("counterfactual", "bilstm-tanh", "states", tuple(rows), ids, values, {}, settings, 0, {}, facts)


SEEDS = 5  # what needs other fits of the model is measured over these


def retrained(name, value, half=0.02, **by):
    return measured(name, value, SEEDS, half, baseline="prior", **by)


def necessity(examples):
    ids = tuple(e.id for e in examples)
    swapped = {"own": 0.81, "uniform": 0.79, "permuted": 0.74, "random": 0.72, "first": 0.61, "last": 0.66}
    rows = [measured("prior", 0.5, len(ids), 0.02)]
    rows += [measured("accuracy", v, len(ids), 0.02, fit="swapped", weights=w) for w, v in swapped.items()]
    rows += [measured("change", 0.06, len(ids), 0.01, weights=w) for w in ("uniform", "permuted", "random")]
    rows += [measured("most_change", 0.41, len(ids), 0, weights="uniform")]
    rows += [measured("headroom", 0.31, len(ids), 0.03, against="swap")]
    rows += [measured("N", 0.064, len(ids), 0.04, against="swap")]
    for weights, value in {"learned": 0.809, "uniform": 0.804, "last": 0.795}.items():
        rows += [retrained(name, value + 0.01 * (name == "f1"), fit="retrained", weights=weights)
                 for name in ("accuracy", "f1")]  # fmt: skip
    rows += [retrained("headroom", 0.309, against="retrained")]
    rows += [retrained("difference", 0.005, free="uniform"), retrained("difference", 0.014, free="last")]
    rows += [retrained("index", 0.006, 0.01, against="retrained", free="uniform")]
    rows += [measured("evenness", 0.71, len(ids) - 2, 0.03, undefined=2)]
    rows += [retrained("N", 0.016, 0.05, against="retrained", free="uniform")]
    facts = {"family": "lstm encoder (128 hidden), tanh attention, linear decoder; at most 8 epochs"}
    return CheckResult(
        "necessity", "bilstm-tanh", "retrained", tuple(rows), ids, {}, {}, {"seeds": SEEDS}, 0,
        not_run={"seed 3, uniform weights": "no memory left"}, facts=facts,
    )  # fmt: skip


def seed_variance(examples):
    ids = tuple(e.id for e in examples)
    rng, largest = np.random.default_rng(5), largest_weights(len(ids))
    predicted = np.array([float(e.predicted == "positive") for e in examples])
    jsd = np.clip(rng.gamma(1.2, 0.05, len(ids)) * (0.4 + largest), 0, 0.69)
    values = {"jsd": jsd, "tvd": np.clip(rng.beta(0.6, 5, len(ids)) + 0.4 * jsd, 0, 1), "max_attention": largest}
    values["predicted"] = predicted
    rows = [*by_class(examples, "jsd", jsd), *by_class(examples, "tvd", values["tvd"])]
    rows += [measured("agreement", 0.89, len(ids), 0.01)]
    for number, label in enumerate(BINS):
        here = np.clip((largest * 4).astype(int), 0, 3) == number
        for at, name in enumerate(("negative", "positive")):
            part = here & (predicted == at)
            if part.any():
                rows += [measured("jsd", float(jsd[part].mean()), int(part.sum()), **{"class": name, "bin": label})]
    for name, value in {"jsd": 0.06, "tvd": 0.095, "agreement": 0.886}.items():
        rows += [retrained(f"{name}_pairs", value, 0.01)]
    rows += [retrained("tvd_pairs_tempered", 0.09, 0.01)]
    settings, facts = {"seeds": SEEDS}, {"fitted": SEEDS}
    return CheckResult(
        "seed_variance", "bilstm-tanh", "retrained", tuple(rows), ids, values, {}, settings, 0, {}, facts
    )


# model -> mean JSD and TVD: adversaries by start and λ, seeds, and what else stands on the same axes
ADVERSARIES = {
    "fresh": {1e-4: (0.05, 0.06), 3e-4: (0.17, 0.07), 1e-3: (0.34, 0.085), 3e-3: (0.49, 0.13), 1e-2: (0.61, 0.3)},
    "parent": {1e-4: (0.02, 0.01), 3e-4: (0.11, 0.03), 1e-3: (0.31, 0.05), 3e-3: (0.52, 0.1), 1e-2: (0.64, 0.27)},
}  # fmt: skip
BESIDE = [
    *[({"model": "seed", "seed": at + 1}, 0.045 + 0.01 * at, 0.085 + 0.006 * at) for at in range(SEEDS - 1)],
    ({"model": "uniform"}, 0.27, 0.1),
    *[({"model": "instance", "epsilon": e}, 0.45 + 2 * e, 0.9 * e) for e in (0.01, 0.05)],
    ({"model": "gauge", "twin": "uniform"}, 0.27, 0.054),
    ({"model": "gauge", "twin": "reversed"}, 0.47, 0.144),
]
STAR = {"model": "adversary", "strength": 3e-3, "start": "parent", "trains": "all", "restart": 0}
J_STAR = 0.52


def points():
    """Each model on the axes of TVD and JSD, as the check's `by` names it."""
    for start, of in ADVERSARIES.items():
        for strength, (jsd, tvd) in of.items():
            yield STAR | {"strength": strength, "start": start}, jsd, tvd
    yield from BESIDE


def adversarial_model(examples):
    ids = tuple(e.id for e in examples)
    rows = []
    for by, jsd, tvd in points():
        for name, value in {"jsd": jsd, "tvd": tvd, "tvd_tempered": 0.9 * tvd, "agreement": 1 - tvd}.items():
            rows += [measured(name, value, len(ids), 0.01, **by)]
        rows += [measured("accuracy", 0.81 - tvd / 4, len(ids), 0.02, **by)]
    rows += [measured("J_seed", 0.06, SEEDS - 1, 0.02), measured("J_star", J_STAR, len(ids), 0.03, **STAR)]
    rows += [measured("J_excess", 0.46, SEEDS - 1, 0.05, **STAR)]
    rows += [measured(name, v, len(ids)) for name, v in {"cost": 0.31, "reach": 0.44}.items()]
    settings = {"strengths": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2], "epochs": 20}
    return CheckResult("adversarial_model", "bilstm-tanh", "retrained", tuple(rows), ids, {}, {}, settings, 0)


def guide(examples):
    ids = tuple(e.id for e in examples)
    frozen = {"guide": "log_odds"}
    rows = [measured("accuracy", 0.795, len(ids), 0.02, **frozen, weights="own")]
    rows += [measured("accuracy", 0.772, len(ids), 0.02, **frozen, weights="uniform")]
    rows += [measured("base_accuracy", 0.81, len(ids), 0.02), measured("prior", 0.5, len(ids), 0.02)]
    rows += [measured("headroom", 0.038, len(ids), 0.015, **frozen), measured("carries", 0.3, len(ids), **frozen)]
    rows += [measured("G", 0.6, len(ids), 0.3, **frozen)]
    for weights, value in {"uniform": 0.79, "learned": 0.795, "base": 0.802, "adversary": 0.61}.items():
        rows += [retrained(name, value, 0.012, guide="refitted", weights=weights) for name in ("accuracy", "f1")]
    rows += [retrained("headroom", 0.02, guide="refitted"), retrained("G", 0.6, 0.4, guide="refitted")]
    settings = {"seeds": SEEDS, "strength": 1e-3, "smoothing": 0.5}
    return CheckResult("guide", "bilstm-tanh", "retrained", tuple(rows), ids, {}, {}, settings, 0)


def gauge(examples):
    ids = tuple(e.id for e in examples)
    rows = []
    for twin, jsd, tvd in (("uniform", 0.27, 0.054), ("reversed", 0.473, 0.144)):
        found = {"jsd": jsd, "tvd": tvd, "tvd_tempered": 0.8 * tvd, "agreement": 1.0, "jsd_contributions": 0.0}
        rows += [measured(name, value, len(ids), 0 if value in (0, 1) else 0.01, twin=twin)
                 for name, value in found.items()]  # fmt: skip
    words = TEXTS[0].split(" ")
    own = np.random.default_rng(6).dirichlet(np.full(len(words), 0.4)) + 1e-3
    twin = (1 / own) / (1 / own).sum()
    witness = {"id": "test-0", "words": words, "own": own.tolist(), "twin": twin.tolist(), "label": "positive"}
    facts = {"types": 9000, "witness": witness}
    return CheckResult("gauge", "average-tanh", "states", tuple(rows), ids, {}, {}, {}, 0, {}, facts)


def as_judged(line):
    """With what the rule of its name says of every such line."""
    rule = LINES[line.name]
    return line._replace(
        short=rule.short, group=rule.group, advice=rule.advice.get(line.state, ""), check=rule.checks[0],
        heading=rule.heading, preface=rule.preface,
    )  # fmt: skip


def with_line(audit, line):
    """The same audit with another line of this name on its card."""
    lines = tuple(line if line.name == other.name else other for other in audit.card.every_line)
    return replace(audit, card=replace(audit.card, every_line=lines))


def across():
    return as_judged(across_models())


def across_models():
    return Line(
        "across models",
        "Is there another model with about the same answers and another heatmap?",
        "no",
        "",
        (measured("J_excess", 0.46, SEEDS - 1, 0.05, **STAR), measured("J_star", J_STAR, half=0.03, **STAR),
         measured("J_seed", 0.06, SEEDS - 1, 0.02)),
        "the answers, as closely as another honest seed keeps them: the whole model may change",
        "A model trained to differ answers as this one does with heatmaps 0.52 nats away.",
        "models that were not searched for: that none was found proves nothing",
    )  # fmt: skip


def plausibility(examples):
    ids = tuple(e.id for e in examples)
    explainers = {"attention": 0.42, "gradient_x_input": 0.385}
    rows = [measured("marked", 0.31, len(ids), 0.02)]
    for name, area in explainers.items():
        rows += [measured("P", (area - 0.32) / 0.68, len(ids), 0.03, explainer=name),
                 measured("room", 0.68, len(ids), 0.02, explainer=name)]  # fmt: skip
        rows += [measured("auprc_gain", area - 0.32, len(ids), 0.01, explainer=name, against=against)
                 for against in ("random", "random spans")]  # fmt: skip
    who = [({"explainer": name}, area) for name, area in explainers.items()]
    who += [({"explainer": "random"}, 0.31)]
    who += [({"explainer": "random spans", "matched": name}, 0.32 + n / 100) for n, name in enumerate(explainers)]
    for by, area in who:
        rows += [
            measured("auprc", area, len(ids), 0.02, **by),
            measured("average_precision", area + 0.003, len(ids), **by),
        ]
        for kind in ("top k", "window"):
            hard = {**by, "rationale": kind}
            rows += [measured("token_f1", area - 0.05, len(ids), 0.01, **hard, average=a) for a in ("micro", "macro")]
            rows += [measured("iou_f1", area / 10 + n / 100, len(ids), 0.01, **hard, average=average)
                     for n, average in enumerate(("macro", "micro", "macro as published"))]  # fmt: skip
    settings = {"explainers": list(explainers), "share": "audited"}
    facts = {"explainers": list(explainers), "share_of_words": 0.31}
    return CheckResult("plausibility", "bilstm-tanh", "states", tuple(rows), ids, {}, {}, settings, 0, {}, facts)


def plausible():
    return judge_plausible(plausibility(many(180)), CardSettings())


def card():
    k = measured("K", 0.84, half=0.07, operator="deletion")
    lines = (
        Line(
            "necessary",
            "Does this task need learned attention at all?",
            "not run",
            "heatcheck audit MODEL --checks necessity --train FILE",
            (),
            "the recipe; the model itself is trained again",
            "Whether a twin without attention would do as well is not known.",
            "whether this model uses its weights",
        ),
        Line(
            "points at what matters",
            "Does the answer depend on the words that the heatmap highlights?",
            "yes",
            "",
            (k, measured("effect", 0.06, half=0.01, ranking="random", operator="deletion")),
            "re-encoded",
            "Taking away the highlighted words changes the answer nearly as much as the best rival can.",
            "whether the model uses its weights",
        ),
        Line(
            "hard to manipulate",
            "Would a different heatmap have changed the answer?",
            "no",
            "",
            (
                measured("q", 0.62, half=0.03),
                measured("U", 0.94, half=0.01, epsilon=0.05, logits="standardised"),
                measured("U_null", 0.97, half=0.01, epsilon=0.05, logits="standardised"),
                measured("floor", 0.41, half=0.01),
                measured("most", 0.68, half=0.01),
            ),
            "states",
            "Most shuffles of the weights leave the answer as it was.",
            "whether the attended word matters",
        ),
        Line(
            "works out of context",
            "Do the weights help a model that sees words without their context?",
            "unclear",
            "more data would decide: the interval holds .5",
            (measured("gain_share", 0.47, half=0.12),),
            "weights, words and labels",
            "The weights help somewhat; whether enough, these texts do not say.",
            "whether the model uses its weights",
        ),
    )
    return Card((*map(as_judged, lines), across(), plausible()), 2.31)


CHECKS = (agreement, erasure, permutation, counterfactual)
REFITTED = (gauge, necessity, seed_variance, adversarial_model, guide)


def as_asked(result):
    """With what an audit stores of the check itself."""
    check = ROWS[result.check]
    return replace(result, question=check.question, paper=check.paper, baseline=check.baseline)


def full(count=180, words=None, checks=CHECKS):
    examples = many(count, words)
    results = {check.__name__: as_asked(check(examples)) for check in checks} if examples else {}
    about = {
        "heatcheck": "0.1.0",
        "date": "2026-08-01",
        "card": {"points": 0.5},
    }
    not_run = {"necessity": "needs --train FILE", "relevance": "the decoder is not linear"}
    return Audit(
        "bilstm-tanh", "sst@1f0c", "test", ("negative", "positive"), 0.842, count, 1821, 0, card(), results, examples,
        not_run, about,
    )  # fmt: skip


def nothing_run():
    """Every line not run, no results, no texts."""
    lines = tuple(line._replace(state="not run", reason="heatcheck audit", evidence=()) for line in card().lines)
    apart = across()._replace(state="not run", reason="heatcheck audit MODEL --refit", evidence=())
    unmarked = judge_plausible(None, CardSettings())._replace(reason="nobody marked a rationale in these texts.")
    return replace(full(0), card=Card((*lines, apart, unmarked), 1.0), results={}, examples=[], accuracy=NAN)


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
    odd = Looked(
        "<b>id</b>", words, "a <i>pair</i>", "<u>gold</u>", "</li>", NAN,
        {"attention": (0.5, None, NAN, 0.1, 0.2, 0.0, 0.0, 0.2), "leave_one_out": (None,) * 8}, (True,) + (False,) * 7,
    )  # fmt: skip
    long = Looked("long", ("word",) * 3000, None, None, "positive", 0.9, {"attention": (1 / 3000,) * 3000}, None)
    audit = full(3)
    ids = ("é", 'a "quoted"\nid', "half an emoji \ud83d")
    results = {**audit.results, "permutation": replace(audit.results["permutation"], examples=ids)}
    results.pop("counterfactual")
    examples = [odd, long, *many(3)]
    return replace(audit, subject="<img src=http://evil.example/x.png>", examples=examples, results=results)

"""Audits made by hand: a full one that looks like a real one, and its odd relatives."""

from dataclasses import replace

import numpy as np

from heatcheck.auditing import Audit, Card, Line, Looked
from heatcheck.checks import CheckResult, Measurement

NAN = float("nan")
EXPLAINERS = ("attention", "gradient", "leave_one_out", "integrated_gradients", "random")
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
        raw = rng.dirichlet(np.full(len(words), 0.3)) if name == "attention" else rng.normal(0, 0.1, len(words))
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
    values = {f"tau:{a}|{b}": np.clip(rng.normal(m, 0.18, len(ids)), -1, 1) for (a, b), m in means.items()}
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


def permutation(examples):
    ids = tuple(e.id for e in examples)
    rows = (measured("share_unmoved", 0.62, len(ids), baseline="none: shown beside the worst case"),)
    return CheckResult(
        "permutation", "bilstm-tanh", "states", rows, ids, {"share_unmoved": np.ones(len(ids))}, {}, {}, 0
    )


def card():
    k = measured("K", 0.84, half=0.07, operator="deletion")
    return Card(
        (
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
                (measured("share_unmoved", 0.62, half=0.03), measured("worst_case_share", 0.91, half=0.02)),
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
        ),
        2.31,
    )


def full(count=180, words=None):
    examples = many(count, words)
    results = {"agreement": agreement(examples), "erasure": erasure(examples), "permutation": permutation(examples)}
    about = {
        "heatcheck": "0.1.0",
        "date": "2026-08-01",
        "card": {"points": 0.5},
        "questions": {"agreement": "Does attention rank words as gradients do?"},
        "papers": {"agreement": "Jain & Wallace 2019", "erasure": "Serrano & Smith 2019"},
    }
    not_run = {"necessity": "needs --train FILE", "relevance": "the decoder is not linear"}
    return Audit(
        "bilstm-tanh", "sst@1f0c", "test", ("negative", "positive"), 0.842, count, 1821, 0, card(), results, examples,
        not_run, about,
    )  # fmt: skip


def nothing_run():
    """Every line not run, no results, no texts."""
    lines = tuple(line._replace(state="not run", reason="heatcheck audit", evidence=()) for line in card().lines)
    return replace(full(0), card=Card(lines, 1.0), results={}, examples=[], accuracy=NAN)


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
    examples = [odd, long, *many(3)]
    return replace(audit, subject="<img src=http://evil.example/x.png>", examples=examples, results=results)

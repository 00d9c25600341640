"""A made-up result of a study: small, and with every kind of number a page must show."""

import numpy as np

from heatcheck.results import Model, Row, StudyResult, parse_key

EPSILONS = ("0.05", "0.01", "0.001")
HOSTILE = "<script>alert(1)</script>"


def row(quantity, value, of_class="", *, task="films", encoder="lstm", band="", paper=None, rerun=None, said=("", "")):
    spread = (value - 0.0125, value + 0.0125)
    of = parse_key(quantity)
    states = map(compared, said)
    return Row(
        task, encoder, "tanh", of.name, of.by, of_class, band, value, *spread, 3, paper, rerun, *said, 0.01, *states
    )


def compared(said):
    """In a word what a statement says."""
    words = {"inside": "inside", "outside": "outside", "not": "not comparable", "one": "one seed", "chosen": "chosen"}
    return words[said.partition(" ")[0].strip(":")] if said else ""


def model(task, encoder, labels, *, linear, texts=60):
    """Values of made-up texts; a linear read-out has an upper bound, a floor and a null."""
    draw = np.random.default_rng(len(task) + len(encoder))
    largest = np.full(texts, 0.6)
    values = {
        "predicted": np.arange(texts) % float(len(labels)),
        "max_attention": draw.uniform(0.05, 1, texts),
        "delta": draw.uniform(0, 0.4, texts),
        "tau:attention|gradient": draw.uniform(-1, 1, texts),
        "tau:attention|leave_one_out": np.where(np.arange(texts) < 2, np.nan, draw.uniform(-1, 1, texts)),
        "jsd:published:0.05": largest,
        "floor": largest - 0.3,  # of the weights alone, so it is there whether or not it holds
        "searched:published:0.05": draw.uniform(0, 0.5, texts),
    }
    if encoder == "average":
        values["floor:attention|gradient"] = draw.uniform(0, 1, texts)
    if linear:
        values |= {"upper:published:0.05": largest, "null:published:0.05": largest + 0.05}
    heatmaps = [
        {
            "words": ["a", f"{'fine' if at else HOSTILE}", "film"],
            "text_pair": "who said so ?" if task == "stories" else None,
            "predicted": labels[0],
            "probability": 0.9,
            "attention": [0.1, 0.8, 0.1],
            "counterfactual": [0.0, 0.0, 1.0],
            "jsd": 0.61 - at / 10,
            "change": 0.05,
        }
        for at in range(4)
    ]
    return Model(task, encoder, "tanh", labels, 3, values, heatmaps)


def study(*, failed=True):
    two, four = ("bad", "good"), ("hall", "kitchen", "garden", "office")
    rows = [
        row(
            "score",
            0.8125,
            paper=0.82,
            rerun=0.78,
            said=("inside the seed interval", "outside: ours is higher by 0.03"),
        ),
        row("tau:attention|gradient", 0.4025, "1", paper=0.6, said=("outside: ours is lower by 0.20", "")),
        row("floor:attention|gradient", 0.3456, "1"),
        row("searched:0.05", 0.5123, "0", paper=0.5, rerun=0.51, said=("inside the seed interval",) * 2),
        row("floor", 0.2468, "0"),
        row("permutation", 0.0625, "1", band="0.00–0.25", paper=0.05, said=("inside the seed interval", "")),
        row("score", 0.4375, task="stories", paper=0.9, said=("not comparable (less data): ours is lower by 0.46", "")),
        row(
            "searched:0.05",
            0.3579,
            task="stories",
            paper=0.4,
            said=("not comparable (less data): ours is lower by 0.04", ""),
        ),
    ]
    for task, linear in (("films", True), ("stories", False)):
        for encoder in ("average", "lstm"):
            place = {"task": task, "encoder": encoder}
            rows += [row(name, 0.31, **place) for name in ("tau:attention|gradient", "q", "permutation", "U")]
            rows += [row(f"jsd:{e}", 0.6, **place) for e in EPSILONS]
            rows += [row(f"searched:{e}", 0.45, **place) for e in EPSILONS if (task, encoder) != ("stories", "lstm")]
            rows += [row(f"null:{e}", 0.65, **place) for e in EPSILONS if linear]
            rows += [row("floor", 0.27, **place)]
            rows += [
                row(f"difference:gradient|leave_one_out-attention|{of}", 0.2, **place)
                for of in ("gradient", "leave_one_out")
            ]
    return StudyResult(
        name="jain2019",
        title="A paper, again",
        paper=f"Somebody 2019 {HOSTILE}",
        rows=tuple(rows),
        models=tuple(
            model(task, encoder, labels, linear=linear)
            for task, labels, linear in (("stories", four, False), ("films", two, True))
            for encoder in ("lstm", "average")
        ),
        tasks={
            "films": {
                "published": "films",
                "not_comparable": "",
                "differs": "the same texts",
                "labels": list(two),
                "sizes": {"train": 1234, "dev": 56, "test": 78},
                "left_out": {"too long": 9},
            },
            "stories": {
                "published": "tales",
                "not_comparable": "less data",
                "differs": "a tenth of the stories",
                "labels": list(four),
                "sizes": {"train": 10, "test": 5},
                "left_out": {},
            },
        },
        notes=("One note before any number.", f"Another {HOSTILE}."),
        failed={"poems, lstm, tanh, seed 1": "no memory left"} if failed else {},
        settings={"tasks": ["films", "stories"], "seeds": None, "examples": 500, "vectors": None, "search": True},
    )


def seeds_of(task, texts=80):
    """Values of made-up texts, as the check on seeds has them."""
    draw = np.random.default_rng(len(task))
    largest = draw.uniform(0.05, 1, texts)
    jsd = np.clip(draw.gamma(1.2, 0.05, texts) * (0.4 + largest), 0, 0.69)
    tvd = np.clip(draw.beta(0.6, 5, texts), 0, 1)
    return {"predicted": np.arange(texts) % 2.0, "max_attention": largest, "jsd": jsd, "tvd": tvd}


def on_the_frontier(*, starts=("fresh",), rise=0.1):
    """Points of a task: adversaries, seeds and the rest, as the study gives them."""
    for start in starts:
        for at, strength in enumerate((2e-4, 1e-3, 2e-3, 5e-3, 2e-2)):
            by = {"model": "adversary", "strength": strength, "start": start, "trains": "all", "restart": 0}
            shift = 0.04 if start == "parent" else 0.0
            yield {**by, "jsd": 0.06 + 0.13 * at + shift, "tvd": 0.05 + rise * (0.2 * at) ** 2 - shift / 2, "f1": 0.8}
    for seed in range(1, 5):
        yield {"model": "seed", "seed": seed, "jsd": 0.03 + 0.01 * seed, "tvd": 0.08 + 0.005 * seed}
    yield {"model": "uniform", "jsd": 0.25, "tvd": 0.1}
    for epsilon in (0.01, 0.05):
        yield {"model": "instance", "epsilon": epsilon, "jsd": 0.45 + 2 * epsilon, "tvd": 0.9 * epsilon}


def refitted():
    """A study that fits models again: films with all numbers, news with nothing published, stories by need only."""
    inside, outside = ("inside the seed interval", ""), ("outside: ours is lower by 0.05", "")
    one = ("one seed only: ours is higher by 0.02", "")
    rows = []
    for task, paper in (("films", True), ("news", False)):
        for weights, value in {"learned": 0.83, "uniform": 0.82, "last": 0.81}.items():
            known = paper and weights != "last"
            rows.append(row(f"f1:{weights}", value, task=task, paper=0.822 if known else None,
                            said=inside if known else ("", "")))  # fmt: skip
        for weights, value in {"uniform": 0.79, "learned": 0.8, "base": 0.81, "adversary": 0.6}.items():
            rows.append(row(f"guide_f1:{weights}", value, task=task, paper=0.86 if paper else None,
                            said=outside if paper else ("", "")))  # fmt: skip
            rows.append(row(f"guide_accuracy:{weights}", value, task=task))
        rows += [row(f"{name}:seeds", value, task=task) for name, value in {"jsd": 0.06, "tvd": 0.09}.items()]
        rows += [row("jsd:seeds", 0.07, "1", task=task, band="0.00–0.25")]
        rows += [row(name, value, task=task) for name, value in {"J_seed": 0.06, "J_star": 0.46, "cost": 0.2}.items()]
        rows += [row(f"log_odds_guide:{weights}", 0.79, task=task) for weights in ("own", "uniform")]
    best = {"lambda": (0.001, 0.000525), "f1": (0.81, 0.823), "tvd": (0.06, 0.036), "jsd": (0.45, 0.514)}
    for name, (value, paper) in best.items():
        words = ("chosen among those tried", "") if name == "lambda" else one
        made = row(f"best:{name}", value, paper=paper, said=words)
        spread = (value - 0.01, value + 0.01) if name in ("tvd", "jsd") else (-np.inf, np.inf)  # over texts
        rows.append(made._replace(low=spread[0], high=spread[1], seeds=1))
    for task in ("films", "news", "stories, merge"):
        rows += [row(f"accuracy:{weights}", 0.8, task=task) for weights in ("learned", "uniform", "last")]
        rows += [row("prior", 0.5, task=task)._replace(seeds=1), row("N:retrained", 0.03, task=task)]
        rows += [row(f"swapped:{weights}", 0.75, task=task)._replace(seeds=1) for weights in ("own", "uniform")]
    about = {"published": "films", "not_comparable": "", "differs": "the same texts", "labels": ["bad", "good"],
             "sizes": {"train": 1234, "dev": 56, "test": 78}, "left_out": {}}  # fmt: skip
    models = [
        Model("films", "lstm", "tanh", ("bad", "good"), 3, seeds_of("films"), (),
              tuple(on_the_frontier(starts=("fresh", "parent"), rise=0.35))),
        Model("news", "lstm", "tanh", ("bad", "good"), 3, seeds_of("news!"), (), tuple(on_the_frontier(rise=0.25))),
        Model("stories, merge", "lstm", "tanh", ("hall", "kitchen", "garden"), 3, {}, ()),
    ]  # fmt: skip
    return StudyResult(
        name="wiegreffe2019",
        title="A paper with refits, again",
        paper="Somebody else 2019",
        rows=tuple(rows),
        models=tuple(models),
        tasks={
            "films": {**about, "not_run": {"gauge": "its states know their context."}},
            "news": {**about, "published": "headlines"},
            "stories, merge": {**about, "labels": ["hall", "kitchen", "garden"]},
        },
        notes=("Every published number is from memory.",),
        settings={"tasks": ["films"], "seeds": None, "examples": 500, "strengths": None, "starts": ("fresh",)},
    )

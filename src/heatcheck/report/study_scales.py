"""A study of attention scores at several scales λ: its tables, and what it says in short."""

from collections.abc import Iterable, Mapping

from heatcheck.report.study_wording import two_digits, with_half
from heatcheck.results import Row

# caption and columns (quantity -> title) of each table
SCALES: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "Do scores tell polar words from neutral ones? AUC; ½ is chance",
        {
            "auc:polar": "attention score",
            "auc:positive": "of positive words",
            "auc:negative": "of negative words",
            "auc_apart": "these two apart",
            "same_side": "higher: the side of V·W",
            "auc:polarity": "|polarity|",
            "auc:start": "attention score, untrained",
            "auc_lost": "lost against λ = 10, seed by seed",
        },
    ),
    (
        "Weight on the polar words of test texts, and how well the model does",
        {
            "mass:polar": "weight",
            "mass:chance": "if uniform",
            "right:train": "accuracy, train",
            "right:dev": "dev",
            "right:test": "test",
            "loss": "loss, last epoch",
        },
    ),
    (
        "Mean scores of each group of words",
        {
            "mean_a:positive": "a, positive",
            "mean_a:negative": "negative",
            "mean_a:neutral": "neutral",
            "mean_s:positive": "s, positive",
            "mean_s:negative": "negative ",
            "mean_s:neutral": "neutral ",
            "v_dot_w": "V·W",
        },
    ),
)


def scales_in_short(rows: Iterable[Row]) -> str:
    """The AUC of attention scores at every λ of each task, in a sentence each; nothing where there is none."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.quantity == "auc:polar":
            found.setdefault(row.task, []).append(row)
    told = []
    for task, of_task in found.items():
        of_task.sort(key=lambda row: float(row.by["scale"]))
        numbers = "; ".join(f"{row.encoder}: {with_half(row)}" for row in of_task)
        best = max(of_task, key=lambda row: row.value)
        told.append(
            f"On {task}, the chance that a polar word has a higher attention score than a neutral one is highest at "
            f"{best.encoder} ({two_digits(best.value)}): {numbers}."
        )
    return " ".join(told)

"""A study of attention scores at several scales λ: its tables and its summary."""

from collections.abc import Iterable, Mapping

from heatcheck.report.study_wording import two_digits, with_half
from heatcheck.results import Row

# caption and columns (quantity -> title) of each table
SCALES: tuple[tuple[str, Mapping[str, str]], ...] = (
    (
        "Do scores separate polar words from neutral ones? (AUC; 1 is perfect, ½ is chance)",
        {
            "auc:polar": "attention score",
            "auc:positive": "of positive words",
            "auc:negative": "of negative words",
            "auc_apart": "difference of these two",
            "same_side": "higher one on the side of V·W",
            "auc:polarity": "|polarity|",
            "auc:start": "attention score, untrained",
            "auc_lost": "lost compared with λ = 10, seed by seed",
        },
    ),
    (
        "Weight on the polar words of test texts, and accuracy",
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
    """The AUC of attention scores at every λ, one sentence per task; nothing for other studies."""
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
            f"On {task}, attention scores separate polar from neutral words best at {best.encoder} "
            f"(AUC {two_digits(best.value)}; ½ is chance). {numbers}."
        )
    return " ".join(told)

"""The lines of the card by their short names, and the checks that decide each.

It stands here because `heatcheck audit --help` shows it, and must not wait for torch.
"""

# Without one of which a line is not run.
DECIDED_BY: dict[str, tuple[str, ...]] = {
    "necessary": ("necessity",),
    "points": ("erasure",),
    "hard": ("permutation", "counterfactual"),
    "context": ("guide",),
    "across": ("adversarial_model",),
    "plausible": ("plausibility",),
}


def lines_decided_by(check: str) -> list[str]:
    """
    >>> lines_decided_by("counterfactual"), lines_decided_by("gauge")
    (['hard'], [])
    """
    return [line for line, checks in DECIDED_BY.items() if check in checks]


def lines_with_checks() -> str:
    """Every line with its checks, for a help text."""
    return ", ".join(f"{line} ({' or '.join(checks)})" for line, checks in DECIDED_BY.items())

"""Words that the report uses for several checks: answers as signs, what stays the same, weights and models."""

# A sign for every word, so that a badge says the same without its colour.
SIGNS = {"yes": "✓", "no": "✕", "unclear": "?", "not run": "○", "not found": "◇"}

# What stays the same while a check changes something.
HELD = {
    "states": "everything but the attention weights: the model keeps the hidden states it computed for each text",
    "re-encoded": "the trained model; it reads every changed text from scratch",
    "retrained": "the training recipe; the model itself is retrained",
}

# Facts of measurements whose values say more in words; those of a single check are in its view.
KINDS = {
    ("ranking", "human"): "the words that people marked",
    ("ranking", "best rival"): "best other method",
    ("ranking", "best signed rival"): "best method with a sign",
    ("logits", "published"): "unscaled logits",
    ("logits", "standardised"): "standardised logits",
}

# Whose weights, where `by` names some.
WEIGHTS = {
    "own": "its own weights",
    "learned": "learned weights",
    "uniform": "uniform weights",
    "uniform everywhere": "uniform weights at every attention site",
    "first": "the first state only",
    "last": "the last state only",
    "permuted": "shuffled weights",
    "random": "random weights",
    "free": "the best model without attention",
    "base": "the audited model's weights",
    "adversary": "an adversary's weights",
}

# Models on the axes of TVD and JSD.
MODELS = {
    "adversary": "trained adversary",
    "imitator": "imitator (λ = 0)",
    "seed": "honest seed",
    "uniform": "uniform weights",
    "instance": "one text at a time",
    "gauge": "gauge twin",
}

"""The plain name of every check, shared by the report, `heatcheck checks` and the docs."""

# In the order of a report: from what the heatmap shows to what other models show.
CHECK_NAMES = {
    "agreement": "Agreement with other methods",
    "erasure": "Removing the highlighted words",
    "eraser": "Removing or keeping only the highlighted words (ERASER)",
    "perturbation": "Ranking of methods by word removal",
    "flips": "Removing weights until the decision flips",
    "permutation": "Shuffling the weights",
    "counterfactual": "Different weights, same answer",
    "identifiability": "Different weights, same head output",
    "gauge": "A twin with the same decisions and another heatmap",
    "necessity": "Doing without learned attention",
    "seed_variance": "The same recipe with other seeds",
    "adversarial_model": "Models trained to give the same answers with other weights",
    "deception": "Models trained to hide the words they use",
    "dynamics": "Attention and relevance during training",
    "guide": "Using the weights outside the model",
    "log_odds": "Weights and words of a bag of words",
    "layers": "Weights, rollout and flow per layer",
    "mixing": "How much each token takes from others",
    "plausibility": "Agreement with human rationales",
}


def check_name(check: str) -> str:
    """The plain name of a check, by its key.

    >>> check_name("permutation"), check_name("a_new_one")
    ('Shuffling the weights', 'A new one')
    """
    return CHECK_NAMES.get(check) or check.replace("_", " ").capitalize()

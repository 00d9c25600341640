"""Plain words for states, readings and models; checks have theirs in results/check_names.py, quantities beside it."""

# A sign for every word, so that a badge says the same without its colour.
SIGNS = {"yes": "✓", "no": "✕", "unclear": "?", "not run": "○", "not found": "◇"}

# What stays the same while a check changes something.
HELD = {
    "states": "everything but the attention weights: the model keeps the hidden states it computed for each text",
    "re-encoded": "the trained model; it reads every changed text from scratch",
    "retrained": "the training recipe; the model itself is retrained",
}

# The same for checks whose parts differ in this.
HELD_BY = {
    "deception": "the training recipe, except for the penalty on weight; for a gauge twin, every decision",
    "gauge": "every decision; the weight of each word and its relevance change together",
    "necessity": "with replaced weights, everything but the weights; with retrained models, the training recipe",
    "guide": "for the log-odds guide, the weights, words and labels; for the refitted guide, the training recipe",
    "plausibility": "the scores, the words and the human marks; this check does not use the model's answer",
}

# How to read a check's numbers, for checks whose numbers are easily misread.
READING = {
    "eraser": "A rationale is the top share of a text's words by some ranking. Comprehensiveness is the probability "
    "that the predicted label loses without the rationale. Sufficiency is what it loses when only the rationale is "
    "left. A good rationale has high comprehensiveness and low sufficiency. Models were not trained on half-empty "
    "texts, so part of every loss is mere surprise. Random orders suffer it too, so compare with them. A negative "
    "sufficiency means that the other words spoke against the answer.",
    "perturbation": "heatcheck removes words in the order of each method, a share at a time. It starts with the most "
    "relevant words; then, on the full text again, with the least relevant ones. The score is the difference between "
    "the two. Removing words surprises any model, and the difference cancels that. Each rank has its own interval: "
    "where two intervals overlap, these texts cannot tell the methods apart. Methods that know the sign of a word's "
    "part have their own table, because an attention heatmap has none.",
    "identifiability": "A head adds up value vectors of limited width. If a text has more tokens than that width, "
    "other weights give exactly the same sum. Nothing after the head can tell these weights from the ones shown. The "
    "dimension only counts directions; weights cannot be negative, so look at how far each one can move. Linear "
    "programs give the range of each weight, and a lower and an upper bound on the JSD (in nats; 0.69 means entirely "
    "different tokens). Short texts leave no freedom at all. If a token can be recovered from its hidden state, that "
    "state still belongs to the token. This does not make its weight the token's influence.",
    "permutation": "heatcheck shuffles the weights among the words of a text; everything else in the model stays the "
    "same. If the answer hardly moves, it does not depend much on which word has which weight. Shuffling flat weights "
    "changes little in any model, so look at texts with a large weight.",
    "flips": "heatcheck removes weights from the top of a ranking, and the remaining weights share the rest. Signed "
    "gradients first remove what speaks for the decision. An attention heatmap cannot show this sign. Much of their "
    "advantage may be the sign alone, so compare attention with gradient × attention without a sign. Means over texts "
    "that flip cover different texts for each ranking. The curves, and the column that counts never as 1, cover all "
    "texts.",
    "counterfactual": "A large JSD alone says nothing. Every model with a linear read-out has other weights with "
    "exactly the same answer. Weights on as many words as there are labels are enough. Compare the JSD with the null, "
    "where the relevances are shuffled among the words. If it is no smaller than the null, the shape of the weights "
    "explains all of it. With two labels there is also a floor that every such model reaches. One number does tell "
    "models apart without any search: q, the share of shuffles that keep the answer.",
    "gauge": "This model reads each word by itself. Then a word's weight can be traded against its relevance: "
    "lower one, raise the other, and every decision on every text stays the same. So the model has twins "
    "of its own kind, known without any training. One twin has uniform weights, another has the heatmap "
    "reversed. The contribution, weight times relevance, cannot be traded away: its heatmap is the same "
    "in all twins.",
    "necessity": "There are two different questions here. Replacing the weights in this model shows whether this model "
    "uses them. Retraining models without learned attention shows whether models of this kind need it, for this task "
    "and training budget. A model can use its weights although the task needs none.",
    "seed_variance": "Models differ even when nobody changes the recipe: the same data, the same settings, another "
    "random seed. This is the baseline for every other claim about different weights. A JSD of 0 means the same "
    "heatmap; 0.69 means a heatmap on entirely different words.",
    "adversarial_model": "An adversary is a whole model, trained to give the audited model's answers with other "
    "weights; λ sets how much other weights count. Models at the lower right give the same answers with very different "
    "heatmaps. Honest seeds show how close the answers of two ordinary models are. Adversarial weights for single "
    "texts do not form a model, so they do not count here. A search that finds no such model proves nothing: one may "
    "still exist.",
    "deception": "heatcheck retrains the recipe with a penalty for weight on the marked words. Some models stay as "
    "accurate without that weight but fail once the marked words are deleted. Such models use words that their heatmap "
    "hides. If a model fails as soon as the weight is gone, it deceives nobody: it needed that weight. If training "
    "finds no such model, one may still exist. When a model reads words one by one, its gauge twin is such a model, "
    "made without training. In the twin, the share that each word adds (weight × relevance) stays the same.",
    "dynamics": "The hypothesis: attention follows what words say about the label. Then relevances from a model "
    "trained without attention should predict where another model's attention goes. heatcheck retrains the recipe with "
    "learned and with uniform weights, and records both during training. A counts how often the most attended word is "
    "among the words with the highest relevance for the right label. Texts are short, so chance agreement is high: "
    "only the part above shuffled scores counts. Attention that follows relevance is not yet an explanation. It shows "
    "how the weights arise, not what the answer is computed from.",
    "guide": "heatcheck takes the weights out of the model and applies them to the bare words. In the log-odds guide, "
    "every word votes for the label it goes with in the training texts, in proportion to its weight. Nothing is fitted "
    "to the weights, so weights that merely encode the label gain nothing. The refitted guide trains a model without "
    "context under the weights. It can learn such a code, so it is shown only for comparison.",
    "plausibility": "People marked the words that support the label. This check asks only whether a heatmap marks the "
    "same words. A plausible heatmap may have no part in the answer, and a faithful one may please nobody. Compare "
    "every number with both kinds of chance. Random scores show what guessing finds. Random spans move the heatmap's "
    "own runs of words to random places, so that long runs earn nothing by themselves.",
}

# What the counterfactual check can promise, by how it was computed.
METHODS = {
    "exact": "The JSD shown is the largest there is: no search can find more.",
    "bracket": "With more than two labels, heatcheck brackets the largest JSD. It found weights that reach the JSD "
    "shown, and no weights can pass the upper bound.",
    "search": "This model's read-out is not linear, so the JSD shown is what a search found. There may be more, and a "
    "search that finds little proves nothing.",
}

# Values of a `by` that say more than their key and themselves.
BY = {
    ("fit", "swapped"): "imposed on this model",
    ("fit", "honest"): "honest models",
    ("fit", "deceptive"): "trained to deceive",
    ("fit", "retrained"): "retrained models",
    ("fit", "learned"): "learned weights",
    ("fit", "uniform"): "trained with uniform weights",
    ("fit", "proxy"): "bag of words",
    ("at", "last"): "the last checkpoint",
    ("at", "max"): "the checkpoint with the largest value",
    ("reached", "True"): "reached",
    ("reached", "False"): "not reached",
    ("fit", "closed form"): "in closed form",
    ("against", "swap"): "this model with uniform weights",
    ("against", "swap everywhere"): "this model with uniform weights at every attention site",
    ("against", "retrained"): "retrained models",
    ("against", "closed form"): "the best model without attention, in closed form",
    ("guide", "log_odds"): "log-odds guide",
    ("guide", "refitted"): "refitted guide",
    ("free", "uniform"): "with uniform weights",
    ("free", "first"): "with all weight on the first state",
    ("free", "last"): "with all weight on the last state",
    ("free", "permuted"): "with shuffled weights",
    ("free", "random"): "with random weights",
    ("definition", "code"): "as in the published code",
    ("definition", "paper"): "as in the paper's Eq. 3",
    ("ranking", "human"): "the words that people marked",
    ("ranking", "best rival"): "best other method",
    ("ranking", "best signed rival"): "best method with a sign",
    ("share", "rationale"): "as many words as people mark",
    ("correction", "none"): "uncorrected",
    ("over", "own"): "texts that flip under this ranking",
    ("over", "common"): "texts that flip under every ranking",
    ("over", "all"): "all texts",
    ("against", "attention"): "compared with attention",
    ("outcome", "fewer"): "fewer removals",
    ("outcome", "more"): "more removals",
    ("sampler", "correct"): "any other token",
    ("sampler", "as published"): "the published sampler",
    ("cell", "both"): "both flip the decision",
    ("cell", "top only"): "only the heaviest does",
    ("cell", "random only"): "only the random one does",
    ("cell", "first only"): "only the first does",
    ("cell", "second only"): "only the second does",
    ("cell", "neither"): "neither does",
    ("bin", "Δα 0.0–0.2"): "Δα 0.0–0.2",
    ("bin", "Δα 0.2–0.4"): "Δα 0.2–0.4",
    ("bin", "Δα 0.4–0.6"): "Δα 0.4–0.6",
    ("bin", "Δα 0.6–0.8"): "Δα 0.6–0.8",
    ("bin", "Δα 0.8–1.0"): "Δα 0.8–1.0",
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

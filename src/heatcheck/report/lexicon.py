"""What checks, states and models are called in plain words; quantities have theirs in results/quantities.py."""

# A sign for every word, so that a badge says the same without its colour.
SIGNS = {"yes": "✓", "no": "✕", "unclear": "?", "not run": "○", "not found": "◇"}

# In the order of the page: from what the heatmap shows to what could be shown instead.
TITLES = {
    "agreement": "Agreement with rival explanations",
    "erasure": "Removing the highlighted words",
    "eraser": "Removing the highlighted words, and keeping nothing else",
    "perturbation": "Explanations ranked by faithfulness",
    "flips": "Taking weights away until the decision flips",
    "permutation": "Shuffling the weights",
    "counterfactual": "Different weights, same answer",
    "identifiability": "Other weights, the very same output of a head",
    "gauge": "A twin with another heatmap and the same decisions",
    "necessity": "Doing without learned attention",
    "seed_variance": "The same recipe, other seeds",
    "adversarial_model": "Models trained to answer alike with other weights",
    "deception": "Models trained to keep weight off words they use",
    "dynamics": "Attention and relevance over training",
    "guide": "The weights outside the model",
    "log_odds": "Weights and words of a bag of words",
    "layers": "Weights, rollout and flow, layer by layer",
    "mixing": "How much of a token comes from others",
    "scale": "Attention scores and the scale λ they are divided by",
    "plausibility": "What people marked",
    "time_to_learn": "Time to learn to copy",
    "lottery_of_heads": "A lottery of heads",
}

HELD = {
    "states": "what the model computed from each text stays as it was; only the attention weights change",
    "re-encoded": "the trained model; every changed text is read afresh",
    "retrained": "the recipe; the model itself is trained again",
}

# Checks that hold different things in their different parts.
HELD_BY = {
    "deception": "the recipe but for what is punished; in the gauge twin every decision, and nothing is trained",
    "gauge": "every decision; the weight of each word and what it says change together",
    "necessity": "where other weights are put in, all but the weights; where a model is trained again, the recipe",
    "guide": "for the log-odds guide the weights, the words and the labels; where a guide is trained, the recipe",
    "plausibility": "scores, words and people's marks; the model's answer is not looked at",
}

# How to read a check's numbers, where they are easily misread.
READING = {
    "eraser": "A rationale is the top share of a text's words by some ranking. Comprehensiveness is what the predicted "
    "label loses of its probability without it, sufficiency what it loses with nothing else left: an explanation that "
    "holds the reasons has much of the first and little of the second. Half a text is no text the model was trained "
    "on, so part of any loss is mere surprise; random orders suffer it too, and the difference to them is what counts. "
    "A negative sufficiency says that the other words spoke against the answer.",
    "perturbation": "Words are removed in the order of each explanation, a share at a time, the most relevant first "
    "and then, from the whole text again, the least relevant first. What counts is the difference of the two: half a "
    "text surprises any model, and both orders suffer it alike. The rank of an explanation has an interval of its own: "
    "where two overlap, the texts do not tell them apart. Explanations that know the sign of a word's part use it in a "
    "table apart; a heatmap has none.",
    "identifiability": "A head adds up values of few numbers. Once a text has more tokens than that, other weights "
    "give exactly the same sum, and nothing that comes after the head can tell them from those shown. The dimension of "
    "this freedom is only a count: weights cannot be negative, so what matters is how far each can move (its range, by "
    "linear programs) and how different the whole can be (a bracket of the JSD, in nats; 0.69 is other tokens "
    "altogether). Short texts leave no freedom at all. That a token can be found again from its state says that the "
    "state still is that token’s, not that its weight is the token’s influence.",
    "permutation": "The weights are dealt out anew among the words of a text while everything else in the model stays. "
    "An answer that hardly moves did not depend on which word had which weight. Flat weights cannot move anything, so "
    "look at the texts with a large weight.",
    "flips": "Weights are taken away from the top of a ranking, the others share what is left, and everything else in "
    "the model stays. Signed gradients put first what speaks for the decision: they know the side of each token, which "
    "a heatmap cannot show. So most of what they gain on attention may be the sign: read attention against gradient × "
    "attention without it. Means over the texts that flip are over different texts for each ranking; the curves and "
    "the column with never = 1 are over all.",
    "counterfactual": "A large JSD alone says nothing. In every model that reads its states out linearly, a heatmap on "
    "two words only (with more than two labels: on as many words as there are labels) gives exactly the same answer, "
    "so there are always other weights that give it. Read the JSD against what the same weights give when the "
    "relevances are shuffled among the words: where it is no smaller than this null, the shape of the weights explains "
    "all of it. With two labels there is also a floor that every such model reaches. What does tell models apart needs "
    "no search: the share q of plain shuffles that keep the answer.",
    "gauge": "This model reads each word by itself. Then a word's weight can be traded against what the word says once "
    "it is read: lower the one, raise the other, and every decision on every text stays as it was. So it has twins of "
    "its own kind, known without any training, one with uniform weights and one with the heatmap turned around. What "
    "cannot be traded away is the contribution, the weight times what the word says: its heatmap is the same in all "
    "of them.",
    "necessity": "Two questions are easily taken for one. Other weights put into this very model say whether it "
    "uses its weights. Models trained again without learned attention say whether the task needs them, in this "
    "family of models and at this budget. A model can use its weights where none are needed.",
    "seed_variance": "How far the heatmaps of honest models differ anyway: the same data and recipe, another random "
    "seed. Everything that is said about different weights is read against this. A JSD of 0 is the same heatmap, 0.69 "
    "one on other words altogether.",
    "adversarial_model": "An adversary is a whole model, trained to give the audited model's answers with other "
    "weights; λ says how much other weights count. Lower right are models with the same answers and very different "
    "heatmaps. How close two models' answers are when nobody cheats, the honest seeds say. Adversarial weights for one "
    "text at a time are no model and count for nothing here. A search that finds no such model proves nothing: there "
    "may be one.",
    "deception": "The same recipe is trained again with a punishment for weight on the marked words. Models that stay "
    "as right while that weight is gone, and that fail once these words are deleted, use words that their heatmap does "
    "not show. If they fail as soon as the weight is gone, nobody was deceived: the weight was needed where it was. "
    "That training finds no such model does not mean that there is none: where words are read one by one, the gauge "
    "twin is one, made without training. What a word adds, its weight times what its state says, is the same share in "
    "the twin as in the honest model.",
    "dynamics": "If attention follows what words say, then what a model without attention learns to say of each word "
    "foretells where an attention it never saw will look. So the recipe is trained again, with weights of its own and "
    "under uniform ones, and looked at on the way. A counts how often the word with the most weight is among the few "
    "that say most for the right label; texts are short, so chance is well above nothing, and only what is above the "
    "shuffled scores counts. That attention follows relevance does not make it an explanation: it says where the "
    "weights come from, not what the answer rests on.",
    "guide": "The weights are taken out of the model and laid on the bare words. In the log-odds guide every word "
    "votes for a label as the training texts have it, with its weight; nothing is fitted to the weights, so weights "
    "that merely spell the label gain nothing. The refitted guide trains a model without context under the weights: it "
    "can learn such a code, and is shown beside it for that reason.",
    "scale": "The score of a word is drawn up by what the word already says for the label: the gradient of the loss by "
    "a score is the word's weight times how much more it says than the text as a whole. So words that go with a label "
    "should end above neutral ones. At a small λ the softmax has chosen before there is anything to choose by; at a "
    "large one no score ever gets far from where it began. Neither shows in the accuracy.",
    "plausibility": "People marked the words that would make them decide so. This asks whether a heatmap marks them "
    "too, and nothing else: a heatmap can please people and have no part in the answer, or be a true account and "
    "please nobody. Read every number against both kinds of chance. Random scores say what guessing finds; random "
    "spans take the heatmap's own runs of words and put them elsewhere, so that long runs are worth nothing by "
    "themselves.",
}

# What the counterfactual check can promise, by how it was computed.
METHODS = {
    "exact": "The JSD shown is the largest there is: no search can find more.",
    "bracket": "With more than two labels the largest JSD is bracketed: weights that reach the JSD shown were found, "
    "and none can pass the upper bound.",
    "search": "This model's read-out is not linear, so the JSD shown is only what a search found: there may be more, "
    "and a search that finds little proves nothing.",
}

# Values of a `by` that say more than their key and themselves.
BY = {
    ("fit", "swapped"): "put into this model",
    ("fit", "honest"): "honest models",
    ("fit", "deceptive"): "trained to deceive",
    ("fit", "retrained"): "trained again",
    ("fit", "learned"): "learned weights",
    ("fit", "uniform"): "trained under uniform weights",
    ("fit", "proxy"): "bag of words",
    ("at", "last"): "the last checkpoint",
    ("at", "max"): "the checkpoint where it is largest",
    ("reached", "True"): "reached",
    ("reached", "False"): "not reached",
    ("fit", "closed form"): "in closed form",
    ("against", "swap"): "this model under uniform weights",
    ("against", "swap everywhere"): "this model under uniform weights at every attention site",
    ("against", "retrained"): "models trained again",
    ("against", "closed form"): "the best without attention, in closed form",
    ("guide", "log_odds"): "log-odds guide",
    ("guide", "refitted"): "refitted guide",
    ("free", "uniform"): "with uniform weights",
    ("free", "first"): "on the first state only",
    ("free", "last"): "on the last state only",
    ("free", "permuted"): "with their weights shuffled",
    ("free", "random"): "with random weights",
    ("definition", "code"): "as in the published code",
    ("definition", "paper"): "as in the paper's Eq. 3",
    ("ranking", "human"): "the words people marked",
    ("share", "rationale"): "as many words as people mark",
    ("correction", "none"): "uncorrected",
    ("over", "own"): "texts that flip under it",
    ("over", "common"): "texts that flip under every ranking",
    ("over", "all"): "all texts",
    ("against", "attention"): "against attention",
    ("outcome", "fewer"): "fewer removals",
    ("outcome", "more"): "more removals",
    ("sampler", "correct"): "any other token",
    ("sampler", "as published"): "the published sampler",
    ("cell", "both"): "both flip it",
    ("cell", "top only"): "only the heaviest",
    ("cell", "random only"): "only the random one",
    ("cell", "first only"): "only the first",
    ("cell", "second only"): "only the second",
    ("cell", "neither"): "neither flips it",
    ("bin", "Δα 0.0–0.2"): "Δα 0.0–0.2",
    ("bin", "Δα 0.2–0.4"): "Δα 0.2–0.4",
    ("bin", "Δα 0.4–0.6"): "Δα 0.4–0.6",
    ("bin", "Δα 0.6–0.8"): "Δα 0.6–0.8",
    ("bin", "Δα 0.8–1.0"): "Δα 0.8–1.0",
    ("logits", "published"): "logits as they are",
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
    "permuted": "its weights shuffled",
    "random": "random weights",
    "free": "the best without attention",
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

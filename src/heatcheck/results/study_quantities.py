"""Every quantity in the rows of a study: its plain words, and the meaning of high and low values.

`{}` in the words stands for the kind: `accuracy, trained with {}`.
"""

from heatcheck.results.quantity import Quantity, register

OF_STUDIES = "study"  # a check may use the same name for another quantity

_SHARE = "share of texts"


def _register(*quantities: tuple[str, str, str, str], unit: str = "", format: str = "number") -> None:  # noqa: A002 - as Quantity has it
    """Name, words, and clauses: what a high value means, what a low one means."""
    register(
        *(
            Quantity(name, words, _sentence(high), _sentence(low), unit=unit, format=format, check=OF_STUDIES)
            for name, words, high, low in quantities
        )
    )


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


_RIGHT = ("the models are more often right", "the models are less often right")
_NEEDED = (
    "such weights cost much accuracy: learned ones are needed",
    "such weights cost little: learned ones are not needed",
)
_FAR = ("the two differ much", "the two are similar")
_ALIKE = ("both rank the words of a text alike", "the two rankings are unrelated (0) or opposite (below 0)")

# How well models do ----------------------------------------------------------------------------------------------
_register(
    ("score", "F1 or accuracy", *_RIGHT),
    ("accuracy", "accuracy, {}", *_RIGHT),
    ("f1", "F1, {}", *_RIGHT),
    (
        "commonest",
        "accuracy of the majority-class baseline",
        "a model can gain little above it",
        "a model can gain much",
    ),
    ("prior", "accuracy of the majority-class baseline", "a model can gain little above it", "a model can gain much"),
    ("trained", "accuracy, trained with {}", *_RIGHT),
    ("put_in", "accuracy with other weights imposed", *_RIGHT),
    ("swapped", "accuracy with other weights imposed", *_RIGHT),
    ("guide_f1", "F1 of a guide, {}", "the weights highlight words that tell the label", "they highlight other words"),
    (
        "guide_accuracy",
        "accuracy of a guide",
        "the weights highlight words that tell the label",
        "they highlight other words",
    ),
    (
        "log_odds_guide",
        "accuracy of the log-odds guide",
        "the weights highlight words that tell the label",
        "they highlight other words",
    ),
    ("accuracy_at", "accuracy, {}", *_RIGHT),
    (
        "after_deletion",
        "accuracy without the marked words",
        "other words tell the label too",
        "only the marked words tell it",
    ),
    ("deletion_loss", "accuracy lost without the marked words", "the model uses them", "it hardly uses them"),
    ("written_at", "accuracy of freely generated words, {}", *_RIGHT),
    ("written_uniform_at", "accuracy of freely generated words under imposed uniform weights, {}", *_RIGHT),
    ("bleu_at", "BLEU-4, {}", *_RIGHT),
    ("bleu_put_in", "BLEU-4, {} weights imposed", *_RIGHT),
    ("bleu_trained", "BLEU-4, trained with {}", *_RIGHT),
    ("right", "accuracy on {}", *_RIGHT),
    ("loss", "loss at the end of training", "the model has learned little", "the model has learned much"),
    ("copied", "tokens right", *_RIGHT),
    ("elimination", "tokens right by elimination alone", "many need no attention", "few can be had without attention"),
)

# Whether learned weights are needed -------------------------------------------------------------------------------
_register(
    ("lost_put_in", "accuracy lost when other weights are imposed", *_NEEDED),
    ("lost_trained", "accuracy lost when trained with other weights", *_NEEDED),
    ("difference", "difference", "the first is larger", "the second is larger; 0 means equal"),
    ("N", "share of the gain over the majority class that is lost without attention (N)", *_NEEDED),
    ("headroom", "gain in accuracy over the majority class", "there is much to lose", "there is little to lose"),
    ("index", "share of all accuracy that is lost with uniform weights", *_NEEDED),
    (
        "G",
        "share of the headroom that a guide gains by the weights (G)",
        "the weights are a guide",
        "they are no guide",
    ),
    (
        "evenness",
        "evenness of the weights (1 is uniform)",
        "the weights are nearly uniform",
        "few words have most of the weight",
    ),
    ("change", "change of the output with other weights", "the answer depends on the weights", "it hardly does"),
)

# Other models with other weights ----------------------------------------------------------------------------------
_register(
    ("J_star", "largest JSD of a model that answers as closely as a seed does", *_FAR),
    ("J_seed", "JSD between honest seeds", *_FAR),
    (
        "J_excess",
        "JSD of an adversary as close as a seed, minus JSD between seeds",
        "weights can be made to differ more than seeds do",
        "they differ no more than seeds do",
    ),
    ("reach", "JSD at the seeds’ TVD", *_FAR),
    unit="nats",
)
_register(
    ("jsd", "JSD, {}", *_FAR),
    ("tvd", "TVD of the answers", *_FAR),
    ("tvd_tempered", "TVD of the answers after fitting one temperature", *_FAR),
    ("agreement", "share of texts with the same decision", "both decide alike", "they decide differently"),
    (
        "cost",
        "TVD of the farthest model minus that of an imitator",
        "other weights cost closeness",
        "they cost nothing",
    ),
    ("best", "best adversary, {}", "the value is larger", "the value is smaller"),
)

# Agreement, shuffled weights, other weights with the same answer ---------------------------------------------------
_register(
    ("tau", "τ({})", *_ALIKE),
    ("significant", "significant τ({})", "τ is significant in most texts", "τ is significant in few texts"),
    ("top_k_overlap", "overlap of the top words", "both have the same top words", "their top words differ"),
    ("tau_above_uniform", "τ over words with more than uniform weight", *_ALIKE),
    (
        "floor",
        "value that any model reaches",
        "a measured value near it says little",
        "a measured value far above it says much",
    ),
    ("q", "share of shuffles that keep the answer", "it hardly matters which word has which weight", "it matters much"),
    ("flips", "share of shuffles with another answer", "it matters which word has which weight", "it hardly does"),
    ("permutation", "change if shuffled", "it matters which word has which weight", "it hardly does"),
    ("searched", "JSD that the search finds, ε = {}", "very different weights keep the answer", "only similar ones do"),
    ("upper", "JSD at most", "very different weights may keep the answer", "only similar ones can"),
    ("null", "JSD with the relevances shuffled", "the shape of the weights explains much", "it explains little"),
    ("most", "largest JSD of any weights", "weights can differ much from these", "they can differ little"),
    ("U", "share of the possible JSD (U)", "the heatmap can be changed freely", "it is nearly determined"),
    (
        "K",
        "share of the best other method’s effect (K)",
        "highlighted words matter as the best do",
        "0: no more than random words",
    ),
    (
        "room",
        "effect of the best other method beyond random words",
        "some words matter more than others",
        "no word does",
    ),
)

# Weights removed until the decision flips -----------------------------------------------------------------------
_EARLY = ("the decision flips late: many weights must go", "the decision flips early: few weights decide")
_register(
    ("fraction", "share removed at the flip", *_EARLY),
    ("median", "median share removed at the flip", *_EARLY),
    ("censored", "share removed until the flip, never = 1", *_EARLY),
    ("never", "share of texts that never flip", *_EARLY),
    ("mass", "weight on {} words", "much weight is there", "little weight is there"),
    ("survival", "share of decisions that have not flipped", *_EARLY),
    ("head_to_head", "share of texts where a ranking needs fewer or more removals", "most texts", "few texts"),
    ("gap", "lead of signed gradients over attention", "attention needs more removals", "attention does as well"),
    ("sign_share", "share of that lead due to the sign", "most of the lead is the sign", "little of it is the sign"),
    ("common", "share of texts that flip under every ranking", "rankings are compared on most texts", "on few texts"),
    (
        "default",
        "share decided as without any weight left",
        "many decisions depend on no word",
        "decisions depend on words",
    ),
    ("single", "share of texts where removing one weight has this outcome", "most texts", "few texts"),
    ("same_place", "how often the random weight is the heaviest itself", "the published draw is no test", "it is one"),
    ("pair", "share of texts where one of two weights has this outcome", "most texts", "few texts"),
    ("pair_difference", "how much more often the first flips the decision", "the heavier one decides", "neither leads"),
    ("tokens", "words or sentences per text", "texts are long", "texts are short"),
    ("texts measured", "texts measured", "the numbers rest on many texts", "the numbers rest on few texts"),
)
_HEAVIEST = ("the heaviest weight matters more than another", "another weight matters as much")
_register(
    ("delta_js", "extra change of the output without the heaviest weight, compared with another", *_HEAVIEST),
    format=".4f",
)
_register(
    (
        "delta_js_negative",
        "share of draws in which the heaviest weight matters less",
        "another weight often matters more",
        "the heaviest matters most",
    ),
    unit=_SHARE,
)

# Models trained to hide the words they use ---------------------------------------------------------------------
_THERE = ("much weight is there", "the weight was moved elsewhere")
_LEFT = ("the marked words have a large share", "the marked words have a small share")
_register(
    ("mass_at", "weight on the marked words, {}", *_THERE),
    ("links_at", "weight on linked words, {}", *_THERE),
    format="fine",
)
_register(
    (
        "share",
        "share of the words that are marked",
        "uniform weights would mostly be there",
        "they would mostly be elsewhere",
    ),
    ("neighbours_share", "share of the words at this distance", "uniform weights would mostly be there", "elsewhere"),
    ("neighbours", "weight at this distance from the marked words", *_THERE),
    ("accuracy_lost", "accuracy lost compared with the honest model", "hiding costs much", "hiding costs little"),
    ("mass_removed", "weight taken off the marked words", "the weight was moved away", "the weight stayed"),
    ("norm_embedding", "share of the embeddings’ norm", *_LEFT),
    ("norm_state", "share of the hidden states’ norm", *_LEFT),
    ("contribution", "share of all words’ contributions", *_LEFT),
    ("rest_states", "accuracy of a linear read-out of the other states", "other states know the label", "they do not"),
    (
        "rest_embeddings",
        "accuracy of a linear read-out of the other embeddings",
        "other words know the label",
        "they do not",
    ),
    ("links_at_most", "largest possible weight on linked words", "nearly all weight can be there", "much cannot be"),
    ("beside_at", "weight beside linked words", *_THERE),
    ("misaligned_at", "alignment error rate, {}", "the weights point elsewhere", "the weights point at the links"),
    (
        "misaligned_by_hand_at",
        "alignment error rate on links made by hand, {}",
        "the weights point elsewhere",
        "the weights point at the links",
    ),
)

# How attention is learned ------------------------------------------------------------------------------------------
_register(
    ("failed", "runs that do not copy after {} steps", "most runs have not learned", "most runs have learned"),
    ("bad", "runs with few tokens right", "many runs are far from copying", "few runs are"),
    ("half_by", "steps until half of the runs copy", "copying is learned late", "copying is learned early"),
    ("aligned", "positions whose largest weight is at the symbol", "the weights point at it", "they point elsewhere"),
    ("alone", "share of heads of this kind, alone", "most heads are of this kind", "few heads are of this kind"),
    ("eight", "share of draws of eight heads that copy", "most draws learn", "few draws learn"),
)

# Scores of words at a scale λ ---------------------------------------------------------------------------------------
_register(
    (
        "auc",
        "AUC of the attention score, {} words",
        "scores separate them from neutral words",
        "½: no better than chance",
    ),
    ("auc_lost", "AUC lost compared with λ = 10", "scores separate worse at this λ", "they separate as well"),
    ("auc_apart", "difference between the AUC of both polarities", "scores find one polarity", "they find both alike"),
    ("same_side", "how often the higher one is on the side of V·W", "V·W predicts which", "it does not"),
    ("mean_a", "mean attention score, {} words", "such words get weight", "such words get none"),
    ("mean_s", "mean polarity score", "such words support the label", "such words oppose it"),
    ("v_dot_w", "V·W", "attention is on the positive side", "attention is on the negative side"),
)

# Transformers ------------------------------------------------------------------------------------------------------
_OFTEN = ("the answer depends on the words ranked first", "it hardly depends on them")
_register(
    ("blank_out", "ρ with blanking out", *_ALIKE),
    ("gradient", "ρ with gradients", *_ALIKE),
    ("mixing", "share of a token that comes from other tokens", "tokens mix much", "tokens mix little"),
    ("special", "share of special tokens", "much goes to special tokens", "little goes to special tokens"),
    ("aopc", "probability lost, most relevant words first", *_OFTEN),
    (
        "aopc_least",
        "probability lost, least relevant words first",
        "words ranked last matter too",
        "words ranked last do not matter",
    ),
    ("area", "area between the curves", *_OFTEN),
    ("above_random", "area above that of random orders", *_OFTEN),
    ("rank", "rank among the rankings", "others do better", "it is among the best"),
    (
        "longer",
        "share of texts longer than a head is wide",
        "many texts can have other weights",
        "most texts have unique weights",
    ),
    ("dimension", "dimension of the null space", "weights can move in many ways", "weights cannot move"),
    ("effective_distance", "effective attention from attention", *_FAR),
    ("width", "range of a weight", "a weight can vary much", "a weight is nearly determined"),
    ("widest", "largest range of a weight", "a weight can vary much", "a weight is nearly determined"),
    ("jsd_low", "JSD of other weights with the same output, at least", *_FAR),
    ("jsd_high", "JSD of other weights with the same output, at most", *_FAR),
    ("identified", "tokens identified by their hidden states", "states still identify the tokens", "they do not"),
    ("chance", "the same by chance", "a measured value can exceed it little", "it can exceed it much"),
)

"""Every quantity that a row of a study is of: its plain words, and what high and low values mean.

`{}` in the words is the place of what tells its kinds apart: `accuracy, trained with {}`.
"""

from heatcheck.results.quantity import Quantity, register

OF_STUDIES = "study"  # what studies mean by a name, which a check may use for something of its own

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
_NEEDED = ("such weights cost much: the learned ones are needed", "such weights do as well: the learned ones are not")
_FAR = ("the two are far apart", "the two are alike")
_ALIKE = ("both rank the words of a text alike", "the two rankings have nothing in common, or are opposite")

# How well models do ----------------------------------------------------------------------------------------------
_register(
    ("score", "F1 or accuracy", *_RIGHT),
    ("accuracy", "accuracy, {}", *_RIGHT),
    ("f1", "F1, {}", *_RIGHT),
    ("commonest", "accuracy of always the commonest label", "little room is left above it", "much room is left"),
    ("prior", "accuracy of always the commonest label", "little room is left above it", "much room is left"),
    ("trained", "accuracy, trained with {}", *_RIGHT),
    ("put_in", "accuracy with other weights put in", *_RIGHT),
    ("swapped", "accuracy with other weights put in", *_RIGHT),
    ("guide_f1", "F1 of a guide, {}", "the weights point at words that tell the label", "they point elsewhere"),
    ("guide_accuracy", "accuracy of a guide", "the weights point at words that tell the label", "they point elsewhere"),
    (
        "log_odds_guide",
        "accuracy of the log-odds guide",
        "the weights point at words that tell the label",
        "they point elsewhere",
    ),
    ("accuracy_at", "accuracy, {}", *_RIGHT),
    (
        "after_deletion",
        "accuracy without the marked words",
        "other words tell the label too",
        "the marked words tell it",
    ),
    ("deletion_loss", "accuracy lost without the marked words", "the model uses them", "it does not need them"),
    ("written_at", "accuracy of words written freely, {}", *_RIGHT),
    ("written_uniform_at", "accuracy of words written freely with uniform weights put in, {}", *_RIGHT),
    ("bleu_at", "BLEU-4, {}", *_RIGHT),
    ("bleu_put_in", "BLEU-4, {} weights put in", *_RIGHT),
    ("bleu_trained", "BLEU-4, trained with {}", *_RIGHT),
    ("right", "accuracy on {}", *_RIGHT),
    ("loss", "loss at the end of training", "the model has learned little", "the model has learned much"),
    ("copied", "tokens right", *_RIGHT),
    ("elimination", "tokens right by elimination alone", "no attention is needed for them", "attention is needed"),
)

# Whether learned weights are needed -------------------------------------------------------------------------------
_register(
    ("lost_put_in", "accuracy lost when other weights are put in", *_NEEDED),
    ("lost_trained", "accuracy lost when trained with other weights", *_NEEDED),
    ("difference", "difference", "the first is larger", "the second is larger; 0 means that they are equal"),
    ("N", "share of what is above the commonest label that is lost without attention (N)", *_NEEDED),
    ("headroom", "accuracy above the commonest label", "there is much to lose", "there is nothing to lose"),
    ("index", "share of all accuracy that is lost with uniform weights", *_NEEDED),
    ("G", "share of the room that a guide gains by the weights (G)", "the weights guide", "they are no guide"),
    (
        "evenness",
        "evenness of the weights (1 is uniform)",
        "the weights are nearly uniform",
        "few words have the weight",
    ),
    ("change", "change of the output with other weights", "the answer hangs on the weights", "it hardly does"),
)

# Other models with other weights ----------------------------------------------------------------------------------
_register(
    ("J_star", "JSD of the farthest model that answers as a seed does", *_FAR),
    ("J_seed", "JSD between honest seeds", *_FAR),
    (
        "J_excess",
        "JSD of an adversary no worse than a seed, above seeds",
        "weights can be made to differ more than seeds do",
        "they differ as seeds do",
    ),
    ("reach", "JSD at the seeds’ TVD", *_FAR),
    unit="nats",
)
_register(
    ("jsd", "JSD, {}", *_FAR),
    ("tvd", "TVD of the answers", *_FAR),
    ("tvd_tempered", "TVD of the answers after one temperature", *_FAR),
    ("agreement", "share of texts with the same decision", "both decide alike", "they decide differently"),
    ("cost", "TVD that the farthest model has more than an imitator", "other weights cost much", "they cost nothing"),
    ("best", "best adversary, {}", "there is more of it", "there is less of it"),
)

# Agreement, shuffled weights, other weights with the same answer ---------------------------------------------------
_register(
    ("tau", "τ({})", *_ALIKE),
    ("significant", "significant τ({})", "τ is significant in most texts", "τ is significant in few texts"),
    ("top_k_overlap", "overlap of the top words", "the same words are at the top", "other words are at the top"),
    ("tau_above_uniform", "τ over words above uniform weight", *_ALIKE),
    ("floor", "what is reached whatever the model", "a high value says little", "a high value says much"),
    ("q", "share of shuffles that keep the answer", "it hardly matters which word has which weight", "it matters"),
    ("flips", "share of shuffles with another answer", "it matters which word has which weight", "it hardly does"),
    ("permutation", "change if shuffled", "it matters which word has which weight", "it hardly does"),
    ("searched", "JSD found, ε = {}", "very different weights leave the answer as it is", "only similar ones do"),
    ("upper", "JSD at most", "very different weights may leave the answer as it is", "only similar ones can"),
    ("null", "JSD with the relevances shuffled", "the shape of the weights explains much", "it explains little"),
    ("most", "JSD of any weights", "the weights leave much room", "they leave little room"),
    ("U", "share of the possible JSD", "the heatmap can be changed freely", "it is nearly determined"),
    ("K", "share of the best ranking’s effect", "attended words matter as the best do", "no more than random words"),
    ("room", "what the best ranking gains on random words", "some words matter more than others", "none does"),
)

# Weights taken away until the decision flips -----------------------------------------------------------------------
_EARLY = ("many weights must go before the decision flips", "few weights decide")
_register(
    ("fraction", "share removed at the flip", *_EARLY),
    ("median", "median share removed at the flip", *_EARLY),
    ("censored", "share removed until the flip, never = 1", *_EARLY),
    ("never", "share of texts that never flip", *_EARLY),
    ("mass", "weight on {} words", "much weight is there", "little weight is there"),
    ("survival", "share of decisions that still stand", *_EARLY),
    ("head_to_head", "share of texts in which a ranking needs fewer or more", "it is mostly so", "it is rarely so"),
    ("gap", "what signed gradients gain on attention", "attention finds the words later", "attention does as well"),
    ("sign_share", "share of that which is sign", "most of the lead is the sign", "the lead is not the sign"),
    ("common", "share of texts that flip under every ranking", "rankings are compared on most", "on few texts"),
    ("default", "share decided as when nothing is left", "many decisions hang on no word", "they hang on words"),
    ("single", "share of texts in which one weight flips the decision so", "it is mostly so", "it is rarely so"),
    ("same_place", "how often the other weight is the heaviest itself", "the published draw is no test", "it is one"),
    ("pair", "share of texts in which one of two weights flips the decision", "it is mostly so", "it is rarely so"),
    ("pair_difference", "how much oftener the first flips it", "the heavier one decides", "neither is ahead"),
    ("tokens", "words or sentences a text", "texts are long", "texts are short"),
    ("texts measured", "texts measured", "the numbers are of many texts", "the numbers are of few texts"),
)
_HEAVIEST = ("the heaviest weight matters more than another", "another weight matters as much")
_register(("delta_js", "how much more the output moves without the heaviest weight", *_HEAVIEST), format=".4f")
_register(
    (
        "delta_js_negative",
        "share of draws in which the heaviest weight matters less",
        "another weight often matters more",
        "the heaviest matters most",
    ),
    unit=_SHARE,
)

# Attention trained off the words that are used ---------------------------------------------------------------------
_THERE = ("much weight is there", "the weight was moved elsewhere")
_LEFT = ("much of the marked words is left there", "little of them is left")
_register(
    ("mass_at", "weight on the marked words, {}", *_THERE),
    ("links_at", "weight on linked words, {}", *_THERE),
    format="fine",
)
_register(
    ("share", "share of the words that are marked", "uniform weights are mostly there", "they are mostly elsewhere"),
    ("neighbours_share", "share of the words at this distance", "uniform weights are mostly there", "mostly elsewhere"),
    ("neighbours", "weight at this distance from the marked words", *_THERE),
    ("accuracy_lost", "accuracy lost against the honest model", "hiding costs much", "hiding costs nothing"),
    ("mass_removed", "weight taken off the marked words", "the weight was moved away", "the weight stayed"),
    ("norm_embedding", "share of the embeddings’ length", *_LEFT),
    ("norm_state", "share of the states’ length", *_LEFT),
    ("contribution", "share of what words add", *_LEFT),
    ("rest_states", "how often other states tell the label", "the label is known elsewhere", "it is not"),
    ("rest_embeddings", "how often other embeddings tell the label", "the label is known elsewhere", "it is not"),
    ("links_at_most", "the most weight that can be on linked words", "nearly all can be there", "much cannot be"),
    ("beside_at", "weight beside linked words", *_THERE),
    ("misaligned_at", "alignment error rate, {}", "the weights point elsewhere", "the weights point at the links"),
    (
        "misaligned_by_hand_at",
        "alignment error rate against links made by hand, {}",
        "the weights point elsewhere",
        "the weights point at the links",
    ),
)

# How attention is learned ------------------------------------------------------------------------------------------
_register(
    ("failed", "runs that do not copy after {} steps", "most runs have not learned", "most runs have learned"),
    ("bad", "runs with few tokens right", "many runs are far from copying", "few runs are"),
    ("half_by", "steps until half of the runs copy", "copying is learned late", "copying is learned early"),
    ("aligned", "positions whose weight is where the symbol is", "the weights point at it", "they point elsewhere"),
    ("alone", "share of heads that are so alone", "most heads are so", "few heads are so"),
    ("eight", "share of draws of eight heads that copy", "most draws learn", "few draws learn"),
)

# Scores of words at a scale λ ---------------------------------------------------------------------------------------
_register(
    ("auc", "AUC of the attention score, {} words", "scores tell them from neutral words", "½: they do not"),
    ("auc_lost", "AUC lost against λ = 10", "scores tell less at this λ", "they tell as much"),
    ("auc_apart", "how far the AUC of both polarities are apart", "scores know one polarity", "they know both"),
    ("same_side", "how often the higher one is on the side of V·W", "V·W decides which", "it does not"),
    ("mean_a", "mean attention score, {} words", "such words get weight", "such words get none"),
    ("mean_s", "mean polarity score", "such words speak for the label", "such words speak against it"),
    ("v_dot_w", "V·W", "attention is on the positive side", "attention is on the negative side"),
)

# Transformers ------------------------------------------------------------------------------------------------------
_OFTEN = ("the answer hangs on the words ranked first", "the ranking finds no such words")
_register(
    ("blank_out", "ρ with blanking out", *_ALIKE),
    ("gradient", "ρ with gradients", *_ALIKE),
    ("mixing", "share of a token that comes from others", "tokens are mixed", "a token stays what it was"),
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
    ("longer", "share of texts longer than a head is wide", "weights need not be unique", "weights are unique"),
    ("dimension", "dimension of the null space", "weights can move in many ways", "weights cannot move"),
    ("effective_distance", "effective attention from attention", *_FAR),
    ("width", "range of a weight", "a weight can be anything", "a weight is determined"),
    ("widest", "largest range of a weight", "a weight can be anything", "a weight is determined"),
    ("jsd_low", "JSD of other weights with the same output, at least", *_FAR),
    ("jsd_high", "the same, at most", *_FAR),
    ("identified", "tokens told apart by their states", "states still tell the tokens", "they do not"),
    ("chance", "the same by chance", "little is left above chance", "much is left above chance"),
)

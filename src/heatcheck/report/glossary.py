"""The glossary: one sentence per term, and links to it from the places where the term occurs."""

import re
from functools import lru_cache
from typing import NamedTuple

from heatcheck.errors import MissingPackage


class Term(NamedTuple):
    """An entry of the glossary."""

    key: str  # its address in the page
    name: str
    meaning: str  # one sentence
    forms: tuple[str, ...]  # spellings that link to it; none for words that are everywhere


def _term(name: str, meaning: str, *forms: str) -> Term:
    return Term("term-" + re.sub(r"\W+", "-", (forms or (name,))[0]).strip("-"), name, meaning, forms)


# From what a heatmap shows to how heatcheck measures; one sentence each. docs/glossary.md is written from this.
TERMS = (
    _term(
        "attention weights, heatmap",
        "For each text, the model spreads a total weight of 1 over the words; a heatmap shades each word by its "
        "weight.",
    ),
    _term("highlighted words", "The words with the largest weights: the most strongly shaded ones in a heatmap."),
    _term(
        "uniform weights",
        "The same weight for every word: a heatmap that says nothing.",
        "uniform weights",
        "equal weights",
    ),
    _term(
        "replaced weights",
        "Weights that heatcheck imposes in place of the model’s own, such as uniform or shuffled ones.",
        "replaced weights",
        "replaced attention weights",
    ),
    _term(
        "hidden states",
        "The vectors that the model computes for the words of a text, before attention weights them.",
        "hidden states",
        "hidden state",
    ),
    _term("read-out", "The last step of the model, from the weighted hidden states to the label.", "read-out"),
    _term(
        "relevance",
        "How strongly a word’s hidden state speaks for a label, before the word’s weight counts.",
        "relevance",
        "relevances",
    ),
    _term(
        "contribution",
        "A word’s weight times its relevance: its part in the model’s score for a label.",
        "contribution",
        "contributions",
    ),
    _term(
        "other method",
        "Another way to score the same words, such as gradients or leave-one-out.",
        "other method",
        "other methods",
    ),
    _term(
        "sign",
        "The direction of a score: whether a word speaks for or against the answer, which attention does not show.",
        "with a sign",
        "without a sign",
    ),
    _term(
        "leave-one-out",
        "A method whose score for a word is the change of the answer when only that word is removed.",
        "leave-one-out",
        "leave one out",
    ),
    _term(
        "gradient",
        "A method whose score for a word is how strongly the answer reacts to a very small change of that word.",
    ),
    _term("random", "Scores or orders drawn by chance: a baseline that every method should beat."),
    _term(
        "what stays the same",
        "The part that a check does not change: the hidden states, the trained model, or only the training recipe.",
        "what stays the same",
    ),
    _term("deletion", "Removing words, so that the model reads a shorter text.", "deletion"),
    _term("masking", "Replacing words by a blank token, so that the text keeps its length.", "masking"),
    _term(
        "cannot be asked here",
        "The answer if a question has no meaning for this model, for the reason given; it is neither yes nor no.",
        "cannot be asked here",
        "Cannot be asked here",
    ),
    _term(
        "undecided",
        "The answer if the interval includes the threshold, so that more examples are needed for a yes or a no.",
        "undecided",
    ),
    _term(
        "n",
        "The number of examples (or seeds, if it says so) behind a number; checks without heatmaps use the whole "
        "split.",
        "n",
    ),
    _term(
        "[low, high]",
        "The 95% interval of a number; a wide one means that more examples are needed.",
        "95% interval",
        "95% intervals",
    ),
    _term(
        "bootstrap interval",
        "A 95% interval from computing the number again on many random resamples of the examples.",
        "bootstrap interval",
        "bootstrap",
    ),
    _term("accuracy", "The share of examples whose label the model predicts correctly."),
    _term(
        "majority class",
        "The most frequent label; always predicting it is the majority-class baseline, which needs no model.",
        "majority class",
        "majority-class baseline",
        "prior",
    ),
    _term("seed", "A number that starts all randomness; two seeds of one recipe give two models."),
    _term(
        "retrained models",
        "Models that heatcheck trains with the audited model’s recipe, except for the one change that a check makes.",
        "retrained models",
        "retrained model",
    ),
    _term(
        "honest seed",
        "A model retrained with the same recipe and another seed, without any further goal.",
        "honest seed",
        "honest seeds",
        "honest model",
        "honest models",
    ),
    _term(
        "logits",
        "The model’s scores for the labels before they become probabilities; standardised ones are scaled, so that "
        "confidence alone changes no result.",
        "logits",
        "standardised logits",
    ),
    _term("Δp", "How far a probability moves: 0.05 is five percentage points.", "Δp"),
    _term("ε (epsilon)", "The largest Δp at which an answer still counts as the same.", "ε"),
    _term(
        "JSD (Jensen–Shannon divergence)",
        "How different two heatmaps are, in nats: 0 if they are the same, 0.69 if they share no word.",
        "JSD",
        "nats",
    ),
    _term(
        "TVD (total variation distance)",
        "How different two answers are: 0 if all probabilities are the same, 1 if they have nothing in common.",
        "TVD",
    ),
    _term(
        "τ (Kendall’s tau)",
        "How alike two methods rank the words of a text: 1 is the same order, 0 no relation, −1 the reverse.",
        "τ",
    ),
    _term(
        "mechanical floor",
        "The agreement that the structure of the model alone gives, whatever the words say.",
        "mechanical floor",
        "mechanical",
    ),
    _term(
        "K",
        "The effect of removing the highlighted words, from random words (0) to the words of the best other "
        "method (1).",
        "K",
    ),
    _term("q", "The share of shuffles of the weights that keep the answer; near 1, most shuffles keep it.", "q"),
    _term(
        "U",
        "How different weights with the same answer can be, from not at all (0) to as different as any weights (1).",
        "U",
    ),
    _term(
        "N",
        "The share of the gain over the majority class that is lost without learned attention, from none (0) to "
        "all (1).",
        "N",
    ),
    _term(
        "G",
        "The share of the gap between bare words without weights (0) and the model (1) that the weights close.",
        "G",
    ),
    _term("P", "The agreement of a heatmap with people’s marks, from chance (0) to full agreement (1).", "P"),
    _term(
        "J*",
        "The JSD of the most different model found whose answers are as close as those of an honest seed.",
        "J*",
    ),
    _term("floor", "A value that every model reaches, so a number at its floor says nothing.", "floor"),
    _term(
        "null",
        "The same number with shuffled relevances; a number no better than its null says nothing about the words.",
        "null",
        "shuffled relevances",
        "relevances shuffled",
    ),
    _term(
        "evenness", "How evenly weights are spread: 1 if all words have the same, 0 if one word has all.", "evenness"
    ),
    _term("closed form", "Computed exactly by a formula, without any training.", "closed form"),
    _term(
        "adversary",
        "A model trained to give the same answers with another heatmap.",
        "adversary",
        "adversaries",
    ),
    _term(
        "λ (lambda)",
        "How strongly training pushes an adversary or a deceptive model to another heatmap; 0 is not at all.",
        "λ",
    ),
    _term(
        "gauge twin",
        "A model computed from this one without training, with the same decision on every text and another heatmap.",
        "gauge twin",
        "gauge twins",
    ),
    _term(
        "bystander",
        "A model that ignores its attention: its answers do not depend on the weights.",
        "bystander",
        "bystanders",
    ),
    _term(
        "log-odds guide",
        "A reader without the model: each word votes for the label it goes with in training texts, in proportion to "
        "its weight.",
        "log-odds guide",
    ),
    _term(
        "refitted guide",
        "A model without context that is trained with the audited model’s weights.",
        "refitted guide",
    ),
    _term(
        "comprehensiveness",
        "The probability that the answer loses without the highlighted words; high is good.",
        "comprehensiveness",
    ),
    _term(
        "sufficiency",
        "The probability that the answer loses with only the highlighted words left; low is good.",
        "sufficiency",
    ),
    _term("AOPC", "The mean of the probability lost over several shares of removed words.", "AOPC"),
    _term(
        "MoRF, LeRF",
        "Two orders of removing words: the most relevant first, or the least relevant first.",
        "MoRF",
        "LeRF",
    ),
    _term(
        "human rationale",
        "The words that people marked as the reason for a label.",
        "human rationale",
        "human rationales",
    ),
    _term(
        "AUPRC, F1",
        "Two scores up to 1 for finding the marked words and no others: AUPRC for a ranking, F1 for a choice of words.",
        "AUPRC",
        "F1",
    ),
)

_OF_FORM = {form: term for term in TERMS for form in term.forms}
_LONGEST_FIRST = "|".join(map(re.escape, sorted(_OF_FORM, key=len, reverse=True)))
_WRITTEN = re.compile(rf"(?<![\w’'])(?:{_LONGEST_FIRST})(?![\w’'])")


@lru_cache(4096)  # a page says the same few sentences and names many times
def glossed(text: str) -> str:
    """The text as safe markup, with a link to the glossary at the first use of each term.

    >>> str(glossed("a <q> & q")).split(" title=")[0]
    'a &lt;<a class="term" href="#term-q"'
    """
    try:
        from markupsafe import Markup, escape
    except ImportError as error:
        raise MissingPackage("jinja2") from error

    seen: set[str] = set()
    parts, end = Markup(""), 0
    for found in _WRITTEN.finditer(text):
        term = _OF_FORM[found[0]]
        parts += escape(text[end : found.start()])
        end = found.end()
        link = Markup('<a class="term" href="#{}" title="{}">{}</a>').format(term.key, term.meaning, found[0])
        parts += escape(found[0]) if term.key in seen else link
        seen.add(term.key)
    return parts + escape(text[end:])

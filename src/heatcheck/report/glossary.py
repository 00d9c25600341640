"""Short words for the letters and terms of the page, and links to them from where they occur."""

import re
from functools import lru_cache
from typing import NamedTuple

from heatcheck.errors import MissingPackage


class Term(NamedTuple):
    """An entry of the glossary."""

    key: str  # its address in the page
    name: str
    meaning: str
    forms: tuple[str, ...]  # how it is written where a link to it helps; none for words that are everywhere


def _term(name: str, meaning: str, *forms: str) -> Term:
    return Term("term-" + re.sub(r"\W+", "-", (forms or (name,))[0]).strip("-"), name, meaning, forms)


# From what is shown to how it is measured; capitals before what they are made of.
TERMS = (
    _term(
        "attention weights, heatmap",
        "For each text the model spreads a total of 1 over the words, and a heatmap shades each word by its share.",
    ),
    _term("uniform weights", "Every word gets the same share: a heatmap that says nothing.", "uniform weights"),
    _term(
        "rival",
        "Another way of scoring the same words, such as gradients or leave one out. One is signed if it also says "
        "whether a word speaks for the answer or against it.",
    ),
    _term(
        "leave one out",
        "A word’s score is how much the answer changes when that word alone is taken out.",
        "leave one out",
        "leave-one-out",
    ),
    _term(
        "gradient",
        "A word’s score is how strongly the answer reacts to a very small change of that word.",
    ),
    _term("random", "Scores drawn by chance: what guessing gets."),
    _term(
        "held fixed",
        "What stays as it was while something else is changed. A check that changes the weights only asks about this "
        "model; one that trains again asks about all models of the kind.",
        "held fixed",
    ),
    _term("deletion", "The words are taken out, and the model reads the shorter text.", "deletion"),
    _term("masking", "The words are replaced by a blank, and the text keeps its length.", "masking"),
    _term(
        "n",
        "How many texts a number is a mean over; seeds where it says so. Checks that need no heatmaps count every text "
        "of the split, so their n can be larger than the number of texts audited.",
        "n",
    ),
    _term(
        "[low, high]",
        "A 95% interval: with other texts of the same kind the number would mostly fall in it. A wide one means that "
        "more texts are needed.",
        "95% interval",
        "95% intervals",
    ),
    _term(
        "accuracy",
        "The share of texts whose label the model gets right. Read it against always saying the commonest label, which "
        "needs no model.",
    ),
    _term(
        "commonest label",
        "What a model that never looks at the text would say. Also called the prior.",
        "commonest label",
        "prior",
    ),
    _term("seed", "A number that starts all randomness. Two seeds of one recipe are two models."),
    _term(
        "logit",
        "The model’s score for a label before it becomes a probability. Standardised logits are scaled so that a model "
        "and its more confident twin are treated alike.",
        "logits",
        "standardised logits",
    ),
    _term("Δp", "How far a probability of the model moves: 0.05 is five percentage points.", "Δp", "output moves"),
    _term("ε (epsilon)", "The Δp up to which an answer still counts as the same one.", "ε"),
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
        "mechanical",
        "The part of an agreement that would be there whatever the words say, only because of how the model is built.",
        "mechanical",
        "mechanically",
        "mechanical floor",
    ),
    _term("K", "0: the highlighted words matter no more than random ones; 1: as much as those of the best rival.", "K"),
    _term(
        "q",
        "The share of random shuffles of the weights that keep the answer. Near 1, it does not matter which word has "
        "which weight.",
        "q",
    ),
    _term(
        "U",
        "How different a heatmap can be and still give the same answer, as a share of how different any could be. 1: "
        "any heatmap at all would do.",
        "U",
    ),
    _term(
        "N",
        "The share of the accuracy above the commonest label that is lost without learned attention. 0: attention is "
        "not needed; 1: nothing works without it.",
        "N",
    ),
    _term(
        "G",
        "How much the weights help somebody who knows only what each word says by itself. 0: no more than uniform "
        "weights; 1: as good as the model.",
        "G",
    ),
    _term("P", "How well a heatmap finds the words people marked. 0: as chance does; 1: full agreement.", "P"),
    _term("floor", "What every model reaches, whatever it has learned: a number at its floor says nothing.", "floor"),
    _term(
        "null, relevances shuffled",
        "The same number after what each word contributes has been dealt out anew by chance. A number like its null "
        "says nothing about the words.",
        "relevances shuffled",
        "relevances are shuffled",
        "null",
    ),
    _term("evenness", "1: all words have the same weight; 0: one word has it all.", "evenness"),
    _term("closed form", "Computed exactly, with nothing trained.", "closed form"),
    _term(
        "adversary",
        "A model trained on purpose to give the same answers with another heatmap.",
        "adversary",
        "adversaries",
    ),
    _term("λ (lambda)", "How hard an adversary is trained to have another heatmap; 0 is not at all.", "λ"),
    _term(
        "gauge twin",
        "A model made from this one that decides every text alike and has another heatmap.",
        "gauge twin",
    ),
    _term(
        "log-odds guide",
        "Every word votes for a label as often as the training texts have it there, with its weight from the heatmap.",
        "log-odds guide",
    ),
    _term("comprehensiveness", "Probability that the answer loses without the highlighted words.", "comprehensiveness"),
    _term("sufficiency", "Probability that the answer loses when only the highlighted words are left.", "sufficiency"),
    _term("AOPC", "The mean of a loss over several shares of words removed.", "AOPC"),
    _term(
        "AUPRC, F1",
        "Two marks out of 1 for finding the words people marked without marking others: AUPRC for scores, F1 for a "
        "choice of words.",
        "AUPRC",
        "F1",
    ),
)

_OF_FORM = {form: term for term in TERMS for form in term.forms}
_LONGEST_FIRST = "|".join(map(re.escape, sorted(_OF_FORM, key=len, reverse=True)))
_WRITTEN = re.compile(rf"(?<![\w’'])(?:{_LONGEST_FIRST})(?![\w’'])")


@lru_cache(4096)  # a page says the same few sentences and names many times
def glossed(text: str) -> str:
    """The text as safe markup, with a link to the glossary from the first place of each term.

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

"""Models: their interface, heatcheck's classifiers, sequence-to-sequence, your own, Hugging Face, known answers."""

from heatcheck.models.classifiers.attention import ATTENTIONS
from heatcheck.models.classifiers.classifier import DECODERS, ENCODERS, Classifier, ClassifierSettings
from heatcheck.models.classifiers.encoder import Encoder
from heatcheck.models.classifiers.extracting import Chooser, ExtractingClassifier, extracting, support_of
from heatcheck.models.classifiers.flat import FlatClassifier
from heatcheck.models.classifiers.hierarchical import HierarchicalClassifier
from heatcheck.models.classifiers.make import make_classifier
from heatcheck.models.contract.encoding import unknown_words
from heatcheck.models.contract.extraction import Extraction
from heatcheck.models.contract.gradient import differentiate
from heatcheck.models.contract.log_odds import (
    KnowsLogOdds,
    log_odds_weights,
    of_first_decision,
    token_log_odds,
    word_log_odds,
)
from heatcheck.models.contract.naming import asked_of, name_of, rows_of, shown_names
from heatcheck.models.contract.parts import (
    AttendsToParts,
    HasLayers,
    HasPlaces,
    has_layers,
    heat_sites,
    name_of_keys,
    readable_keys,
    require_layers,
    require_one_decision,
    require_stack,
    require_words,
    token_weights,
    uniform_edits,
    uniform_everywhere,
    values_read,
)
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Responds, Response, response
from heatcheck.models.contract.subject import NO_EDITS, Edit, Edits, Run, Site, Subject, Tap
from heatcheck.models.contract.trainable import Trainable
from heatcheck.models.contract.twins import KnowsItsTwins
from heatcheck.models.contract.units import UNITS, CutsTexts, in_units, name_units
from heatcheck.models.contract.view import View, view_of, whole_model
from heatcheck.models.contract.weights import masked_softmax, uniform_weights, visible
from heatcheck.models.contract.without_each import Erases, Without
from heatcheck.models.known_answers import KNOWN_ANSWERS, KnownAnswer
from heatcheck.models.load import load, require_subject, with_labels
from heatcheck.models.model_folder import load_folder, save
from heatcheck.models.own_module.wrapping import wrap
from heatcheck.models.seq2seq.model import Seq2Seq, Seq2SeqSettings, generated_words
from heatcheck.models.seq2seq.steps import KnowsItsStep

__all__ = [
    "ATTENTIONS",
    "DECODERS",
    "ENCODERS",
    "KNOWN_ANSWERS",
    "NO_EDITS",
    "UNITS",
    "AttendsToParts",
    "Chooser",
    "Classifier",
    "ClassifierSettings",
    "CutsTexts",
    "Edit",
    "Edits",
    "Encoder",
    "Erases",
    "ExtractingClassifier",
    "Extraction",
    "FlatClassifier",
    "HasLayers",
    "HasPlaces",
    "HierarchicalClassifier",
    "KnownAnswer",
    "KnowsItsStep",
    "KnowsItsTwins",
    "KnowsLogOdds",
    "Recipe",
    "Responds",
    "Response",
    "Run",
    "Seq2Seq",
    "Seq2SeqSettings",
    "Site",
    "Subject",
    "Tap",
    "Trainable",
    "View",
    "Without",
    "asked_of",
    "differentiate",
    "extracting",
    "generated_words",
    "has_layers",
    "heat_sites",
    "in_units",
    "load",
    "load_folder",
    "log_odds_weights",
    "make_classifier",
    "masked_softmax",
    "name_of",
    "name_of_keys",
    "name_units",
    "of_first_decision",
    "readable_keys",
    "require_layers",
    "require_one_decision",
    "require_stack",
    "require_subject",
    "require_words",
    "response",
    "rows_of",
    "save",
    "shown_names",
    "support_of",
    "token_log_odds",
    "token_weights",
    "uniform_edits",
    "uniform_everywhere",
    "uniform_weights",
    "unknown_words",
    "values_read",
    "view_of",
    "visible",
    "whole_model",
    "with_labels",
    "word_log_odds",
    "wrap",
]

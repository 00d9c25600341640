"""Training: one loop for all models, its settings and presets, and the evaluation of models."""

from heatcheck.training.bag_of_words import BagOfWords, fit_bag_of_words
from heatcheck.training.captured import between_recordings
from heatcheck.training.evaluation import Scores, batches_by_length, evaluate, predict
from heatcheck.training.fit import STORE, Fit, build, fit_recipe, pick_device, plan_recipe, steps_of, train
from heatcheck.training.imposed import IMPOSED, UNIFORM_EVERYWHERE, imposed
from heatcheck.training.jobs import (
    describe,
    describe_model,
    fit_job,
    fit_jobs,
    kind_of_model,
    kind_of_run,
    share_done,
    share_used,
    work_of,
)
from heatcheck.training.logistic_regression import LogisticRegression, fit_logistic_regression
from heatcheck.training.loop import make_optimizer, train_loop
from heatcheck.training.losses import LOSSES, Loss
from heatcheck.training.observing import (
    LEFT_OUT,
    OF_TOKENS,
    Observed,
    Observer,
    checkpoint_steps,
    observed_steps,
    observed_texts,
    plan_observe,
    probe_of,
    read_observed,
)
from heatcheck.training.observing_seq2seq import OF_STEPS, ObservedSeq2Seq
from heatcheck.training.own_file import own_corpus, read_as_remembered
from heatcheck.training.recorded import Recorded, record
from heatcheck.training.retrained_models import Fits, fingerprint
from heatcheck.training.settings import PRESETS, Plan, TrainingSettings, make_plan
from heatcheck.training.sharpened import mean_entropy, temperature, temperature_twin
from heatcheck.training.stack import run_fits
from heatcheck.training.starts import can_look_elsewhere
from heatcheck.training.steps import epoch_batches
from heatcheck.training.treatments import TREATMENTS, Treatment, treated

__all__ = [
    "IMPOSED",
    "LEFT_OUT",
    "LOSSES",
    "OF_STEPS",
    "OF_TOKENS",
    "PRESETS",
    "STORE",
    "TREATMENTS",
    "UNIFORM_EVERYWHERE",
    "BagOfWords",
    "Fit",
    "Fits",
    "LogisticRegression",
    "Loss",
    "Observed",
    "ObservedSeq2Seq",
    "Observer",
    "Plan",
    "Recorded",
    "Scores",
    "TrainingSettings",
    "Treatment",
    "batches_by_length",
    "between_recordings",
    "build",
    "can_look_elsewhere",
    "checkpoint_steps",
    "describe",
    "describe_model",
    "epoch_batches",
    "evaluate",
    "fingerprint",
    "fit_bag_of_words",
    "fit_job",
    "fit_jobs",
    "fit_logistic_regression",
    "fit_recipe",
    "imposed",
    "kind_of_model",
    "kind_of_run",
    "make_optimizer",
    "make_plan",
    "mean_entropy",
    "observed_steps",
    "observed_texts",
    "own_corpus",
    "pick_device",
    "plan_observe",
    "plan_recipe",
    "predict",
    "probe_of",
    "read_as_remembered",
    "read_observed",
    "record",
    "run_fits",
    "share_done",
    "share_used",
    "steps_of",
    "temperature",
    "temperature_twin",
    "train",
    "train_loop",
    "treated",
    "work_of",
]

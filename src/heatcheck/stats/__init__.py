"""Arithmetic on arrays: distances, rank correlations, intervals, multiplicity. Knows nothing of models."""

from heatcheck.stats.classification import (
    accuracy,
    average_precision,
    average_precision_each,
    f1,
    f1_each,
    roc_auc,
    roc_auc_each,
)
from heatcheck.stats.divergence import jensen_shannon_nats, kl_divergence_nats, total_variation
from heatcheck.stats.interval import Interval, bootstrap_interval, t_interval
from heatcheck.stats.multiplicity import benjamini_hochberg, holm
from heatcheck.stats.rank import RankCorrelation, kendall_tau, spearman
from heatcheck.stats.ties import average_ranks
from heatcheck.stats.top_k import kendall_top_k_distance, top_k_overlap

__all__ = [
    "Interval",
    "RankCorrelation",
    "accuracy",
    "average_precision",
    "average_precision_each",
    "average_ranks",
    "benjamini_hochberg",
    "bootstrap_interval",
    "f1",
    "f1_each",
    "holm",
    "jensen_shannon_nats",
    "kendall_tau",
    "kendall_top_k_distance",
    "kl_divergence_nats",
    "roc_auc",
    "roc_auc_each",
    "spearman",
    "t_interval",
    "top_k_overlap",
    "total_variation",
]

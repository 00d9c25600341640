"""Arithmetic on arrays: distances, rank correlations, intervals, multiplicity. Knows nothing of models."""

from heatcheck.stats.bracket import Bracket, bracket_weights
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
from heatcheck.stats.farthest import (
    Farthest,
    farthest_weights,
    margin_bounds,
    most_different,
    spread_out,
    two_item_floor,
)
from heatcheck.stats.interval import Interval, bootstrap_interval, t_interval
from heatcheck.stats.multiplicity import benjamini_hochberg, holm
from heatcheck.stats.rank import RankCorrelation, kendall_tau, spearman
from heatcheck.stats.shuffles import shuffled_sums, shuffled_weights
from heatcheck.stats.ties import average_ranks
from heatcheck.stats.top_k import kendall_top_k_distance, top_k_overlap
from heatcheck.stats.two_way import pairs_interval, two_way_interval, two_way_ratio_interval

__all__ = [
    "Bracket",
    "Farthest",
    "Interval",
    "RankCorrelation",
    "accuracy",
    "average_precision",
    "average_precision_each",
    "average_ranks",
    "benjamini_hochberg",
    "bootstrap_interval",
    "bracket_weights",
    "f1",
    "f1_each",
    "farthest_weights",
    "holm",
    "jensen_shannon_nats",
    "kendall_tau",
    "kendall_top_k_distance",
    "kl_divergence_nats",
    "margin_bounds",
    "most_different",
    "pairs_interval",
    "roc_auc",
    "roc_auc_each",
    "shuffled_sums",
    "shuffled_weights",
    "spearman",
    "spread_out",
    "t_interval",
    "top_k_overlap",
    "total_variation",
    "two_item_floor",
    "two_way_interval",
    "two_way_ratio_interval",
]

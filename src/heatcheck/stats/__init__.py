"""Arithmetic on arrays: distances, rank correlations, confidence intervals, multiple tests. Knows nothing of models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heatcheck.stats.agreement_top import top_agreement, top_agreement_floor
from heatcheck.stats.alignment import (
    aligned_mass,
    alignment_counts,
    alignment_error_rate,
    diagonal_links,
    ratio_of_means,
)
from heatcheck.stats.bleu import bleu, bleu_counts
from heatcheck.stats.bounded import bounded_share_interval
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
from heatcheck.stats.entropy import evenness
from heatcheck.stats.farthest import (
    Farthest,
    farthest_weights,
    margin_bounds,
    most_different,
    spread_out,
    two_item_floor,
)
from heatcheck.stats.interval import Interval, bootstrap_interval, bootstrap_intervals, further_half_width, t_interval
from heatcheck.stats.median import median_interval
from heatcheck.stats.multiplicity import benjamini_hochberg, holm
from heatcheck.stats.null_space import Freedom, free_dimensions, freedom, null_space
from heatcheck.stats.plausibility import (
    SpanMatches,
    best_window,
    highest,
    match_spans,
    precision_recall_area_each,
    scatter_runs,
)
from heatcheck.stats.rank import RankCorrelation, kendall_tau, spearman
from heatcheck.stats.shuffles import shuffled_sums, shuffled_weights
from heatcheck.stats.sums_after_removal import Emptied, FirstChange, first_change, removal_curve, without_each
from heatcheck.stats.survival import SurvivalCurve, kaplan_meier, median_time, share_interval
from heatcheck.stats.ties import average_ranks, best_first, has_ties, level_ties
from heatcheck.stats.top_k import kendall_top_k_distance, top_k_overlap
from heatcheck.stats.two_way import (
    Tested,
    linearised_ratio,
    pairs_interval,
    two_way_interval,
    two_way_ratio_interval,
    two_way_test,
)

if TYPE_CHECKING:
    from heatcheck.stats.cone import conicity
    from heatcheck.stats.divergence import jensen_shannon_nats, kl_divergence_nats, total_variation

# Lazy (PEP 562): they alone are of tensors, and what is found must be drawn where there is no torch.
_OF_TENSORS = {
    "conicity": "cone",
    **dict.fromkeys(("jensen_shannon_nats", "kl_divergence_nats", "total_variation"), "divergence"),
}

__all__ = [
    "Bracket",
    "Emptied",
    "Farthest",
    "FirstChange",
    "Freedom",
    "Interval",
    "RankCorrelation",
    "SpanMatches",
    "SurvivalCurve",
    "Tested",
    "accuracy",
    "aligned_mass",
    "alignment_counts",
    "alignment_error_rate",
    "average_precision",
    "average_precision_each",
    "average_ranks",
    "benjamini_hochberg",
    "best_first",
    "best_window",
    "bleu",
    "bleu_counts",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bounded_share_interval",
    "bracket_weights",
    "conicity",
    "diagonal_links",
    "evenness",
    "f1",
    "f1_each",
    "farthest_weights",
    "first_change",
    "free_dimensions",
    "freedom",
    "further_half_width",
    "has_ties",
    "highest",
    "holm",
    "jensen_shannon_nats",
    "kaplan_meier",
    "kendall_tau",
    "kendall_top_k_distance",
    "kl_divergence_nats",
    "level_ties",
    "linearised_ratio",
    "margin_bounds",
    "match_spans",
    "median_interval",
    "median_time",
    "most_different",
    "null_space",
    "pairs_interval",
    "precision_recall_area_each",
    "ratio_of_means",
    "removal_curve",
    "roc_auc",
    "roc_auc_each",
    "scatter_runs",
    "share_interval",
    "shuffled_sums",
    "shuffled_weights",
    "spearman",
    "spread_out",
    "t_interval",
    "top_agreement",
    "top_agreement_floor",
    "top_k_overlap",
    "total_variation",
    "two_item_floor",
    "two_way_interval",
    "two_way_ratio_interval",
    "two_way_test",
    "without_each",
]


def __getattr__(name: str) -> Any:
    if name not in _OF_TENSORS:
        raise AttributeError(f"module 'heatcheck.stats' has no attribute {name!r}")
    return getattr(import_module(f"heatcheck.stats.{_OF_TENSORS[name]}"), name)

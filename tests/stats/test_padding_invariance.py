"""f(x[valid]) == f(x, valid) for everything in the room, whatever stands in the padding."""

import inspect
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from heatcheck import stats

GARBAGE = (np.nan, np.inf, -np.inf, -1e300, 0.0, 3.0)
EXAMPLES, ITEMS = 40, 25


class Case(NamedTuple):
    """Two arrays of rows, the function of both, and how garbage may look."""

    x: np.ndarray
    y: np.ndarray
    call: Any  # (x, y, valid or None) -> one number or more a row
    garbage: tuple[float, ...] = GARBAGE


def seed():
    return np.random.default_rng(7)


def on_tensors(divergence):
    def call(x, y, valid):
        mask = None if valid is None else torch.from_numpy(valid)
        return divergence(torch.from_numpy(x), torch.from_numpy(y), mask).numpy()

    return call


def row_by_row(function):
    """For functions of one list: each row is a call of its own."""

    def call(x, y, valid):
        masks = [None] * len(x) if valid is None else valid
        return np.array([function(u, v, mask) for u, v, mask in zip(x, y, masks, strict=True)])

    return call


def over_items(function):
    """For functions that give a number an item: their sum over the real ones, each times its place."""

    def call(x, y, valid):
        valid = np.ones(x.shape, bool) if valid is None else valid
        return np.array(
            [
                (found[:n] * np.arange(1, n + 1)).sum()
                for found, n in zip(function(x, y, valid), valid.sum(1), strict=True)
            ]
        )

    return call


def chosen_by(select):
    """For functions that choose items: five of them, as one number."""

    def call(x, y, valid):
        chosen = select(x, np.full(len(x), 5), valid)
        return np.array([values[some] @ np.arange(1, 1 + some.sum()) for values, some in zip(y, chosen, strict=True)])

    return call


def two_columns(y):
    return np.stack([y, 0.05 - y], axis=-1)


SCORES = seed().integers(6, size=(2, EXAMPLES, ITEMS)).astype(float)
MARKS = seed().integers(2, size=(2, EXAMPLES, ITEMS))
WEIGHTS = seed().dirichlet(np.ones(ITEMS), size=(2, EXAMPLES))
P_VALUES = seed().uniform(size=(2, EXAMPLES, ITEMS))

CASES = {
    "accuracy": Case(*MARKS, row_by_row(stats.accuracy), (7,)),
    "average_precision": Case(SCORES[0], MARKS[1], row_by_row(stats.average_precision)),
    "average_precision_each": Case(SCORES[0], MARKS[1], stats.average_precision_each),
    "average_ranks": Case(*SCORES, lambda x, _, valid: np.nansum(stats.average_ranks(x, valid) ** 2, axis=1)),
    "benjamini_hochberg": Case(
        *P_VALUES, row_by_row(lambda p, _, valid: np.nansum(stats.benjamini_hochberg(p, valid)))
    ),
    "bounded_share_interval": Case(
        *WEIGHTS,
        row_by_row(
            lambda x, y, valid: stats.bounded_share_interval(
                np.abs(x), np.abs(x) + np.abs(y), draws=50, generator=seed(), valid=valid
            )
        ),
    ),
    "bootstrap_interval": Case(
        *WEIGHTS,
        row_by_row(
            lambda x, y, valid: stats.bootstrap_interval(
                np.stack([x, y], axis=1),
                lambda means: means[:, 0] / means[:, 1],
                draws=50,
                generator=seed(),
                valid=valid,
            )
        ),
    ),
    "bootstrap_intervals": Case(
        *WEIGHTS,
        row_by_row(
            lambda x, y, valid: stats.bootstrap_intervals(
                np.stack([x, y], axis=1), [lambda means: means[:, 1]], draws=50, generator=seed(), valid=valid
            )[0]
        ),
    ),
    "best_first": Case(
        *SCORES,
        over_items(lambda x, _, valid: np.take_along_axis(x, stats.best_first(x, valid), axis=1)),
    ),
    "best_window": Case(*SCORES, chosen_by(stats.best_window)),
    "evenness": Case(*WEIGHTS, lambda x, _, valid: stats.evenness(x, valid)),
    "farthest_weights": Case(
        *WEIGHTS,
        lambda x, y, valid: (lambda found: np.stack([found.jsd, found.share], axis=1))(
            stats.farthest_weights(x, y, np.full(len(x), 0.2), np.full(len(x), 0.3), valid)
        ),
    ),
    "f1": Case(*MARKS, row_by_row(lambda x, y, valid: stats.f1(x, y, 1, valid)), (0, 1)),
    "f1_each": Case(*MARKS, lambda x, y, valid: stats.f1_each(x, y, 1, valid), (0, 1)),
    "first_change": Case(
        *WEIGHTS,
        lambda x, y, valid: np.stack(
            stats.first_change(x, two_columns(y), np.zeros((len(x), 2)), y, np.zeros(len(x), int), valid), axis=1
        ),
    ),
    "has_ties": Case(
        *P_VALUES, lambda x, _, valid: sum(stats.has_ties(np.floor(x * n), valid) * 1.0 for n in (30, 60, 120, 240))
    ),
    "highest": Case(*SCORES, chosen_by(stats.highest)),
    "holm": Case(*P_VALUES, row_by_row(lambda p, _, valid: np.nansum(stats.holm(p, valid)))),
    "jensen_shannon_nats": Case(*WEIGHTS, on_tensors(stats.jensen_shannon_nats)),
    "kendall_tau": Case(*SCORES, lambda x, y, valid: np.stack(stats.kendall_tau(x, y, valid), axis=1)),
    "kendall_top_k_distance": Case(*SCORES, lambda x, y, valid: stats.kendall_top_k_distance(x, y, 4, valid)),
    "kl_divergence_nats": Case(*WEIGHTS, on_tensors(stats.kl_divergence_nats)),
    "level_ties": Case(
        *WEIGHTS.round(4), over_items(lambda x, _, valid: np.sort(np.where(valid, stats.level_ties(x, valid), 9.0)))
    ),
    "match_spans": Case(*MARKS, lambda x, y, valid: np.stack(stats.match_spans(x == 1, y == 1, valid), axis=1), (1, 0)),
    "median_interval": Case(*WEIGHTS, row_by_row(lambda x, _, valid: stats.median_interval(x, valid=valid))),
    "most_different": Case(*WEIGHTS, lambda x, _, valid: stats.most_different(x, valid)),
    "precision_recall_area_each": Case(
        SCORES[0], MARKS[1], lambda x, y, valid: stats.precision_recall_area_each(x, y == 1, valid)
    ),
    "removal_curve": Case(
        *WEIGHTS,
        over_items(lambda x, y, valid: stats.removal_curve(x, y[..., None], np.ones((len(x), 1)), y, valid)[..., 0]),
    ),
    "roc_auc": Case(SCORES[0], MARKS[1], row_by_row(stats.roc_auc)),
    "roc_auc_each": Case(SCORES[0], MARKS[1], stats.roc_auc_each),
    "spearman": Case(*SCORES, lambda x, y, valid: np.stack(stats.spearman(x, y, valid), axis=1)),
    "t_interval": Case(*WEIGHTS, row_by_row(lambda x, _, valid: stats.t_interval(x, valid=valid))),
    "two_item_floor": Case(*WEIGHTS, lambda x, _, valid: stats.two_item_floor(x, valid)),
    "top_k_overlap": Case(*SCORES, lambda x, y, valid: stats.top_k_overlap(x, y, 4, valid)),
    "total_variation": Case(*WEIGHTS, on_tensors(stats.total_variation)),
    "without_each": Case(
        *WEIGHTS,
        lambda x, y, valid: np.where(
            np.ones(x.shape, bool) if valid is None else valid,
            stats.without_each(x, y[..., None], np.ones((len(x), 1)), valid, "uniform")[..., 0],
            0.0,
        ).sum(axis=1),
    ),
}


# Rows without padding of their own: one row at a time, bounds, an optimum already found. Shuffles draw at random, and
# have their own tests (test_shuffles.py, test_plausibility_measures.py).
UNPADDED = {
    "aligned_mass",
    "conicity",  # of vectors: tests/stats/test_cone.py
    "linearised_ratio",
    "two_way_test",
    "alignment_counts",
    "alignment_error_rate",
    "bleu",
    "bleu_counts",
    "diagonal_links",
    "kaplan_meier",
    "median_time",
    "ratio_of_means",
    "share_interval",
    "top_agreement",
    "top_agreement_floor",
    "bracket_weights",
    "freedom",
    "further_half_width",
    "margin_bounds",
    "free_dimensions",
    "null_space",
    "pairs_interval",
    "scatter_runs",
    "shuffled_sums",
    "shuffled_weights",
    "spread_out",
    "two_way_interval",
    "two_way_ratio_interval",
}


def test_every_function_of_the_room_is_here():
    assert set(CASES) | UNPADDED == {name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}


@pytest.mark.parametrize("name", CASES)
def test_padding_changes_nothing(name):
    case = CASES[name]
    generator = np.random.default_rng(0)
    valid = generator.random((EXAMPLES, ITEMS)) < 0.6
    valid[:, 0] = True  # a row needs something
    alone = np.stack(
        [case.call(u[real][None], v[real][None], None)[0] for u, v, real in zip(case.x, case.y, valid, strict=True)]
    )
    assert len(np.unique(alone)) > 3  # otherwise any constant would pass
    # Whole numbers cannot hold NaN: marks are padded with a mark first, then with what is none.
    in_y = (1, 5, 0) if case.y.dtype.kind == "i" else case.garbage
    for garbage_x, garbage_y in zip(case.garbage, cycle(in_y), strict=False):
        x = np.where(valid, case.x, garbage_x).astype(case.x.dtype)
        y = np.where(valid, case.y, garbage_y).astype(case.y.dtype)
        np.testing.assert_allclose(case.call(x, y, valid), alone, rtol=1e-12, atol=1e-14)

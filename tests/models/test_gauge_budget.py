"""The distance between models of a kind: closed forms and invariances; and twins that stay within a budget."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from scipy.linalg import orthogonal_procrustes
from test_gauge_twin import random_texts, tokens_of

from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Site
from heatcheck.models.classifiers.gauge_budget import Distance, Frequencies, distance, nearest_seed, within_budget
from heatcheck.models.classifiers.gauge_twin import Tokens, with_scores, word_table
from subjects import SINGLE, classifier

BARE = {"encoder": "none", "attention": "linear"}


def bare(seed=0, **settings):
    found = classifier(SINGLE, **{**BARE, **settings})
    if seed:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in found.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
    return found


def closest(base, other):
    """The distance that scipy's own rotation leaves."""
    attended = [place for place in range(len(base.vocabulary)) if place not in (PAD, START, END)]
    of = [
        np.concatenate(
            [p.detach().numpy() for p in (m.embed.weight[attended], m.attention.score.weight, m.output.weight)]
        )
        for m in (other, base)
    ]
    turn, _ = orthogonal_procrustes(*(rows.astype(float) for rows in of))
    return np.linalg.norm(of[0].astype(float) @ turn - of[1])


def often_of(subject):
    return Frequencies.of(subject, SINGLE)


def test_a_rotated_model_is_no_distance_away():
    """It computes the same: embeddings, attention and decoder are turned together."""
    base, turned = bare(), bare()
    turn, _ = torch.linalg.qr(torch.randn(base.settings.embedding, base.settings.embedding, dtype=torch.double))
    with torch.no_grad():
        for rows in (turned.embed.weight, turned.attention.score.weight, turned.output.weight):
            rows.copy_((rows.double() @ turn).to(rows))
    found = distance(base, turned, often_of(base))
    assert max(found) < 1e-5
    assert (base.embed.weight - turned.embed.weight).norm() > 1, "or nothing was turned"


@pytest.mark.parametrize("attention", ["linear", "dot"])
def test_known_moves(attention):
    """One embedding row moved along a direction that nothing reads; the decoder's bias; a word's vote."""
    base = bare(attention=attention)
    often = often_of(base)
    rows = torch.cat([base.attention.score.weight, base.output.weight]).detach()
    unread = torch.linalg.svd(rows).Vh[-1]
    moved = deepcopy(base)
    word = int(np.argmax(often.counts))
    with torch.no_grad():
        moved.embed.weight[word] += 1e-3 * unread
    found = distance(base, moved, often)
    assert 2e-4 < found.parameters < 1e-3, "a small turn of everything brings it closer still"
    assert found.parameters == pytest.approx(closest(base, moved), rel=1e-6)
    assert found.words < 1e-6
    moved = deepcopy(base)
    with torch.no_grad():
        moved.output.bias += 0.5
    found = distance(base, moved, often)
    assert [found.decoder, found.parameters, found.words] == pytest.approx([0.5] * 3, abs=1e-6)
    assert max(found.embedding, found.attention) < 1e-6
    moved = deepcopy(base)
    vote = base.output.weight.detach()[0]
    with torch.no_grad():
        moved.embed.weight[word] += vote / vote.square().sum()  # its vote grows by 1
    table, after = word_table(base), word_table(moved)
    shares = often.counts / often.counts.sum()
    step = float(after.scores[word] - table.scores[word])
    wanted = shares[word] * (1 + step**2 * (1 - shares[word]))  # the score is centred
    assert distance(base, moved, often).words == pytest.approx(wanted**0.5, rel=1e-4)


def test_what_is_never_attended_to_is_no_distance():
    base, other = bare(), bare()
    with torch.no_grad():
        other.embed.weight[[PAD, START, END]] += 5.0
    assert max(distance(base, other, often_of(base))) < 1e-6


def test_the_twin_farthest_within_a_budget():
    base, seeds = bare(), [bare(seed) for seed in (1, 2, 3)]
    often, tokens = often_of(base), tokens_of(base)
    own = word_table(base).scores.numpy()
    unit = nearest_seed(base, seeds, often)
    each = [distance(base, seed, often) for seed in seeds]
    assert [min(of) for of in zip(*each, strict=True)] == list(unit)

    def path(share):
        return with_scores(base, (1 - 8 * share) * own, tokens)

    shares, apart = [], []
    texts = random_texts(base, 50)
    for budget in (0.1, 0.3, 1e6):
        within = within_budget(base, path, unit, budget, often)
        ratios = within.distance.ratios(unit)
        assert max(ratios["parameters"], ratios["words"]) <= budget
        for part in ("attention", "output"):
            same = zip(getattr(base, part).parameters(), getattr(within.twin, part).parameters(), strict=True)
            assert all(own.equal(other) for own, other in same), "only embeddings move"
        with torch.no_grad():
            runs = [model.run(model.encode(texts), want=[Site("attention")]) for model in (base, within.twin)]
        assert (runs[0].logits.argmax(-1) == runs[1].logits.argmax(-1)).all()
        shares.append(within.share)
        apart.append(float((runs[0].parts[Site("attention")] - runs[1].parts[Site("attention")]).abs().sum(-1).mean()))
        if budget < 1e6:
            farther = distance(base, path(within.share + 1e-3), often).ratios(unit)
            assert max(farther["parameters"], farther["words"]) > budget, "there is nothing farther"
    assert 0 < shares[0] < shares[1] < shares[2] == 1
    assert apart == sorted(apart)
    for tight in ("parameters", "words"):  # whichever distance is used up first
        scarce = unit._replace(**{tight: getattr(unit, tight) / 10})
        ratios = within_budget(base, path, scarce, 0.3, often).distance.ratios(scarce)
        assert max(ratios["parameters"], ratios["words"]) == ratios[tight] == pytest.approx(0.3, rel=0.1)
        assert ratios[tight] <= 0.3


def test_shares_of_a_unit():
    assert Distance(2.0, 1.0, 0.0, 3.0, 0.0).ratios(Distance(1.0, 4.0, 1.0, 2.0, 0.0)) == {
        "parameters": 2.0,
        "words": 0.25,
        "embedding": 0.0,
        "attention": 1.5,
        "decoder": 0.0,
    }


def test_who_has_no_distance():
    base = bare()
    for other in ({"encoder": "average"}, {"attention": "tanh"}, {"encoder": "lstm"}):
        with pytest.raises(NotSupported, match="embeddings under linear or dot attention"):
            distance(base, classifier(SINGLE, **{**BARE, **other}), often_of(base))
    with pytest.raises(BadInput, match="another vocabulary"):
        distance(base, classifier(SINGLE[:2], **BARE), often_of(base))
    with pytest.raises(BadInput, match="above 0"):
        within_budget(base, lambda _: base, Distance(1.0, 1.0, 1.0, 1.0, 1.0), 0.0, often_of(base))


def test_words_are_counted():
    base = bare()
    counts = often_of(base).counts
    assert counts.sum() == len(Tokens.of(base.vocabulary, (), "x").text) + sum(len(e.words) for e in SINGLE)

"""Flips: against imposing every removal on the whole model, by hand, and on models whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch

from heatcheck import stats
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.flips import FlipsSettings
from heatcheck.checks.logits_without_weights import Linear, Stepwise, decision_slope, weight_removals
from heatcheck.checks.single_weight import BINS, CORRECT, PUBLISHED, SingleRemovals, chances, mcnemar
from heatcheck.checks.weight_rankings import rankings_of
from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import KNOWN_ANSWERS
from heatcheck.training import train
from subjects import HIERARCHICAL, SUBJECTS

measure = CHECKS["flips"].measure
QUICK = FlipsSettings(explainers=("relevance",), draws=200, random_orders=3)
LINEAR = ["lstm", "average three labels", "pair dot", "label-wise", "options", "gru", "han gru", "han options"]
MERGED = ["pair merge", "options merge"]
KEYS = ("fewer", "more")


def case_of(name, n=None):
    subject, examples = (SUBJECTS | HIERARCHICAL)[name]
    return Case(subject, examples[:n], labels=getattr(subject, "labels", ("a", "b")))


def known(name, n=150, **nuisance):
    kind, _, task = name.partition("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    return Case(subject, load_task(task)["test"].examples[:n], labels=subject.labels)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    corpus = load_task("planted_contrast")
    few = {name: replace(split, examples=split.examples[:200]) for name, split in corpus.splits.items()}
    chosen = {"encoder": "lstm", "hidden": 8, "embedding": 8, "epochs": 2, "progress": False}
    fit = train(replace(corpus, splits=few), out=tmp_path_factory.mktemp("fits") / "m", **chosen)
    return Case(fit.subject, corpus["test"].examples[:9], labels=fit.subject.labels)


def decoded_again(case, row, scores, emptied):
    """Logits after each removal, by whole forward passes with the weights imposed; and the weights gone by then."""
    batch = case.subject.encode([case.examples[row]])
    site = case.subject.sites[-1]
    with torch.no_grad():
        own = case.subject.run(batch, want=[site]).parts[site]
        places = np.flatnonzero(case.weights[1][row]).tolist()
        order = sorted(places, key=lambda t: (-scores[t], t))
        logits, gone = [], []
        for number in range(1, len(order) + 1):
            edited = own.clone()
            edited[0, 0, 0, order[:number]] = 0.0
            mass = edited[0, 0, 0].sum()
            if mass > 0:
                edited[0, 0, 0] /= mass
            elif emptied == "uniform":
                edited[0, 0, 0, places] = 1 / len(places)
            logits.append(case.subject.run(batch, edits={site: edited}).logits[0, 0].double().numpy())
            gone.append(float(own[0, 0, 0, order[:number]].sum()))
        decided = int(case.subject.run(batch).logits[0, 0].argmax())
    return np.array(logits), np.array(gone), decided


def every_ranking(case, removals):
    for name, orders in rankings_of(case, removals.slope(), {}, removals.word, 2):
        for number, scores in enumerate(orders):
            yield f"{name} {number}", scores


@pytest.mark.parametrize("emptied", ["bias", "uniform"])
@pytest.mark.parametrize("name", [*LINEAR, *MERGED, "trained"])
def test_equal_to_imposing_each_removal_on_the_whole_model(name, emptied, trained):
    case = trained if name == "trained" else case_of(name)
    removals = weight_removals(case, emptied, rankings=8)
    assert isinstance(removals, Stepwise if name in MERGED else Linear)
    for _, scores in every_ranking(case, removals):
        found = removals.first_flip(scores)
        for row in range(0, len(case.examples), 4):
            logits, gone, decided = decoded_again(case, row, scores[row], emptied)
            if isinstance(removals, Linear):
                curve = stats.removal_curve(
                    removals.weights, removals.relevance, removals.bias, scores, removals.allowed, emptied
                )[row, : len(logits)]
                shift = curve - logits
                np.testing.assert_allclose(shift, shift[:, :1] * np.ones(shift.shape[1]), atol=2e-5)
            changed = np.flatnonzero(logits.argmax(-1) != decided)
            assert found.removals[row] == (changed[0] + 1 if len(changed) else np.inf)
            if len(changed):
                assert found.weight[row] == pytest.approx(gone[changed[0]], abs=1e-5)


@pytest.mark.parametrize("name", ["lstm", "average three labels", "pair merge"])
def test_removing_one_is_imposing_it(name):
    case = case_of(name)
    removals = weight_removals(case, "bias", rankings=1)
    without, nothing = removals.without_each(), removals.emptied()
    for row in range(len(case.examples)):
        for token in np.flatnonzero(case.weights[1][row]):
            logits, _, _ = decoded_again(case, row, np.eye(without.shape[1])[token], "bias")
            np.testing.assert_allclose(without[row, token], logits[0], atol=2e-5)
        np.testing.assert_allclose(nothing[row], logits[-1], atol=2e-5)


@pytest.mark.parametrize("name", ["lstm", "average three labels", "pair dot", "options"])
def test_the_slope_is_the_gradient_of_the_largest_probability(name):
    """Through the output and the softmax only: the weights are free, as published."""
    case = case_of(name)
    readout = case.readout
    weights = torch.tensor(readout.attention[:, 0], requires_grad=True)
    relevance, bias = torch.tensor(readout.relevance[:, 0]), torch.tensor(readout.bias[:, 0])
    p = (torch.einsum("et,etl->el", weights, relevance) + bias).softmax(-1)
    (expected,) = torch.autograd.grad(p.max(-1).values.sum(), [weights])
    logits = readout.logits[:, 0]
    direction, factor = decision_slope(logits, readout.relevance[:, 0], logits.argmax(-1))
    np.testing.assert_allclose(direction * factor[:, None], expected.numpy(), atol=1e-12)
    assert (factor >= 0).all()


def test_the_slope_of_a_read_out_that_is_not_linear():
    case = case_of("pair merge")
    slope = Stepwise(case, "bias").slope()
    for row, example in enumerate(case.examples):
        batch = case.subject.encode([example])
        site = case.subject.sites[-1]
        own = case.subject.run(batch, want=[site]).parts[site].detach().requires_grad_()
        p = case.subject.run(batch, edits={site: own}).logits[0, 0].double().softmax(-1).max()
        (expected,) = torch.autograd.grad(p, [own])
        found = slope[row, : own.shape[-1]] * (p * (1 - p)).item()  # the factor that changes no ranking
        np.testing.assert_allclose(found, expected[0, 0, 0].numpy(), atol=1e-6)


def test_a_model_that_is_too_sure_still_has_a_direction():
    logits, relevance = np.array([[0.0, 5000.0]]), np.array([[[0.0, 3.0], [0.0, -1.0], [0.0, 8.0]]])
    direction, factor = decision_slope(logits, relevance, np.array([1]))
    assert factor[0] == 0.0
    assert direction[0].tolist() == [3.0, -1.0, 8.0]


def test_means_over_own_and_common_texts_by_hand():
    found = measure(known("reader@planted_contrast", filler=0.3), QUICK)
    rankings = found.facts["rankings"]
    fractions = {name: found.per_example[f"fraction:{name}"] for name in rankings}
    # Not those in which a word that stands twice ties with itself: their numbers are means over several orders.
    for name in set(rankings) - {"random", "gradient", "gradient (signed)", "relevance", "relevance (signed)"}:
        never, of = np.isnan(fractions[name]), fractions[name]
        assert found.find("never", ranking=name).value == pytest.approx(never.mean())
        own = found.find("fraction", ranking=name, over="own")
        assert (own.value, own.n) == (pytest.approx(of[~never].mean()), int((~never).sum()))
        assert own.by.get("undefined", 0) == never.sum()
        assert found.find("median_fraction", ranking=name, over="own").value == np.median(of[~never])
        censored = np.where(never, 1.0, of)
        np.testing.assert_allclose(found.per_example[f"censored:{name}"], censored)
        assert found.find("fraction_censored", ranking=name).value == pytest.approx(censored.mean())
        for share in (0.1, 0.5, 1.0):
            alive = (np.where(never, np.inf, of) > share).mean()
            assert found.find("survival", ranking=name, removed=share).value == pytest.approx(alive)
        assert found.find("survival", ranking=name, removed=1.0).value == pytest.approx(never.mean())
    n = {m.n for m in found.measurements if m.name == "fraction" and m.by["over"] == "common"}
    assert len(n) == 1, "the same texts for every ranking"
    assert found.find("common").value * len(found.examples) == pytest.approx(n.pop())
    a, b = (np.nan_to_num(fractions[name], nan=np.inf) for name in ("gradient x attention", "attention"))
    for outcome, share in (("fewer", (a < b).mean()), ("more", (a > b).mean())):
        assert found.find("head_to_head", ranking="gradient x attention", outcome=outcome).value == pytest.approx(share)


def test_sign_share_is_a_ratio_of_means():
    found = measure(known("reader@planted_contrast", filler=0.3), QUICK)
    own, plain, signed = (
        found.per_example[f"censored:{name}"].mean()
        for name in ("attention", "gradient x attention", "gradient x attention (signed)")
    )
    assert found.find("gap", over="all").value == pytest.approx(own - signed)
    share = found.find("sign_share", over="all")
    assert share.value == pytest.approx((plain - signed) / (own - signed))
    assert share.low < share.value < share.high


def signed_world(seed=0, n=120):
    """A subject whose weights are as loud as its relevances, with either sign: all of the gap is sign."""
    case = known("reader@planted_keyword", n=n)
    draw = np.random.default_rng(seed)
    readout = case.readout
    votes = draw.normal(size=readout.allowed.shape) * readout.allowed + 0.2 * readout.allowed
    weights = np.abs(votes) / np.abs(votes).sum(1, keepdims=True)
    object.__setattr__(readout, "attention", weights[:, None])
    object.__setattr__(readout, "relevance", np.stack([np.zeros_like(votes), np.sign(votes)], -1)[:, None])
    return case


def test_a_gap_that_is_all_sign():
    """With equal votes |gradient × attention| ranks as attention does: what is left is the sign."""
    found = measure(signed_world(), FlipsSettings(explainers=("random",), draws=200))
    np.testing.assert_array_equal(
        found.per_example["censored:attention"], found.per_example["censored:gradient x attention"]
    )
    share = found.find("sign_share", over="all")
    assert (share.value, share.low, share.high) == (1, 1, 1)
    signed = found.find("fraction_censored", ranking="gradient x attention (signed)").value
    assert signed < found.find("fraction_censored", ranking="attention").value - 0.2


def test_known_answers():
    """A reader's decision is in its attended word; a bystander's is in no word."""
    reader = measure(known("reader@planted_lookup", filler=0.1), QUICK)
    bystander = measure(known("bystander_right@planted_lookup", filler=0.1), QUICK)
    assert reader.find("single", cell="top only", sampler=CORRECT).value > 0.9
    assert reader.find("fraction_censored", ranking="attention").value < 0.2
    assert reader.find("fraction_censored", ranking="random").value > 0.4
    assert reader.find("fraction_censored", ranking="attention ascending").value > 0.95
    assert reader.find("head_to_head", ranking="random", outcome="more").low > 0.5
    assert reader.find("pair_difference", compared="highest and second highest").by["mcnemar_p"] < 1e-6
    assert bystander.find("single", cell="neither", sampler=CORRECT).value == 1.0
    for name in bystander.facts["rankings"]:
        assert bystander.find("fraction_censored", ranking=name).value == 1.0, "only when nothing is left"
        assert bystander.find("survival", ranking=name, removed=0.75).value == 1.0
    assert bystander.find("gap", over="all").value == 0
    assert not [m for m in bystander.measurements if m.name == "sign_share"], "a share of no gap"
    assert bystander.find("delta_js_negative", sampler=CORRECT, bin=None).value == 0, "rounding is no difference"
    # Where nothing is left the first label is decided: texts that had it anyway never flip.
    first = (known("bystander_right@planted_lookup", filler=0.1).predicted == 0).mean()
    assert bystander.find("default").value == bystander.find("never", ranking="attention").value == first
    assert 0 < first < 1


def test_random_weights_are_no_better_than_random_order():
    """The null: weights that know nothing of the votes, equally large."""
    case = signed_world(n=300)
    draw = np.random.default_rng(1)
    allowed = case.readout.allowed
    case.readout.attention[:, 0] = np.where(allowed, 1.0 + 1e-9 * draw.random(allowed.shape), 0.0)
    case.readout.attention[...] /= case.readout.attention.sum(-1, keepdims=True)
    case.readout.relevance[:, 0, :, 1] = draw.normal(size=allowed.shape) + 0.2
    found = measure(case, FlipsSettings(explainers=("random",), draws=300, random_orders=8))
    own, floor = (found.find("fraction_censored", ranking=name) for name in ("attention", "random"))
    assert own.low < floor.high
    assert floor.low < own.high
    change = found.find("delta_js", sampler=CORRECT, bin=None)
    assert abs(change.value) < change.high - change.low, "four standard errors"
    assert 0.3 < found.find("delta_js_negative", sampler=CORRECT, bin=None).value < 0.7


def test_both_samplers_by_drawing_them():
    """The published one draws a rank from the second to the last and uses it as a position."""
    draw = np.random.default_rng(0)
    weights = np.array([[0.1, 0.6, 0.1, 0.2, 0.0], [0.7, 0.1, 0.2, 0.0, 0.0]])
    allowed = np.array([[True] * 4 + [False], [True] * 3 + [False] * 2])
    none = np.zeros_like(weights)
    found = SingleRemovals(weights, allowed, none.astype(bool), none, np.argsort(-weights, axis=1))
    for row, n in enumerate((4, 3)):
        heaviest = int(weights[row].argmax())
        drawn = {PUBLISHED: draw.integers(1, n, size=20_000)}
        others = np.array([t for t in range(n) if t != heaviest])
        drawn[CORRECT] = others[draw.integers(0, n - 1, size=20_000)]
        for sampler, places in drawn.items():
            share = np.bincount(places, minlength=5) / len(places)
            np.testing.assert_allclose(chances(found, sampler)[row], share, atol=0.015)
    assert chances(found, CORRECT)[0, 1] == 0
    assert chances(found, PUBLISHED)[:, 0].tolist() == [0, 0]
    assert chances(found, PUBLISHED)[0, 1] == pytest.approx(1 / 3)


def test_the_published_sampler_flatters_both():
    found = measure(known("reader@planted_lookup", filler=0.1), QUICK)
    cells = {s: {m.by["cell"]: m.value for m in found.measurements if m.name == "single" and m.by["sampler"] == s}
             for s in (CORRECT, PUBLISHED)}  # fmt: skip
    for of in cells.values():
        assert sum(of.values()) == pytest.approx(1)
    assert cells[PUBLISHED]["both"] > cells[CORRECT]["both"] + 0.01
    same = found.find("same_place").value
    weights, allowed = known("reader@planted_lookup").weights
    first = weights.argmax(1) == allowed.argmax(1)
    assert 0 < first.mean() < 0.5
    tokens = found.per_example["tokens"]
    assert same == pytest.approx(np.where(first, 0.0, 1 / (tokens - 1)).mean())


def test_single_weights_by_brute_force():
    case = signed_world(n=25)
    draw = np.random.default_rng(2)
    for row, allowed in enumerate(case.readout.allowed):
        case.readout.attention[row, 0, allowed] = draw.dirichlet(
            np.full(allowed.sum(), 0.15)
        )  # differences of all sizes
    found = measure(case, FlipsSettings(explainers=("random",), logits="published", draws=50))
    rows = range(len(case.examples))
    removals = weight_removals(case, "bias", rankings=1)
    without, own = removals.without_each(), removals.logits

    def p(logits):
        return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()

    pairs = []
    for at, row in enumerate(rows):
        weights, places = case.weights[0][row], np.flatnonzero(case.weights[1][row])
        heaviest = places[weights[places].argmax()]
        jsd = {t: scipy.stats.entropy(p(own[row]), (p(own[row]) + p(without[row, t])) / 2) / 2
               + scipy.stats.entropy(p(without[row, t]), (p(own[row]) + p(without[row, t])) / 2) / 2
               for t in places}  # fmt: skip
        others = [t for t in places if t != heaviest]
        changes = [jsd[heaviest] - jsd[t] for t in others]
        assert found.per_example[f"delta_js:{CORRECT}"][at] == pytest.approx(np.mean(changes), abs=1e-9)
        pairs += [(weights[heaviest] - weights[t], c, 1 / len(others)) for t, c in zip(others, changes, strict=True)]
    for number, title in enumerate(BINS):
        here = [(c, w) for d, c, w in pairs if number * 0.2 <= d < number * 0.2 + 0.2]
        if here:
            mean = sum(c * w for c, w in here) / sum(w for _, w in here)
            assert found.find("delta_js", sampler=CORRECT, bin=title).value == pytest.approx(mean, abs=1e-9)
            assert sum(w for _, w in here) > 0.5, "or the bin says little"
    assert len([m for m in found.measurements if m.name == "delta_js" and "bin" in m.by]) == 2 * len(BINS)


@pytest.mark.parametrize(("a", "b"), [(9, 1), (5, 5), (0, 7), (30, 12)])
def test_mcnemar_is_a_binomial_test(a, b):
    assert mcnemar(a, b) == pytest.approx(scipy.stats.binomtest(a, a + b).pvalue)
    assert mcnemar(a, b) == mcnemar(b, a)


def test_scores_of_words_go_to_their_tokens(tmp_path):
    case = known("reader@planted_keyword", n=10)
    draw = np.random.default_rng(0)
    order = {example.id: draw.permutation(len(example.words)).tolist() for example in case.examples}
    with (tmp_path / "scores.jsonl").open("w") as out:
        out.writelines(f'{{"id": "{name}", "scores": {scores}}}\n' for name, scores in order.items())
    name = f"file:{tmp_path / 'scores.jsonl'}"
    found = measure(case, FlipsSettings(explainers=(name,), draws=50))
    for row, example in enumerate(case.examples):
        # Without the word that decides the first label is decided.
        scores = order[example.id]
        decides = scores[case.readout.word[row, case.weights[0][row].argmax()]]
        removals = sum(score >= decides for score in scores)
        flips = case.predicted[row] == 1
        fraction = found.per_example[f"fraction:{name}"][row]
        assert fraction == pytest.approx(removals / len(scores)) if flips else np.isnan(fraction)
    assert any(case.predicted == 1)


def test_an_explainer_named_as_a_ranking_is_told_apart():
    found = measure(known("reader@planted_keyword", n=20), FlipsSettings(explainers=("gradient",), draws=50))
    assert {"gradient", "gradient of words"} <= set(found.facts["rankings"])


def test_one_word_is_left_out_by_name_and_counts_add_up():
    case = case_of("lstm")
    found = measure(case, QUICK)
    assert found.excluded == {"e2": "it has only one token, and nothing is left without it"}
    assert len(found.examples) + len(found.excluded) == len(case.examples)
    assert {len(values) for values in found.per_example.values()} == {4}
    assert all(np.isfinite(m.value) for m in found.measurements)
    alone = [e for e in case.examples if e.id == "e2"]
    with pytest.raises(BadInput, match="only one token"):
        measure(Case(case.subject, alone, labels=case.labels), QUICK)


def test_of_a_hierarchy_sentences_are_removed():
    case = case_of("han gru")
    found = measure(case, FlipsSettings(draws=50))
    assert found.facts["removed"] == "sentences"
    assert found.not_run == {"leave_one_out": "it scores words, and this model's attention is on sentences"}
    alone = [e.id for e, n in zip(case.examples, case.tokens, strict=True) if n == 1]
    assert found.excluded == dict.fromkeys(alone, "it has only one sentence, and nothing is left without it")
    assert found.excluded
    assert len(found.examples) == len(case.examples) - len(alone)
    assert (found.per_example["tokens"] < max(len(e.words) for e in case.examples)).all()


@pytest.mark.parametrize("name", ["lstm", "pair merge", "han gru", "reader"])
def test_neither_order_nor_company_matters(name):
    case = known("reader@planted_contrast", n=9, filler=0.3) if name == "reader" else case_of(name)
    turned = Case(case.subject, case.examples[::-1], labels=case.labels)
    few = Case(case.subject, case.examples[:2], labels=case.labels)
    # Standardised logits are standardised over the texts that there are.
    settings = FlipsSettings(explainers=("random",), logits="published", draws=50)
    a, b, c = (measure(one, settings) for one in (case, turned, few))
    for key, values in a.per_example.items():
        np.testing.assert_allclose(values, b.per_example[key][::-1], atol=1e-5, err_msg=key)
        np.testing.assert_allclose(values[: len(c.examples)], c.per_example[key], atol=1e-5, err_msg=key)


def test_saturated_outputs_are_numbers():
    subject, _ = SUBJECTS["average"]
    examples = [Example("a", "good good bad", label=0), Example("b", "not so bad", label=1)]
    with torch.no_grad():
        weight = subject.output.weight.clone()
        subject.output.weight.mul_(1e5)
    try:
        found = measure(Case(subject, examples, labels=subject.labels), QUICK)
    finally:
        with torch.no_grad():
            subject.output.weight.copy_(weight)
    assert all(np.isfinite(m.value) for m in found.measurements)


def test_what_cannot_be_asked_is_said():
    with pytest.raises(NotSupported, match="no short cut"):
        measure(case_of("seq2seq"), QUICK)
    for wrong in ({"emptied": "nothing"}, {"shares": ()}, {"shares": (0.0, 1.0)}, {"draws": 0}):
        with pytest.raises(BadInput, match="flips"):
            FlipsSettings(**wrong)


def test_a_read_out_that_is_too_long_for_step_by_step(monkeypatch):
    monkeypatch.setattr("heatcheck.checks.logits_without_weights.AFFORDABLE", 100)
    with pytest.raises(NotSupported, match=r"not linear in its weights.*Use fewer or shorter texts"):
        measure(case_of("pair merge"), QUICK)


def test_when_nothing_is_left():
    """Zero context and uniform weights differ in the last removal only."""
    case = known("reader@planted_contrast", filler=0.3)
    zero, uniform = (
        measure(case, FlipsSettings(explainers=("random",), draws=50, emptied=how))
        for how in ("zero context", "uniform weights")
    )
    for name in zero.facts["rankings"]:
        a, b = (found.per_example[f"fraction:{name}"] for found in (zero, uniform))
        early = (a < 1) | (b < 1)
        np.testing.assert_array_equal(a[early], b[early])
    assert zero.find("default").value != uniform.find("default").value

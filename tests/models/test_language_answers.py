"""Answers of a language model, of one token or several: the probabilities of a plain forward pass, in one pass."""

from dataclasses import replace
from decimal import Decimal, getcontext

import numpy as np
import pytest
import torch

import heatcheck
from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain, explain_one
from heatcheck.explainers.word_removal import mask
from heatcheck.models.contract.rows import Rows
from heatcheck.models.contract.view import view_of
from heatcheck.models.hf import Prompted
from heatcheck.models.hf.answer_scores import log_odds_of_all, token_log_odds
from heatcheck.training import predict
from tiny_language_models import PROMPT, network, tokenizer

getcontext().prec = 80
TEXTS = ("a dull film", "good good good acting and a plot", "so so")
EXAMPLES = [Example(f"e{number}", text, label=number % 2) for number, text in enumerate(TEXTS)]
LONG = {"negative": " dull bad", "positive": " so good"}  # of two tokens, and of four
PROBABLE = [1e-30, 1e-12, 1e-5, 0.5, 1 - 1e-5, 1 - 1e-12]


def prompted(kind="llama", prompt=PROMPT, **options):
    options = options or {"labels": LONG}
    return Prompted(network(kind), tokenizer(), name=f"hf:tiny-{kind}", prompt=prompt, **options)


def exact_log_odds(logits, place):
    """log p/(1−p) of one of some logits, with 80 digits."""
    powers = [Decimal(float(one)).exp() for one in logits]
    return (powers[place] / sum(power for number, power in enumerate(powers) if number != place)).ln()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", PROBABLE)
def test_log_odds_of_a_token_whatever_its_probability(p, dtype):
    others = torch.linspace(-20, 20, 50, dtype=torch.float64)
    own = others.logsumexp(0) + np.log(p) - np.log1p(-p)
    logits = torch.cat([others[:7], own[None], others[7:]]).to(dtype)
    found = float(token_log_odds(logits, torch.tensor(7)))
    assert found == pytest.approx(float(exact_log_odds(logits, 7)), abs=1e-5, rel=1e-9)
    assert found == pytest.approx(np.log(p) - np.log1p(-p), abs=1e-4 if dtype == torch.float64 else 1e-3)


@pytest.mark.parametrize("tokens", [1, 2, 7])
@pytest.mark.parametrize("p", PROBABLE)
def test_log_odds_of_a_span_whatever_its_probability(p, tokens):
    each = np.log(p) / tokens  # of a token's log-probability
    odds = torch.tensor([each - np.log(-np.expm1(each))] * tokens, dtype=torch.float64, requires_grad=True)
    whole = Decimal(1)
    for one in odds.tolist():
        whole *= 1 / (1 + (-Decimal(one)).exp())
    found = log_odds_of_all(odds)
    assert found.item() == pytest.approx(float((whole / (1 - whole)).ln()), abs=1e-5)
    found.backward()
    assert odds.grad.isfinite().all()
    assert (odds.grad > 0).all()


def test_log_odds_are_finite_where_probabilities_are_not():
    odds = torch.tensor([[800.0, 900.0], [-1e4, 3.0]])
    assert log_odds_of_all(odds).isfinite().all()


def plain_log_probabilities(kind, text, answer, prompt=PROMPT):
    """Of an answer's tokens, each by a forward pass of its own."""
    own, plain = tokenizer(), network(kind)
    whole = prompt.replace("{text}", text)
    ids, said = own(whole)["input_ids"], own(answer, add_special_tokens=False)["input_ids"]
    found = []
    for place, token in enumerate(said):
        with torch.no_grad():
            logits = plain(input_ids=torch.tensor([ids + said[:place]])).logits[0, -1].double()
        found.append(float(logits.log_softmax(-1)[token]))
    return np.array(found)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_words_of_several_tokens_are_compared_whole(kind):
    """Gemma's window is shorter than the texts, in every other layer."""
    subject = prompted(kind)
    assert [len(one) for one in subject.answers.ids] == [2, 4]
    texts = [*EXAMPLES, EXAMPLES[1].but(text=f"{TEXTS[1]} so")]  # two begin alike, so that one beginning is read once
    logs = predict(subject, texts)[:, 0]
    for example, ours in zip(texts, logs, strict=True):
        theirs = [plain_log_probabilities(kind, example.text, word).sum() for word in LONG.values()]
        np.testing.assert_allclose(ours, theirs - np.logaddexp(*theirs), atol=1e-4)


@pytest.mark.parametrize("answer", [" good", " dull film"])
def test_one_answer_or_something_else(answer):
    subject = prompted(prompt="{text}", answer=answer)
    assert subject.labels == ("something else", answer.strip())
    assert subject.aim == 1
    for example in EXAMPLES:
        theirs = plain_log_probabilities("llama", example.text, answer, "{text}").sum()
        assert predict(subject, [example])[0, 0, 1] == pytest.approx(theirs, abs=1e-5)


def test_scores_of_answers():
    by = {
        score: prompted(labels=LONG, score=score).run(prompted().encode(EXAMPLES[:1])).logits[0, 0].tolist()
        for score in ("text", "mean", "pmi")
    }
    theirs, alone = (
        [plain_log_probabilities("llama", text, word) for word in LONG.values()] for text in (TEXTS[0], "")
    )
    assert by["text"] == pytest.approx([one.sum() for one in theirs], abs=1e-4)
    assert by["mean"] == pytest.approx([one.mean() for one in theirs], abs=1e-4)
    assert by["pmi"] == pytest.approx([a.sum() - b.sum() for a, b in zip(theirs, alone, strict=True)], abs=1e-4)
    one = {"labels": {"negative": " bad", "positive": " good"}}
    single = {score: predict(prompted(**one, score=score), EXAMPLES)[0, 0] for score in ("text", "mean", "pmi")}
    np.testing.assert_allclose(single["text"], single["mean"])
    assert np.abs(single["text"] - single["pmi"]).max() > 1e-3


def test_rows_that_answers_are_read_from():
    subject = prompted()
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
    ids = tokenizer()
    for row, text in enumerate(TEXTS):
        prompt = ids(PROMPT.replace("{text}", text))["input_ids"]
        assert run.row[row, 0] == len(prompt) - 1
        assert subject.rows(batch)[row] == len(prompt) - 1
        read = subject.answer_rows(batch)[row].tolist()
        assert read == list(range(len(prompt) - 1, len(prompt) + 4))
        behind = batch.inputs["input_ids"][row, len(prompt) : len(prompt) + 4]
        assert ids.decode(behind) == " dull so g"[: len(ids.decode(behind))]
        assert not batch.scored[row, len(prompt) :].any()
        weights = run.parts[subject.sites[0]][row]
        assert weights[:, len(prompt) + 1, len(prompt)].max() == 0, "no answer sees another"
        assert weights[:, len(prompt) + 2, len(prompt) + 1].min() > 0
        heat = explain_one(subject, [EXAMPLES[row]], "attention").values[0]
        mean = run.parts[subject.sites[-1]][row][:, read].mean((0, 1))
        expected = [mean[batch.word[row] == word].sum() for word in range(len(EXAMPLES[row].words))]
        np.testing.assert_allclose(heat[: len(expected)], expected, atol=1e-6)


@pytest.mark.parametrize("options", [{"labels": LONG}, {"answer": " so good"}, {"answer": " good"}])
def test_alone_as_in_a_batch_masked_or_not_and_by_every_way(options):
    subject = prompted(**options)
    texts = [*EXAMPLES, mask(EXAMPLES[1], {2}), mask(EXAMPLES[1], {0, 6})]
    together = predict(subject, texts)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(predict(subject, [text])[0], together[row], atol=3e-6)
    batch = subject.encode(texts)
    with torch.no_grad():
        plain = subject.run(batch, want=subject.sites)
        again = subject.run(batch, edits={site: plain.parts[site] for site in subject.sites})
        even = subject.run(batch, edits={subject.sites[-1]: lambda weights: torch.full_like(weights, 0.01)})
    np.testing.assert_allclose(plain.logits.double().log_softmax(-1), together, atol=3e-6)
    torch.testing.assert_close(plain.logits, again.logits, atol=1e-5, rtol=0)
    assert (plain.logits - even.logits).abs().max() > 1e-3
    gone = predict(subject, [Example("less", "good good acting and a plot")])[0]
    assert np.abs(gone - together[3]).max() > 1e-6, "masked words keep their places"


@pytest.mark.parametrize("options", [{"labels": LONG}, {"answer": " so good"}, {"answer": " good"}])
def test_long_texts_are_read_by_rows(options):
    subject = prompted(**options)
    batch = subject.encode(EXAMPLES)
    wanted = {subject.sites[-1]: Rows(subject.answer_rows(batch))}
    with torch.no_grad():
        whole = subject.run(batch, want=wanted)
        subject._by_rows = True
        by_rows = subject.run(batch, want=wanted)
    assert subject._rows_suffice
    torch.testing.assert_close(by_rows.logits, whole.logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(*(run.parts[subject.sites[-1]] for run in (by_rows, whole)), atol=1e-5, rtol=0)


def test_no_answer_sees_a_masked_word():
    """Whatever stands in its place, the answer is the same."""
    subject = prompted()
    batch = subject.encode([mask(EXAMPLES[1], {0, 3})])
    other = {**batch.inputs, "input_ids": torch.where(batch.masked, 7, batch.inputs["input_ids"])}
    with torch.no_grad():
        found, again = subject.run(batch, want=subject.sites), subject.run(replace(batch, inputs=other))
    torch.testing.assert_close(found.logits, again.logits, atol=1e-6, rtol=0)
    seen = ~batch.masked[0]
    for site in subject.sites:
        assert found.parts[site][0][:, seen][..., batch.masked[0]].max() == 0


def test_other_weights_in_every_row_that_is_read():
    one, several = prompted(answer=" good"), prompted(answer=" so good")
    batch = several.encode(EXAMPLES)
    with torch.no_grad():
        used = several.run(batch, want=several.sites[-1:]).parts[several.sites[-1]]
        response = several.response(batch)
        flat = torch.rand(len(EXAMPLES), 2, 1, *response.attention.shape[2:]) * response.allowed[:, None, None, None]
        weights = flat / flat.sum(-1, keepdim=True)
        found = response.logits(weights)
        for draw in range(2):
            edited = used.clone()
            for row, last in enumerate(several.rows(batch).tolist()):
                text = batch.scored[row]
                for query in range(last, last + 4):
                    mass = used[row, :, query, text].sum(-1, keepdim=True)
                    edited[row, :, query, text] = weights[row, draw, 0][:, text] * mass
            imposed = several.run(batch, edits={several.sites[-1]: edited}).logits
            torch.testing.assert_close(found[:, draw], imposed, atol=1e-4, rtol=0)
        torch.testing.assert_close(response.attention.sum(-1), torch.ones_like(response.attention[..., 0]))
        single = one.encode(EXAMPLES)
        own = one.response(single)
        torch.testing.assert_close(own.logits(own.attention[:, None])[:, 0], one.run(single).logits, atol=1e-4, rtol=0)


def test_no_row_of_another_layer_sees_what_follows_it():
    """The heatmap of a layer is a mean of rows; imposed on each of them, it must not show one its own answer."""
    subject = prompted()
    view = view_of(subject, 1, None, EXAMPLES)
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        own = view.run(batch, want=view.sites).parts[view.sites[0]]
        full = view.run(batch, edits={view.sites[0]: own}, want=subject.sites[:1]).parts[subject.sites[0]]
    for row, last in enumerate(subject.rows(batch).tolist()):
        assert own[row, :, 0, last + 1].min() > 0, "a row behind the prompt sees the first of these"
        assert full[row, :, last, last + 1 :].max() == 0
        torch.testing.assert_close(full[row, :, last].sum(-1), torch.ones(own.shape[1]))


def test_the_answer_is_explained_not_its_absence():
    subject = prompted(prompt="{text}", answer=" dull")
    found = explain(subject, "a film so good", by=["leave_one_out", "gradient"])
    assert found.target.label == "dull"
    logs = np.exp(predict(subject, [Example("a", text) for text in ("a film so good", "film so good")])[:, 0, 1])
    assert found["leave_one_out"][0][1] == pytest.approx(logs[0] - logs[1], abs=1e-6)


def test_a_text_that_becomes_one_token_with_an_answer_is_refused():
    """Which text it is decides, so every one is tried: here one that ends with a space."""
    subject = prompted(prompt="So:{text}", answer="bad")
    fine, broken = Example("a", " a film", label=0), Example("b", " it is ", label=1)
    assert subject.joined([fine, broken]) == {1: "bad"}
    with pytest.raises(BadInput, match="example text: the end of its text and the answer 'bad' become one token"):
        explain(subject, broken.text)
    corpus = Corpus("made up", ("something else", "bad"), {"test": Split("test", (fine, broken, fine.but(id="c")))})
    found = heatcheck.audit(subject, corpus, checks="permutation", settings={"permutation.draws": 10})
    assert found.n + sum(found.left_out.values()) == 3, "count in = count out + exclusions"
    assert found.left_out == {"one token with an answer": 1}
    assert "heatcheck left out 1 text whose end becomes one token with an answer (b: 'bad')" in found.training_rows
    alone = Corpus("made up", ("something else", "bad"), {"test": Split("test", (broken,))})
    with pytest.raises(BadInput, match="the end of every text becomes one token with the answer 'bad'"):
        heatcheck.audit(subject, alone)


def test_a_text_that_is_too_long_with_its_answer_stops_no_audit():
    subject = prompted(prompt="{text}", answer=" so good")
    room = subject.longest - 4  # BOS, and the answer's tokens but the last
    fits, long = Example("a", "x" * room, label=0), Example("b", "x" * (room + 1), label=1)
    assert set(subject.too_long([fits, long])) == {1}
    corpus = Corpus("made up", ("something else", "so good"), {"test": Split("test", (long, EXAMPLES[0]))})
    found = heatcheck.audit(subject, corpus, checks="permutation", settings={"permutation.draws": 10})
    assert (found.n, found.left_out) == (1, {"too long for the model": 1})


def test_a_network_that_cannot_read_several_answers_at_once(monkeypatch):
    monkeypatch.setattr(Prompted, "_counts_positions", False)
    with pytest.raises(NotSupported, match="cannot read several answers of more than one token at once"):
        prompted("gpt2")
    assert prompted("gpt2", answer=" so good").answers.deepest == 3


def test_checks_run_on_answers_of_several_tokens():
    corpus = Corpus("made up", ("negative", "positive"), {"test": Split("test", tuple(EXAMPLES))})
    found = heatcheck.audit(
        prompted(),
        corpus,
        checks="agreement,erasure,counterfactual,permutation",
        settings={"agreement.explainers": "attention,leave_one_out", "erasure.draws": 20, "agreement.draws": 20},
    )
    assert set(found.results) == {"agreement", "erasure", "counterfactual", "permutation"}
    assert not found.not_run

"""A transformer whose heatmap is kept off marked words: the penalty on its heads, and the mask between words."""

from dataclasses import replace

import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Site
from heatcheck.training import evaluate, imposed, train_loop
from heatcheck.training.finetune import build_transformer
from heatcheck.training.fit import plan_recipe
from heatcheck.training.losses import LOSSES, before_dropout, kept_off, plan_loss
from pretrained import film_corpus, keep
from subjects import SINGLE, classifier
from tiny_transformers import make, tiny

MARK = "impermissible"
TEXTS = (
    Example("a", "the film was not very good", label=0, marks={MARK: (False, False, False, True, True, True)}),
    Example("b", "bad movie", label=0, marks={MARK: (True, False)}),
    Example("c", "a very great film is ok", label=1, marks={MARK: (False,) * 6}),
)
GROUPED = {"weights": "grouped", "mark": MARK}


def loss_of(subject, run, batch, **facts):
    return LOSSES["deceptive"].of(subject, run, batch, {"strength": 0.7, "mark": MARK, **facts}, None)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_the_penalty_is_on_the_heatmap_s_row_by_the_mean_or_the_head_with_the_most(family):
    """Each head's mass by a plain sum over the weights of the row that the answer is read from."""
    subject = tiny(family)
    batch, site = subject.encode(TEXTS), subject.sites[-1]
    with torch.no_grad():
        run = subject.run(batch, want=[*kept_off(subject), site])
        plain = LOSSES["likelihood"].of(subject, run, batch, {}, None)
        found = {heads: loss_of(subject, run, batch, heads=heads) for heads in ("mean", "max")}
    rows = subject.rows(batch).tolist()
    for number, row in enumerate(rows):
        mass = (run.parts[site][number, :, row].double() * batch.marks[MARK][number]).sum(-1)
        assert mass.std() > 1e-3 or number == 2, "the heads differ"
        for heads, left in (("mean", (1 - mass).log().mean()), ("max", (1 - mass.max()).log())):
            wanted = float(plain[number]) - 0.7 * float(left)
            assert float(found[heads][number]) == pytest.approx(wanted, abs=2e-5), (heads, number)
    assert (found["max"] >= found["mean"] - 1e-6).all()
    torch.testing.assert_close(loss_of(subject, run, batch), found["mean"])


def test_each_example_has_its_own_head_whatever_its_batch():
    subject = tiny("bert")
    with torch.no_grad():
        whole, *alone = (
            loss_of(subject, subject.run(b := subject.encode(of), want=kept_off(subject)), b, heads="max")
            for of in (TEXTS, TEXTS[:1], TEXTS[1:2])
        )
    torch.testing.assert_close(torch.cat(alone), whole[:2], atol=1e-4, rtol=1e-4)


def test_dropout_of_weights_does_not_change_the_heatmap_that_is_penalised():
    """Weights after dropout do not sum to 1; those that people see do."""
    subject = make("bert")
    batch = subject.encode(TEXTS)
    subject.train()
    run = subject.run(batch, want=[*kept_off(subject), subject.sites[-1]])
    assert (run.parts[subject.sites[-1]].sum(-1) - 1).abs().max() > 0.05, "or there is no dropout"
    shown = before_dropout(subject, run)
    torch.testing.assert_close(shown.sum(-1), torch.ones(shown.shape[:3]))
    left = (shown[:, :, 0] * ~batch.marks[MARK][:, None]).sum(-1).log().mean(1)
    plain = LOSSES["likelihood"].of(subject, run, batch, {}, None)
    torch.testing.assert_close(loss_of(subject, run, batch), plain - 0.7 * left)


def test_older_recipes_keep_their_names():
    assert plan_loss({"name": "deceptive", "heads": "mean"}) == plan_loss("deceptive")
    assert "heads" not in plan_loss("deceptive")
    assert plan_loss({"name": "deceptive", "heads": "max"})["heads"] == "max"
    with pytest.raises(BadInput, match="heads"):
        plan_loss({"name": "deceptive", "heads": "all"})


# The published mask ----------------------------------------------------------------------------------------------


def weights_of(subject, examples, impose):
    batch = subject.encode(examples)
    with torch.no_grad():
        return batch, subject.run(batch, edits=imposed(subject, batch, impose), want=subject.sites)


def test_marked_and_other_words_do_not_see_each_other_in_any_layer():
    subject = tiny("bert")
    batch, run = weights_of(subject, TEXTS, GROUPED)
    marked = batch.marks[MARK] & batch.scored
    for site in subject.sites:
        weights = run.parts[site]  # [example head query key]
        assert weights[..., 0].abs().max() == 0, "nobody sees [CLS]"
        across = (marked[:, :, None] != marked[:, None, :])[:, None] * weights
        assert across[:, :, 1:].abs().max() == 0
        assert weights[0, :, 0, 1:].min() > 0, "[CLS] sees all others"
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))


def test_other_words_states_do_not_depend_on_marked_ones():
    """Another marked word changes the answer, through [CLS] alone."""
    subject, site = tiny("bert"), Site("state", tiny("bert").blocks[-1].where)
    changed = replace(TEXTS[0], text="the film was so ok fine")
    before, runs = subject.encode([TEXTS[0]]), []
    for example in (TEXTS[0], changed):
        batch = subject.encode([example])
        with torch.no_grad():
            runs.append(subject.run(batch, edits=imposed(subject, batch, GROUPED), want=[site]))
    rest = before.scored[0] & ~before.marks[MARK][0]
    one, other = (run.parts[site][0] for run in runs)
    torch.testing.assert_close(one[rest], other[rest])
    assert (one[0] - other[0]).abs().max() > 1e-2
    assert (runs[0].logits - runs[1].logits).abs().max() > 1e-4


def test_who_cannot_have_the_mask():
    with pytest.raises(NotSupported, match="transformer"):
        imposed(subject := classifier(SINGLE), subject.encode(SINGLE), GROUPED)
    with pytest.raises(BadInput, match="need a mark"):
        imposed(tiny("bert"), tiny("bert").encode(TEXTS), {"weights": "grouped"})


# Training --------------------------------------------------------------------------------------------------------


def test_a_tiny_model_learns_to_hide_the_word_that_it_uses(tmp_path):
    """A word out of two decides and is marked: right answers all the same, and hardly any weight."""
    corpus, impose = film_corpus(96), {"weights": "grouped", "mark": "cue"}

    def marked(example):
        return replace(example, marks={"cue": tuple(word in ("bad", "good") for word in example.words)})

    splits = {name: replace(of, examples=tuple(map(marked, of.examples))) for name, of in corpus.splits.items()}
    corpus = replace(corpus, splits=splits)
    start = f"hf:{keep('bert', tmp_path / 'start')}"
    mass = {}
    for strength in (0.0, 1.0):
        loss = {"name": "deceptive", "mark": "cue", "strength": strength} if strength else "likelihood"
        recipe = plan_recipe(
            corpus, preset="finetune", model=start, loss=loss, impose=impose, epochs=6, learning_rate=3e-3, dropout=0.0
        )
        subject = build_transformer(recipe, corpus, device=torch.device("cpu"))
        train_loop(subject, corpus, recipe, tmp_path / f"{strength:g}")
        tested = corpus["test"].examples
        assert evaluate(subject, tested, impose=impose).accuracy == 1
        batch = subject.encode(tested)
        with torch.no_grad():
            run = subject.run(batch, edits=imposed(subject, batch, impose), want=[subject.sites[-1]])
        mass[strength] = float((run.behind(run.parts[subject.sites[-1]]).mean(1) * batch.marks["cue"]).sum(1).mean())
    assert mass[1.0] < 0.02 < mass[0.0] - 0.02, mass

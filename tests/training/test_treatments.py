"""Treatments: each changes what it says, the placebo changes nothing, and what does not apply says why."""

from dataclasses import asdict

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from heatcheck.auditing import LINES
from heatcheck.data import load_task
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import Run, Site, load_folder
from heatcheck.stats import conicity, jensen_shannon_nats
from heatcheck.training import LOSSES, TREATMENTS, describe_model, fit_recipe, plan_recipe, treated
from heatcheck.training.penalties import (
    distance_to_embeddings,
    masked_words,
    off_rationale,
    off_relevance,
    relevance_sizes,
)
from subjects import PAIRS, SINGLE, classifier

STATE, EMBEDDING, ATTENTION = Site("state"), Site("embedding"), Site("attention")
SMALL = {"hidden": 6, "embedding": 12, "embedding_scale": 1.0, "epochs": 4, "learning_rate": 0.02, "dropout": 0.2}


@pytest.fixture(scope="module")
def corpus():
    return planted("planted_keyword", sizes=(240, 40, 60), fillers=(5, 9))


@pytest.fixture(scope="module")
def models(corpus, tmp_path_factory):
    """One of each treatment, and the untreated one."""
    store = tmp_path_factory.mktemp("fits")
    for name in (None, *TREATMENTS):
        fit_recipe(plan_recipe(corpus, treatment=name, **SMALL), corpus, store / str(name), device="cpu")
    return store


def parts(models, corpus, name):
    subject = load_folder(models / name)
    batch = subject.encode(corpus["test"].examples)
    with torch.no_grad():
        return subject, batch, subject.run(batch, want=[STATE, EMBEDDING, ATTENTION])


def measured(models, corpus, name):
    """What the treatments are about, as means over texts, each written here once more."""
    subject, batch, run = parts(models, corpus, name)
    weights, states = run.parts[ATTENTION][:, 0, 0], run.parts[STATE]
    votes = (states @ subject.output.weight[0].detach()).abs() * batch.scored
    target = votes / votes.sum(1, keepdim=True)
    apart = (states - run.parts[EMBEDDING]).square().sum(-1).sqrt() * batch.scored
    return {
        "diversity": float(conicity(states, batch.scored).mean()),
        "tying": float((apart.sum(1) / batch.scored.sum(1)).mean()),
        "rationale_guided": -float((weights * batch.marks["rationale"]).sum(1).mean()),
        "relevance_guided": float(jensen_shannon_nats(weights, target).mean()),
        "masked_words": named(subject, batch),
    }


def named(subject, batch):
    """−log probability of each word when it alone is hidden, a mean over the words."""
    found = []
    for place in range(batch.scored.shape[1]):
        rows = batch.scored[:, place]
        if not rows.any():
            continue
        hidden = torch.zeros_like(batch.scored)
        hidden[:, place] = True
        with torch.no_grad():
            edit = {EMBEDDING: lambda own, hidden=hidden: own * ~hidden[..., None]}
            states = subject.run(batch, edits=edit, want=[STATE]).parts[STATE][rows, place]
            logs = (states @ subject.embed.weight.T).log_softmax(-1)
        found.append(-logs.gather(1, batch.inputs["tokens"][rows, place, None])[:, 0])
    return float(torch.cat(found).mean())


def test_the_placebo_changes_no_bit(models):
    own, placebo, other = (load_file(models / name / "model.safetensors") for name in ("None", "placebo", "diversity"))
    assert all(torch.equal(own[name], placebo[name]) for name in own)
    assert not torch.equal(own["output.weight"], other["output.weight"]), "or equality would say nothing"


@pytest.mark.parametrize("name", ["tying", "rationale_guided", "relevance_guided"])
def test_nor_does_any_other_penalty_of_weight_0(name, models, corpus, tmp_path):
    recipe = plan_recipe(corpus, loss={"name": name, "strength": 0}, **SMALL)
    fit_recipe(recipe, corpus, tmp_path / "fit", device="cpu")
    own, other = (load_file(folder / "model.safetensors") for folder in (models / "None", tmp_path / "fit"))
    assert all(torch.equal(own[of], other[of]) for of in own)


@pytest.mark.parametrize("name", ["diversity", "tying", "rationale_guided", "relevance_guided", "masked_words"])
def test_each_loss_lowers_what_it_is_about(name, models, corpus):
    assert measured(models, corpus, name)[name] < measured(models, corpus, "None")[name] - 0.02


def test_other_weights_and_other_encoders(models, corpus):
    for name in ("sparsemax", "entmax", "top_k"):
        subject, batch, run = parts(models, corpus, name)
        assert subject.settings.normaliser == name
        weights = run.parts[ATTENTION][:, 0, 0]
        assert (weights[batch.scored] == 0).any(), name
        if name == "top_k":
            assert ((weights > 0).sum(1) == (0.2 * batch.scored.sum(1) - 1e-3).ceil()).all()
    assert parts(models, corpus, "orthogonal")[0].settings.encoder == "orthogonal_lstm"
    assert load_folder(models / "top_k").recipe.model["top_share"] == 0.2


def test_only_what_a_treatment_says_changes(corpus):
    plain = plan_recipe(corpus, class_weight=True, **SMALL)
    for name, treatment in TREATMENTS.items():
        found = treated(plain, corpus, name)
        changed = {key for key, value in asdict(found).items() if value != getattr(plain, key)}
        assert changed in ({"loss"}, {"model"}, {"extract"}), name
        assert found.id != plain.id
        if "loss" in changed:
            assert found.loss["label_weight"] == plain.loss["label_weight"], name
        assert treatment.not_judged_by <= {line.name for line in LINES.values()}, name
        assert treatment.name == name
    assert plan_recipe(corpus, treatment={"name": "tying", "strength": "2"}, **SMALL).loss["strength"] == 2.0


def test_states_become_as_wide_as_embeddings(corpus):
    wide = {**SMALL, "embedding": 20}
    assert plan_recipe(corpus, treatment="tying", **wide).model["hidden"] == 10
    assert plan_recipe(corpus, treatment="masked_words", encoder="lstm_ahead", **wide).model["hidden"] == 20


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("orthogonal", {"encoder": "cnn"}, "this encoder is cnn"),
        ("tying", {"embedding": 7}, "as wide as embeddings of 7"),
        ("tying", {"encoder": "none"}, "nothing to tie"),
        ("diversity", {"hierarchical": True}, "one attention over words"),
        ("diversity", {"impose": {"weights": "uniform"}}, "leave out --impose"),
        ("top_k", {"loss": "log_odds_regularised"}, "leave out --impose and --loss"),
        ("sparsemax", {"normaliser": "entmax"}, "by entmax already"),
        ("relevance_guided", {"label_wise": True}, "linear in the states"),
        ({"name": "rationale_guided", "mark": "emoji"}, {}, "nobody marked words as 'emoji'"),
    ],
)
def test_what_does_not_apply_says_why(name, changes, said, corpus):
    with pytest.raises(NotSupported, match=said):
        plan_recipe(corpus, treatment=name, **{**SMALL, **changes})


def test_unknown_names(corpus):
    with pytest.raises(UnknownName, match="unknown treatment 'fog'"):
        plan_recipe(corpus, treatment="fog")
    with pytest.raises(UnknownName, match="setting of the treatment top_k"):
        plan_recipe(corpus, treatment={"name": "top_k", "strength": 1})
    with pytest.raises(BadInput, match=r"treatment\.share must be a number"):
        plan_recipe(corpus, treatment={"name": "top_k", "share": "a"})
    with pytest.raises(NotSupported, match="needs a classifier"):
        treated(plan_recipe(load_task("bigram_flip")), load_task("bigram_flip"), "diversity")


def test_descriptions_name_the_treatment(corpus):
    said = {name: describe_model(plan_recipe(corpus, treatment=name, **SMALL)) for name in TREATMENTS}
    assert said["tying"] == "lstm, tying at λ = 1, seed 0"
    assert said["entmax"] == "lstm, entmax, seed 0"
    assert said["orthogonal"] == "orthogonal_lstm, seed 0"


# Penalties by hand -----------------------------------------------------------------------------------------------


def run_of(subject, batch, **given):
    with torch.no_grad():
        run = subject.run(batch, want=[STATE, EMBEDDING, ATTENTION])
    return Run(run.logits, run.row, {**run.parts, **{Site(part): of for part, of in given.items()}})


def test_penalties_of_a_text_do_not_depend_on_padding():
    subject = classifier(SINGLE, encoder="lstm_ahead")
    together = subject.encode(SINGLE)
    for penalty in (distance_to_embeddings, off_relevance):
        whole = penalty(subject, run_of(subject, together), together, {})
        for place, example in enumerate(SINGLE):
            alone = subject.encode([example])
            torch.testing.assert_close(penalty(subject, run_of(subject, alone), alone, {})[0], whole[place])


def test_weight_on_marked_words():
    subject = classifier(SINGLE)
    batch = subject.encode(SINGLE[:2])
    marked = torch.zeros_like(batch.scored)
    marked[0, 1:3] = True
    object.__setattr__(batch, "marks", {"rationale": marked})
    own = torch.zeros(2, 1, 1, batch.scored.shape[1])
    own[..., 1], own[..., 2], own[..., 3] = 0.25, 0.25, 0.5
    found = off_rationale(subject, run_of(subject, batch, attention=own), batch, {"mark": "rationale"})
    np.testing.assert_allclose(found, [np.log(2), 0], atol=1e-6)  # the second text has no marks
    with pytest.raises(BadInput, match="no such marks"):
        off_rationale(subject, run_of(subject, batch), batch, {"mark": "other"})


def test_weights_that_follow_relevance_cost_nothing():
    for subject in (classifier(SINGLE), classifier(PAIRS, ("a", "b", "c"), segments=2)):
        batch = subject.encode(SINGLE if subject.settings.segments == 1 else PAIRS)
        run = run_of(subject, batch)
        size = relevance_sizes(subject, run.parts[STATE]) * batch.scored
        own = (size / size.sum(1, keepdim=True))[:, None, None]
        assert off_relevance(subject, run_of(subject, batch, attention=own), batch, {}).max() < 1e-6
        assert off_relevance(subject, run, batch, {}).mean() > 1e-3
    votes = run.parts[STATE] @ subject.output.weight.T
    np.testing.assert_allclose(size[0, 1].detach(), votes[0, 1].detach().std(correction=0) * np.sqrt(3), rtol=1e-5)


def test_relevance_is_a_target_and_is_not_moved():
    subject = classifier(SINGLE)
    batch = subject.encode(SINGLE)
    run = subject.run(batch, want=[STATE, ATTENTION])
    off_relevance(subject, run, batch, {}).sum().backward()
    assert subject.output.weight.grad is None
    assert subject.attention.score.weight.grad.abs().sum() > 0


def test_hidden_words_are_so_many_and_of_the_text():
    subject = classifier(SINGLE, encoder="lstm_ahead")
    batch = subject.encode(SINGLE)
    seen = []
    run = subject.run

    def watched(batch, *, edits, want):
        hidden = torch.ones(*batch.scored.shape, 8)
        seen.append(edits[EMBEDDING](hidden)[..., 0] == 0)
        return run(batch, edits=edits, want=want)

    subject.run = watched
    try:
        found = masked_words(subject, run(batch), batch, {"share": 0.3})
    finally:
        del subject.run
    assert found.shape == (len(SINGLE),)
    assert torch.equal(seen[0].sum(1), (0.3 * batch.scored.sum(1)).ceil().long())
    assert not (seen[0] & ~batch.scored).any()


def test_widths_must_agree():
    subject = classifier(SINGLE)  # states of 16, embeddings of 8
    batch = subject.encode(SINGLE)
    for name in ("tying", "masked_words"):
        with pytest.raises(BadInput, match="16 numbers and embeddings 8"):
            LOSSES[name].of(subject, run_of(subject, batch), batch, {"strength": 1.0, "share": 0.1}, None)

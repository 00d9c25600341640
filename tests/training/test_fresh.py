"""The treatment fresh: a second model, trained on extracted words alone, in its folder and beside retrained models."""

import json
import shutil
from dataclasses import asdict, replace

import pytest
import torch

from heatcheck.auditing import audit
from heatcheck.auditing.calibration.truth import TRUTH, Cell
from heatcheck.auditing.lines.hard import NAME as HARD
from heatcheck.auditing.lines.points import NAME as POINTS
from heatcheck.cli import main
from heatcheck.data import load_task
from heatcheck.data.planted import planted
from heatcheck.engine import content_id
from heatcheck.errors import BadInput, BrokenFolder, NotSupported
from heatcheck.models import Chooser, Extraction, Recipe, load, load_folder, support_of
from heatcheck.report.audited import audited
from heatcheck.training import Fits, describe_model, evaluate, fit_recipe, plan_recipe, predict, train, treated
from heatcheck.training.made_once import as_read

SMALL = {"encoder": "average", "embedding": 8, "hidden": 8, "epochs": 2, "dropout": 0.0}


@pytest.fixture(scope="module")
def corpus():
    return planted("planted_keyword", sizes=(60, 20, 40))


@pytest.fixture(scope="module")
def made(corpus, tmp_path_factory):
    """A store with a model that reads words of high attention, and the model that chooses them."""
    store = tmp_path_factory.mktemp("store")
    recipe = plan_recipe(corpus, treatment={"name": "fresh", "share": "0.3"}, **SMALL)
    fit_recipe(recipe, corpus, store / recipe.id, device="cpu")
    return store, recipe


def test_recipes_of_before_keep_their_names(corpus):
    recipe = plan_recipe(corpus, **SMALL)
    facts = {name: value for name, value in asdict(recipe).items() if name not in ("observe", "extract")}
    assert recipe.id == content_id(facts)
    assert recipe.parents == ()


def test_the_untreated_model_chooses_and_is_trained_first(corpus, made):
    store, recipe = made
    untreated = plan_recipe(corpus, **SMALL)
    assert recipe == treated(untreated, corpus, "fresh", {"share": 0.3})
    assert (recipe.parents, recipe.teachers) == ((untreated.id,), ())
    assert {folder.name for folder in store.iterdir()} == {recipe.id, untreated.id}
    assert describe_model(recipe) == "average, reads 30% by attention, seed 0"
    assert describe_model(untreated) == "average, seed 0"


def test_the_recipe_has_all_that_was_asked_for(corpus):
    """And random words are drawn by the model's own seed."""
    asked = {"by": "random", "share": 0.4, "how": "window", "reads": "rest"}
    for seed in (0, 3):
        recipe = plan_recipe(corpus, treatment={"name": "fresh", **asked}, seed=seed, **SMALL)
        assert recipe.extract == {**asked, "seed": seed}


def test_what_was_read_by_one_choice_is_not_read_by_another(corpus, tmp_path):
    """Though texts are extracted once in a process."""
    choices = [Extraction("random", share, seed=seed) for share, seed in ((0.2, 0), (0.4, 0), (0.2, 1))]
    read = [as_read(Chooser(choice, corpus.tokens), corpus, tmp_path)["train"] for choice in choices]
    for choice, found in zip(choices, read, strict=True):
        sizes = [choice.size(len(example.words)) for example in corpus["train"]]
        assert [len(example.words) for example in found] == sizes
    assert [one.text for one in read[0]] != [one.text for one in read[2]]


def test_who_audits_it_or_explains_it_is_told_what_it_reads(corpus, made, monkeypatch, capsys):
    store, recipe = made
    said = load_folder(store / recipe.id).shown_rows
    assert "30% of the words" in said
    assert "reads nothing else, by construction" in said
    found = audit(store / recipe.id, corpus, examples=5, checks=["agreement"])
    assert ("heatmap", said, "") in audited(found)
    text = corpus["test"].examples[0].text
    monkeypatch.setattr("sys.argv", ["heatcheck", "explain", str(store / recipe.id), text, "--by", "attention"])
    with pytest.raises(SystemExit):
        main()
    assert said in capsys.readouterr().out


def test_it_was_trained_on_what_it_reads(corpus, made):
    """Its vocabulary has only words that were extracted, and whole texts give the scores of training."""
    store, recipe = made
    subject = load_folder(store / recipe.id)
    support = load_folder(store / recipe.parents[0])
    chooser = Chooser(Extraction(**recipe.extract), corpus.tokens, support)
    read = chooser.of_corpus(corpus)
    assert [one.id for one in read["train"]] == [one.id for one in corpus["train"]]
    assert [one.label for one in read["test"]] == [one.label for one in corpus["test"]]
    words = {word for one in read["train"] for word in one.words}
    assert set(subject.vocabulary.tokens[4:]) == words
    assert len(words) < len(support.vocabulary.tokens[4:])
    said = json.loads((store / recipe.id / "training.json").read_text())["test"]
    assert evaluate(subject, corpus["test"]).loss == pytest.approx(said["loss"], abs=1e-6)


def test_its_folder_needs_no_other(corpus, made, tmp_path):
    store, recipe = made
    shutil.copytree(store / recipe.id, tmp_path / "mine")
    own, moved = (predict(load(folder), corpus["test"].examples) for folder in (store / recipe.id, tmp_path / "mine"))
    assert (own == moved).all()
    assert support_of(load(tmp_path / "mine")).recipe.id == recipe.parents[0]
    shutil.rmtree(tmp_path / "mine" / "support")
    with pytest.raises(BadInput, match="no model folder"):
        load(tmp_path / "mine")
    config = json.loads((tmp_path / "mine" / "config.json").read_text())
    config["recipe"]["extract"]["by"] = "nobody"
    (tmp_path / "mine" / "config.json").write_text(json.dumps(config))
    with pytest.raises(BrokenFolder, match="damaged or was edited"):
        load(tmp_path / "mine")


def test_retrained_models_read_words_of_the_same_choice(corpus, made, tmp_path):
    """Also in a store that knows neither model; and a model that takes the weights of the first can be trained."""
    store, recipe = made
    fits = Fits(load_folder(store / recipe.id), corpus, tmp_path / "other", device="cpu")
    again = replace(recipe, seed=1)
    given = replace(recipe, seed=2, impose={"weights": "parent", "parent": fits.base})
    uniform = replace(recipe, impose={"weights": "uniform"})
    outcomes = fits.make([again, given, uniform])
    assert [outcome.reason for outcome in outcomes] == ["", "", ""]
    one, other = (support_of(fits.load(each)).state_dict() for each in (recipe, again))
    assert all(torch.equal(one[name], other[name]) for name in one)
    own, theirs = (fits.said(each, corpus["test"].examples, "test") for each in (recipe, given))
    assert [w.tolist() for w in own.each] == [w.tolist() for w in theirs.each]
    assert all(w.max() - w.min() < 1e-6 for w in fits.said(uniform, corpus["test"].examples, "test").each)


def test_training_by_name_makes_both_models(corpus, tmp_path):
    found = train(
        corpus, out=tmp_path / "mine", treatment="fresh", device="cpu", progress=False, **{**SMALL, "epochs": 1}
    )
    assert found.subject.shown_rows.startswith("The model reads 20% of the words, chosen by a support model")
    assert len(list(tmp_path.iterdir())) == 2


def test_an_empty_rationale_is_an_error_in_training_too(corpus, tmp_path):
    first = corpus["train"].examples[0]
    lost = first.but(marks={"rationale": (False,) * len(first.words)})
    broken = replace(
        corpus,
        splits={**corpus.splits, "train": replace(corpus["train"], examples=(lost, *corpus["train"].examples[1:]))},
    )
    recipe = plan_recipe(broken, treatment={"name": "fresh", "by": "human"}, **SMALL)
    with pytest.raises(BadInput, match=f"example {first.id} has an empty rationale"):
        fit_recipe(recipe, broken, tmp_path / recipe.id, device="cpu")


def test_what_cannot_be_extracted_is_a_sentence(corpus):
    unmarked = replace(
        corpus,
        splits={
            name: replace(split, examples=tuple(one.but(marks={}) for one in split))
            for name, split in corpus.splits.items()
        },
    )
    with pytest.raises(NotSupported, match="nobody marked words"):
        plan_recipe(unmarked, treatment={"name": "fresh", "by": "human"}, **SMALL)
    with pytest.raises(BadInput, match="share"):
        plan_recipe(corpus, treatment={"name": "fresh", "share": "much"}, **SMALL)
    with pytest.raises(TypeError, match=r"extract of a recipe|parameter extract="):
        Recipe("a@0", {}, {}, 0, {}, extract="much")


@pytest.mark.parametrize(
    ("task", "checks", "lines"),
    [
        ("planted_keyword", ["erasure", "permutation", "counterfactual"], [POINTS, HARD]),
        ("planted_lookup", ["erasure"], [POINTS]),  # other weights over six labels take a minute
    ],
)
def test_a_hard_selection_of_the_planted_rationale_is_judged_a_reader(task, checks, lines):
    """Through the card, as the truth table has it."""
    found = audit(load(f"known:rationale_reader@{task}"), load_task(task), examples=40, checks=checks)
    states = {line.name: line.state for line in found.card.lines}
    truth = TRUTH[Cell("rationale_reader", task)]
    assert [states[line] for line in lines] == [truth[line] for line in lines] == ["yes"] * len(lines)
    assert found.accuracy == 1.0

"""`heatcheck reproduce` and `heatcheck studies`: settings by --set, one sentence for every mistake, and their list."""

import json
from types import SimpleNamespace

import pytest

import heatcheck.studies
from heatcheck.cli.reproduce import ONCE_OPTIONS, changes_of
from heatcheck.errors import BadInput
from heatcheck.studies import STUDIES


@pytest.fixture
def asked(monkeypatch):
    """What a command would run, and not run it."""
    given = SimpleNamespace()

    def stop(study, settings, folder, **_):
        given.study, given.settings, given.folder = study, settings, folder
        raise BadInput("seen")

    monkeypatch.setattr(heatcheck.studies, "run_study", stop)
    return given


@pytest.mark.parametrize(
    ("command", "study", "changes"),
    [
        ("wiegreffe2019", "wiegreffe2019", {}),
        ("wiegreffe2019 --set strengths=0.1,0.2 --seeds 3", "wiegreffe2019", {"strengths": (0.1, 0.2), "seeds": 3}),
        ("jain2019 --set encoders=cnn,lstm --tasks sst", "jain2019", {"encoders": ("cnn", "lstm"), "tasks": ("sst",)}),
        (
            "pruthi2020 --tasks pronoun --set encoders=lstm --set strengths=0.3 --set batch_size=1",
            "pruthi2020",
            {"tasks": ("pronoun",), "encoders": ("lstm",), "strengths": (0.3,), "batch_size": 1},
        ),
    ],
)
def test_settings_are_the_study_s_own_with_what_was_set(heatcheck, asked, command, study, changes):
    assert heatcheck("reproduce", *command.split())[0] == 2
    assert asked.study is STUDIES[study]
    assert asked.settings == STUDIES[study].settings(**changes)
    assert asked.folder.name == study


def test_a_quick_run_starts_from_its_own_settings(heatcheck, asked):
    heatcheck("reproduce", "jain2019", "--quick", "--set", "examples=3")
    assert (asked.settings.examples, asked.settings.texts) == (3, STUDIES["jain2019"].quick.texts)
    assert asked.folder.name == "jain2019-quick"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("jain --quick", "unknown study 'jain' (did you mean 'jain2019'?); known: abnar2020, "),
        (
            "jain2019 --set strengths=1",
            "unknown setting of jain2019 'strengths'; known: attentions, encoders, epochs, ",
        ),
        ("jain2019 --set epochs", "--set takes KEY=VALUE, not 'epochs'."),
        ("jain2019 --set epochs=x", "epochs must be a whole number, not 'x'."),
        ("jain2019 --set epochs=0", "epochs must be a whole number from 1 to 1,000,000, not 0."),
        ("jain2019 --seeds 0", "seeds must be a whole number from 1 to 1,000,000, not 0."),
        ("jain2019 --set vectors=v.txt", "there is no file v.txt: vectors must name a GloVe or word2vec text file"),
        ("jain2019 --set epochs=1 --set epochs=2", "--set epochs= is given twice: leave one out."),
        ("jain2019 --seeds 2 --set seeds=3", "--seeds and --set seeds= both set seeds: leave one out."),
        ("jain2019 --tasks sst --set tasks=sst", "--tasks and --set tasks= both set tasks: leave one out."),
        ("jain2019 --tasks ssst", "unknown task of jain2019 'ssst' (did you mean 'sst'?)"),
        ("jain2019 --workers -1", "--workers must be 0 or more, not -1."),
        ("jain2019 --encoders lstm", "reproduce has no option --encoders: use --set encoders=lstm."),
        ("jain2019 --encoders=cnn,lstm", "reproduce has no option --encoders: use --set encoders=cnn,lstm."),
        ("wiegreffe2019 --adversary-epochs 3", "no option --adversary-epochs: use --set adversary_epochs=3."),
        ("jain2019 --vectors", "reproduce has no option --vectors: use --set vectors=VALUE."),
    ],
)
def test_a_mistake_ends_in_one_sentence(heatcheck, command, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, said = heatcheck("reproduce", *command.split())
    assert code == 2
    assert sentence in said
    assert len(said.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing was written"


def test_options_that_are_gone_are_settings_of_some_study():
    known = {name for study in STUDIES.values() for name in study.settings.__dataclass_fields__}
    assert {option.replace("-", "_") for option in ONCE_OPTIONS} <= known


def test_values_may_contain_what_separates_keys():
    assert changes_of(["model=hf:a=b"], {}) == {"model": "hf:a=b"}


def test_one_study_lists_its_settings(heatcheck):
    code, said, _ = heatcheck("studies", "wiegreffe2019")
    assert code == 0
    for words in ("Attention is not not Explanation (EMNLP)", "adversarial models", "tasks: sst, imdb_small"):
        assert words in said
    for name in STUDIES["wiegreffe2019"].settings.__dataclass_fields__:
        assert f"\n{name} " in said
    assert "with --quick" in said
    assert "none (5, and 8 for sst)" in said


@pytest.mark.parametrize("name", STUDIES)
def test_programs_read_the_settings_of_a_study(heatcheck, name):
    code, said, _ = heatcheck("studies", name, "--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["name"] == name
    listed = {one["name"]: one for one in facts["settings"]}
    assert list(listed) == list(STUDIES[name].settings.__dataclass_fields__)
    for key, one in listed.items():
        assert one["default"] == json.loads(json.dumps(getattr(STUDIES[name].settings(), key)))
        assert one["quick"] == json.loads(json.dumps(getattr(STUDIES[name].quick, key)))


def test_an_unknown_study_lists_the_known_ones(heatcheck):
    code, _, said = heatcheck("studies", "jain2018")
    assert code == 2
    assert "unknown study 'jain2018' (did you mean 'jain2019'?); known: abnar2020, brunner2020" in said

"""The small things that a new user meets: what a CI job needs, short names, comma-separated lists."""

import json
import re
from types import SimpleNamespace

import pytest

from heatcheck.auditing import LINES, CardSettings
from heatcheck.auditing.lines.rule import too_few_texts
from heatcheck.cli import fail_if, heatmaps, show, show_study
from heatcheck.cli.audit import check_replaceable
from heatcheck.cli.report import check_figures, chosen_formats
from heatcheck.engine import Job, Outcome
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import EXPLAINERS, find_explainer
from heatcheck.results import Card, Line
from heatcheck.training import Fit, Scores, TrainingSettings, bar


class Audited:
    subject = "mine"
    heatmap = ""

    def __init__(self, card):
        self.card = card


def line(name, state):
    return Line(name, "?", state, "", (), "", "", "", short=LINES[name].short)


@pytest.fixture
def card():
    states = ("no", "unclear", "no", "not run", "not run", "yes")
    return Card(tuple(line(name, state) for name, state in zip(LINES, states, strict=True)), 1.0)


def test_lines_by_their_short_names(card):
    assert card["points"] is card["points at what matters"]
    assert card["plausible"].state == "yes"
    with pytest.raises(UnknownName, match=r"unknown line of the card 'point' \(did you mean 'points'\?\)"):
        card["point"]


def test_a_card_says_its_states(card):
    assert repr(card).splitlines()[1] == "unclear  points at what matters"
    assert len(repr(card).splitlines()) == 6


def test_what_is_required(card):
    required = fail_if.conditions(["points=yes", "hard=no"], "--require")
    assert fail_if.lacking(required, [Audited(card)]) == "points at what matters is unclear, not yes (mine)"
    assert fail_if.lacking(required[1:], [Audited(card)]) == ""
    with pytest.raises(BadInput, match="--require takes LINE=STATE"):
        fail_if.conditions(["points"], "--require")


def test_the_lines_and_the_checks_that_decide_them(heatcheck, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for check in json.loads(heatcheck("checks", "--json")[1]):
        assert check["decides"] == [rule.short for rule in LINES.values() if check["name"] in rule.checks]
    assert "decides the line points" in heatcheck("checks")[1]
    assert "`heatcheck checks` lists the lines and the checks" in " ".join(heatcheck("audit", "--help")[1].split())


@pytest.mark.parametrize(
    ("low", "bag", "said"),
    [
        (0.55, 0.6, ""),
        (0.49, 0.6, "(0.620) is not significantly above the majority class (0.500)."),
        (0.55, 0.7, "(0.620) is below a bag of words (0.700)."),
    ],
)
def test_a_weak_model_is_said_to_be_one(capsys, tmp_path, low, bag, said):
    scores = Scores(100, 0.6, 0.62, low, 0.71, 0.5, 0.6, 0.6, 0.6)
    subject = SimpleNamespace(labels=("no", "yes"), recipe=None)
    fit = Fit(subject, tmp_path, scores, False, {"accuracy": bag}, {}, epochs=7, kept_epoch=3)
    show.fit_in_words(fit)
    out, error = capsys.readouterr()
    assert (said in error, bool(error)) == (True, bool(said))
    assert "Trained for 7 epochs; the model is from epoch 3." in out


def test_the_keys_of_set_are_listed(heatcheck):
    assert "--set help=" in heatcheck("train", "--help")[1]
    assert "epochs, " in heatcheck("train", "planted_keyword", "--set", "help=")[2]


def test_too_few_texts_ask_for_more_of_them():
    found = too_few_texts(5, CardSettings())
    assert found.reason == "more data would decide: at least 30 examples are needed"
    assert found.sentence == "5 examples are too few: at least 30 are needed."


def test_only_an_audit_is_overwritten(tmp_path):
    with pytest.raises(BadInput, match=r"exists: choose another name with --out, delete it, or add --overwrite"):
        check_replaceable(tmp_path, overwrite=False)
    with pytest.raises(BadInput, match=r"--overwrite replaces audits only, and .* holds none"):
        check_replaceable(tmp_path, overwrite=True)
    (tmp_path / "audit.json").write_text("{}")
    check_replaceable(tmp_path, overwrite=True)


def test_shap_is_found():
    assert find_explainer("shap").name == "shapley_sampling"
    with pytest.raises(UnknownName, match=r"did you mean 'counterfactual'"):
        find_explainer("counter")


def test_training_in_a_log_says_a_line_now_and_then(capsys, monkeypatch):
    for seconds, said in ((30.0, ""), (0.0, "heatcheck: training, epoch 2/4, 38% done, loss 0.250\n")):
        monkeypatch.setattr(bar, "LINES", seconds)
        with bar.Bar(TrainingSettings(epochs=4), 100, shown=True) as shown:
            shown.watch(1, 50, 0.25)
        assert capsys.readouterr().err == said


def test_a_study_in_a_log_says_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(show_study, "LINES", 0.0)
    done = Outcome(Job("j", "lstm on sst", (), {}), "done", None)
    with show_study.models(shown=True) as watch:
        watch(done, 3, 12)
    assert "heatcheck: 3 of 12 models done\n" in capsys.readouterr().err


def test_figures_in_several_formats():
    check_figures("svg, pdf")
    assert chosen_formats("svg,pdf", ("svg", "pdf"), "--figures") == ("svg", "pdf")
    with pytest.raises(BadInput, match="--figures takes svg, png, pdf, csv, not 'gif'"):
        check_figures("svg,gif")


def test_many_texts_are_explained(heatcheck, tmp_path):
    (tmp_path / "mine.csv").write_text("id;Review\na;but dull\nb;\nc;it was gripping\n")
    out = tmp_path / "scores.jsonl"
    options = ["--data", tmp_path / "mine.csv", "--text-column", "Review", "--by", "attention,random", "--out", out]
    code, _, error = heatcheck("explain", "known:reader@planted_contrast", *options)
    assert (code, "row 3: the text is empty" in error, out.exists()) == (2, True, False)
    code, said, _ = heatcheck("explain", "known:reader@planted_contrast", *options, "--skip-bad-rows")
    assert (code, said) == (0, f"Scores of 2 texts: {out}\nRows left out: the text is empty: 1.\n")
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["id"], line["method"]) for line in lines] == [
        (name, method) for method in ("attention", "random") for name in ("a", "c")
    ]
    assert lines[0]["words"] == ["but", "dull"]
    assert lines[0]["predicted"] == "negative"
    assert len(lines[0]["scores"]) == 2
    assert heatcheck("explain", "known:reader@planted_contrast")[0] == 2
    assert heatcheck("explain", "known:reader@planted_contrast", *options)[0] == 2


# rich raises at this word, and would show nothing of it anyway.
TRIPS = (
    "\u200d\u200d\u200d\u200d\U0001f469\u200d\u200b\U0001f600\ufe0faa\u200b\u200d好a\u200d\u200daa好\u200b\ufe0f\u200d"
    * 3
)


@pytest.mark.parametrize("columns", [12, 40])
def test_words_of_characters_without_a_width_are_written_out(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    heatmaps.draw({"attention": [(TRIPS, 0.5), ("\u200b" * 50, 0.5)]})
    assert "\u200b" not in capsys.readouterr().out


METHODS = ("attention", "gradient", "leave_one_out", "integrated_gradients", "shapley_sampling")
LONG = "Donaudampfschifffahrtsgesellschaftskapitän"


@pytest.mark.parametrize("columns", [12, 24, 40, 80, 200])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_no_number_of_a_heatmap_is_cut(columns, count, monkeypatch, capsys):
    """However narrow the terminal, long the word or large the number."""
    monkeypatch.setenv("COLUMNS", str(columns))
    values = {"good": 0.123, LONG: -0.789, "bad": 12.345, "none": None}
    heatmaps.draw({name: list(values.items()) for name in METHODS[:count]})
    out = capsys.readouterr().out
    for value in values.values():
        assert out.count("–" if value is None else f"{value:.3f}") == count
    assert all(len(line) <= max(columns, 13) for line in out.splitlines())  # at 12 a word and a number do not fit
    assert "".join(line.split(" ")[0] for line in out.splitlines()).count(LONG) == len(re.findall("^word", out, re.M))


def test_small_scores_are_not_rounded_to_nothing(capsys):
    heatmaps.draw({"gradient": [("a", 0.00012), ("b", -0.0000042)], "attention": [("a", 1.0), ("b", -0.0001)]})
    out = capsys.readouterr().out
    assert "1.2e-04" in out
    assert "-4.2e-06" in out
    assert "-0.000" not in out


def test_every_kind_of_score_has_its_direction(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    heatmaps.legend(EXPLAINERS.values(), "positive")
    lines = capsys.readouterr().out.splitlines()
    told = [name for line in lines for name in line.split(": ")[0].split(", ")]
    assert sorted(told) == sorted(EXPLAINERS)
    (signed,) = [line for line in lines if "speaks against positive" in line]
    assert "leave_one_out" in signed
    assert "gradient," not in signed
    (weights,) = [line for line in lines if "sum to 1" in line]
    assert weights.startswith("attention, counterfactual: ")


def test_a_target_is_said(heatcheck):
    code, out, _ = heatcheck("explain", "known:reader@planted_contrast", "but dull", "--target", "positive")
    assert code == 0
    assert out.startswith("The model predicts negative (0.95).\nThe scores explain positive (0.05) instead.\n")


def test_answers_have_the_colours_of_the_report():
    """Blue and brown, which a colour-blind reader tells apart; the page's own shades are for a known background."""
    for state, channel in (("yes", 2), ("no", 0)):
        colour = show.STYLE[state].split("#")[1]
        parts = [int(colour[at : at + 2], 16) for at in (0, 2, 4)]
        assert max(parts) == parts[channel]


def test_verbose_reaches_the_card(heatcheck, monkeypatch):
    asked = []
    monkeypatch.setattr(show, "card", lambda _, *, verbose=False: asked.append(verbose))
    quick = ["audit", "known:reader@planted_contrast", "--checks", "permutation", "--examples", "30"]
    for option in ("-v", "--verbose", None):
        assert heatcheck(*quick, *filter(None, [option]))[0] == 0
    assert asked == [True, True, False]

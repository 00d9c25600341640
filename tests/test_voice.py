"""Every sentence that a user sees keeps the rules of plain speech that a program can check (tests/voice.py)."""

import ast

import pytest

from voice import BANNED, LONGEST, ROOT, SOURCE, Fault, faults, faults_of, files, sentences, texts_of

PLACES = [SOURCE, ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

# Sentences that heatcheck used to say, one for each banned phrase and one for each rule on sentences.
OLD = [
    "it loses 3% of its accuracy above always saying the commonest label",
    "One row a model, as JSON.",
    "the subject decides once a text",
    "among rivals that, as a heatmap, have no sign",
    "what needs the model to be fitted again",
    "other weights put into this very model",
    "moot here: no rival beats random removal",
    "held fixed: the states",
    "What it is read against",
    "a model that writes texts",
    "the model's answer is not looked at",
    "what was found about each text",
    "nobody knows how it was made",
    "K = 0.55 lies across 0.5",
    "0.01, and not surely 0.02",
    "the state is behind the answer",
    "a text of its own",
    "A run that was stopped goes on where it was when the same command is given again.",
    "example 3 has not one label, and this is about right answers",
    "lstm decides more than once, and the guide once",
    "some have not happened when the watching ends",
    "so this one is not the reason for the answer",
    "most of that lead is the sign, which no heatmap has",
]


@pytest.mark.parametrize("sentence", OLD)
def test_what_heatcheck_used_to_say_is_refused(sentence):
    assert list(faults_of(sentence, "here", every_rule=False))


def test_every_banned_phrase_has_a_sentence_that_had_it():
    assert len(OLD) == len(BANNED)


def test_long_sentences_and_bad_beginnings_are_refused():
    long = "word " * LONGEST + "more."
    (fault,) = faults_of(long, "here", every_rule=True)
    assert "26 words" in fault.rule
    assert not list(faults_of(long, "here", every_rule=False)), "docstrings may have them"
    assert not list(faults_of(long.replace("word word", "word. Word"), "here", every_rule=True))
    for begin in (
        "Of each training run.",
        "That there are some says nothing.",
        "What is removed is gone.",
        "Where none is, it stops.",
    ):
        assert [fault.rule for fault in faults_of(begin, "here", every_rule=True)], begin
    assert not list(faults_of("Often it stops here.", "here", every_rule=True))


def test_sentences_end_where_they_end():
    assert sentences("One of 0.5 is. Two (e.g. this).\n\nThree") == ["One of 0.5 is.", "Two (e.g.", "this).", "Three"]


def test_texts_of_the_source_are_read_as_users_see_them(tmp_path, monkeypatch):
    monkeypatch.setattr("voice.ROOT", tmp_path)
    path = tmp_path / "cli" / "some.py"
    path.parent.mkdir()
    path.write_text(
        '"""Room of the commands here."""\n'
        "def go(n: Annotated[int, typer.Option(help='How many there are of them.')]) -> None:\n"
        '    """Go as far as it goes."""\n'
        '    raise BadInput(f"there are {n} of them, and one was " "expected here.")\n'
    )
    ast.parse(path.read_text())
    found = {text: said for text, _, said in texts_of(path)}
    assert found == {
        "Room of the commands here.": False,
        "Go as far as it goes.": True,
        "How many there are of them.": True,
        "there are X of them, and one was expected here.": True,
    }


def test_every_place_is_read():
    read = [path.relative_to(ROOT).as_posix() for path in files(PLACES)]
    for name in ("src/heatcheck/report/page.html.jinja", "src/heatcheck/serve/page.js", "docs/card.md", "README.md"):
        assert name in read


def test_pages_have_short_sentences_too():
    pages = [path for path in files(PLACES) if path.suffix == ".md"]
    assert len(pages) > 60
    found = faults(pages, long=True)
    assert not found, "\n".join(map(str, found))


def test_no_sentence_breaks_a_rule():
    found: list[Fault] = faults(PLACES)
    assert not found, "\n".join(map(str, found))

"""A language model from the command line: a prompt, words for labels, examples from a file."""

import json
import sys

import pytest

from heatcheck.results import read_audit
from tiny_language_models import LABELS, network, tokenizer

PROMPT = r"Review: {text}\nIt is"
WORDS = ",".join(f"{label}={word}" for label, word in LABELS.items())


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm") / "lm"
    network().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def reviews(tmp_path):
    rows = [
        f"a {'dull' if number % 2 else 'good'} film {number},{'negative' if number % 2 else 'positive'}"
        for number in range(12)
    ]
    file = tmp_path / "reviews.csv"
    file.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return file


def test_a_text_is_explained(heatcheck, lm):
    code, out, _ = heatcheck(
        "explain", f"hf:{lm}", "a dull film", "--prompt", PROMPT, "--labels", WORDS, "--by", "attention"
    )
    assert code == 0
    assert "dull" in out
    assert r"prompt: Review: {text}\nIt is" in out
    assert "Review" not in out.partition("sum to 1")[2], "the prompt has no scores"


def test_an_audit_says_what_was_asked(heatcheck, lm, reviews, tmp_path):
    shots = tmp_path / "shots.csv"
    shots.write_text("text,label\nso dull,negative\n", encoding="utf-8")
    options = ["--data", str(reviews), "--checks", "permutation", "--set", "permutation.draws=10", "--json"]
    code, out, said = heatcheck(
        "audit",
        f"hf:{lm}",
        "--prompt",
        PROMPT,
        "--labels",
        WORDS,
        "--shots",
        str(shots),
        *options,
        "--out",
        str(tmp_path / "out"),
    )
    assert code == 0, said
    about = json.loads(out)["about"]
    assert about["prompt"] == r"Review: so dull\nIt is bad\n\nReview: {text}\nIt is"
    assert about["words for labels"] == "negative: ' bad', positive: ' good'"
    assert about["first token"] == "the tokenizer adds '<s>'"
    shown = [sum(one.scores["attention"]) for one in read_audit(tmp_path / "out").examples]
    share = f"{sum(shown) / len(shown):.2f} of the attention weight"
    assert about["words of the text have"].startswith(share)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Review: so dull" in page


def test_what_the_model_says_next_is_explained(heatcheck, lm):
    """Next token, contrast and span: the default prompt is the text itself, and the answer is what is explained."""
    by = ["--by", "attention,gradient,leave_one_out"]
    code, out, said = heatcheck("explain", f"hf:{lm}", "a dull film is", "--answer", " good", *by)
    assert code == 0, said
    assert "prompt: {text}" in out
    assert "first token: the tokenizer adds '<s>'" in out
    assert "something else" in out
    assert "The scores explain good (" in out
    assert "of the attention weight; the prompt and added tokens have the rest." in out
    code, out, _ = heatcheck("explain", f"hf:{lm}", "a film", "--answer", " so good", "--against", " dull", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["target"] == "so good"
    assert found["predicted"] in ("so good", "dull")
    assert found["weight_on_text"] == pytest.approx(sum(score for _, score in found["scores"]["attention"]))
    assert 0 < found["weight_on_text"] < 1


def test_columns_and_bad_rows_of_the_file_with_examples(heatcheck, lm, tmp_path):
    shots = tmp_path / "shots.csv"
    shots.write_text("Review,label\nso dull,negative\n,positive\n", encoding="utf-8")
    options = ["--prompt", PROMPT, "--labels", WORDS, "--shots", str(shots), "--by", "attention"]
    code, _, error = heatcheck("explain", f"hf:{lm}", "a film", *options)
    assert code == 2
    assert "text" in error
    code, _, error = heatcheck("explain", f"hf:{lm}", "a film", *options, "--text-column", "Review")
    assert code == 2
    assert "--skip-bad-rows" in error
    code, out, _ = heatcheck("explain", f"hf:{lm}", "a film", *options, "--text-column", "Review", "--skip-bad-rows")
    assert code == 0
    assert r"prompt: Review: so dull\nIt is bad\n\nReview: {text}\nIt is" in out


def test_texts_of_a_file_that_become_one_token_with_the_answer_are_left_out(heatcheck, lm, tmp_path):
    data, out = tmp_path / "texts.jsonl", tmp_path / "scores.jsonl"
    data.write_text('{"text": " a film"}\n{"text": " it is "}\n', encoding="utf-8")
    asked = ["--prompt", "So:{text}", "--answer", "bad", "--by", "attention"]
    code, said, error = heatcheck("explain", f"hf:{lm}", "--data", str(data), "--out", str(out), *asked)
    assert code == 0, error
    assert "one token with an answer: 1" in said
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1


def test_an_answer_is_audited_against_all_other_labels(heatcheck, lm, reviews, tmp_path):
    options = ["--data", str(reviews), "--checks", "permutation", "--set", "permutation.draws=10", "--json"]
    asked = ["--prompt", PROMPT, "--answer", " positive", "--out", str(tmp_path / "out")]
    code, out, said = heatcheck("audit", f"hf:{lm}", *asked, *options)
    assert code == 0, said
    found = json.loads(out)
    assert found["about"]["answer"] == "positive: ' positive'"
    assert found["labels"] == ["something else", "positive"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prompt", "no place", "--labels", WORDS], "Write {text} in it once"),
        (["--prompt", PROMPT], "--prompt needs --labels with a word for each label"),
        (["--prompt", PROMPT, "--labels", "no,yes"], "as label=word, not 'no'"),
        (["--labels", WORDS], "words for labels belong to a prompt"),
        (["--prompt", PROMPT, "--labels", f"{WORDS},negative= dull"], "the label 'negative' twice"),
        (["--chat"], "--shots and --chat belong to a prompt"),
        (["--prompt", PROMPT, "--labels", "a= good,b= good film"], "begins with that of 'a'"),
        (["--against", " good"], "--against is a second answer: give the first with --answer"),
        (["--answer", " good", "--labels", WORDS], "--answer takes the place of --labels and --shots"),
        (["--answer", " good", "--score", "best"], "an answer's score is text, mean, pmi, not 'best'"),
        (["--answer", " good", "--against", " good"], "the two answers are the same"),
        (["--answer", ""], "answer must be a text such as ' Paris'"),
        (["--score", "mean"], "--score belongs to a prompt or an answer"),
    ],
)
def test_what_is_refused_in_one_sentence(heatcheck, lm, options, said):
    code, _, error = heatcheck("explain", f"hf:{lm}", "a film", *options)
    assert code == 2
    assert said in error
    assert "Traceback" not in error


def test_a_classifier_s_folder_is_no_language_model(heatcheck):
    code, _, error = heatcheck("explain", "known:reader@planted_keyword", "a", "--prompt", PROMPT, "--labels", WORDS)
    assert code == 2
    assert "only a language model can be given a prompt" in error


def test_a_gguf_file_needs_its_readers(heatcheck, tmp_path, monkeypatch):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr("heatcheck.models.hf.load.find_spec", lambda name: None if name == "gguf" else sys)
    code, _, error = heatcheck("explain", f"hf:{file}", "a", "--prompt", PROMPT, "--labels", WORDS)
    assert code == 2
    assert "gguf" in error
    monkeypatch.setattr("heatcheck.models.hf.load.find_spec", lambda _: sys)
    code, _, error = heatcheck("explain", f"hf:{file}", "a", "--prompt", PROMPT, "--labels", WORDS)
    assert code == 2
    assert "cannot be read as a language model" in error
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    code, _, error = heatcheck("explain", f"hf:{tmp_path}", "a", "--prompt", PROMPT, "--labels", WORDS)
    assert "has 2 GGUF files" in error


def test_a_file_is_explained_without_texts_that_are_too_long(heatcheck, lm, tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text(f"text\na dull film\n{'film ' * 60}\na good film\n", encoding="utf-8")
    asked = ["--data", str(file), "--out", str(tmp_path / "out.jsonl"), "--by", "attention", "--prompt", PROMPT]
    code, out, said = heatcheck("explain", f"hf:{lm}", *asked, "--labels", WORDS)
    assert code == 0, said
    assert "Rows left out: too long for the model: 1." in out
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["words"][1] for line in lines] == ["dull", "good"]

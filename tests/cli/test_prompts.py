"""A language model from the command line: a prompt, words for labels, examples from a file."""

import json
import sys

import pytest

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
    assert "Review" not in out, "the prompt has no scores"


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
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Review: so dull" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prompt", "no place", "--labels", WORDS], "Write {text} in it once"),
        (["--prompt", PROMPT], "--prompt needs --labels with a word for each label"),
        (["--prompt", PROMPT, "--labels", "no,yes"], "as label=word, not 'no'"),
        (["--labels", WORDS], "words for labels belong to a prompt"),
        (["--prompt", PROMPT, "--labels", f"{WORDS},negative= dull"], "the label 'negative' twice"),
        (["--chat"], "--shots and --chat belong to a prompt"),
        (["--prompt", PROMPT, "--labels", "a= good,b= unheard"], "single ones. Choose a shorter word"),
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

"""Tokens, vocabularies and vectors."""

import gzip
import io
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.data import build_vocabulary, read_vectors, tokenize
from heatcheck.data.tokens import split_words
from heatcheck.data.vocabulary import SPECIAL, UNKNOWN
from heatcheck.errors import BadInput, UnknownName


@given(st.text(max_size=60))
def test_each_token_comes_from_its_word(text):
    words = split_words(text)
    for token, number in tokenize(text, "words", lowercase=False):
        assert token
        assert token in words[number]


@given(st.text(max_size=60))
def test_no_letter_is_lost(text):
    kept = "".join(token for token, _ in tokenize(text, "words", lowercase=False))
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


def test_unknown_rule():
    with pytest.raises(UnknownName, match=r"unknown tokenizer 'bytes'; known: spaces, words"):
        tokenize("a", "bytes")


def test_document_frequency_counts_documents():
    vocabulary = build_vocabulary(["a a a", "b", "b c"], min_documents=2)
    assert vocabulary.tokens == (*SPECIAL, "b")
    assert vocabulary.look_up("a b") == ([UNKNOWN, 4], [0, 1])


def test_a_text_cannot_write_padding():
    vocabulary = build_vocabulary(["<pad> a"], rule="spaces")
    assert vocabulary.look_up("<pad> <eos> a")[0] == [UNKNOWN, UNKNOWN, 4]


def test_a_vocabulary_travels_without_its_cache():
    vocabulary = build_vocabulary(["a b"])
    vocabulary.look_up("a b")
    assert pickle.loads(pickle.dumps(vocabulary)).look_up("b a") == vocabulary.look_up("b a")


def test_vectors_of_every_kind(tmp_path):
    (tmp_path / "glove.txt").write_text("good 1 2\nbad 3 4\n")
    (tmp_path / "word2vec.txt").write_text("2 2\ngood 1 2 \nbad 3 4 \n")
    with gzip.open(tmp_path / "glove.txt.gz", "wt") as out:
        out.write("good 1 2\nbad 3 4\n")
    pairs = np.array([[1, 2], [3, 4]], dtype=np.float16)
    np.savez(tmp_path / "joined.npz", words="good\nbad", vectors=pairs)
    np.savez(tmp_path / "listed.npz", words=np.array(["good", "bad"]), vectors=pairs)
    for name in ("glove.txt", "word2vec.txt", "glove.txt.gz", "joined.npz", "listed.npz"):
        vectors = read_vectors(tmp_path / name, ["bad", "ugly", "good"])
        assert vectors.found == 2, name
        assert vectors.matrix.tolist() == [[3, 4], [0, 0], [1, 2]], name


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("good 1 2\nbad 3\n", r"bad.txt, line 2: 1 numbers after the word instead of 2"),
        ("good 1 x\n", r"bad.txt, line 1: not a word followed by numbers"),
        ("", r"bad.txt has no vectors"),
    ],
)
def test_bad_vectors(tmp_path, content, sentence):
    (tmp_path / "bad.txt").write_text(content)
    with pytest.raises(BadInput, match=sentence):
        read_vectors(tmp_path / "bad.txt", ["good"])


def test_vectors_that_are_no_vectors(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        read_vectors(tmp_path / "missing.npz", ["good"])
    (tmp_path / "no.npz").write_bytes(b"PK\x03\x04 truncated")
    with pytest.raises(BadInput, match=r"is not an .npz"):
        read_vectors(tmp_path / "no.npz", ["good"])
    np.savez(tmp_path / "other.npz", a=1)
    with pytest.raises(BadInput, match=r"is not an .npz file with `words` and `vectors`"):
        read_vectors(tmp_path / "other.npz", ["good"])


def bare_npy():
    written = io.BytesIO()
    np.save(written, np.zeros((1, 2)))
    return written.getvalue()


def bit_flipped_gz(path):
    packed = bytearray(gzip.compress("\n".join(f"word{n} {n} {n * n}" for n in range(500)).encode()))
    for at in (60, 300, 700):
        packed[at] ^= 0xFF
    path.write_bytes(packed)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("v.txt.gz", bit_flipped_gz),
        ("v.npz", lambda path: np.savez(path, words=np.array(["good"]), vectors=np.array([["one", "two"]]))),
        ("v.npz", lambda path: np.savez(path, words=np.array(["good"]), vectors=np.array([[1j, 2]]))),
        ("v.npz", lambda path: np.savez(path, words=np.array([["good"]]), vectors=np.array([[1.0, 2]]))),
        (
            "v.npz",
            lambda path: np.savez(path, words=np.array(["good"]), vectors=np.array(["2020"], dtype="M8[s]")[:, None]),
        ),
        ("v.npz", lambda path: path.write_bytes(b"")),
        ("v.npz", lambda path: path.write_bytes(bare_npy())),
        ("v.npz", lambda path: np.savez(path, words=np.array(["good"]), vectors=np.array([[1.0, np.nan]]))),
        ("v.txt", lambda path: path.write_text("good 1 nan\n")),
        ("v.txt", lambda path: path.write_text("good 1 1e60\n")),
    ],
    ids=[
        "bit flips",
        "strings",
        "complex",
        "nested words",
        "dates",
        "empty",
        "bare npy",
        "nan",
        "nan text",
        "overflow",
    ],
)
def test_vectors_that_hold_no_numbers(tmp_path, name, write):
    write(tmp_path / name)
    with pytest.raises(BadInput, match=r"v\.(txt|npz)") as error:
        read_vectors(tmp_path / name, ["good"])
    assert "\n" not in str(error.value)

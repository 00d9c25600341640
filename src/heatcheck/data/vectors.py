"""Pretrained word vectors from a GloVe or word2vec text file (.gz too), or an .npz with `words` and `vectors`."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.errors import BadInput


class Vectors(NamedTuple):
    """One row per requested word; zeros for a word that the file lacks, as in torchtext and Jain & Wallace."""

    matrix: Float[np.ndarray, "word feature"]
    found: int


def read_vectors(path: Path | str, words: Sequence[str]) -> Vectors:
    """Read the vectors of these words, in this order."""
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"{path} does not exist. Give a GloVe or word2vec text file, or an .npz file.")
    rows = _npz_rows(path) if path.suffix == ".npz" else _text_rows(path)
    place = {word: number for number, word in enumerate(words)}
    matrix: np.ndarray | None = None
    found = 0
    for word, vector in rows:
        if matrix is None:
            matrix = np.zeros((len(words), len(vector)), dtype=np.float32)
        if word in place:
            if not np.isfinite(vector).all():
                raise BadInput(
                    f"{path}: the vector of {word!r} has a number that is not finite. Fix or remove that vector."
                )
            matrix[place[word]] = vector
            found += 1
    if matrix is None:
        raise BadInput(f"{path} has no vectors. Give a GloVe or word2vec text file, or an .npz file.")
    return Vectors(matrix, found)


def _npz_rows(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            words, vectors = archive["words"], archive["vectors"]
    except Exception as error:  # what numpy and zipfile raise for a damaged archive is of a dozen kinds
        reason = " ".join(str(error).split())
        raise BadInput(f"{path} is not an .npz file with `words` and `vectors`: {reason}") from None
    if words.ndim > 1 or words.dtype.kind != "U" or vectors.dtype.kind not in "fiu":
        raise BadInput(
            f"{path} has `words` of type {words.dtype} and shape {words.shape} and `vectors` of type {vectors.dtype}. "
            "Save a list of strings and an array of real numbers."
        )
    names = str(words).split("\n") if words.ndim == 0 else [str(word) for word in words]
    if vectors.ndim != 2 or len(names) != len(vectors):
        raise BadInput(f"{path} has {len(names)} words but vectors of shape {vectors.shape}. Save one row per word.")
    yield from zip(names, _as_float32(vectors), strict=True)


def _as_float32(numbers: Any) -> np.ndarray:
    """What is too large for it becomes infinite, and is refused where it is used."""
    with np.errstate(over="ignore"):
        return np.array(numbers).astype(np.float32)


def _text_rows(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    size = None
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                word, *numbers = line.rstrip("\n").rstrip(" ").split(" ")
                if number == 1 and len(numbers) == 1:
                    continue  # word2vec's first line: how many words, how many dimensions
                size = size or len(numbers)
                if not size:
                    raise BadInput(f"{path}, line {number}: not a word followed by numbers.")
                if len(numbers) != size:
                    raise BadInput(f"{path}, line {number}: {len(numbers)} numbers after the word instead of {size}.")
                try:
                    yield word, _as_float32(numbers)
                except ValueError:
                    raise BadInput(f"{path}, line {number}: not a word followed by numbers.") from None
        except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
            raise BadInput(f"{path} cannot be read as vectors: {error}") from None

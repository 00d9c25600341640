"""What heatcheck raises when it cannot go on.

    HeatcheckError            one clear sentence: what was wrong, where, what to do next
    ├── BadInput              a file, a row, an option or a shape that cannot be used
    │   └── UnknownName       a task, encoder, check … that is not in its dict
    ├── NotSupported          a subject that lacks what an explainer or a check needs
    ├── BrokenFolder          a saved folder with a missing, truncated or foreign file
    ├── MissingPackage        an optional package that is not installed
    └── TookTooLong           work that was given a time and did not end in it

The command line prints the sentence and exits with 2; every other exception is a bug and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches


def in_short(error: BaseException) -> str:
    """What somebody else's exception says, on one line, to stand inside a sentence.

    >>> in_short(KeyError("a"))
    "KeyError: 'a'"
    """
    said = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class HeatcheckError(Exception):
    """Something the user can mend; the message is a whole sentence for them, on one line whatever it quotes.

    >>> str(HeatcheckError("there is no column 'first\\nsecond'."))
    "there is no column 'first second'."
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(" ".join(sentence.splitlines()))


class BadInput(HeatcheckError):
    """A file, a row, an option or a shape that cannot be used."""


class UnknownName(BadInput):
    """A name that is not in its dict.

    >>> str(UnknownName("encoder", "lstn", ["average", "cnn", "lstm"]))
    "unknown encoder 'lstn' (did you mean 'lstm'?); known: average, cnn, lstm."
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1) or [one for one in names if len(name) > 2 and one.startswith(name)]
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}.")


class NotSupported(HeatcheckError):
    """A subject that lacks what an explainer or a check needs; an audit goes on without that one and says so."""


class BrokenFolder(HeatcheckError):
    """A saved folder with a missing, truncated or foreign file."""


class MissingPackage(HeatcheckError):
    """An optional package that is not installed.

    >>> str(MissingPackage("ray", extra="ray"))
    "this needs the package 'ray': pip install 'heatcheck[ray]'"
    """

    def __init__(self, package: str, *, extra: str | None = None) -> None:
        wanted = f"'heatcheck[{extra}]'" if extra else package
        super().__init__(f"this needs the package {package!r}: pip install {wanted}")


class TookTooLong(HeatcheckError):
    """Work that was given a time and did not end in it."""

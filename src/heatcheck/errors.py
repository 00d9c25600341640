"""Errors that heatcheck raises and a user can fix.

    HeatcheckError            says what is wrong, where, and what to do next
    ├── BadInput              a file, row, option or shape that cannot be used
    │   └── UnknownName       an unknown task, encoder, check …
    ├── NotSupported          a model that lacks something an explainer or a check needs
    ├── BrokenFolder          a saved folder in which a file is missing, damaged or not heatcheck's
    ├── MissingPackage        an optional package that is not installed
    └── TookTooLong           work that exceeded its time limit

The command line prints the message and exits with status 2. Any other exception is a bug and keeps its traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches


def in_short(error: BaseException) -> str:
    """The message of another library's exception on one line, to be quoted inside a sentence.

    >>> in_short(KeyError("a"))
    "KeyError: 'a'"
    """
    said = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class HeatcheckError(Exception):
    """An error that the user can fix. Its message is a whole sentence on one line, whatever it quotes.

    >>> str(HeatcheckError("there is no column 'first\\nsecond'."))
    "there is no column 'first second'."
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(" ".join(sentence.splitlines()))


class BadInput(HeatcheckError):
    """A file, row, option or shape that cannot be used."""


class UnknownName(BadInput):
    """An unknown name; the message lists the known ones.

    >>> str(UnknownName("encoder", "lstn", ["average", "cnn", "lstm"]))
    "unknown encoder 'lstn' (did you mean 'lstm'?); known: average, cnn, lstm."
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1) or [one for one in names if len(name) > 2 and one.startswith(name)]
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}.")


class NotSupported(HeatcheckError):
    """A model that lacks something an explainer or a check needs. An audit skips that one and says so."""


class BrokenFolder(HeatcheckError):
    """A saved folder in which a file is missing, damaged or was not written by heatcheck."""


class MissingPackage(HeatcheckError):
    """An optional package that is not installed.

    >>> str(MissingPackage("ray", extra="ray"))
    "the package 'ray' is not installed. Run: pip install 'heatcheck[ray]'"
    """

    def __init__(self, package: str, *, extra: str | None = None) -> None:
        wanted = f"'heatcheck[{extra}]'" if extra else package
        super().__init__(f"the package {package!r} is not installed. Run: pip install {wanted}")


class TookTooLong(HeatcheckError):
    """Work that exceeded its time limit."""

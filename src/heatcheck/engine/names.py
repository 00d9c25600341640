"""Which names are valid for folders."""

import re

from heatcheck.errors import BadInput


def check_name(text: str) -> str:
    """The text itself if it can name a folder: it never leaves the store and never hides in it.

    >>> check_name("../fit")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: '../fit' cannot name a folder. Use letters, digits, '_', '-' and, not first, '.'.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", text):
        raise BadInput(f"{text!r} cannot name a folder. Use letters, digits, '_', '-' and, not first, '.'.")
    return text

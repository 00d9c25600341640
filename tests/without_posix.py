"""Import all of heatcheck, train and audit in a process in which heatcheck finds no module of POSIX systems."""

import builtins
import importlib
import pkgutil
import sys
from typing import Any

MISSING = {"fcntl", "grp", "posix", "pwd", "resource", "termios"}
GONE = ("fork", "killpg", "setsid", "O_DIRECTORY")  # of the module `os`
OURS = ("heatcheck", "filelock")  # others may look at the name of the system first

_import = builtins.__import__


def refusing(name: str, globals: Any = None, *rest: Any, **more: Any) -> Any:  # noqa: A002 - Python's own name
    """Python's import, which knows no POSIX when heatcheck asks."""
    asking = (globals or {}).get("__name__", "")
    if name in MISSING and asking.partition(".")[0] in OURS:
        raise ImportError(f"{asking} imports {name}, which exists on POSIX systems only")
    return _import(name, globals, *rest, **more)


def main() -> None:
    builtins.__import__ = refusing
    import heatcheck

    for module in pkgutil.walk_packages(heatcheck.__path__, "heatcheck."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    import os

    for name in GONE:
        delattr(os, name)
    from heatcheck.data.planted import planted

    corpus = planted("planted_keyword", sizes=(60, 20, 40))
    small = {"encoder": "average", "hidden": 4, "embedding": 4, "epochs": 1}
    fit = heatcheck.train(corpus, out="model", device="cpu", progress=False, **small)
    found = heatcheck.audit(fit.subject, corpus, checks=["permutation"], examples=40, device="cpu")
    sys.stdout.write(" ".join(line.short for line in found.card.lines if line.state != "not run"))


if __name__ == "__main__":
    main()

"""Two recordings side by side: every difference by its path, grouped by where it is."""

import difflib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .flat import Value

CLOSE = 1e-9
LINES = 12  # shown of two texts that differ
SHOWN = 20  # differences of a group, where not all are wanted


class Difference(NamedTuple):
    """One path at which two recordings do not agree."""

    path: str
    kind: str  # missing, new, number, text
    detail: str

    @property
    def group(self) -> str:
        """The first parts of the path, enough to tell where something happened."""
        return "/".join(self.path.split("/")[:4])


def differences(old: Mapping[str, Value], new: Mapping[str, Value]) -> Iterator[Difference]:
    """In the order of the old recording, then what is new."""
    for path, value in old.items():
        if path not in new:
            yield Difference(path, "missing", _short(value))
        elif (found := _differs(value, new[path])) is not None:
            yield Difference(path, *found)
    for path in new.keys() - old.keys():
        yield Difference(path, "new", _short(new[path]))


def in_words(found: list[Difference], *, every: bool) -> Iterator[str]:
    """How many there are of each kind, by group, with the first of each; then the sum."""
    groups: dict[str, list[Difference]] = {}
    for difference in sorted(found, key=lambda one: (one.group, one.path)):
        groups.setdefault(difference.group, []).append(difference)
    for group, of_group in groups.items():
        yield f"{group}: {_counts(of_group)}"
        shown = of_group if every else of_group[:SHOWN]
        yield from (f"  {one.kind}  {one.path}: {one.detail}" for one in shown)
        if len(shown) < len(of_group):
            yield f"  … {len(of_group) - len(shown)} more (--all)"
    yield f"{len(found):,} differences{f': {_counts(found)}' if found else ''}"


def _counts(found: list[Difference]) -> str:
    kinds = dict.fromkeys(one.kind for one in found)
    return ", ".join(f"{sum(one.kind == kind for one in found):,} {kind}" for kind in kinds)


def _differs(old: Value, new: Value) -> tuple[str, str] | None:
    if old == new:
        return None
    if isinstance(old, str) or isinstance(new, str):
        return "text", _of_texts(str(old), str(new))
    if abs(old - new) <= CLOSE * max(1.0, abs(old), abs(new)):
        return None
    return "number", f"{old!r} -> {new!r} ({new - old:+.2g})"


def _of_texts(old: str, new: str) -> str:
    if "\n" not in old + new:
        return f"{_short(old)} -> {_short(new)}"
    changed = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
    more = [f"… {len(changed) - LINES} more lines"] if len(changed) > LINES else []
    return "".join(f"\n      {_short(line)}" for line in changed[:LINES] + more)


def _short(value: Value, most: int = 160) -> str:
    text = value if isinstance(value, str) else repr(value)
    line = text.replace("\n", "⏎")
    return line if len(line) <= most else f"{line[:most]}…"

"""Finds, among values in increasing order, the largest that passes a test, with few trials."""

from collections.abc import Callable, Iterator


def bisect(count: int, passes: Callable[[int], bool | None]) -> Iterator[int]:
    """Yield the places to try, one after the other; a test that is not known yet (None) ends it.

    It takes for granted that whatever is smaller than a value that passes would pass too.

    >>> list(bisect(5, lambda place: place <= 3)), list(bisect(5, lambda place: place < 0)), list(bisect(1, bool))
    ([2, 3, 4], [2, 0], [0])
    """
    passed, failed = -1, count
    while failed - passed > 1:
        place = (passed + failed) // 2
        yield place
        found = passes(place)
        if found is None:
            return
        passed, failed = (place, failed) if found else (passed, place)


def trials(count: int) -> list[int]:
    """How many trials it takes for each possible answer: none passes, only the first, …, all of them.

    >>> trials(5)
    [2, 3, 3, 2, 3, 3]
    """
    return [len(list(bisect(count, passing.__gt__))) for passing in range(count + 1)]

"""One text explained, a list of scored words an explainer."""


class Explanation(dict[str, list[tuple[str, float | None]]]):
    """Explainer -> each word with its score, None where it has none. A dict, with a name that a notebook knows it by.

    >>> Explanation(attention=[("but", 0.1), ("dull", 0.9)])["attention"][1]
    ('dull', 0.9)
    """

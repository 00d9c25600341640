"""One explained text: a list of scored words per explainer."""


class Explanation(dict[str, list[tuple[str, float | None]]]):
    """A dict from each explainer to the words with their scores; None for a word without a score.

    It has a type of its own so that notebooks can show it as heatmaps.

    >>> Explanation(attention=[("but", 0.1), ("dull", 0.9)])["attention"][1]
    ('dull', 0.9)
    """

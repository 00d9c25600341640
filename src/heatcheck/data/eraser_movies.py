"""`eraser_movies`: whole film reviews with the evidence people marked for their label, as ERASER distributes them."""

from heatcheck.data.example import Example
from heatcheck.data.folder_tasks import Fields, folder_task


def _make(fields: Fields) -> Example:
    words = len(fields["text"].split(" "))
    marked = [False] * words
    for start, end in fields["evidence"]:
        if not 0 <= start <= end <= words:
            raise ValueError(f"evidence [{start}, {end}) is outside the text, which has {words} words")
        marked[start:end] = [True] * (end - start)
    return Example(fields["id"], fields["text"], label=fields["label"], marks={"rationale": tuple(marked)})


eraser_movies = folder_task(
    "eraser_movies",
    "whole film reviews with evidence as rationale (Zaidan et al., DeYoung et al.); test has comprehensive marks: "
    "31% of its words, 9% in train",
    ("negative", "positive"),
    {"train": 1600, "dev": 200, "test": 199},
    "none stated",
    _make,
    tokens="spaces",
    importable=False,
)

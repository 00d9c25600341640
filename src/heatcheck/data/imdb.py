"""`imdb_full`: the film reviews of Maas et al. in their official splits, and `imdb_small`, a balanced sample."""

from heatcheck.data.example import Example
from heatcheck.data.folder import Fields, Made, folder_task
from heatcheck.data.preparation import Preparation

LABELS = ("negative", "positive")


def _make(fields: Fields) -> Made:
    return Example(fields["id"], fields["text"].replace("<br />", " "), label=fields["label"])  # markup, not words


_PREPARED = Preparation(dev_share=0.2)
imdb_full = folder_task(
    "imdb_full",
    "film reviews (Maas et al.), official split; dev cut from train by hash",
    LABELS,
    {},
    "none stated",
    _make,
    preparation=_PREPARED,
)
imdb_small = folder_task(
    "imdb_small",
    "film reviews (Maas et al.), a sample of each official split; dev cut from train by hash",
    LABELS,
    {"train": 3999, "dev": 1001, "test": 2500},
    "none stated",
    _make,
    importable=False,
    preparation=_PREPARED,
)

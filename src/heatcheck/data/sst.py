"""`sst`: the Stanford Sentiment Treebank's sentences, positive against negative."""

from heatcheck.data.folder_tasks import Fields, Made, folder_task, labelled


def _make(fields: Fields) -> Made:
    return "neutral" if fields["label"] is None else labelled(fields)


sst = folder_task(
    "sst",
    "Stanford Sentiment Treebank sentences without the neutral ones, official split",
    ("negative", "positive"),
    {"train": 6920, "dev": 872, "test": 1821},
    "none stated",
    _make,
    codes=(0, 1, None),
    tokens="spaces",
)

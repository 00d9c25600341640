"""`20news_sports`, `ag_news` and `ag_news_topics`: what a post or a news item is about."""

from heatcheck.data.example import Example
from heatcheck.data.folder_tasks import Fields, Made, folder_task
from heatcheck.data.preparation import Preparation

AG_CLASSES = ("world", "sports", "business", "science and technology")  # by their number in the file
AG_LABELS = ("world", "business")


def _item(fields: Fields) -> Made:
    name = AG_CLASSES[fields["label"]]
    if name not in AG_LABELS:
        return f"of the class {name}"
    return Example(fields["id"], fields["text"], label=AG_LABELS.index(name))


newsgroups = folder_task(
    "20news_sports",
    "posts to a baseball or a hockey group, by-date split, without headers; dev taken from train by hash",
    ("baseball", "hockey"),
    {"train": 956, "dev": 239, "test": 796},
    "none stated",
    preparation=Preparation(dev_share=0.2),
)
ag_news = folder_task(
    "ag_news",
    "news in one sentence or two (the description, not the title), world or business; dev taken from train by hash",
    AG_LABELS,
    {"train": 4253, "dev": 752, "test": 3800},
    "research use",
    _item,
    codes=range(len(AG_CLASSES)),
    preparation=Preparation(dev_share=0.15),
)
ag_news_topics = folder_task(
    "ag_news_topics",
    "the news of ag_news in all four of its classes; dev taken from train by hash",
    AG_CLASSES,
    {"train": 8501, "dev": 1500, "test": 7600},
    "research use",
    file="ag_news",
    preparation=Preparation(dev_share=0.15),
)

"""`adr_tweets` and its open stand-in `ade`: does a text report an adverse effect of a drug?"""

from heatcheck.data.folder_tasks import folder_task
from heatcheck.data.preparation import Preparation

LABELS = ("none", "adverse effect")

ade = folder_task(
    "ade",
    "sentences of medical case reports (ADE corpus, version 2), split by paper",
    LABELS,
    {"train": 16825, "dev": 2000, "test": 2135},
    "free with citation",
    file="ade_corpus_v2",
    group="pmid",
)
adr_tweets = folder_task(
    "adr_tweets",
    "tweets that name a drug (Twitter ADR); you provide the file; dev taken from train by hash if missing",
    LABELS,
    {},
    "not redistributable",
    preparation=Preparation(dev_share=0.15),
)

"""`mimic_diabetes` and `mimic_anemia`: MIMIC-III discharge summaries, diabetes or not, chronic or acute anemia."""

from heatcheck.data.folder_tasks import folder_task
from heatcheck.data.preparation import Preparation

_PREPARED = Preparation(dev_share=0.15)
mimic_diabetes = folder_task(
    "mimic_diabetes",
    "MIMIC-III discharge summaries with and without the code 250.00; needs credentials",
    ("no diabetes", "diabetes"),
    {},
    "PhysioNet credentialed",
    tokens="spaces",
    preparation=_PREPARED,
)
mimic_anemia = folder_task(
    "mimic_anemia",
    "MIMIC-III discharge summaries with chronic (285.2) or acute (285.1) anemia; needs credentials",
    ("chronic", "acute"),
    {},
    "PhysioNet credentialed",
    tokens="spaces",
    preparation=_PREPARED,
)

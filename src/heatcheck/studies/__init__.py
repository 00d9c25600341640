"""Published papers reproduced, one per file: tasks × models × checks, with the published numbers beside ours."""

from heatcheck.engine import Plugged
from heatcheck.results import Published
from heatcheck.studies.abnar2020 import abnar2020
from heatcheck.studies.brunner2020 import brunner2020
from heatcheck.studies.chefer2021 import chefer2021
from heatcheck.studies.clark2019 import clark2019
from heatcheck.studies.jain2019 import jain2019
from heatcheck.studies.kobayashi2020 import kobayashi2020
from heatcheck.studies.kovaleva2019 import kovaleva2019
from heatcheck.studies.michel2019 import michel2019
from heatcheck.studies.olsson2022 import olsson2022
from heatcheck.studies.pruthi2020 import pruthi2020
from heatcheck.studies.pruthi2020_sequences import pruthi2020_sequences
from heatcheck.studies.pruthi2020_transformer import pruthi2020_transformer
from heatcheck.studies.rows import compare
from heatcheck.studies.running import run_study
from heatcheck.studies.serrano2019 import serrano2019
from heatcheck.studies.snell2021 import snell2021
from heatcheck.studies.study import Study, change_settings, settings_facts
from heatcheck.studies.sun2020 import sun2020
from heatcheck.studies.vashishth2019 import vashishth2019
from heatcheck.studies.vig2019 import vig2019
from heatcheck.studies.voita2019 import voita2019
from heatcheck.studies.wiegreffe2019 import wiegreffe2019

__all__ = ["STUDIES", "Study", "change_settings", "compare", "read_published", "run_study", "settings_facts"]

STUDIES: dict[str, Study] = {
    "abnar2020": abnar2020,
    "brunner2020": brunner2020,
    "chefer2021": chefer2021,
    "clark2019": clark2019,
    "jain2019": jain2019,
    "kobayashi2020": kobayashi2020,
    "kovaleva2019": kovaleva2019,
    "michel2019": michel2019,
    "olsson2022": olsson2022,
    "pruthi2020": pruthi2020,
    "pruthi2020_sequences": pruthi2020_sequences,
    "pruthi2020_transformer": pruthi2020_transformer,
    "serrano2019": serrano2019,
    "snell2021": snell2021,
    "sun2020": sun2020,
    "vashishth2019": vashishth2019,
    "vig2019": vig2019,
    "voita2019": voita2019,
    "wiegreffe2019": wiegreffe2019,
}
STUDIES = Plugged("heatcheck.studies", Study, STUDIES)


def read_published(study: str) -> list[Published]:
    """The published numbers of a study, by its name."""
    return list(STUDIES[study].published())

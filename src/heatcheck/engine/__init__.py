"""Runs jobs in the order of their prerequisites; each job writes one folder, completely or not at all.

`map` runs the jobs, here, in processes of their own or on Ray; a `Crew` stays for jobs that come one after the other;
`whole_folder` makes one folder; `content_id` names it by what decides its content; `stream` gives every example its
own randomness. It knows nothing of attention.
"""

from heatcheck.engine.crew import Crew
from heatcheck.engine.deadline import check_time, within
from heatcheck.engine.given import expect, expect_if_given, expect_names
from heatcheck.engine.identity import Facts, content_id, nulled, plain, seed_of, stream
from heatcheck.engine.jobs import Job, Outcome, map  # noqa: A004 - read as engine.map
from heatcheck.engine.like import value_like
from heatcheck.engine.plugins import Plugged, package_of
from heatcheck.engine.whole_files import FolderExists, read_json, whole_file, whole_folder, write_json, write_whole

__all__ = [
    "Crew",
    "Facts",
    "FolderExists",
    "Job",
    "Outcome",
    "Plugged",
    "check_time",
    "content_id",
    "expect",
    "expect_if_given",
    "expect_names",
    "map",
    "nulled",
    "package_of",
    "plain",
    "read_json",
    "seed_of",
    "stream",
    "value_like",
    "whole_file",
    "whole_folder",
    "within",
    "write_json",
    "write_whole",
]

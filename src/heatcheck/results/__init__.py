"""Results as plain data: measurements, results of checks, answers, audits, studies; and their files."""

from heatcheck.results.as_facts import kept_facts, results_from, tagged, untagged
from heatcheck.results.audit import INTERRUPTED, ON_TEXT, TREATED_BY, Audit, AuditedExample
from heatcheck.results.audit_files import ARRAYS, AUDIT, FORMAT, audit_facts, keep_audit, read_audit
from heatcheck.results.card import Card
from heatcheck.results.check_files import keep_results, read_results
from heatcheck.results.check_result import ATTENTION, HEATMAP, CheckResult, Holds
from heatcheck.results.headline import Headline, headline_of
from heatcheck.results.heatmap_audits import HeatmapAudits
from heatcheck.results.key import Key, find_key, key, key_text, parse_key, register_axes, value_text
from heatcheck.results.line import NO_WEIGHTS, TOO_FEW, Group, Instead, Line, State, Undecided
from heatcheck.results.measurement import Measurement
from heatcheck.results.quantity import OF_STUDIES, QUANTITIES, Quantity, find_quantity, register
from heatcheck.results.strip import Mark, Strip, Zone
from heatcheck.results.study import Comparison, Model, Published, Row, StudyResult
from heatcheck.results.study_files import STUDY, STUDY_ARRAYS, keep_study, read_study

__all__ = [
    "ARRAYS",
    "ATTENTION",
    "AUDIT",
    "FORMAT",
    "HEATMAP",
    "INTERRUPTED",
    "NO_WEIGHTS",
    "OF_STUDIES",
    "ON_TEXT",
    "QUANTITIES",
    "STUDY",
    "STUDY_ARRAYS",
    "TOO_FEW",
    "TREATED_BY",
    "Audit",
    "AuditedExample",
    "Card",
    "CheckResult",
    "Comparison",
    "Group",
    "Headline",
    "HeatmapAudits",
    "Holds",
    "Instead",
    "Key",
    "Line",
    "Mark",
    "Measurement",
    "Model",
    "Published",
    "Quantity",
    "Row",
    "State",
    "Strip",
    "StudyResult",
    "Undecided",
    "Zone",
    "audit_facts",
    "find_key",
    "find_quantity",
    "headline_of",
    "keep_audit",
    "keep_results",
    "keep_study",
    "kept_facts",
    "key",
    "key_text",
    "parse_key",
    "read_audit",
    "read_results",
    "read_study",
    "register",
    "register_axes",
    "results_from",
    "tagged",
    "untagged",
    "value_text",
]

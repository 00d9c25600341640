"""Results of an audit or a study for people: a page to forward, tables to compute with, figures for a paper.

Everything is drawn from an `Audit` or a `StudyResult`; nothing is measured here.
"""

from heatcheck.report.audit_figures import write_figures
from heatcheck.report.checks import CHECK_VIEWS, CheckView
from heatcheck.report.comparison_page import write_comparison
from heatcheck.report.data_files import write_numbers, write_tables
from heatcheck.report.markdown import write_markdown
from heatcheck.report.page import write_report
from heatcheck.report.studies import STUDY_VIEWS, StudyView
from heatcheck.report.study_csv import write_study_table
from heatcheck.report.study_figures import write_study_figures
from heatcheck.report.study_page import write_study
from heatcheck.report.treatments import brief_table, write_treatments

__all__ = [
    "CHECK_VIEWS",
    "STUDY_VIEWS",
    "CheckView",
    "StudyView",
    "brief_table",
    "write_comparison",
    "write_figures",
    "write_markdown",
    "write_numbers",
    "write_report",
    "write_study",
    "write_study_figures",
    "write_study_table",
    "write_tables",
    "write_treatments",
]

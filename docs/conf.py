"""Sphinx: Markdown pages with the furo theme."""

project = "heatcheck"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "heatcheck"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links out of docs/, to files beside it

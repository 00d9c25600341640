"""Sphinx: Markdown pages with the furo theme, and the API from docstrings."""

project = "heatcheck"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "heatcheck"
html_static_path = ["static"]
html_css_files = ["dark.css"]  # figures follow the theme that a reader chose
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links out of docs/, to files beside it

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_use_ivar = True  # "Attributes:" of a docstring, which autodoc lists too
autodoc_default_options = {"members": True, "undoc-members": True}
default_role = "literal"  # docstrings write `name` as Markdown does

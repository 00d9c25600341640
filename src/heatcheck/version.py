"""heatcheck's version number: the package is built with it, and results record it."""

__version__ = "0.1.0"

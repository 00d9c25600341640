"""The version, said here alone: the package is built with it, and results say which one made them."""

__version__ = "0.1.0"

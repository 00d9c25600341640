"""Circuits: which heads copy what followed before, from their weights, from what they look at, and from removal."""

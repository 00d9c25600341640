"""A user's own torch module as a model of heatcheck: its attention is found, read and replaced."""

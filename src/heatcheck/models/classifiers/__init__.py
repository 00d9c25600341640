"""heatcheck's own classifiers: encoders, attention, and what joins them for one or two texts."""

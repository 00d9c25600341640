"""heatcheck's own classifiers: encoders, attention, and how they are joined for one or two texts."""

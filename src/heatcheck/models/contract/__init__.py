"""The interface that every model implements (`Subject`), and optional capabilities that checks can use."""

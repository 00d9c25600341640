"""Both sides in one run, on the same inputs, with their results compared: the plain published way, and ours."""

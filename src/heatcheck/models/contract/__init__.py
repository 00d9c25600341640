"""The contract: what every model answers (`Subject`), and the optional capabilities that checks can use."""

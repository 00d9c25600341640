"""Sequence-to-sequence models: an encoder, attention over its states, and a decoder that generates a text."""

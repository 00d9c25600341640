"""Parts that the figures of checks, comparisons and studies share: panels, shapes, colours, files."""

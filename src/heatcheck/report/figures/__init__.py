"""Parts that figures of checks, comparisons and studies share: panels, shapes, colours, files."""

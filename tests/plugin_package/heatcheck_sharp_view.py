"""How a report shows the check `sharpness`. Without a view, it shows the measurements in a table."""

# The view is an entry point of the group `heatcheck.views`, with the name of its check.

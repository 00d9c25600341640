"""`python -m heatcheck`: the same as the command `heatcheck`."""

from heatcheck.cli import main

main()

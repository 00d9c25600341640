"""What is seen in a figure once it is drawn."""

import re

from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.files import encoder_of


def legend_opacities(figure: Figure) -> set[float]:
    """How opaque the symbols of the legends are: a band's opacity must not be theirs."""
    svg = str(encoder_of("svg")(figure.spec))
    symbols = re.findall(r"role-legend-symbol(.*?)</g>", svg, flags=re.DOTALL)
    assert symbols, "the figure has no legend"
    return {float(found) for symbol in symbols for found in re.findall(r'opacity="([\d.]+)"', symbol)}

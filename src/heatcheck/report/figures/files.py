"""Figures as files (svg, png, pdf, or their numbers as csv), and the script that draws them in a browser."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from heatcheck.engine import write_whole
from heatcheck.errors import MissingPackage, UnknownName
from heatcheck.report.figures.figure import Figure, altair


def write_each(figures: Iterable[Figure], folder: Path | str, *, suffix: str) -> list[Path]:
    """Write one file per figure, named after it."""
    encode = encoder_of(suffix)
    written = []
    for figure in figures:
        path = Path(folder) / f"{figure.name}.{suffix}"
        write_whole(path, encode(figure.spec))
        written.append(path)
    return written


def encoder_of(suffix: str) -> Callable[[dict[str, Any]], bytes | str]:
    """The function that turns a declaration into a picture on white, or into a table of its numbers."""
    encoders: dict[str, Callable[[dict[str, Any]], bytes | str]] = {
        "svg": lambda spec: str(_vl_convert().vegalite_to_svg(spec, vl_version=_vegalite_version())),
        "png": lambda spec: bytes(_vl_convert().vegalite_to_png(spec, vl_version=_vegalite_version(), scale=2)),
        "pdf": lambda spec: bytes(_vl_convert().vegalite_to_pdf(spec, vl_version=_vegalite_version())),
        "csv": _numbers,
    }
    if suffix not in encoders:
        raise UnknownName("figure format", suffix, encoders)
    return lambda spec: encoders[suffix](spec | {"background": "white"})


def _numbers(spec: dict[str, Any]) -> str:
    """All data of a figure as rows; `part` distinguishes the data of its layers."""
    rows = [{"part": part, **row} for part, values in enumerate(_data_of(spec)) for row in values]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _data_of(part: Any) -> Iterator[list[dict[str, Any]]]:
    """All rows in a declaration."""
    if isinstance(part, dict):
        values = part.get("data", {}).get("values") if isinstance(part.get("data"), dict) else None
        if values:
            yield values
        for key, inner in part.items():
            if key != "data":
                yield from _data_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _data_of(inner)


def script() -> str:
    """The scripts that a browser needs to draw the figures offline."""
    bundle = str(_vl_convert().javascript_bundle(vl_version=_vegalite_version()))
    return bundle.replace("</script", r"<\/script")


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingPackage("vl-convert-python") from error
    return vl_convert


def _vegalite_version() -> str:
    """The version altair writes, so that script and declarations agree: v6.4.1 is 6.4 to vl-convert."""
    return ".".join(str(altair().SCHEMA_VERSION).lstrip("v").split(".")[:2])

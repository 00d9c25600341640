"""All figures of an audit, as declarations for the page or as files."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from heatcheck.engine import write_whole
from heatcheck.errors import MissingPackage, UnknownName
from heatcheck.report.figures.agreement import tau_differences, tau_histogram, tau_matrix
from heatcheck.report.figures.counterfactual import jsd_by_largest_weight, jsd_histogram
from heatcheck.report.figures.deception import accuracy_by_mass
from heatcheck.report.figures.dynamics import agreement_over_training, texts_over_training
from heatcheck.report.figures.eraser import losses_by_share
from heatcheck.report.figures.erasure import erasure_effects
from heatcheck.report.figures.figure import Figure, altair
from heatcheck.report.figures.flips import fraction_boxes, survival_curves
from heatcheck.report.figures.frontier import tvd_by_jsd
from heatcheck.report.figures.guide import guide_accuracies
from heatcheck.report.figures.necessity import accuracies
from heatcheck.report.figures.permutation import delta_by_largest_weight
from heatcheck.report.figures.perturbation import areas, removal_curves
from heatcheck.report.figures.plausibility import agreement_with_people
from heatcheck.report.figures.seed_variance import jsd_and_change, jsd_of_seeds
from heatcheck.report.wording import in_order
from heatcheck.results import Audit, CheckResult

Maker: TypeAlias = Callable[[CheckResult, Mapping[str, str]], Figure | None]  # the labels predicted, by id

MAKERS: dict[str, tuple[Maker, ...]] = {
    "agreement": (tau_histogram, tau_differences, tau_matrix),
    "erasure": (erasure_effects,),
    "eraser": (losses_by_share,),
    "perturbation": (areas, removal_curves),
    "flips": (survival_curves, fraction_boxes),
    "permutation": (delta_by_largest_weight,),
    "counterfactual": (jsd_histogram, jsd_by_largest_weight),
    "necessity": (accuracies,),
    "seed_variance": (jsd_of_seeds, jsd_and_change),
    "adversarial_model": (tvd_by_jsd,),
    "deception": (accuracy_by_mass,),
    "dynamics": (agreement_over_training, texts_over_training),
    "guide": (guide_accuracies,),
    "plausibility": (agreement_with_people,),
}


def draw(audit: Audit) -> list[Figure]:
    """Draw all figures that have data."""
    found = (
        maker(audit.results[check], _predicted(audit, audit.results[check]))
        for check in in_order(audit.results)
        for maker in MAKERS.get(check, ())
    )
    return [figure for figure in found if figure]


def _predicted(audit: Audit, result: CheckResult) -> dict[str, str]:
    """The predicted label of each text; from the check, if it measured more texts than the audit shows."""
    shown = {looked.id: looked.predicted for looked in audit.examples if looked.predicted is not None}
    known, labels = result.per_example.get("predicted", ()), audit.labels or ()
    return shown | {
        example: labels[int(at)] for example, at in zip(result.examples, known, strict=False) if 0 <= at < len(labels)
    }


def write_figures(audit: Audit, folder: Path | str, *, suffix: str | Sequence[str]) -> list[Path]:
    """Write every figure of the report as svg, png or pdf, or the numbers each is drawn from as csv.

    Args:
        suffix: one format, or several as a list or comma-separated.
    """
    suffixes = [one.strip() for one in (suffix.split(",") if isinstance(suffix, str) else suffix)]
    for one in suffixes:
        _encoder(one)  # a wrong name is said before anything is written
    figures = list(draw(audit))
    return [path for one in suffixes for path in write_each(figures, folder, suffix=one)]


def write_each(figures: Iterable[Figure], folder: Path | str, *, suffix: str) -> list[Path]:
    """Write one file per figure, named after it."""
    encode = _encoder(suffix)
    written = []
    for figure in figures:
        path = Path(folder) / f"{figure.name}.{suffix}"
        write_whole(path, encode(figure.spec))
        written.append(path)
    return written


def _encoder(suffix: str) -> Callable[[dict[str, Any]], bytes | str]:
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

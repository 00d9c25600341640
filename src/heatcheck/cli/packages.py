"""Says which installed package added a check or another listed name; says nothing about heatcheck's own."""

from collections.abc import Mapping


def source(known: Mapping[str, object], name: str) -> str:
    """The package in words; empty for heatcheck's own."""
    from heatcheck.engine import package_of

    package = package_of(known, name)
    return f"from the package {package}" if package else ""


def source_facts(known: Mapping[str, object], name: str) -> dict[str, str]:
    """The package for `--json`; nothing for heatcheck's own."""
    from heatcheck.engine import package_of

    package = package_of(known, name)
    return {"package": package} if package else {}

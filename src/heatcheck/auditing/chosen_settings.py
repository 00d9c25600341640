"""Which checks an audit runs, and with what settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from heatcheck.auditing.lines import CardSettings
from heatcheck.auditing.retraining import cannot_refit
from heatcheck.checks import CHECKS, Check
from heatcheck.checks.check import MOST, explainers_of
from heatcheck.checks.heatmap import ATTENTION, LAST_LAYER, Heatmap
from heatcheck.engine import value_like
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Subject


def choose_settings(
    checks: Sequence[str] | None,
    changes: Mapping[str, Any],
    *,
    refit: bool = True,
    subject: Subject | None = None,
    heatmap: Heatmap = LAST_LAYER,
) -> dict[str, Any]:
    """The settings of each check, by name, and of the card, with the user's changes.

    Without `checks`, those that run by default, on every model or on this one. Checks of scores are about those of the
    heatmap.
    """
    every = [name for name, check in CHECKS.items() if refit or not check.refits]
    names = [name for name in every if _unasked(CHECKS[name], subject)] if checks is None else list(checks)
    names = every if names == ["all"] else names
    for name in names:
        if name not in CHECKS:
            raise UnknownName("check", name, [*CHECKS, "all"])
        if CHECKS[name].refits and not refit:
            reason = None if subject is None else cannot_refit(subject)
            what_next = "add --refit to train them." if reason is None else f"{reason.rstrip('.')}: leave it out."
            raise BadInput(f"the check {name} needs retrained models: {what_next}")
    chosen: dict[str, Any] = {name: _about(CHECKS[name].settings(), heatmap) for name in names}
    chosen["card"] = CardSettings()
    for key, value in changes.items():
        owner, _, field = key.partition(".")
        if owner in CHECKS and owner not in chosen:
            raise BadInput(f"--set {key}: the check {owner} does not run in this audit. Add it to --checks.")
        if owner not in chosen:
            raise UnknownName("check in --set", owner, chosen)
        known = {f.name for f in fields(chosen[owner])}
        if field not in known:
            raise UnknownName(f"setting of {owner}", field, known)
        given = value_like(chosen[owner], field, key, value)
        _require_an_end(key, given if isinstance(given, tuple) else (given,), least=0 if owner == "card" else -MOST)
        chosen[owner] = replace(chosen[owner], **{field: given})
    return chosen


def _about(settings: Any, heatmap: Heatmap) -> Any:
    """The settings with the heatmap's scores in the place of attention; no method is compared with itself."""
    if heatmap.of_weights:
        return settings
    of, changes = heatmap.explainer, dict[str, Any]()
    if getattr(settings, "explainer", None) == ATTENTION:
        changes["explainer"] = of
    if ATTENTION in (named := getattr(settings, "explainers", ())):
        changes["explainers"] = (of, *(name for name in named if name not in (ATTENTION, of)))
    if of in (rivals := getattr(settings, "rivals", ())):
        changes["rivals"] = tuple(name for name in rivals if name != of)
    return replace(settings, **changes) if changes else settings


def _unasked(check: Check, subject: Subject | None) -> bool:
    """Whether it runs without being named."""
    return check.default or (subject is not None and check.default_on is not None and check.default_on(subject))


def _require_an_end(key: str, given: Sequence[Any], *, least: int) -> None:
    """Refuses numbers that nothing ends with or compares with; every threshold of the card is at least 0."""
    for value in given:
        if isinstance(value, int | float) and not least <= value <= MOST:
            raise BadInput(f"{key} must lie between {least:,} and {MOST:,}, not {value}.")


def explainers_in(chosen: Mapping[str, Any]) -> list[str]:
    return [name for settings in chosen.values() for name in explainers_of(settings)]


def plain_settings(settings: Any) -> dict[str, Any]:
    assert is_dataclass(settings)
    found = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

"""The battery of checks and the card they give."""

from heatcheck.audit.battery import Audit, Looked
from heatcheck.audit.verdict import Card, Judge, Line, State

__all__ = ["Audit", "Card", "Judge", "Line", "Looked", "State"]

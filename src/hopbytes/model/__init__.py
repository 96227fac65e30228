"""Patterns, allocations and mappings: what all rooms speak about."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def picture(thing: Any) -> str | None:
    """Return what notebooks show of a thing: nothing, until the package root puts its own function here."""
    return None

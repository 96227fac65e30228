"""Pictures by which notebooks show objects."""

from __future__ import annotations

import importlib
from typing import Any


def svg_of(thing: Any) -> str | None:
    """Return a pattern, an allocation or a mapping as an SVG element; None if it is too large for a cell.

    A higher package draws. It is found by its name when a notebook asks, as registries find algorithms, so
    that this package imports nothing of it.
    """
    notebook = importlib.import_module("hopbytes.pictures.notebook")
    drawn: str | None = notebook.svg_of(thing)
    return drawn

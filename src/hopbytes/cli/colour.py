"""Colour on a terminal: why a program stopped, what a verdict decides, the heads of tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

#: Parameters of the sequence that begins a style (ECMA-48, Select Graphic Rendition).
STYLES = {"error": "1;31", "change": "1;32", "keep": "1;36", "not decided": "1;33", "head": "1"}


def wanted(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal with colours, and the user has not refused them (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, style: str, stream: TextIO) -> str:
    """Return a text in a style, as it is where the stream wants no colours or the style is unknown."""
    if not text or style not in STYLES or not wanted(stream):
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def painted_lines(text: str, marks: Mapping[str, str], stream: TextIO) -> str:
    """Return a text whose lines that are keys of `marks` have the style that it gives them."""
    if not marks or not wanted(stream):
        return text
    return "\n".join(painted(line, marks.get(line, ""), stream) for line in text.split("\n"))

"""Values of options as people write them: durations with units, and numbers with separators."""

from __future__ import annotations

import math
import re

from hopbytes.cli.declare import BadParameter

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of a duration such as ``90``, ``90s``, ``5m`` or ``1h30m``.

    >>> seconds("1h30m")
    5400.0
    """
    typed = text.lower()
    try:
        if re.fullmatch(r"(\s*[0-9.]{1,40}\s*[smh])+\s*", typed):
            parts = re.findall(r"([0-9.]{1,40})\s*(s|m|h)", typed)
            found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        else:
            found = float(typed)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found >= 0):
        raise BadParameter(f"{text[:40]!r}, expected seconds such as 300, or 90s, 5m, 1h")
    return found


def work_units(text: str) -> int:
    """Return a number of scanned edges, which may have the separators with which messages print it.

    >>> work_units("60,959,284"), work_units("60959284")
    (60959284, 60959284)
    """
    if re.fullmatch(r"[0-9]{1,30}|[0-9]{1,3}(,[0-9]{3})+|[0-9]{1,3}(_[0-9]{3})+", text.strip()):
        return int(text.replace(",", "").replace("_", ""))
    raise BadParameter(f"{text[:40]!r}, expected a number of scanned edges such as 60,959,284")


def factor(text: str) -> float:
    """Return a number above 0, such as 2, 0.5 or 1e-3.

    >>> factor("1e-3")
    0.001
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise BadParameter(f"{text[:40]!r}, expected a number above 0")
    return found

"""Reading benchmark results: one JSON object per line, as ``bench/run.py`` writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopbytes.errors import FormatError

Row = Mapping[str, Any]

#: What is averaged, by its name in a row.
MEASURES = ("comm_cost", "wall_seconds", "inner_seconds", "cpu_seconds")

#: Longest row taken; a file without line ends must not fill the memory.
MAX_LINE = 2**20


def read_results(path: str | Path) -> list[dict[str, Any]]:
    """Read the rows of a results file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of dict
        In file order, every one with ``instance``, ``tool``, ``preset``, ``seed`` and either
        ``comm_cost`` or ``error``; numbers are finite and >= 0.

    Raises
    ------
    FormatError
        A line that is no such row, or a file without rows.
    OSError
        A file that cannot be read.
    """
    rows = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), ""), start=1):
            if len(line) == MAX_LINE:
                what = f"a line of {MAX_LINE} characters or more, expected a row of bench/run.py"
                raise FormatError(str(path), number, what)
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                what = "not JSON, expected lines of bench/run.py, one object each"
                raise FormatError(str(path), number, what) from None
            _check(row, str(path), number)
            rows.append(row)
    if not rows:
        raise FormatError(str(path), None, "no rows, expected one JSON object per line")
    return rows


def _check(row: Any, where: str, line: int) -> None:
    if not isinstance(row, dict):
        raise FormatError(where, line, f"a JSON {type(row).__name__}, expected an object")
    for name in ("instance", "tool", "preset", "seed"):
        if not isinstance(row.get(name), (str, int)):
            raise FormatError(where, line, f"no {name!r}, expected a row of bench/run.py")
    for name in (*MEASURES, "other_cpu_seconds"):
        value = row.get(name)
        if value is not None and not _is_measure(value):
            raise FormatError(where, line, f"{name} is {str(value)[:40]}, expected a number >= 0")
    if not row.get("error") and row.get("comm_cost") is None:
        raise FormatError(where, line, "neither comm_cost nor error, expected one of them")


def _is_measure(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:  # an integer beyond any float
        return False

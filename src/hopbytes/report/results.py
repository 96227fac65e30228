"""Reading benchmark results: one JSON object per line, as ``bench/run.py`` writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopbytes.errors import FormatError
from hopbytes.text.open_input import open_stream

Row = Mapping[str, Any]

#: Names of the numbers of a row that are averaged.
MEASURES = ("comm_cost", "wall_seconds", "inner_seconds", "cpu_seconds")

#: Length of a row that is refused, so that a file without line ends does not fill the memory.
MAX_LINE = 2**20


def read_results(path: str | Path) -> list[dict[str, Any]]:
    """Read the rows of a results file, which may be compressed with gzip, xz or bzip2."""
    rows = []
    with open_stream(path) as (_, stream, _):
        for number, read in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), start=1):
            if len(read) == MAX_LINE:
                what = f"a line of {MAX_LINE} bytes or more, expected a row of bench/run.py"
                raise FormatError(str(path), number, what)
            line = read.decode("utf-8", "replace")
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

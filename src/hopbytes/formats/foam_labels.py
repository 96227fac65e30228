"""Lists of labels of OpenFOAM: a header ``FoamFile { … }``, then ``N ( … )`` or ``N { value }``."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.formats.parsing import whole_numbers
from hopbytes.util.integers import MAX_TASKS

COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
HEADER = re.compile(rb"\s*FoamFile\s*\{([^{}]*)\}")
LIST = re.compile(rb"\s*(?:([0-9]{1,10})\s*)?(?:\(([^(){}]*)\)|\{\s*([0-9]{1,18})\s*\})\s*")


def is_label_list(head: bytes) -> bool:
    """Tell whether a file begins as a list of labels of OpenFOAM."""
    found = HEADER.match(COMMENT.sub(b"", head))
    return found is not None and _entry(found[1], b"class") == b"labelList"


def read_labels(name: str, data: bytes) -> Int64:
    """Return the labels of a file; comments may stand anywhere."""
    text = COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), data)
    header = HEADER.match(text)
    if header is None:
        raise FormatError(name, 1, "no header FoamFile { … }, expected a list of labels of OpenFOAM")
    kind = _entry(header[1], b"class").decode("ascii", "replace")
    if kind != "labelList":
        raise FormatError(name, None, f"class {kind[:40]!r}, expected labelList")
    if _entry(header[1], b"format") != b"ascii":
        what = "binary labels, expected format ascii (foamFormatConvert with writeFormat ascii)"
        raise FormatError(name, None, what)
    found = LIST.fullmatch(text, header.end())
    rest = len(text[header.end() :].lstrip())
    line = 1 + text.count(b"\n", 0, len(text) - rest)
    if found is None or (found[3] is not None and not found[1]):
        raise FormatError(name, line, "no list behind the header, expected N ( label … ) or N { label }")
    count = int(found[1]) if found[1] else None
    if count is not None and count > MAX_TASKS:
        raise FormatError(name, line, f"{count} labels, expected at most {MAX_TASKS}")
    if found[3] is not None:
        return np.full(int(found[1]), int(found[3]), np.int64)
    labels = whole_numbers(name, 1 + text.count(b"\n", 0, found.start(2)), found[2])
    if count is not None and len(labels) != count:
        raise FormatError(name, line, f"{len(labels)} labels, expected {count} as the list says")
    return labels


def _entry(header: bytes, key: bytes) -> bytes:
    """Return the value of an entry of a header; empty if there is none."""
    found = re.search(rb"(?:^|[;\s])" + key + rb"\s+([^;\s]+)\s*;", header)
    return found[1] if found else b""

"""Lists of labels of OpenFOAM: a header ``FoamFile { … }``, then ``N ( … )`` or ``N { value }``."""

from __future__ import annotations

import os
import re

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.formats.base import Format, Source, registered
from hopbytes.formats.files import open_source, plain_name
from hopbytes.formats.parsing import whole_numbers
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_TASKS

COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
HEADER = re.compile(rb"\s*FoamFile\s*\{([^{}]*)\}")
LIST = re.compile(rb"\s*(?:([0-9]{1,10})\s*)?(?:\(([^(){}]*)\)|\{\s*([0-9]{1,18})\s*\})\s*")


def is_label_list(head: bytes) -> bool:
    """Tell whether a file begins as a list of labels of OpenFOAM."""
    header = HEADER.match(COMMENT.sub(b"", head))
    return header is not None and _entry(header[1], b"class") == b"labelList"


def read_labels(name: str, data: bytes) -> Int64:
    """Return the labels of a file; comments may stand anywhere."""
    text = COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), data)
    header = HEADER.match(text)
    if header is None:
        raise FormatError(name, 1, "no header FoamFile { … }, expected a list of labels of OpenFOAM")
    kind = _entry(header[1], b"class").decode("ascii", "replace")
    if kind != "labelList":
        raise FormatError(name, None, f"class {kind[:40]!r}, expected labelList")
    if _entry(header[1], b"format") != b"ascii":
        what = "binary labels, expected format ascii (foamFormatConvert with writeFormat ascii)"
        raise FormatError(name, None, what)
    match = LIST.fullmatch(text, header.end())
    rest = len(text[header.end() :].lstrip())
    line = 1 + text.count(b"\n", 0, len(text) - rest)
    if match is None or (match[3] is not None and not match[1]):
        raise FormatError(name, line, "no list behind the header, expected N ( label … ) or N { label }")
    count = int(match[1]) if match[1] else None
    if count is not None and count > MAX_TASKS:
        raise FormatError(name, line, f"{count} labels, expected at most {MAX_TASKS}")
    if match[3] is not None:
        return np.full(int(match[1]), int(match[3]), np.int64)
    labels = whole_numbers(name, 1 + text.count(b"\n", 0, match.start(2)), match[2])
    if count is not None and len(labels) != count:
        raise FormatError(name, line, f"{len(labels)} labels, expected {count} as the list says")
    return labels


def _entry(header: bytes, key: bytes) -> bytes:
    """Return the value of an entry of a header; empty if there is none."""
    match = re.search(rb"(?:^|[;\s])" + key + rb"\s+([^;\s]+)\s*;", header)
    return match[1] if match else b""


OTHER = {"owner": "neighbour", "neighbour": "owner"}


@registered("polymesh")
class PolyMesh(Format):
    """A task per cell and an edge for every pair of cells with a face between them, faces counted.

    Face i lies between the cells ``owner[i]`` and ``neighbour[i]``; faces of the boundary come last and have
    no neighbour. Either file may be named, the other one lies beside it.
    """

    holds = "pattern"
    summary = "cells of an OpenFOAM mesh: constant/polyMesh/owner, with neighbour beside it"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file is a list of labels called owner or neighbour."""
        return os.path.basename(name) in OTHER and is_label_list(head)

    def read(self, source: Source) -> CommGraph:
        """Return an undirected graph of the cells."""
        name = plain_name(source.title)
        if source.path is None or name not in OTHER:
            raise source.error("expected the file owner or neighbour of a mesh")
        labels = {name: read_labels(source.name, source.stream.read())}
        beside = os.path.join(os.path.dirname(source.path), OTHER[name])
        packed = source.title[len(name) :]
        with open_source(beside + (packed if os.path.exists(beside + packed) else ""),
                         max_bytes=source.max_bytes) as other:  # fmt: skip
            labels[OTHER[name]] = read_labels(other.name, other.stream.read())
        owner, neighbour = labels["owner"], labels["neighbour"]
        if len(neighbour) > len(owner):
            what = f"{len(neighbour)} faces with a neighbour and {len(owner)} with an owner"
            raise source.error(f"{what}, expected no more of the former")
        n = int(max(owner.max(initial=-1), neighbour.max(initial=-1))) + 1
        if n > min(MAX_TASKS, 16 * (len(owner) + 1)):
            raise source.error(f"cell {n - 1}, expected fewer cells with {len(owner)} faces")
        title = os.path.basename(os.path.dirname(os.path.abspath(source.path)))
        sides = (part[: len(neighbour)].astype(np.int32) for part in (owner, neighbour))
        return CommGraph.from_edges(
            *sides, n=n, undirected=True, meta={"name": title, "format": "polymesh"}
        )

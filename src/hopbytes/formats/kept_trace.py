"""The trace that `record` keeps beside a pattern, and the hash by which files know their pattern."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.formats.base import MARK, WAITING
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import open_stream, plain_name

SUFFIX = ".trace.gz"
#: The comment at the start of such a file, before the hash of the pattern.
HEAD = f"# {MARK} beside the pattern "


def kept_trace_path(pattern: str) -> str:
    """Return the path of the trace beside a pattern."""
    return os.path.splitext(plain_name(pattern))[0] + SUFFIX


def write_kept_trace(
    graph: CommGraph, pattern: str, order: Iterable[list[str]], *, force: bool = False
) -> str:
    """Write the actions of all ranks beside the file of a pattern, and return the path."""
    path = kept_trace_path(pattern)
    may_write(path, force)
    lines = [f"{HEAD}{pattern_sha256(graph)}", *(action for own in order for action in own)]
    atomic_write({path: "\n".join(lines) + "\n"})
    return path


def with_kept_trace(graph: CommGraph, pattern: str | None) -> CommGraph:
    """Return a pattern that was read from a file, with the trace of the same recording beside it, if any."""
    meta = {name: value for name, value in graph.meta.items() if name != WAITING}
    path = None if pattern is None else kept_trace_path(pattern)
    if path is not None and path != pattern and os.path.isfile(path) and _belongs(path, graph):
        meta[WAITING] = path
    return graph if meta == graph.meta else replace(graph, meta=meta)


def _belongs(path: str, graph: CommGraph) -> bool:
    try:
        with open_stream(path) as opened:
            head = opened.stream.readline(200).decode(errors="replace")
    except (FormatError, OSError):
        return False
    return head.startswith(HEAD) and head.removeprefix(HEAD).strip() == pattern_sha256(graph)


def pattern_sha256(graph: CommGraph) -> str:
    """Return the hash of a pattern: tasks, arcs, volumes, messages and loads; O(n + m)."""
    return digest(graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads)


def digest(*arrays: Any) -> str:
    """Return the hash of arrays, of which each may be None."""
    made = hashlib.sha256()
    for array in arrays:
        if array is None:
            made.update(b"none;")
            continue
        # Type and shape precede the content, so that different lists of arrays never give the same bytes.
        # The byte order is fixed to little-endian, so that the hash does not depend on the computer.
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        made.update(f"{plain.dtype.str}{plain.shape};".encode())
        made.update(plain.tobytes())
    return made.hexdigest()

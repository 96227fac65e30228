"""Hashes by which files know the pattern that they belong to."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hopbytes.model.comm_graph import CommGraph


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

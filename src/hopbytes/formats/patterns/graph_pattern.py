"""``.pattern``: a complete CommGraph, stored without loss.

The file is a zip archive. Its first member ``header.json`` holds the name and version of the format and all
facts that are not arrays; then follow ``indptr.npy``, ``targets.npy`` and, if they exist, ``volumes.npy``,
``messages.npy`` and ``loads.npy``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Array
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Format, Source, Written, formats
from hopbytes.formats.patterns.archive import integers, load_members, pack
from hopbytes.formats.patterns.graph_npz import checked_undirected
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.model.comm_graph import CommGraph

VERSION = 1
ARRAYS: dict[str, Any] = {
    "indptr": np.int64, "targets": np.int32, "volumes": np.int64, "messages": np.int64, "loads": np.int64
}


class Pattern(Format):
    """The native format of hopbytes: arrays, scale, direction and the facts about the source."""

    holds = "pattern"
    suffixes = (".pattern",)
    binary = True
    summary = "native archive of hopbytes: all arrays, scale and facts about the source"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file is a zip archive that begins with the header."""
        return head.startswith(b"PK\x03\x04") and b"header.json" in head[:200]

    def read(self, source: Source) -> CommGraph:
        """Return the graph that was written."""
        members = load_members(source)
        header = _header(source, members.get("header.json"))
        arrays = {name: integers(source, name, members.get(name), dtype) for name, dtype in ARRAYS.items()}
        indptr, targets = arrays.pop("indptr"), arrays.pop("targets")
        if indptr is None or targets is None or not len(indptr):
            raise FormatError(source.name, None, "indptr or targets is missing, expected both")
        graph = CommGraph.of_own(
            indptr, targets, **arrays, undirected=header["undirected"], scale=header["scale"],
            meta=header["meta"],
        )
        return checked_undirected(source, graph)

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return an archive of the whole graph; facts that JSON cannot hold are stored as text."""
        notices: list[str] = []
        if options.get("symmetrize"):
            graph, notices = symmetrized(graph)
        header = {
            "format": "hopbytes pattern", "version": VERSION, "generator": MARK, "n": graph.n, "m": graph.m,
            "undirected": graph.undirected, "scale": graph.scale, "meta": dict(graph.meta),
        }
        text = json.dumps(header, indent=1, default=str)
        members: dict[str, Array | bytes] = {"header.json": text.encode()}
        members |= {name: getattr(graph, name) for name in ARRAYS if getattr(graph, name) is not None}
        return Written({"": pack(members)}, notices=tuple(notices))


formats.register("pattern")(Pattern())


def _header(source: Source, content: Array | bytes | None) -> dict[str, Any]:
    if not isinstance(content, bytes):
        raise FormatError(source.name, None, "no header.json inside, expected a pattern written by hopbytes")
    try:
        header = json.loads(content)
    except (ValueError, RecursionError):
        raise FormatError(source.name, None, "header.json is damaged, expected JSON") from None
    if not isinstance(header, dict) or header.get("format") != "hopbytes pattern":
        what = "header.json has another format, expected that of a pattern written by hopbytes"
        raise FormatError(source.name, None, what)
    if header.get("version") != VERSION:
        what = f"pattern version {str(header.get('version'))[:20]}, expected version {VERSION}"
        raise UnsupportedError(f"{source.name}: {what}")
    for key, kind in (("undirected", bool), ("scale", int), ("meta", dict)):
        if not isinstance(header.get(key), kind):
            what = f"header.json has no valid {key!r}, expected a value of type {kind.__name__}"
            raise FormatError(source.name, None, what)
    if not 1 <= header["scale"] <= 10**9:
        raise FormatError(source.name, None, f"scale {header['scale']}, expected 1 to 10^9")
    return header

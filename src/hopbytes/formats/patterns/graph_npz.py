"""NumPy archives: sparse matrices in SciPy's layout, and the arrays of a CommGraph by name."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Array
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Format, Source, Written, formats
from hopbytes.formats.parsing import check_tasks
from hopbytes.formats.patterns.archive import integers, load_members, pack
from hopbytes.formats.patterns.symmetrize import symmetrized
from hopbytes.model.comm_graph import CommGraph


class Npz(Format):
    """Written archives are readable by ``scipy.sparse.load_npz``: CSR arrays, with additional arrays."""

    holds = "pattern"
    suffixes = (".npz",)
    binary = True
    summary = "NumPy archive: SciPy sparse matrix, or indptr, targets, volumes, messages, loads"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file is a zip archive whose first member is an array."""
        return head.startswith(b"PK\x03\x04") and b".npy" in head[:200]

    def read(self, source: Source) -> CommGraph:
        """Return the graph; it is directed unless the archive says ``undirected``."""
        members = load_members(source)
        arrays = {name: value for name, value in members.items() if not isinstance(value, bytes)}
        if "targets" in arrays or ("indices" in arrays and "indptr" in arrays and "format" not in arrays):
            return _from_rows(source, arrays)
        if "format" in arrays and "shape" in arrays:
            return _from_scipy(source, arrays)
        names = ", ".join(sorted(members)) or "nothing"
        what = f"the archive holds {names}, expected a SciPy sparse matrix or indptr and targets"
        raise FormatError(source.name, None, what)

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return all arrays; the facts about the source are lost, unlike in ``.pattern``."""
        notices: list[str] = []
        if options.get("symmetrize"):
            graph, notices = symmetrized(graph)
        arrays: dict[str, Array | bytes] = {
            "written-by": MARK.encode(),
            "format": np.array(b"csr"),
            "shape": np.array([graph.n, graph.n], np.int64),
            "indptr": graph.indptr,
            "indices": graph.targets,
            "data": np.ones(graph.m, np.int8) if graph.volumes is None else graph.volumes,
            "unweighted": np.array(graph.volumes is None),
            "undirected": np.array(graph.undirected),
            "scale": np.array(graph.scale, np.int64),
        }
        if graph.messages is not None:
            arrays["messages"] = graph.messages
        if graph.loads is not None:
            arrays["loads"] = graph.loads
        return Written({"": pack(arrays)}, notices=tuple(notices))


formats.register("npz")(Npz())


def _flag(arrays: dict[str, Array], name: str) -> bool:
    return name in arrays and arrays[name].size == 1 and bool(arrays[name].reshape(-1)[0])


def _from_rows(source: Source, arrays: dict[str, Array]) -> CommGraph:
    """Return the graph of CSR arrays with sorted rows, under hopbytes' or SciPy's names."""
    names = ("indptr", "messages", "loads")
    parts = {name: integers(source, name, arrays.get(name), np.int64) for name in names}
    targets = integers(source, "targets", arrays.get("targets", arrays.get("indices")), np.int32)
    volumes = integers(source, "volumes", arrays.get("volumes", arrays.get("data")), np.int64)
    if parts["indptr"] is None or targets is None or not len(parts["indptr"]):
        raise FormatError(source.name, None, "indptr is missing or empty, expected n + 1 row pointers")
    scale = int(arrays["scale"].reshape(-1)[0]) if "scale" in arrays and arrays["scale"].size == 1 else 1
    graph = CommGraph.of_own(
        parts["indptr"], targets, None if _flag(arrays, "unweighted") else volumes, parts["messages"],
        parts["loads"], undirected=_flag(arrays, "undirected"), scale=scale,
        meta={"name": source.title, "format": "npz"},
    )
    return checked_undirected(source, graph)


def checked_undirected(source: Source, graph: CommGraph) -> CommGraph:
    """Return the graph; FormatError if it is marked as undirected without being symmetric."""
    from hopbytes import kernels

    if graph.undirected and kernels.find_asymmetry(graph.arcs(graph.volumes), source.workers) >= 0:
        what = "the graph is marked as undirected, but the two directions differ, expected equal ones"
        raise FormatError(source.name, None, what)
    return graph


def _from_scipy(source: Source, arrays: dict[str, Array]) -> CommGraph:
    layout = arrays["format"].reshape(-1)[:1].astype("S8").tolist()[0].decode("ascii", "replace")
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape[0] != shape[1]:
        raise FormatError(source.name, None, f"shape {shape.tolist()}, expected a square matrix")
    n = int(shape[0])
    if layout not in ("csr", "csc", "coo"):
        raise UnsupportedError(f"{source.name}: a {layout!r} matrix, expected csr, csc or coo (.tocsr())")
    needed = ("row", "col", "data") if layout == "coo" else ("indptr", "indices", "data")
    missing = [name for name in needed if name not in arrays or arrays[name].ndim != 1]
    if missing:
        raise FormatError(source.name, None, f"{missing[0]} is missing, expected a {layout} matrix")
    data = arrays["data"]
    check_tasks(source, None, n, len(data))
    if layout == "csr" and "undirected" in arrays and len(arrays["indptr"]) == n + 1:
        return _from_rows(source, arrays)
    if layout == "coo":
        rows, columns = arrays["row"], arrays["col"]
    else:
        indptr = integers(source, "indptr", arrays["indptr"], np.int64)
        assert indptr is not None
        if len(indptr) != n + 1 or int(indptr[-1]) != len(data) or bool(np.any(np.diff(indptr) < 0)):
            what = "indptr does not match shape and data, expected ascending row pointers"
            raise FormatError(source.name, None, what)
        outer, inner = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr)), arrays["indices"]
        rows, columns = (outer, inner) if layout == "csr" else (inner, outer)
    return CommGraph.from_edges(rows, columns, data, n=n, meta={"name": source.title, "format": "npz"})

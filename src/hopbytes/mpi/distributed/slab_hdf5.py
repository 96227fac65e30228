"""Graphs in HDF5 files, of which every process reads its rows only. Needs h5py."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, UnsupportedError, damaged
from hopbytes.mpi.distributed.slab import Slab, first_row

#: FILE.h5, or FILE.h5:GROUP.
NAME = re.compile(r"(?P<path>.*\.(?:h5|hdf5|hdf|h5ad))(?::(?P<group>.*))?", re.IGNORECASE | re.DOTALL)
#: Names of datasets: those of METIS, of SciPy's compressed rows, and plain words.
NAMES = {
    "rows": ("xadj", "indptr", "rowptr", "offsets"),
    "neighbours": ("adjncy", "indices", "targets", "colidx"),
    "weights": ("adjwgt", "weights", "data", "volumes"),
    "loads": ("vwgt", "loads", "vertex_weights"),
}


def is_hdf5(graph: str) -> bool:
    """Tell whether the name of a graph is that of an HDF5 file, with or without a group.

    >>> is_hdf5("mesh.h5:/dual"), is_hdf5("mesh.graph")
    (True, False)
    """
    return NAME.fullmatch(graph) is not None


def hdf5_rows(graph: str, rank: int, size: int) -> Slab:
    """Return the rows of one of `size` processes.

    Every process opens the file to read it, so that HDF5 with MPI is not needed. Rows are divided so that
    every process has about as many vertices and arcs. O((n + m) / P) memory.
    """
    try:
        import h5py
    except ImportError:
        raise UnsupportedError(f"{graph}: HDF5 needs h5py (pip install h5py)") from None
    match = NAME.fullmatch(graph)
    assert match is not None
    path, group = match["path"], match["group"]
    try:
        with damaged(path, "a whole HDF5 file with a graph"), h5py.File(path, "r") as file:
            return _read(path, _group(path, file, group), rank, size)
    except OSError as error:
        if getattr(error, "errno", None):  # h5py puts its own words around those of the system
            raise
        raise FormatError(path, None, " ".join(str(error).split())) from None


def _group(path: str, file: Any, name: str | None) -> Any:
    """Return the group with the graph."""
    if name:
        if name not in file or not hasattr(file[name], "keys"):
            raise FormatError(path, None, f"no group {name!r}, expected one of {_some(file)}")
        return file[name]
    inner = [each for each in file.values() if hasattr(each, "keys")]
    if _found(file, "rows") is None and len(inner) == 1:
        return inner[0]
    return file


def _some(group: Any) -> str:
    names = sorted(group)
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "") if names else "nothing"


def _found(group: Any, what: str) -> Any:
    for name in NAMES[what]:
        if name in group and hasattr(group[name], "shape"):
            return group[name]
    return None


def _read(path: str, group: Any, rank: int, size: int) -> Slab:
    rows, neighbours = _found(group, "rows"), _found(group, "neighbours")
    for what, data in (("rows", rows), ("neighbours", neighbours)):
        if data is None:
            expected = f"a dataset with one of the names {', '.join(NAMES[what])}"
            raise FormatError(path, None, f"{group.name} has {_some(group)}, expected {expected}")
    weights, loads = _found(group, "weights"), _found(group, "loads")
    n, m = _length(path, rows) - 1, _length(path, neighbours)
    for data, count in ((weights, m), (loads, n)):
        if data is not None and _length(path, data) != count:
            raise FormatError(path, None, f"{data.name} has {len(data)} numbers, expected {count}")
    if n < 0 or _at(path, rows, 0, 1)[0] != 0 or _at(path, rows, n, n + 1)[0] != m:
        what = f"{rows.name}: expected numbers from 0 to {m}"
        raise FormatError(path, None, f"{what}, the number of neighbours")
    def arcs_before(vertex: int) -> int:
        return int(_at(path, rows, vertex, vertex + 1)[0])

    first, end = (first_row(n, m, arcs_before, part, size) for part in (rank, rank + 1))
    begins = _at(path, rows, first, end + 1)
    low, high = int(begins[0]), int(begins[-1])
    if not 0 <= low <= high <= m or (len(begins) > 1 and int(np.diff(begins).min()) < 0):
        raise FormatError(path, None, f"{rows.name} descends between rows {first} and {end}")
    targets = _at(path, neighbours, low, high)
    if len(targets) and not 0 <= int(targets.min()) <= int(targets.max()) < n:
        wrong = targets[(targets < 0) | (targets >= n)][0]
        raise FormatError(path, None, f"{neighbours.name}: {wrong}, expected numbers from 0 to {n - 1}")
    return Slab(
        begins - low, targets, None if weights is None else _at(path, weights, low, high),
        None if loads is None else _at(path, loads, first, end),
    )


def _length(path: str, data: Any) -> int:
    if len(data.shape) != 1 or data.dtype.kind not in "iuf":
        what = f"{data.name}: {data.dtype} of shape {data.shape}"
        raise FormatError(path, None, f"{what}, expected a list of integers")
    return int(data.shape[0])


def _at(path: str, data: Any, first: int, end: int) -> Int64:
    """Return a range of a dataset as int64; floating-point numbers have to be whole."""
    values = data[first:end]
    found = values.astype(np.int64)
    if data.dtype.kind != "i" and not np.array_equal(found, values):
        raise FormatError(path, None, f"{data.name}: expected whole numbers below 2^63")
    result: Int64 = found
    return result

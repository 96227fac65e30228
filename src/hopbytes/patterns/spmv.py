"""Product of a sparse matrix and a vector, with rows or columns of the matrix on different processes."""

from __future__ import annotations

import os
import re
import warnings

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesWarning, damaged
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.given_as_text import converted
from hopbytes.patterns.base import Arcs, Pattern, build_graph, invalid_parameter, patterns

#: Rows of a matrix that may all be empty.
NEVER_REFUSED = 2**22


@patterns.register("spmv")
@frozen
class Spmv(Pattern):
    """Sparse matrix-vector product y = A x: what processes send to each other in each product."""
    # The pattern is that of Deveci, Kaya, Uçar and Çatalyürek (2015). There is one message per arc.

    matrix: str = ""  #: Matrix Market file of the square matrix A; only the places of its entries count
    #: the number of processes, among which preset ``fast`` divides rows with entries as loads; or a file with
    #: the process of row and column i in line i
    parts: str = ""
    #: ``rows``: the owner of column j sends x_j to every process with an entry of column j in its rows;
    #: ``columns``: a process sends its part of y_i to the owner of row i
    by: str = "rows"
    bytes: int = 8  #: volume of a number

    def graph(self) -> CommGraph:
        if self.by not in ("rows", "columns"):
            raise invalid_parameter(self, f"by={self.by}, expected rows or columns")
        if not self.matrix or not self.parts:
            raise invalid_parameter(self, "expected spmv:MATRIX.mtx:parts=FILE, or :parts=N")
        n, rows, columns = _entries(self.matrix)
        owner, k = self._owners(n, rows, columns)
        source, target = owner[columns].astype(np.int64), owner[rows].astype(np.int64)
        apart = source != target
        source, target, rows, columns = source[apart], target[apart], rows[apart], columns[apart]
        number = columns * k + target if self.by == "rows" else rows * k + source
        _, first = np.unique(number, return_index=True)
        pairs, counts = np.unique(source[first] * k + target[first], return_counts=True)
        ones = np.ones(len(pairs), np.int64)
        return build_graph(self, k, [Arcs(pairs // k, pairs % k, counts * np.int64(self.bytes), ones)])

    def _owners(self, n: int, rows: Int64, columns: Int64) -> tuple[Int32, int]:
        """Return int32[n], the process of every row and column, and the number of processes."""
        if not self.parts.isdecimal():
            owner = converted("parts", self.parts)
            if len(owner) != n:
                what = f"{len(owner)} parts for a matrix of {n} rows, expected one for each"
                raise FormatError(self.parts, None, what)
            if int(owner.max(initial=0)) >= max(n, 1):
                raise FormatError(self.parts, None, f"part {owner.max()}, expected 0 to {n - 1}")
            return owner, int(owner.max(initial=-1)) + 1
        k = int(self.parts[:20])
        if not 1 <= k <= n:
            raise invalid_parameter(self, f"parts={self.parts}, expected 1 to {n}, the rows of {self.matrix}")
        if k == 1:
            return np.zeros(n, np.int32), 1
        loads = np.bincount(rows if self.by == "rows" else columns, minlength=n)
        ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        graph = CommGraph.from_edges(*ends, n=n, loads=loads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopbytesWarning)
            return converted("partition", (graph, k)), k


def _entries(path: str) -> tuple[int, Int64, Int64]:
    """Return n, and the row and column of every entry of a square matrix in a file."""
    from scipy.io import mminfo, mmread
    from scipy.sparse import coo_array

    if not os.path.isfile(path):
        raise FormatError(path, None, "no such file, expected a matrix in Matrix Market format")
    try:
        with damaged(path, "a matrix in Matrix Market format"):
            rows, columns, entries = mminfo(path)[:3]
            if rows != columns:
                raise FormatError(path, None, f"{rows} rows and {columns} columns, expected a square matrix")
            if rows > max(NEVER_REFUSED, 64 * entries):
                what = f"{rows} rows with {entries} entries, expected at most 64 rows for each"
                raise FormatError(path, None, what)
            matrix = coo_array(mmread(path))
    except FormatError as error:
        line = re.search(r"Line (\d{1,18}): ", error.what)
        raise error if line is None else FormatError(path, int(line[1]), error.what) from None
    return rows, matrix.row.astype(np.int64), matrix.col.astype(np.int64)

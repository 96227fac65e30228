"""Graphs of other libraries as lists of arcs, and back; each function needs only the library of its graph."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Array, Int32, Int64
from hopbytes.util.integers import bad_graph, refuse_masked, task_numbers


class NetworkxGraph(Protocol):
    """The methods of a graph of networkx that are used; networkx need not be installed."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        ...

    def adjacency(self) -> Any:
        """Nodes with their neighbours."""
        ...


class Arcs(NamedTuple):
    """Arcs of a graph of `n` tasks, as :meth:`hopbytes.CommGraph.from_edges` takes them."""

    n: int
    sources: Array
    targets: Array
    volumes: Array | None = None
    messages: Array | None = None


def of_dense(matrix: ArrayLike, messages: ArrayLike | None) -> Arcs:
    """Return the arcs of a square matrix: all entries that are not 0."""
    refuse_masked("matrix", matrix)
    refuse_masked("message matrix", messages)
    try:
        dense = np.asarray(matrix)
    except ValueError:
        raise bad_graph("rows of unequal length, expected a square matrix") from None
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise bad_graph(f"matrix of shape {dense.shape}, expected a square one")
    present = dense != 0
    counts = None
    if messages is not None:
        counts = np.asarray(messages)
        if counts.shape != dense.shape:
            raise bad_graph(f"message matrix of shape {counts.shape}, expected {dense.shape}")
        present = present | (counts != 0)
    src, dst = np.nonzero(present)
    return Arcs(len(dense), src, dst, dense[src, dst], None if counts is None else counts[src, dst])


def of_scipy(matrix: Any, messages: Any) -> Arcs:
    """Return the arcs of a sparse matrix, its stored zeros included."""
    coo = _coordinates(matrix)
    if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
        raise bad_graph(f"matrix of shape {coo.shape}, expected a square one")
    if messages is None:
        return Arcs(coo.shape[0], coo.row, coo.col, coo.data)
    counts = _coordinates(messages)
    return Arcs(
        coo.shape[0],
        np.concatenate([coo.row, counts.row]),
        np.concatenate([coo.col, counts.col]),
        np.concatenate([coo.data, np.zeros(counts.nnz, coo.data.dtype)]),
        np.concatenate([np.zeros(coo.nnz, np.int64), counts.data]),
    )


def _coordinates(matrix: Any) -> Any:
    """Return a sparse matrix in coordinate form; SciPy's own conversion does not check the arrays."""
    if not hasattr(matrix, "tocoo"):
        kind = type(matrix).__name__
        raise bad_graph(f"a {kind}, expected a sparse matrix of SciPy (from_dense takes others)")
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format()
        return matrix.tocoo()
    except ValueError as error:
        raise bad_graph(f"a damaged sparse matrix: {error}") from None


def is_networkx(thing: object) -> bool:
    """Tell whether something has the methods of a graph of networkx that are used here."""
    needed = ("is_directed", "edges", "nodes", "adjacency")
    return all(callable(getattr(thing, name, None)) for name in needed)


def of_networkx(graph: Any, weight: str | None) -> Arcs:
    """Return the edges of a graph of networkx, nodes numbered in the order of ``graph.nodes``."""
    if not is_networkx(graph):
        raise bad_graph(f"a {type(graph).__name__}, expected a graph of networkx")
    task_of = {node: task for task, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data=True))
    sources = np.array([task_of[source] for source, _, _ in edges], np.int64)
    targets = np.array([task_of[other] for _, other, _ in edges], np.int64)
    volumes = None
    if weight is not None and any(weight in data for _, _, data in edges):
        volumes = np.array([data.get(weight, 1) for _, _, data in edges])
    return Arcs(len(task_of), sources, targets, volumes)


def is_igraph(thing: object) -> bool:
    """Tell whether something has the methods of a graph of igraph that are used here."""
    return all(callable(getattr(thing, name, None)) for name in ("vcount", "get_edgelist", "is_directed"))


def of_igraph(graph: Any) -> Arcs:
    """Return the edges of a graph of igraph, with the attribute ``weight`` of edges as volumes."""
    edges = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    volumes = np.asarray(graph.es["weight"]) if "weight" in graph.es.attributes() else None
    return Arcs(graph.vcount(), edges[:, 0], edges[:, 1], volumes)


#: Names of columns of edge tables, in lower case.
COLUMNS = {
    "source": ("source", "src", "from", "sender"),
    "target": ("target", "dst", "to", "dest", "destination", "receiver"),
    "volume": ("volume", "bytes", "weight", "size"),
    "messages": ("messages", "count", "counts"),
}


def column_names(thing: object) -> list[Any] | None:
    """Return the names of the columns of a table: of pandas, polars, pyarrow or xarray; None of others."""
    for attribute in ("column_names", "data_vars", "columns"):
        columns = getattr(thing, attribute, None)
        if columns is not None and not callable(columns):
            return list(columns)
    return None


def of_frame(frame: Any, **named: Any) -> tuple[Arcs, list[Any]]:
    """Return the arcs of an edge table or a square one, and the columns that are not read.

    `named` are the columns that the caller names, by the keys of :data:`COLUMNS`; None for those to be found.
    The number of tasks is 0 where only the arcs tell it.
    """
    names = column_names(frame)
    if names is None:
        raise bad_graph(f"a {type(frame).__name__}, expected a table with named columns")
    for name in named.values():
        if name is not None and name not in names:
            raise bad_graph(f"no column {name!r}, expected one of {', '.join(map(str, names))}")
    lower = {str(name).strip().lower(): name for name in names}
    chosen = {
        key: named[key] if named[key] is not None
        else next((lower[known] for known in COLUMNS[key] if known in lower), None)
        for key in COLUMNS
    }  # fmt: skip
    if chosen["source"] is None or chosen["target"] is None:
        return _of_square(frame, names), []
    beside = [name for name in names if name not in chosen.values()]
    if beside and chosen["volume"] is None:
        what = f"columns {', '.join(map(str, beside))} beside source and target"
        raise bad_graph(f"{what}, expected one called volume or bytes (from_frame(volume=...) names it)")
    column = {key: None if name is None else np.asarray(frame[name]) for key, name in chosen.items()}
    sources, targets = (task_numbers(key, cast("Array", column[key])) for key in ("source", "target"))
    return Arcs(0, sources, targets, column["volume"], column["messages"]), beside


def _of_square(frame: Any, names: list[Any]) -> Arcs:
    """Return the arcs of a square table; rows and columns of the same labels may have different orders."""
    dense = as_array(frame)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        listed = f"columns {', '.join(map(str, names[:6]))}{', …' * (len(names) > 6)}"
        what = f"a table of {len(dense)} rows and {listed}"
        raise bad_graph(f"{what}, expected a square one, or columns source and target")
    rows = list(getattr(frame, "index", range(len(dense))))
    if rows != names and set(rows) == set(names) and len(set(rows)) == len(rows):
        dense = dense[:, [names.index(label) for label in rows]]
    elif rows not in (names, list(range(len(dense)))) and list(map(str, rows)) != list(map(str, names)):
        raise bad_graph(f"rows {rows[0]!r}, … and columns {names[0]!r}, …, expected the same tasks in both")
    return of_dense(dense, None)


def as_array(thing: Any) -> Array:
    """Return what NumPy makes of a matrix of another library."""
    try:
        return np.asarray(thing.to_numpy() if callable(getattr(thing, "to_numpy", None)) else thing)
    except (TypeError, ValueError, RuntimeError) as error:
        raise bad_graph(f"a {type(thing).__name__} that is not an array: {error}") from None


def of_metis(xadj: ArrayLike, adjncy: ArrayLike, adjwgt: ArrayLike | None) -> Arcs:
    """Return the arcs of adjacency arrays as METIS takes them, vertices numbered from 0."""
    starts, targets = np.asarray(xadj), task_numbers("adjncy", adjncy)
    if starts.ndim != 1 or (starts.size and starts.dtype.kind not in "iu"):
        what = f"an array of {starts.dtype} with {starts.ndim} dimensions"
        raise bad_graph(f"xadj is {what}, expected 1-d integers")
    starts = starts.astype(np.int64)
    if not len(starts) or starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] != len(targets):
        raise bad_graph(f"xadj must ascend from 0 to {len(targets)}, the length of adjncy")
    sources = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    weights = None if adjwgt is None else np.asarray(adjwgt)
    return Arcs(len(starts) - 1, sources, targets, weights)


def with_reverses(sources: Int32, targets: Int32, *values: Any) -> tuple[Any, ...]:
    """Return arcs and their values, then the same arcs backwards; an arc of a task to itself occurs once."""
    back = sources != targets
    ends = np.concatenate([sources, targets[back]]), np.concatenate([targets, sources[back]])
    return *ends, *(None if value is None else np.concatenate([value, value[back]]) for value in values)


def rounded_away(volumes: ArrayLike | None, kept: Int64 | None) -> list[str]:
    """Return a notice if volumes became 0 because no factor makes all of them integers."""
    if volumes is None or kept is None or np.asarray(volumes).dtype.kind != "f":
        return []
    lost = int(np.count_nonzero((np.asarray(volumes) > 0) & (kept == 0)))
    what = "too small beside the largest for sums of 63 bits"
    return [f"{lost} of {len(kept)} volumes count as 0: they are {what}"] if lost else []


def from_one(sources: Int32, targets: Int32) -> list[str]:
    """Return a notice if task 0 has no arc, as where tasks are numbered from 1."""
    if not len(sources) or min(int(sources.min()), int(targets.min())) != 1:
        return []
    n = max(int(sources.max()), int(targets.max())) + 1
    return [f"task 0 exchanges nothing: tasks count from 0; numbered from 1 they would be {n - 1}, not {n}"]

"""Class methods that make a CommGraph from arcs, matrices and graphs of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64, own
from hopbytes.errors import WrongTypeError
from hopbytes.model import given_as_text, graph_sources
from hopbytes.util.integers import MAX_TASKS, bad_graph, check_total, task_numbers, to_integers

if TYPE_CHECKING:
    import scipy.sparse
    from typing_extensions import Self


class GraphMakers:
    """The class methods of :class:`hopbytes.CommGraph` that make one."""

    __slots__ = ()

    if TYPE_CHECKING:
        # Attributes of CommGraph, declared here because CommGraph is a subclass of this class.
        indptr: Int64
        targets: Int32
        volumes: Int64 | None
        loads: Int64 | None
        scale: int
        meta: Mapping[str, Any]

        def __init__(
            self, indptr: Int64, targets: Int32, volumes: Int64 | None = None, messages: Int64 | None = None,
            loads: Int64 | None = None, undirected: bool = False, scale: int = 1,
            meta: Mapping[str, Any] | None = None,
        ) -> None: ...
        def check_directions(self, threads: int = 1) -> None: ...  # noqa: D102
        def know_directions(self) -> None: ...  # noqa: D102

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        volumes: ArrayLike | None = None,
        messages: ArrayLike | None = None,
        *,
        n: int | None = None,
        loads: ArrayLike | None = None,
        undirected: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from arcs, directed or not; duplicates are summed.

        Parameters
        ----------
        sources, targets : integer arrays of equal length
            Source and target task of each arc, numbered from 0.
        volumes, messages : arrays of the same length, optional
            Bytes and message counts. Decimals are scaled to integers (see :func:`to_integers`).
        n : int, optional
            Number of tasks; by default one more than the largest number seen.
        loads : array of n, optional
        undirected : bool
            False: an arc is what its source sends to its target, and counts once in J. True: an edge stands
            for both directions, each with the whole volume, and counts twice in J. Edges of an undirected
            graph that are given once with False make only half of its J.

        Raises
        ------
        FormatError
            Lengths differ, a task is outside 0..n-1, or values are negative or not finite.
        ScaleError
            Sums beyond 63 bits.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.CommGraph.from_edges([0, 1], [1, 2], [5, 5]).m
        2
        >>> hb.CommGraph.from_edges([0, 1], [1, 2], [5, 5], undirected=True).m
        4
        """
        src, dst = task_numbers("sources", sources), task_numbers("targets", targets)
        known = dict(meta or {})
        if len(src) != len(dst):
            raise bad_graph(f"{len(src)} sources and {len(dst)} targets, expected as many of each")
        highest = int(max(src.max(), dst.max())) if len(src) else -1
        if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0):
            raise bad_graph(f"n={n!r}, expected a number of tasks")
        given, n = n, highest + 1 if n is None else int(n)
        if highest >= n or n > MAX_TASKS:
            raise bad_graph(f"task {max(highest, n)} in a graph of {min(n, MAX_TASKS)} tasks")
        volume, scale = to_integers("volumes", volumes, len(src))
        count, count_scale = to_integers("messages", messages, len(src))
        said = graph_sources.rounded_away(volumes, volume)
        said += graph_sources.from_one(src, dst) if given is None else []
        if said:
            known["notices"] = [*known.get("notices", ()), *said]
        if count_scale != 1:
            raise bad_graph("messages must be whole numbers")
        if undirected:
            src, dst, volume, count = graph_sources.with_reverses(src, dst, volume, count)
        for name, values in (("volumes", volume), ("messages", count)):
            if values is not None:
                check_total(name, kernels.checked_sum(values))
        indptr, columns, merged_volume, merged_count = kernels.csr_from_arcs(n, src, dst, volume, count)
        load, _ = to_integers("loads", loads, n)
        graph = cls(
            own(indptr), own(columns), own(merged_volume), own(merged_count), load, undirected=undirected,
            scale=scale, meta=known,
        )
        graph.know_directions()
        return graph

    @classmethod
    def from_dense(
        cls,
        matrix: ArrayLike,
        messages: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from a square matrix: entry (i, j) is what task i sends to task j; zeros are no arcs.

        Raises FormatError if the matrix is not square or has negative or non-finite numbers.
        """
        return cls._of(graph_sources.of_dense(matrix, messages), loads=loads, meta=meta)

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.spmatrix | scipy.sparse.sparray,
        *,
        messages: scipy.sparse.spmatrix | None = None,
        loads: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from a sparse matrix (any SciPy format): entry (i, j) is what task i sends to task j.

        Raises FormatError if it is no sparse matrix, damaged, not square, or has negative or
        non-finite numbers.
        """
        return cls._of(graph_sources.of_scipy(matrix, messages), loads=loads, meta=meta)

    @classmethod
    def from_networkx(
        cls,
        graph: graph_sources.NetworkxGraph,
        weight: str | None = "weight",
        *,
        loads: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from a graph of networkx; task i is the i-th of ``graph.nodes``.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            An edge of an undirected graph is sent in both directions. Parallel edges are summed.
        weight : str or None
            The attribute of edges that is the volume, 1 if an edge lacks it; None: 1 each.
        loads : array of n, optional

        Raises
        ------
        FormatError
            The argument is no such graph, or weights are negative or not finite.

        Notes
        -----
        O(n + m), in Python.
        """
        arcs = graph_sources.of_networkx(graph, weight)
        name = str(getattr(graph, "name", ""))
        known = {"name": name} if name else {}
        undirected = not graph.is_directed()
        return cls._of(arcs, loads=loads, meta=known | dict(meta or {}), undirected=undirected)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        source: str | None = None,
        target: str | None = None,
        volume: str | None = None,
        messages: str | None = None,
        *,
        n: int | None = None,
        undirected: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from a table of pandas, polars, pyarrow or xarray.

        Parameters
        ----------
        frame : table
            A row for every arc, or a square table: row i, column j is what task i sends to task j.
        source, target, volume, messages : str, optional
            Columns of arcs, tasks numbered from 0. By default those called source, src or from; target, dst
            or to; volume, bytes, weight or size; messages or count. Without a volume arcs count 1 each.
        n, undirected
            See :meth:`from_edges`.

        Raises
        ------
        FormatError
            The table is neither; a square table has other labels on rows than on columns.

        Notes
        -----
        O(rows), or O(n²) for a square table.

        Examples
        --------
        >>> import hopbytes as hb
        >>> import pandas as pd
        >>> table = pd.DataFrame({"src": [0, 1], "dst": [1, 2], "bytes": [5, 7]})
        >>> hb.CommGraph.from_frame(table).total_volume
        12
        """
        named = {"source": source, "target": target, "volume": volume, "messages": messages}
        arcs, beside = graph_sources.of_frame(frame, **named)
        known = dict(meta or {})
        if beside:
            known["notices"] = [f"columns that are not read: {', '.join(map(str, beside))}"]
        size = n if n is not None else arcs.n or None
        return cls.from_edges(*arcs[1:], n=size, undirected=undirected, meta=known)

    @classmethod
    def from_metis(
        cls,
        xadj: ArrayLike,
        adjncy: ArrayLike,
        adjwgt: ArrayLike | None = None,
        *,
        vwgt: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from adjacency arrays as METIS and its bindings take them.

        Parameters
        ----------
        xadj : integer array of n + 1
            The neighbours of vertex i are ``adjncy[xadj[i]:xadj[i + 1]]``.
        adjncy : integer array of 2 x edges
            Vertices numbered from 0; both rows of an edge contain it.
        adjwgt : array of the same length, optional
            Weights of edges, equal in both directions.
        vwgt : array of n, optional
            Weights of vertices, the loads of tasks.

        Raises
        ------
        FormatError
            Arrays contradict each other, or an edge has no reverse.

        Notes
        -----
        O(n + m).

        Examples
        --------
        >>> import hopbytes as hb
        >>> path = hb.CommGraph.from_metis([0, 1, 3, 4], [1, 0, 2, 1], [7, 7, 2, 2])
        >>> path.undirected, path.total_volume
        (True, 18)
        """
        graph = cls._of(graph_sources.of_metis(xadj, adjncy, adjwgt), loads=vwgt, meta=meta)
        found = cls(
            graph.indptr, graph.targets, graph.volumes, None, graph.loads, undirected=True, scale=graph.scale,
            meta=graph.meta,
        )
        found.check_directions()
        return found

    @classmethod
    def of(cls, thing: object) -> Self:
        """Return the communication graph of a graph or matrix of any supported type.

        Parameters
        ----------
        thing : CommGraph, text, graph of networkx or igraph, sparse matrix of SciPy, table, or square matrix
            A text is the name of a file or a spec such as ``"stencil:4x4"``. A table is what
            :meth:`from_frame` takes; a matrix is what has ``__array__``, or lists.

        Raises
        ------
        WrongTypeError
            The argument is something else.
        FormatError
            See :meth:`from_networkx`, :meth:`from_scipy`, :meth:`from_frame`, :meth:`from_dense` and
            :func:`hopbytes.read_pattern`.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.CommGraph.of([[0, 3], [4, 0]]).total_volume
        7
        """
        if isinstance(thing, cls):
            return thing
        if given_as_text.is_text(thing):
            return cast("Self", given_as_text.read_pattern(thing))
        if graph_sources.is_networkx(thing):
            return cls.from_networkx(cast("graph_sources.NetworkxGraph", thing))
        if hasattr(thing, "tocoo"):
            return cls.from_scipy(thing)
        if graph_sources.is_igraph(thing):
            directed = bool(cast("graph_sources.NetworkxGraph", thing).is_directed())
            return cls._of(graph_sources.of_igraph(thing), undirected=not directed)
        if isinstance(thing, (np.ndarray, list, tuple)):
            return cls.from_dense(thing)
        if graph_sources.column_names(thing) is not None:
            return cls.from_frame(thing)
        if hasattr(thing, "__array__"):
            return cls.from_dense(graph_sources.as_array(thing))
        raise WrongTypeError(
            f"the pattern is a {type(thing).__name__}, expected a CommGraph, the name of a file, a "
            "square matrix or table, or a graph of networkx or igraph"
        )

    @classmethod
    def _of(cls, arcs: graph_sources.Arcs, **more: Any) -> Self:
        n, sources, targets, volumes, messages = arcs
        return cls.from_edges(sources, targets, volumes, messages, n=n, **more)

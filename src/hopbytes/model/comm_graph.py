"""CommGraph: the volume and the number of messages that tasks send to each other."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

import numpy as np
from numpy.typing import ArrayLike

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen, own
from hopbytes.errors import WrongTypeError, package
from hopbytes.kernels.records import Csr
from hopbytes.model import graph_sources
from hopbytes.model.given_as_text import converted
from hopbytes.util.computed_once import kept
from hopbytes.util.integers import MAX_TASKS, bad_graph, check_total, task_numbers, to_integers

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
    from typing_extensions import Self


#: The arrays of a graph.
ARRAYS = ("indptr", "targets", "volumes", "messages", "loads")

#: Number of blocks that a quotient may have although there are fewer tasks.
MOST_EMPTY = 2**24

#: What ``meta["tasks"]`` is where tasks are known to be processes.
PROCESSES = "processes"


@frozen(eq=False, repr=False, owns=ARRAYS)
class CommGraph:
    """A communication graph: directed arcs task → task with volume and message count, a load per task.

    Rows are sorted by target and hold no duplicates. Arrays are copied, and read-only.

    Parameters
    ----------
    indptr : int64[n+1]
        Row pointers: the arcs out of task i are ``indptr[i]:indptr[i+1]``.
    targets : int32[m]
        Target task of each arc. Files keep arcs of a task to itself; metrics ignore them and report
        their share.
    volumes : int64[m] or None
        Bytes per arc, >= 0. None means 1 each (an unweighted graph), and costs no memory.
    messages : int64[m] or None
        Messages per arc. None means that the source had no counts: 1 each, and reports say so.
    loads : int64[n] or None
        Work per task, >= 0. None means 1 each.
    undirected : bool
        Both directions are stored with equal volume (a METIS file), so that the arcs themselves are the
        symmetric graph.
    scale : int
        Factor by which the volumes of the source were multiplied to make decimals integers.
    meta : mapping
        Free facts about the source (name, format, how it was recorded). ``"tasks": "processes"`` says that
        the tasks are processes of a program, see :attr:`of_processes`.
    phases : tuple of CommGraph
        The patterns of the phases of the program, if they were kept; this graph is their sum.

    Raises
    ------
    FormatError
        Arrays contradict each other (wrong length, order or range, negative values).
    ScaleError
        The volumes, or the loads, sum to more than 2**63 - 1.

    Notes
    -----
    Use :meth:`of`, :meth:`from_edges`, :meth:`from_dense`, :meth:`from_scipy`, :meth:`from_networkx`,
    :meth:`from_metis` or :func:`hopbytes.read_pattern`.
    Validation is O(n + m).

    Examples
    --------
    >>> import hopbytes as hb
    >>> ring = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [5, 5, 5], n=3)
    >>> ring.n, ring.m, ring.total_volume
    (3, 3, 15)
    """

    indptr: Int64
    targets: Int32
    volumes: Int64 | None = None
    messages: Int64 | None = None
    loads: Int64 | None = None
    undirected: bool = False
    scale: int = 1
    meta: Mapping[str, Any] = field(default_factory=dict)
    phases: tuple[CommGraph, ...] = ()
    _cache: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._check_shapes()
        for name in ("volumes", "messages", "loads"):
            self._cache["total_" + name] = self._checked_total(name)

    @classmethod
    def of_own(
        cls, indptr: Int64, targets: Int32, volumes: Int64 | None = None, messages: Int64 | None = None,
        loads: Int64 | None = None, **more: Any,
    ) -> Self:
        """Make a graph of arrays that have no other owner, without copies of them."""
        messages, loads = own(messages), own(loads)
        return cls(own(indptr), own(targets), own(volumes), messages, loads, **more)

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
        if not isinstance(meta, (Mapping, type(None))):
            raise WrongTypeError(f"meta {meta!r}, expected a dictionary")
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
        notices = graph_sources.rounded_away(volumes, volume)
        notices += graph_sources.from_one(src, dst) if given is None else []
        if notices:
            known["notices"] = [*known.get("notices", ()), *notices]
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
        """Build from a square matrix: entry (i, j) is what task i sends to task j; zeros are left out.

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

        Raises FormatError if it is not a sparse matrix, damaged, not square, or has negative or
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
            The argument is not such a graph, or weights are negative or not finite.

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
        both_ways = dataclasses.replace(graph, undirected=True)
        both_ways.check_directions()
        return both_ways

    @classmethod
    def of(cls, thing: object, threads: int | None = None) -> Self:
        """Return the communication graph of a graph or matrix of any supported type.

        Parameters
        ----------
        thing : CommGraph, text, graph of networkx or igraph, sparse matrix of SciPy, table, or square matrix
            A text is the name of a file or a spec such as ``"stencil:4x4"``. A table is what
            :meth:`from_frame` takes; a matrix is what has ``__array__``, or lists.
        threads : int, optional
            Number of threads that may read a file; the default is one for each CPU.

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
        if isinstance(thing, (str, os.PathLike)):
            return cast("Self", converted("pattern", thing, workers=threads))
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
    def checked(cls, thing: object, threads: int | None = None) -> Self:
        """Return what :meth:`of` returns after :meth:`check_directions`."""
        graph = cls.of(thing, threads)
        graph.check_directions(threads or 1)
        return graph

    @classmethod
    def _of(cls, arcs: graph_sources.Arcs, **more: Any) -> Self:
        n, sources, targets, volumes, messages = arcs
        return cls.from_edges(sources, targets, volumes, messages, n=n, **more)

    def _check_shapes(self) -> None:
        dtypes = dict.fromkeys(("indptr", "volumes", "messages", "loads"), np.int64)
        dtypes["targets"] = np.int32
        for name, dtype in dtypes.items():
            array = getattr(self, name)
            if array is None and name not in ("indptr", "targets"):
                continue
            fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1
            if not fits or not (array.flags.c_contiguous and array.flags.aligned):
                raise bad_graph(f"{name} must be a contiguous 1-d {np.dtype(dtype)} array")
        lengths = {"volumes": self.m, "messages": self.m, "loads": self.n}
        for name, length in lengths.items():
            array = getattr(self, name)
            if array is not None and len(array) != length:
                raise bad_graph(f"{name} has {len(array)} entries, expected {length}")
        if len(self.indptr) < 1 or len(self.indptr) - 1 > MAX_TASKS:
            raise bad_graph(f"{len(self.indptr) - 1} tasks, expected 0 to {MAX_TASKS}")
        bad = kernels.check_csr(self.indptr, self.targets)
        if bad == self.n:
            raise bad_graph(f"indptr must ascend from 0 to {self.m}, the number of targets")
        if bad >= 0:
            raise bad_graph(f"row {bad}: targets must be sorted, distinct and inside 0..{self.n - 1}")

    def _checked_total(self, name: str) -> int:
        array = getattr(self, name)
        if array is None:
            return self.n if name == "loads" else self.m
        if len(array) and int(array.min()) < 0:
            index = int(np.argmin(array))
            raise bad_graph(f"{name}[{index}] is {int(array[index])}, expected an integer >= 0")
        return check_total(name, kernels.checked_sum(array))

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of stored arcs (an undirected edge counts twice)."""
        return len(self.targets)

    @property
    def total_volume(self) -> int:
        """Sum of the volumes of all arcs, including those of a task to itself."""
        return int(self._cache["total_volumes"])

    @property
    def total_load(self) -> int:
        """Sum of all loads."""
        return int(self._cache["total_loads"])

    @property
    def name(self) -> str:
        """Name of the source, or 'graph'."""
        return str(self.meta.get("name", "graph"))

    @property
    def of_processes(self) -> bool:
        """Whether the tasks are known to be processes: recorded, or generated as such.

        Then too few slots are an error of :func:`hopbytes.map_tasks` and never make the problem a partition.
        Readers and generators set ``meta["tasks"] = "processes"``.
        """
        return self.meta.get("tasks") == PROCESSES or "recorded" in self.meta

    def __repr__(self) -> str:
        kind = "undirected" if self.undirected else "directed"
        return f"CommGraph({self.name!r}, n={self.n}, m={self.m}, {kind}, volume={self.total_volume})"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        rows = [
            ("tasks", self.n), ("edges, stored twice" if self.undirected else "arcs", self.m),
            ("volume", self.total_volume),
            ("messages", "1 per arc" if self.messages is None else self._cache["total_messages"]),
            ("load", self.total_load),
        ]
        return html_table(f"CommGraph {self.name}", rows) + (self._repr_svg_() or "")

    def _repr_svg_(self) -> str | None:
        from hopbytes.model import picture

        return picture(self)

    def arc_volumes(self) -> Int64:
        """Volumes as an array even when all are 1 (then a read-only view without memory of its own)."""
        return self.volumes if self.volumes is not None else np.broadcast_to(np.int64(1), self.m)

    def arc_messages(self) -> Int64:
        """Message counts as an array, 1 each if the source had none."""
        return self.messages if self.messages is not None else np.broadcast_to(np.int64(1), self.m)

    def task_loads(self) -> Int64:
        """Loads as an array even when all are 1."""
        return self.loads if self.loads is not None else np.broadcast_to(np.int64(1), self.n)

    def sources(self) -> Int32:
        """int32[m]: the source task of each arc."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))

    def with_weights(self, weight: str) -> CommGraph:
        """Return this graph with `weight` ('bytes', 'messages' or 'unit') as the volumes mappers see."""
        if weight in ("bytes", "time"):  # time also depends on the machine: see hopbytes.cost.message_time
            return self
        chosen = self.messages if weight == "messages" else None
        return dataclasses.replace(self, volumes=chosen, undirected=False)

    def quotient(self, pe: ArrayLike, blocks: int | None = None) -> CommGraph:
        """Return the graph of the blocks of a partition: what they send to each other, and their loads.

        Parameters
        ----------
        pe : int[n]
            The block of every task, such as :attr:`hopbytes.Mapping.pe`.
        blocks : int, optional
            Number of blocks; by default one more than the largest number in `pe`. A block may be empty.

        Returns
        -------
        CommGraph
            Task b is block b. Volumes, message counts (if known) and loads are exact sums; arcs inside a
            block are left out. It is undirected if this graph is.

        Raises
        ------
        FormatError
            `pe` does not hold an integer from 0 to ``blocks - 1`` for every task.

        Notes
        -----
        O(n + m). This is the model of Schulz and Träff (2017), the input of a mapping with one block per PE.

        Examples
        --------
        >>> import hopbytes as hb
        >>> path = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 3], [5, 7, 9])
        >>> blocks = path.quotient([0, 0, 1, 1])
        >>> blocks.n, blocks.volumes.tolist(), blocks.loads.tolist()
        (2, [7], [2, 2])
        """
        block = task_numbers("pe", pe)
        count = int(block.max(initial=-1)) + 1 if blocks is None else blocks
        if len(block) != self.n:
            raise bad_graph(f"blocks of {len(block)} tasks, expected {self.n}")
        most = max(self.n, MOST_EMPTY) if blocks is None else count
        if int(block.max(initial=-1)) >= most:
            raise bad_graph(f"block {block.max()}, expected 0 to {most - 1}")
        source, target = block[self.sources()], block[self.targets]
        apart = source != target
        volumes = self.arc_volumes()[apart]
        messages = None if self.messages is None else self.messages[apart]
        csr = kernels.csr_from_arcs(count, source[apart], target[apart], volumes, messages)
        loads = kernels.group_sums(np.ascontiguousarray(block, np.int32), self.loads, count, 1)
        meta = {key: self.meta[key] for key in ("name", "tasks") if key in self.meta}
        return CommGraph.of_own(*csr, loads, undirected=self.undirected, scale=self.scale, meta=meta)

    def arcs(self, weights: Int64 | None) -> Csr:
        """Return the directed arcs with `weights` (int64[m], None means 1 each) instead of their volumes."""
        return Csr(self.indptr, self.targets, weights)

    @kept
    def has_loops(self, threads: int = 1) -> bool:
        """Return whether a task has an arc to itself (computed once, then kept); O(m) on `threads`."""
        return bool(kernels.has_diagonal(self.indptr, self.targets, threads))

    def check_directions(self, threads: int = 1) -> None:
        """Raise FormatError where an edge of an undirected graph lacks a direction (checked once); O(m).

        The constructor believes its arrays. Searches do not end on graphs that are not symmetric.
        """
        if self.undirected and "paired" not in self._cache:
            arc = kernels.find_asymmetry(self.arcs(self.volumes), threads)
            if arc >= 0:
                source = int(np.searchsorted(self.indptr, arc, side="right")) - 1
                what = f"edge {source}-{self.targets[arc]} is missing or weighs differently in the other"
                raise bad_graph(f"{what} direction, expected both directions as METIS does")
            self.know_directions()

    def know_directions(self) -> None:
        """Take it for granted that an undirected graph has both directions of its edges, as in readers."""
        self._cache["paired"] = True

    @kept
    def symmetric(self, threads: int = 1) -> Csr:
        """Return the symmetric graph that mappers use (computed once, then kept).

        Undirected graphs without diagonal are returned as they are, weight w in each direction;
        otherwise the weight of {i, j} is ``C[i,j] + C[j,i]``. The cost of a mapping on this
        graph is J for the former and 2 J for the latter (each pair is stored twice), so that both
        order mappings equally. O(n + m), shared by `threads`.
        """
        own, whole = self.arcs(self.volumes), self.undirected and not self.has_loops(threads)
        return own if whole else kernels.symmetrize(own, threads)

    @kept
    def symmetric_positive(self, threads: int = 1) -> Csr:
        """Like :meth:`symmetric` without edges of weight 0 (pairs that exchange only empty messages)."""
        csr = self.symmetric(threads)
        if csr.weights is None or not len(csr.weights) or int(csr.weights.min()) > 0:
            return csr
        keep = csr.weights > 0
        rows = np.repeat(np.arange(self.n), np.diff(csr.indptr))[keep]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n))]).astype(np.int64)
        return Csr(indptr, csr.targets[keep], csr.weights[keep])

    def to_scipy(self, weight: str = "bytes") -> scipy.sparse.csr_array:
        """Return the n x n sparse array of int64 whose entry (i, j) is what task i sends to task j.

        Parameters
        ----------
        weight : {"bytes", "messages"}

        Notes
        -----
        The arrays are copies. Volumes are the source's times :attr:`scale`. O(n + m).
        """
        values = self.arc_messages() if weight == "messages" else self.arc_volumes()
        arrays = values.copy(), self.targets.copy(), self.indptr.copy()
        array: scipy.sparse.csr_array = package("scipy.sparse", "to_scipy()").csr_array(
            arrays, shape=(self.n, self.n)
        )
        return array

    def to_networkx(self) -> networkx.Graph:
        """Return a graph of networkx: a Graph if :attr:`undirected`, else a DiGraph.

        Nodes 0..n-1 have the attribute `load`; edges `weight`, the volume, and `messages` where known. Raises
        MissingPackageError when networkx is not installed. O(n + m), in Python.
        """
        library = package("networkx", "to_networkx()")
        graph: networkx.Graph = (library.Graph if self.undirected else library.DiGraph)(name=self.name)
        graph.add_nodes_from((task, {"load": load}) for task, load in enumerate(self.task_loads().tolist()))
        columns = [self.sources().tolist(), self.targets.tolist(), self.arc_volumes().tolist()]
        if self.messages is None:
            graph.add_weighted_edges_from(zip(*columns, strict=True))
            return graph
        for source, target, volume, count in zip(*columns, self.messages.tolist(), strict=True):
            graph.add_edge(source, target, weight=volume, messages=count)
        return graph


#: Types that :func:`hopbytes.map_tasks` accepts as a pattern.
PatternLike: TypeAlias = Union[
    CommGraph, ArrayLike, "os.PathLike[str]", "scipy.sparse.sparray", "scipy.sparse.spmatrix",
    graph_sources.NetworkxGraph,
]

"""CommGraph: the volume and the number of messages that tasks send to each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64, own
from hopbytes._frozen import frozen
from hopbytes.kernels.records import Csr
from hopbytes.model import graph_sources
from hopbytes.model.graph_makers import GraphMakers
from hopbytes.util.integers import MAX_TASKS, bad_graph, check_total

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
    from typing_extensions import Self


#: The arrays of a graph.
ARRAYS = ("indptr", "targets", "volumes", "messages", "loads")

#: What ``meta["tasks"]`` is where tasks are known to be processes.
PROCESSES = "processes"


@frozen(eq=False, repr=False, owns=ARRAYS)
class CommGraph(GraphMakers):
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
        """Make a graph of arrays that nobody else keeps, without copies of them."""
        messages, loads = own(messages), own(loads)
        return cls(own(indptr), own(targets), own(volumes), messages, loads, **more)

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
        if bad >= 0:
            raise bad_graph(f"row {bad}: targets must be sorted, distinct and inside 0..{self.n - 1}")

    def _checked_total(self, name: str) -> int:
        array = getattr(self, name)
        if array is None:
            return self.n if name == "loads" else self.m
        if len(array) and int(array.min()) < 0:
            place = int(np.argmin(array))
            raise bad_graph(f"{name}[{place}] is {int(array[place])}, expected an integer >= 0")
        return check_total(name, kernels.checked_sum(array))

    # ---------------------------------------------------------------- facts

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

    def arcs(self, weights: Int64 | None) -> Csr:
        """Return the directed arcs with `weights` (int64[m], None means 1 each) instead of their volumes."""
        return Csr(self.indptr, self.targets, weights)

    def has_loops(self, threads: int = 1) -> bool:
        """Return whether a task has an arc to itself (computed once, then kept); O(m) on `threads`."""
        if "loops" not in self._cache:
            self._cache["loops"] = kernels.has_diagonal(self.indptr, self.targets, threads)
        return bool(self._cache["loops"])

    def check_directions(self, threads: int = 1) -> None:
        """Raise FormatError where an edge of an undirected graph lacks a direction (checked once); O(m).

        The constructor believes its arrays. Searches do not end on graphs that are not symmetric.
        """
        if self.undirected and "paired" not in self._cache:
            graph_sources.check_symmetric(self.arcs(self.volumes), threads)
            self.know_directions()

    def know_directions(self) -> None:
        """Take it for granted that an undirected graph has both directions of its edges, as in readers."""
        self._cache["paired"] = True

    def symmetric(self, threads: int = 1) -> Csr:
        """Return the symmetric graph that mappers use (computed once, then kept).

        Undirected graphs without diagonal are returned as they are, weight w in each direction;
        otherwise the weight of {i, j} is ``C[i,j] + C[j,i]``. The cost of a mapping on this
        graph is J for the former and 2 J for the latter (each pair is stored twice), so that both
        order mappings equally. O(n + m), shared by `threads`.
        """
        if "symmetric" not in self._cache:
            self._cache["symmetric"] = self._build_symmetric(threads)
        csr: Csr = self._cache["symmetric"]
        return csr

    def symmetric_positive(self, threads: int = 1) -> Csr:
        """Like :meth:`symmetric` without edges of weight 0 (pairs that exchange only empty messages)."""
        csr = self.symmetric(threads)
        if csr.weights is None or not len(csr.weights) or int(csr.weights.min()) > 0:
            return csr
        if "symmetric_positive" not in self._cache:
            keep = csr.weights > 0
            rows = np.repeat(np.arange(self.n), np.diff(csr.indptr))[keep]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n))]).astype(np.int64)
            self._cache["symmetric_positive"] = Csr(indptr, csr.targets[keep], csr.weights[keep])
        positive: Csr = self._cache["symmetric_positive"]
        return positive

    def _build_symmetric(self, threads: int) -> Csr:
        if self.undirected and not self.has_loops(threads):
            return self.arcs(self.volumes)
        return kernels.symmetrize(self.arcs(self.volumes), threads)

    # ---------------------------------------------------------------- for other libraries

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
        return graph_sources.to_scipy(self, values)

    def to_networkx(self) -> networkx.Graph:
        """Return a graph of networkx: a Graph if :attr:`undirected`, else a DiGraph.

        Nodes 0..n-1 have the attribute `load`; edges `weight`, the volume, and `messages` where known. Raises
        MissingPackageError when networkx is not installed. O(n + m), in Python.
        """
        return graph_sources.to_networkx(self)

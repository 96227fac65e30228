"""CommGraph: who talks to whom, how much, how often."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._util.integers import MAX_TASKS, bad_graph, check_total, task_numbers, to_integers

if TYPE_CHECKING:
    import scipy.sparse



#: What ``meta["tasks"]`` is where tasks are known to be processes.
PROCESSES = "processes"


class Csr(NamedTuple):
    """A symmetric weighted graph as arrays, as kernels take it: no diagonal, sorted rows, both directions.

    `indptr` int64[n+1], `targets` int32[m], `weights` int64[m] (None: every weight is 1).
    """

    indptr: Int64
    targets: Int32
    weights: Int64 | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CommGraph:
    """A communication graph: directed arcs task → task with volume and message count, a load per task.

    Rows are sorted by target and hold no duplicates. Arrays are read-only after construction.

    Parameters
    ----------
    indptr : int64[n+1]
        Row pointers: the arcs out of task i are ``indptr[i]:indptr[i+1]``.
    targets : int32[m]
        Task at the far end of each arc. An arc to the task itself is kept in the file, ignored by
        every metric, and its share reported.
    volumes : int64[m] or None
        Bytes per arc, >= 0. None means 1 each (an unweighted graph), and costs no memory.
    messages : int64[m] or None
        Messages per arc. None means the source had none: 1 each, and reports say so.
    loads : int64[n] or None
        Work per task, >= 0. None means 1 each.
    undirected : bool
        Both directions are stored with equal volume (a METIS file), so the arcs themselves are the
        symmetric graph and nothing needs to be built.
    scale : int
        Volumes here are the source's numbers times this (decimals are made integers on reading).
    meta : mapping
        Free facts about the source (name, format, how it was recorded). ``"tasks": "processes"`` says that
        the tasks are processes of a program, see :attr:`of_processes`.

    Raises
    ------
    FormatError
        Arrays that contradict each other (wrong length, order or range, negative values).
    ScaleError
        The volumes, or the loads, sum to more than 2**63 - 1.

    Notes
    -----
    Use :meth:`from_edges`, :meth:`from_dense`, :meth:`from_scipy` or :func:`hopbytes.read`.
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
        for name in ("indptr", "targets", "volumes", "messages", "loads"):
            array = getattr(self, name)
            if array is not None:
                array.setflags(write=False)
        for name in ("volumes", "messages", "loads"):
            self._cache["total_" + name] = self._checked_total(name)

    def _check_shapes(self) -> None:
        expected = {
            "indptr": (np.int64, None),
            "targets": (np.int32, None),
            "volumes": (np.int64, len(self.targets)),
            "messages": (np.int64, len(self.targets)),
            "loads": (np.int64, len(self.indptr) - 1),
        }
        for name, (dtype, length) in expected.items():
            array = getattr(self, name)
            if array is None:
                continue
            fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == 1
            if not fits or not array.flags.c_contiguous:
                raise bad_graph(f"{name} must be a contiguous 1-d {np.dtype(dtype)} array")
            if length is not None and len(array) != length:
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
        """Sum of the volumes of all arcs, those to oneself included."""
        return int(self._cache["total_volumes"])

    @property
    def total_load(self) -> int:
        """Sum of all loads."""
        return int(self._cache["total_loads"])

    @property
    def name(self) -> str:
        """What the source calls itself, or 'graph'."""
        return str(self.meta.get("name", "graph"))

    @property
    def of_processes(self) -> bool:
        """Whether the tasks are known to be processes: recorded, or generated as such.

        Then :func:`hopbytes.map_tasks` never takes a machine with too few slots for a wish to partition.
        Readers and generators say it by ``meta["tasks"] = "processes"``.
        """
        return self.meta.get("tasks") == PROCESSES or "recorded" in self.meta

    def __repr__(self) -> str:
        kind = "undirected" if self.undirected else "directed"
        return f"CommGraph({self.name!r}, n={self.n}, m={self.m}, {kind}, volume={self.total_volume})"

    def arc_volumes(self) -> Int64:
        """Volumes as an array even when all are 1 (then a read-only view without memory of its own)."""
        return self.volumes if self.volumes is not None else np.broadcast_to(np.int64(1), self.m)

    def arc_messages(self) -> Int64:
        """Message counts as an array, 1 each when the source had none."""
        return self.messages if self.messages is not None else np.broadcast_to(np.int64(1), self.m)

    def task_loads(self) -> Int64:
        """Loads as an array even when all are 1."""
        return self.loads if self.loads is not None else np.broadcast_to(np.int64(1), self.n)

    def sources(self) -> Int32:
        """int32[m]: the task at the near end of each arc."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))

    def with_weights(self, weight: str) -> CommGraph:
        """Return this graph with `weight` ('bytes', 'messages' or 'unit') as the volumes mappers see."""
        if weight in ("bytes", "time"):  # time depends on the machine too: see hopbytes.cost.message_time
            return self
        chosen = self.messages if weight == "messages" else None
        return dataclasses.replace(self, volumes=chosen, undirected=False)

    def symmetric(self) -> Csr:
        """Return the symmetric graph mappers work on (built once, then kept).

        Undirected graphs without diagonal are returned as they are, weight w in each direction;
        otherwise the weight of {i, j} is ``C[i,j] + C[j,i]``. The cost of a placement over this
        graph is J for the former and 2 J for the latter (each pair is stored twice): the same order
        of placements either way. O(n + m).
        """
        if "symmetric" not in self._cache:
            self._cache["symmetric"] = self._build_symmetric()
        csr: Csr = self._cache["symmetric"]
        return csr

    def symmetric_positive(self) -> Csr:
        """Like :meth:`symmetric` without edges of weight 0 (pairs that exchange only empty messages)."""
        csr = self.symmetric()
        if csr.weights is None or not len(csr.weights) or int(csr.weights.min()) > 0:
            return csr
        if "symmetric_positive" not in self._cache:
            keep = csr.weights > 0
            rows = np.repeat(np.arange(self.n), np.diff(csr.indptr))[keep]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n))]).astype(np.int64)
            self._cache["symmetric_positive"] = Csr(indptr, csr.targets[keep], csr.weights[keep])
        positive: Csr = self._cache["symmetric_positive"]
        return positive

    def _build_symmetric(self) -> Csr:
        if self.undirected and not kernels.has_diagonal(self.indptr, self.targets):
            return Csr(self.indptr, self.targets, self.volumes)
        return Csr(*kernels.symmetrize(self.indptr, self.targets, self.arc_volumes()))

    # ---------------------------------------------------------------- makers

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
        meta: Mapping[str, Any] | None = None,
    ) -> CommGraph:
        """Build from directed arcs; duplicates are summed.

        Parameters
        ----------
        sources, targets : integer arrays of equal length
            Task at either end, 0-based.
        volumes, messages : arrays of the same length, optional
            Bytes and message counts. Decimals are scaled to integers (see :func:`to_integers`).
        n : int, optional
            Number of tasks; by default one more than the largest number seen.
        loads : array of n, optional

        Raises
        ------
        FormatError
            Unequal lengths, a task outside 0..n-1, negative or non-finite values.
        ScaleError
            Sums beyond 63 bits.
        """
        src, dst = task_numbers("sources", sources), task_numbers("targets", targets)
        if len(src) != len(dst):
            raise bad_graph(f"{len(src)} sources and {len(dst)} targets, expected as many of each")
        highest = int(max(src.max(), dst.max())) if len(src) else -1
        if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0):
            raise bad_graph(f"n={n!r}, expected a number of tasks")
        n = highest + 1 if n is None else int(n)
        if highest >= n or n > MAX_TASKS:
            raise bad_graph(f"task {max(highest, n)} in a graph of {min(n, MAX_TASKS)} tasks")
        volume, scale = to_integers("volumes", volumes, len(src))
        count, count_scale = to_integers("messages", messages, len(src))
        if count_scale != 1:
            raise bad_graph("messages must be whole numbers")
        for name, values in (("volumes", volume), ("messages", count)):
            if values is not None:
                check_total(name, kernels.checked_sum(values))
        indptr, columns, merged_volume, merged_count = kernels.csr_from_arcs(n, src, dst, volume, count)
        load, _ = to_integers("loads", loads, n)
        return cls(
            indptr, columns, merged_volume, merged_count, load, scale=scale, meta=dict(meta or {})
        )

    @classmethod
    def from_dense(
        cls,
        matrix: ArrayLike,
        messages: ArrayLike | None = None,
        *,
        loads: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CommGraph:
        """Build from a square matrix: entry (i, j) is what task i sends to task j; zeros are no arcs.

        Raises FormatError when the matrix is not square or holds negative or non-finite numbers.
        """
        try:
            dense = np.asarray(matrix)
        except ValueError:
            raise bad_graph("rows of unequal length, expected a square matrix") from None
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
            raise bad_graph(f"matrix of shape {dense.shape}, expected a square one")
        present = dense != 0
        if messages is not None:
            counts = np.asarray(messages)
            if counts.shape != dense.shape:
                raise bad_graph(f"message matrix of shape {counts.shape}, expected {dense.shape}")
            present = present | (counts != 0)
        src, dst = np.nonzero(present)
        count = None if messages is None else np.asarray(messages)[src, dst]
        return cls.from_edges(src, dst, dense[src, dst], count, n=len(dense), loads=loads, meta=meta)

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.spmatrix | scipy.sparse.sparray,
        *,
        messages: scipy.sparse.spmatrix | None = None,
        loads: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CommGraph:
        """Build from a sparse matrix (any SciPy format): entry (i, j) is what task i sends to task j.

        Raises FormatError when it is no sparse matrix, damaged, not square, or holds negative or
        non-finite numbers.
        """
        coo = _coordinates(matrix)
        if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
            raise bad_graph(f"matrix of shape {coo.shape}, expected a square one")
        graph = cls.from_edges(coo.row, coo.col, coo.data, n=coo.shape[0], loads=loads, meta=meta)
        if messages is None:
            return graph
        counts = _coordinates(messages)
        both = cls.from_edges(
            np.concatenate([coo.row, counts.row]),
            np.concatenate([coo.col, counts.col]),
            np.concatenate([coo.data, np.zeros(counts.nnz, coo.data.dtype)]),
            np.concatenate([np.zeros(coo.nnz, np.int64), counts.data]),
            n=coo.shape[0], loads=loads, meta=meta,
        )
        return both


def _coordinates(matrix: Any) -> Any:
    """Return a sparse matrix in coordinate form; SciPy's own conversion trusts its arrays blindly."""
    if not hasattr(matrix, "tocoo"):
        kind = type(matrix).__name__
        raise bad_graph(f"a {kind}, expected a sparse matrix of SciPy (from_dense takes others)")
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format()
        return matrix.tocoo()
    except ValueError as error:
        raise bad_graph(f"a damaged sparse matrix: {error}") from None

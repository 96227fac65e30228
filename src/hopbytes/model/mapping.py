"""Mapping: the PE of every task, and how the mapping was computed."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import own, owned
from hopbytes.errors import FormatError, UnsupportedError, WrongTypeError, package
from hopbytes.model.allocation import Allocation
from hopbytes.model.given_as_text import converted
from hopbytes.util.integers import refuse_masked

if TYPE_CHECKING:
    import pandas

    from hopbytes.model.comm_graph import CommGraph


class Seconds(TypedDict):
    """Wall time of the parts of a run."""

    map: float
    verify: float


class _OfEveryRun(TypedDict):
    problem: str
    mapper: str
    preset: str | None
    refine: list[str]
    objective: str
    objective_value: int | float
    weight: str
    seed: int
    threads: int
    version: str
    deterministic: bool
    work: dict[str, int]
    comm_cost: int
    imbalance: float
    balance: str
    bound_asked: int
    bound_kept: int
    notices: list[str]
    seconds: Seconds
    #: Seconds, scanned edges and J of every mapping that was better than all before.
    history: list[list[int | float]]


class MappingInfo(_OfEveryRun, total=False):
    """Entries of ``Mapping.info`` as :func:`hopbytes.map_tasks` makes them.

    Those listed there under "Returns" are always present, the others if they apply. A mapping made by
    hand, or read from a file that does not say how it was made, has an empty dictionary, or fewer entries.
    """

    #: Which slots fewer processes than slots use, and the best value of the objective under each choice.
    slots: str
    alternatives: dict[str, Any]
    #: Number of tasks whose PE is not that of `initial`, and the cost of their migration.
    migrations: int
    migration_cost: int
    #: With ``weight="time"``: the time of all messages, and by how much the search was off, relatively.
    comm_seconds: float
    search_form_error: float
    #: The launch format whose constraints the mapping meets.
    said_by: str
    #: With :func:`hopbytes.map_phases`: name, weight and J of each phase, and the largest weight x J.
    phases: list[dict[str, Any]]
    largest_phase: int
    #: The mapping was read for a trace, and had been made for another pattern of as many tasks.
    other_pattern: bool


#: Names that people try, and what does it.
MEANT = {
    "J": "comm_cost", "cost": "comm_cost", "placement": "pe", "assignment": "pe", "machine": "where.machine",
    "save": "hopbytes.write(mapping, path)", "write": "hopbytes.write(mapping, path)",
    "evaluate": "hopbytes.evaluate(graph, mapping)", "to_pandas": "to_frame()", "k": "where.k",
    "plot": "hopbytes.plot", "compare": "hopbytes.compare(graph, mapping, other)",
}  # fmt: skip
#: Characters of a name in the text of a mapping.
LONGEST_NAME = 40
#: Nodes that a notebook lists one by one.
NODES_SHOWN = 16


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Mapping:
    """The PE of every task on an allocation.

    Parameters
    ----------
    pe : int32[n]
        PE of each task, 0..k-1. The direction is always task → PE. Lists and other integers are converted.
    where : Allocation
        Or what :func:`hopbytes.map_tasks` takes as one, such as ``"node:2 core:4"``.
    info : mapping
        How it was computed, see :class:`hopbytes.model.mapping.MappingInfo`; empty if made by hand.

    Raises
    ------
    FormatError
        A PE is outside 0..k-1, or `pe` is not a list of integers.
    WrongTypeError
        `where` is not a machine.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.Mapping([0, 2, 1], hb.allocate("node:2@10 core:2@1"))
    Mapping(3 tasks → 4 PEs)
    """

    pe: Int32
    where: Allocation
    info: MappingInfo = field(default_factory=lambda: cast("MappingInfo", {}))

    def __init__(self, pe: ArrayLike, where: Any, info: Dictionary[str, Any] | None = None) -> None:
        where = Allocation.of(where)
        array = _integers(pe)
        if len(array) and not 0 <= int(array.min()) <= int(array.max()) < where.k:
            task = int(np.flatnonzero((array < 0) | (array >= where.k))[0])
            what = f"task {task} is on PE {array[task]}, expected 0..{where.k - 1}"
            raise FormatError("mapping", None, what)
        placed = array if array.dtype == np.int32 else own(np.array(array, np.int32))
        object.__setattr__(self, "pe", placed)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "info", {} if info is None else info)

    @classmethod
    def of(cls, thing: object) -> Mapping:
        """Return a mapping, or the one that hopbytes stored in a file.

        Raises
        ------
        WrongTypeError
            The argument is something else.
        FormatError, UnsupportedError
            See :func:`hopbytes.read_mapping`.

        Examples
        --------
        >>> import hopbytes as hb
        >>> hb.Mapping.of(hb.Mapping([0, 1], "node:2 core:1")).n
        2
        """
        if isinstance(thing, cls):
            return thing
        if isinstance(thing, (str, os.PathLike)):
            return cast("Mapping", converted("mapping", thing))
        kind = type(thing).__name__
        raise WrongTypeError(f"the mapping is a {kind}, expected a Mapping such as Mapping(pe, where)")

    def __setstate__(self, state: list[Any]) -> None:
        for name, value in zip(("pe", "where", "info"), state, strict=True):
            object.__setattr__(self, name, own(value) if name == "pe" else value)

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.pe)

    @property
    def comm_cost(self) -> int:
        """J, the sum over stored arcs of volume x distance, as it was when the mapping was made.

        Raises UnsupportedError if that is unknown, as for a mapping made by hand:
        ``hopbytes.evaluate(graph, mapping).comm_cost`` computes it.
        """
        cost = self.info.get("comm_cost")
        if cost is None:
            what = "the mapping does not know its J: hopbytes.evaluate(graph, mapping).comm_cost computes it"
            raise UnsupportedError(what)
        return cost

    if not TYPE_CHECKING:  # for type checkers other names are errors

        def __getattr__(self, name: str) -> Any:
            meant = MEANT.get(name)
            hint = f"; did you mean {meant}?" if meant else ""
            raise AttributeError(f"'Mapping' object has no attribute {name!r}{hint}")

    def tasks_per_pe(self) -> Int64:
        """int64[k]: how many tasks each PE holds."""
        return np.bincount(self.pe, minlength=self.where.k).astype(np.int64)

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of pandas with a row for every task.

        Returns
        -------
        pandas.DataFrame
            Columns `task`, `pe`, `node` (number in the machine), `host` (its name, None where unknown),
            `core` (first logical core of the PE) and `cpus` (tuple of the numbers that the operating system
            of the node gives the CPUs of the PE, None where unknown).

        Raises
        ------
        MissingPackageError
            pandas is not installed.

        Notes
        -----
        O(n + CPUs of the PEs in use).

        Examples
        --------
        >>> import hopbytes as hb
        >>> mapping = hb.Mapping([0, 2], hb.allocate("node:2@10 core:2@1", hosts="a,b"))
        >>> mapping.to_frame()[["task", "host"]].values.tolist()   # doctest: +SKIP
        [[0, 'a'], [1, 'b']]
        """

        library, where = package("pandas", "to_frame()"), self.where
        node = where.node_of_pe[self.pe]
        cpus: dict[int, Any] = {pe: where.os_pus(pe) for pe in np.unique(self.pe).tolist()}
        frame: pandas.DataFrame = library.DataFrame(
            {
                "task": np.arange(self.n), "pe": self.pe, "node": node,
                "host": [where.hosts[i] for i in node.tolist()] if where.hosts else [None] * self.n,
                "core": where.first_core[self.pe], "cpus": [cpus[pe] for pe in self.pe.tolist()],
            }
        )
        return frame

    def __repr__(self) -> str:
        known = [f"{self.n} tasks → {self.where.k} PEs"]
        cost = self.info.get("comm_cost")
        if cost is not None:
            seed = f"seed {self.info.get('seed', 0)}"
            number = f"{cost:,}" if isinstance(cost, int) else repr(cost)[:LONGEST_NAME]
            known += [f"J={number}", _method(self.info)[:LONGEST_NAME], seed[:LONGEST_NAME]]
        return f"Mapping({', '.join(filter(None, known))})"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        cost = self.info.get("comm_cost")
        rows: list[tuple[object, object]] = []
        if cost is not None:
            rows = [("J", cost), ("method", _method(self.info))]
        nodes = self.where.node_of_pe[self.pe]
        used, tasks = np.unique(nodes, return_counts=True)
        if len(used) > 1 and int(tasks.min()) == int(tasks.max()):
            rows.append((f"tasks on each of {len(used):,} nodes", int(tasks[0])))
            used, tasks = used[:0], tasks[:0]
        for node, held in list(zip(used.tolist(), tasks.tolist(), strict=True))[:NODES_SHOWN]:
            name = self.where.hosts[node] if self.where.hosts else f"node {node}"
            rows.append((f"tasks on {name}", held))
        if len(used) > NODES_SHOWN:
            rest = tasks[NODES_SHOWN:]
            few, many = int(rest.min()), int(rest.max())
            per_node = f"{few:,}" if few == many else f"{few:,} to {many:,}"
            rows.append((f"tasks on each of {len(rest):,} further nodes", per_node))
        table = html_table(f"Mapping of {self.n:,} tasks to {self.where.k:,} PEs", rows)
        return table + (self._repr_svg_() or "")

    def _repr_svg_(self) -> str | None:
        from hopbytes.model import picture

        return picture(self)


def check_tasks(graph: CommGraph, tasks: int, name: str = "mapping") -> None:
    """Raise FormatError if a mapping has not as many `tasks` as `graph`."""
    if tasks != graph.n:
        raise FormatError(name, None, f"{tasks} tasks, expected the {graph.n} of {graph.name}")


def _integers(pe: ArrayLike) -> Any:
    """Return numbers of PEs as an array of one dimension, of any type of integers."""
    refuse_masked("mapping", pe)
    try:
        array = np.asarray(pe)
    except ValueError:
        raise FormatError("mapping", None, "lists of unequal length, expected one PE per task") from None
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        shape = f"an array of {array.dtype} with {array.ndim} dimensions"
        raise FormatError("mapping", None, f"pe is {shape}, expected 1-d integers, one PE per task")
    return owned(array)


def _method(info: Dictionary[str, Any]) -> str:
    """Return the name of the preset, or of the mapper without its options."""
    return str(info.get("preset") or str(info.get("mapper", "")).partition(":")[0])

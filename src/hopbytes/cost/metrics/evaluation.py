"""evaluate(): all metrics of a mapping, compared with ranks in order and random mappings."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.baselines import as_recorded, at_random, in_order
from hopbytes.cost.metrics.evaluation_views import EvaluationViews
from hopbytes.cost.metrics.link_metrics import dilation_of, hottest_links, relative_to
from hopbytes.cost.metrics.mapping_metrics import diagonal_volume, measure_all
from hopbytes.cost.metrics.measurements import TasksPerUnit
from hopbytes.cost.metrics.plain_text import plain_table
from hopbytes.errors import FormatError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.checks import check_truths, name_of, thread_count, whole

if TYPE_CHECKING:
    import scipy.sparse


@frozen
class Evaluation(EvaluationViews):
    """All metrics of a mapping and of the baseline mappings.

    The fields are those of :class:`hopbytes.cost.metrics.measurements.Measurements`.

    Examples
    --------
    ``print(evaluation)`` prints a table; ``evaluation.to_dict()`` returns the same numbers for JSON and
    ``evaluation.to_frame()`` for pandas; ``evaluation.comm_cost`` is J and
    ``evaluation.relative_to("in_order")`` the improvement over that baseline.
    """

    def __str__(self) -> str:
        return plain_table(self)

    def __repr__(self) -> str:
        base = "" if self.in_order is None else f", in order {self.in_order.comm_cost:,}"
        return f"Evaluation({self.tasks:,} tasks on {self.pes:,} PEs, J={self.comm_cost:,}{base})"


def evaluate(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mapping: Mapping | str | os.PathLike[str],
    *,
    baselines: bool = True,
    random_seeds: int = 10,
    launcher: str = "fill",
    threads: int | None = None,
) -> Evaluation:
    """Compute all metrics of a mapping, and of the launcher's default mapping and random mappings.

    Parameters
    ----------
    graph : CommGraph, or what :meth:`hopbytes.CommGraph.of` takes: a matrix, another graph, or a text
    mapping : Mapping, or the name of a file that holds one
        A mapping with as many tasks as the graph.
    baselines : bool
        Also measure the launcher's default mapping, the mapping of the recorded run if it is known, and
        random mappings with the same number of tasks per PE.
    random_seeds : int
        Number of random mappings; their seeds are 0, 1, 2 ...
    launcher : str
        The launcher's default order: ``"fill"``, ``"block"``, ``"cyclic"`` or ``"plane=N"``, see
        :func:`hopbytes.machines.allocate.slot_counts.launcher_placement`.
    threads : int, optional
        Number of threads for large graphs; the default is the number of CPUs that this process may use.

    Returns
    -------
    Evaluation

    Raises
    ------
    FormatError
        Mapping and graph have different numbers of tasks.
    ScaleError
        Volume x distance could exceed 63 bits.
    UnsupportedError
        Communicating tasks are on nodes without a route between them, or an argument has the wrong type.

    Notes
    -----
    Every number is computed from the definition; integers are exact. O(n + m) per mapping.

    Examples
    --------
    >>> import numpy as np
    >>> from hopbytes.model.allocation import Allocation
    >>> from hopbytes.machines.base import Level
    >>> from hopbytes.machines.tree import Tree
    >>> where = Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (2, 2)))
    >>> pairs = CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    >>> result = evaluate(pairs, Mapping(np.array([0, 2, 1, 3], np.int32), where))
    >>> result.comm_cost, result.in_order.comm_cost
    (10, 100)
    """
    check_truths(baselines=baselines)
    name_of("launcher", launcher)
    graph, mapping = CommGraph.of(graph), Mapping.of(mapping)
    if mapping.n != graph.n:
        raise FormatError("mapping", None, f"{mapping.n} tasks, expected the {graph.n} of {graph.name}")
    where, threads = mapping.where, thread_count(threads)
    seeds = range(whole("random_seeds", random_seeds, 0) if baselines else 0)
    diagonal = diagonal_volume(graph, threads)
    base, recorded = None, None
    if baselines:
        base = measure_all(graph, where, in_order(graph, mapping, launcher), threads=threads)
        recorded = as_recorded(graph, where)
    if base is not None and base.links is not None:
        base = dataclasses.replace(base, links=relative_to(base.links, base.links))
    return Evaluation(
        mapping=measure_all(graph, where, mapping.pe, base, threads),
        in_order=base,
        random=tuple(
            measure_all(graph, where, at_random(mapping, seed), base, threads, blocks=False) for seed in seeds
        ),
        tasks=graph.n,
        pes=where.k,
        total_volume=graph.total_volume,
        diagonal_share=diagonal / graph.total_volume if diagonal else 0.0,
        messages_known=graph.messages is not None,
        scale=graph.scale,
        tasks_per_unit=tasks_per_unit(mapping),
        dilation=dilation_of(graph, where, mapping.pe),
        hottest=hottest_links(graph, where, mapping.pe),
        launcher=launcher,
        recorded=None if recorded is None else measure_all(graph, where, recorded, base, threads),
    )


def tasks_per_unit(mapping: Mapping) -> tuple[TasksPerUnit, ...]:
    """Return the numbers of tasks on the units of each level but the innermost, outermost level first."""
    machine, tasks = mapping.where.machine, mapping.tasks_per_pe()
    counts = []
    for number, level in enumerate(machine.levels[:-1]):
        unit_of_pe = machine.ancestors(number)[mapping.where.first_core]
        held = np.zeros(int(unit_of_pe[-1]) + 1, np.int64)  # units ascend with PEs
        np.add.at(held, unit_of_pe, tasks)
        units = int(np.count_nonzero(np.diff(unit_of_pe))) + 1
        used = held[held > 0]
        fewest, most = (int(used.min()), int(used.max())) if len(used) else (0, 0)
        counts.append(TasksPerUnit(level.name, units, len(used), fewest, most))
    return tuple(counts)

"""Where a launcher puts tasks by itself, to be judged like any other placement."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dictionary

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.mapping import Mapping
from hopbytes.spread import asked_by_job, spread_counts
from hopbytes.spread import spread as chosen_slots

#: Largest number of tasks in a turn that ``plane=N`` accepts.
PLANE = re.compile(r"plane=([1-9][0-9]{0,8})", re.ASCII)


def launcher_placement(
    where: Allocation,
    n: int,
    order: str,
    *,
    oversubscribe: bool = False,
    tasks_per_node: int | None = None,
    per: str | Dictionary[str, int] | None = None,
    pack: bool = False,
    spread: bool = False,
) -> Mapping:
    """Return the placement a launcher makes when nobody tells it better.

    Parameters
    ----------
    where : Allocation
    n : int
        Number of tasks.
    order : str
        ``"fill"``: node by node, each until it is full, core by core, as ``mpirun`` does. ``"block"``: the
        same with equally many tasks on every node, as ``srun`` does. ``"cyclic"`` (Slurm's word) or
        ``"bynode"`` (Open MPI's): nodes take turns, one task each. ``"plane=4"``: nodes take turns, four
        tasks each. All may be preceded by ``"default:"``.
    oversubscribe : bool
        More tasks than slots are meant; every slot then gets floor(n/k) or ceil(n/k).
    tasks_per_node, per, pack, spread
        Which slots are used when there are more than tasks, see :func:`hopbytes.spread.spread`; `spread`
        asks for equally many tasks on every node.

    Raises
    ------
    UnsupportedError
        Another order.
    InfeasibleError
        More tasks than slots without `oversubscribe`; counts that cannot be met.

    Notes
    -----
    O(n log n + k).

    Examples
    --------
    >>> import hopbytes as hb
    >>> launcher_placement(hb.machine("node:2 core:2"), 4, "cyclic").pe.tolist()
    [0, 2, 1, 3]
    """
    in_a_turn = _in_a_turn(order)
    if n <= where.k:
        free = not spread and tasks_per_node is None and per is None and not asked_by_job(where, n)
        pack = pack or (free and order.removeprefix("default:") == "fill")
        slots = chosen_slots(where, n, tasks_per_node=tasks_per_node, per=per, pack=pack, evenly=spread)
    elif oversubscribe:
        slots = np.repeat(np.arange(where.k), spread_counts(where, n))
    else:
        raise InfeasibleError(f"{n} tasks for {where.k} slots, expected one each (or oversubscribe)")
    if in_a_turn is not None and n:
        node = where.node_of_pe[slots]
        place = np.arange(n) - np.searchsorted(node, node)  # within the node
        slots = slots[np.lexsort((place, node, place // in_a_turn))]
    info = {"problem": "processes", "mapper": order}
    return Mapping(slots.astype(np.int32), where, info)


def _in_a_turn(order: str) -> int | None:
    """Return how many tasks a node takes before it is the next one's turn; None: all."""
    name = order.removeprefix("default:")
    if name in ("block", "fill"):
        return None
    if name in ("cyclic", "bynode"):
        return 1
    plane = PLANE.fullmatch(name)
    if plane is None:
        raise UnsupportedError(f"placement {order[:40]!r}, expected fill, block, cyclic, bynode or plane=N")
    return int(plane[1])

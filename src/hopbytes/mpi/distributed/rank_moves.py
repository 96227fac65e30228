"""Refinement of a mapping over all processes: every process searches on its own rows, with exact gains."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine import RefinementSettings, SearchProblem, SearchSettings, refine_placement
from hopbytes.engine.control import RunControl
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.linear_cost import held
from hopbytes.kernels.records import Csr, Distances
from hopbytes.model.capacities import group_sums
from hopbytes.mpi.distributed.slab import Rows

#: Local search on a rank: flows between pairs of blocks as well.
SEARCH = RefinementSettings(cycles=0, search=SearchSettings(flow_rounds=1, flow_width=4))
#: Hops from the boundary within which vertices may move.
BAND = 12


@frozen(eq=False)
class Target:
    """Distances of the PEs as searches take them, and the maximum load of each PE."""

    distances: Distances
    caps: Int64

    @property
    def k(self) -> int:
        """Number of PEs."""
        return len(self.caps)


def refine_over_ranks(rows: Rows, pe: Int32, target: Target, turn: int, seed: int) -> tuple[Int32, int]:
    """Return the PEs of own vertices after every rank has searched once, and how many moved; collective.

    Of two neighbours on different ranks only the one on the rank with precedence may move, so that the gains
    of all ranks add up exactly: J never rises. The free room of a PE is divided among the ranks that could
    use it, so that bounds hold exactly whatever the others do; what a rank moves away is its own room. One
    vertex of every PE stays, so that no PE becomes empty. What cannot move is contracted to a vertex per PE.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    free = _free(rows, turn) & _near_boundary(rows, around)
    free[_keepers(rows, pe, target.k)] = False
    room = shares(rows, around, pe, target, turn)
    if not np.any(free):
        return pe, 0
    vertices = np.flatnonzero(free)
    problem, start = _local_problem(rows, around, vertices, target)
    stay = group_sums(pe[~free], rows.loads[~free], target.k)
    found, _ = refine_placement(
        problem, start, room - stay, SEARCH, control=RunControl(seed=(seed + rows.member.rank) % 2**63)
    )
    after = pe.copy()
    after[vertices] = found[: len(vertices)]
    return after, int(np.count_nonzero(after != pe))


def shares(rows: Rows, around: Int32, pe: Int32, target: Target, turn: int) -> Int64:
    """Return int64[k], the load that own vertices may have on each PE; over all ranks that is within caps.

    An overload is first to be moved away by the ranks of lowest number.
    """
    member = rows.member
    own = group_sums(pe, rows.loads, target.k)
    room = target.caps - member.summed(own)
    wanted = np.zeros(target.k, np.int64)
    wanted[around] = 1
    count, before = member.summed(wanted), member.before(wanted)
    place = np.where(count > 0, (before + turn) % np.maximum(count, 1), 0)
    share, rest = np.divmod(np.maximum(room, 0), np.maximum(count, 1))
    extra = np.where(wanted > 0, share + (place < rest), 0)
    over = np.maximum(-room, 0)
    if int(over.max(initial=0)) > 0:
        own = own - np.clip(over - member.before(own), 0, own)
    else:
        member.before(own)
    return own + extra


def _free(rows: Rows, turn: int) -> Bool:
    """Tell which own vertices have no neighbour on a rank with precedence: the higher one in even turns."""
    owner = np.searchsorted(rows.begins, rows.ghosts, "right") - 1
    first = owner > rows.member.rank if turn % 2 == 0 else owner < rows.member.rank
    held_back = np.concatenate([np.zeros(rows.n, np.bool_), first])
    free = np.ones(rows.n, np.bool_)
    free[rows.sources()[held_back[rows.targets]]] = False
    return free


def _near_boundary(rows: Rows, around: Int32) -> Bool:
    """Tell which own vertices are within BAND hops, of own vertices, from another PE."""
    sources, targets = rows.sources(), rows.targets
    near = np.zeros(len(around), np.bool_)
    near[sources[around[sources] != around[targets]]] = True
    for _ in range(BAND):
        near[sources[near[targets]]] = True
    return near[: rows.n]


def _keepers(rows: Rows, pe: Int32, k: int) -> Int64:
    """Return own vertices that must stay: one for every PE, on the lowest rank that holds some of it."""
    own = np.bincount(pe, minlength=k).astype(np.int64)
    mine = (rows.member.before(own) == 0) & (own > 0)
    some = np.full(k, -1, np.int64)
    some[pe] = np.arange(rows.n)
    found: Int64 = some[mine]
    return found


def _local_problem(
    rows: Rows, around: Int32, vertices: Int64, target: Target
) -> tuple[SearchProblem, Int32]:
    """Return the graph of the vertices that may move, with one fixed vertex per PE around them."""
    count = len(vertices)
    number = np.full(len(around), -1, np.int32)
    number[vertices] = np.arange(count)
    sources = rows.sources()
    arcs = np.flatnonzero(number[sources] >= 0)
    tails, heads = number[sources[arcs]], rows.targets[arcs]
    weights = np.ascontiguousarray(rows.arc_weights()[arcs])
    outside = number[heads] < 0
    pes, anchor = np.unique(around[heads[outside]], return_inverse=True)
    ends = number[heads]
    ends[outside] = count + anchor
    n = count + len(pes)
    indptr, columns, sums, _ = csr_from_arcs(
        n, np.concatenate([tails, ends[outside]]), np.concatenate([ends, tails[outside]]),
        np.concatenate([weights, weights[outside]]), None,
    )
    loads = np.concatenate([rows.loads[vertices], np.zeros(len(pes), np.int64)])
    start = np.concatenate([around[vertices], pes]).astype(np.int32)
    fixed = np.arange(n) >= count
    linear = held(None, fixed, start) if len(pes) else None
    return SearchProblem(Csr(indptr, columns, sums), loads, target.distances, linear), start

"""Partitioners from elsewhere behind one function: a guard, numbers they can hold, a check after.

A call gets the graph, integer bounds per block and a list of tries; it returns one block array per
try, or None for a try that failed. What a partitioner must not see (`objection`) goes to the built-in
one instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import Csr
from hopbytes.partitioners import parhip
from hopbytes.partitioners.backends import BACKENDS, available, check_backend
from hopbytes.partitioners.pool import Job, WorkerPool

# Vertex weights and bounds are 32 bits wide; a margin lets the sum of the bounds fit as well.
_LARGEST_LOAD_SUM = 2**30


def kaminpar_available() -> bool:
    """Tell whether KaMinPar is installed and not hidden by ``HOPBYTES_WITHOUT_KAMINPAR=1``."""
    return available("kaminpar")


def objection(csr: Csr, loads: Int64 | None, caps: Int64, backend: str = "kaminpar") -> str | None:
    """Return why a partitioner must not get this problem, or None when it may. O(n + blocks).

    It needs a vertex and non-negative bounds that all vertices fit under; what else, its entry in
    :data:`hopbytes.partitioners.backends.BACKENDS` says.
    """
    n, needs = len(csr.indptr) - 1, BACKENDS[backend]
    if not available(backend):
        return f"{backend} is not installed"
    if n == 0 or len(caps) == 0:
        return f"{n} vertices in {len(caps)} blocks"
    if not parhip.fits(n, len(csr.targets)):
        return f"{len(csr.targets)} arcs, more than 32-bit offsets can hold"
    total = n if loads is None else kernels.checked_sum(loads)
    room = sum(int(cap) for cap in caps)
    if total > room:
        return f"loads of {total} do not fit into blocks of {room} together"
    heaviest, smallest = 1 if loads is None else int(loads.max()), int(caps.min())
    if needs.equal_blocks and smallest * len(caps) < total:
        return f"loads of {total} do not fit into {len(caps)} blocks of {smallest}, the smallest"
    if needs.heaviest_share * max(heaviest, 1) > smallest:
        return f"a vertex of load {heaviest} is more than a quarter of the smallest block ({smallest})"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A submitted problem: what `gather` turns into answers."""

    vertices: int
    loads: Int64 | None
    caps: Int64
    jobs: list[Job]
    file: IO[bytes]
    pool: WorkerPool

    @property
    def failures(self) -> list[str]:
        """Why tries failed, in order of the tries; complete after `gather`."""
        return [job.reason for job in self.jobs if job.reason]


def submit(
    csr: Csr, loads: Int64 | None, caps: Int64, tries: Sequence[tuple[int, str]], pool: WorkerPool,
    backend: str = "kaminpar", threads: int = 1,
) -> Ticket:
    """Begin partitioning `csr`; the tries of several submitted graphs run side by side.

    Parameters
    ----------
    csr : Csr
        Symmetric graph without diagonal; weights >= 0 (arcs of weight 0 are left out).
    loads : int64[n] or None
        Vertex weights >= 0, None for 1 each.
    caps : int64[blocks]
        Largest load of each block.
    tries : sequence of (seed, preset)
        One partition is computed for each; presets are the settings of the backend.
    pool : WorkerPool
        Where to compute.
    backend : str
        Which partitioner, see :data:`hopbytes.partitioners.backends.BACKENDS`.
    threads : int
        For one that uses several.

    Raises
    ------
    UnsupportedError
        An unknown preset, or a problem with an `objection`.

    Notes
    -----
    The graph is written once, in 4·(n + m) bytes (8·(n + m) with weights), to a file in memory that
    all tries share and `gather` closes.
    """
    for _, preset in tries:
        check_backend(backend, preset, required=False)
    reason = objection(csr, loads, caps, backend)
    if reason is not None:
        title = BACKENDS[backend].title
        raise UnsupportedError(f"{title} cannot take this graph: {reason}; use the built-in partitioner")
    csr = _without_zero_arcs(csr)
    weights, bounds = scale_loads(loads, caps, len(csr.indptr) - 1)
    file = parhip.memory_file()
    try:
        parhip.write_parhip(file, csr, weights)
        size = len(csr.indptr) - 1 + len(csr.targets)
        costs = BACKENDS[backend].settings
        jobs = [
            Job(file, bounds, seed, preset, size * costs[preset], backend=backend, threads=threads)
            for seed, preset in tries
        ]
        pool.submit(jobs)
    except BaseException:
        file.close()
        raise
    return Ticket(len(csr.indptr) - 1, loads, caps, jobs, file, pool)


def gather(tickets: Sequence[Ticket], deadline: float | None = None) -> list[list[Int32 | None]]:
    """Wait for submitted problems and return, for each, one block array per try.

    None stands for a try that failed: a bound broken, a block left empty, a worker that died, or no
    answer before `deadline` (a ``time.monotonic()`` value). `Ticket.failures` has the reasons. On
    KeyboardInterrupt the workers are killed before it goes on. The order is that of `tickets` and of
    their tries, whatever finished first.
    """
    answers: list[list[Int32 | None]] = []
    try:
        for ticket in tickets:
            ticket.pool.wait(ticket.jobs, deadline)
            answers.append([_checked(ticket, job) for job in ticket.jobs])
            ticket.file.close()
    finally:
        for ticket in tickets:
            ticket.file.close()
    return answers


def partition_kaminpar(
    csr: Csr,
    loads: Int64 | None,
    caps: Int64,
    tries: Sequence[tuple[int, str]],
    pool: WorkerPool,
    deadline: float | None = None,
    backend: str = "kaminpar",
) -> list[Int32 | None]:
    """Partition one graph, once per try: `submit` and `gather` in one. See there.

    Returns
    -------
    list of int32[n] or None
        Block of every vertex, for each try in order; None for a failed one. Every array returned
        keeps all bounds and leaves no block empty.

    Examples
    --------
    >>> import numpy as np
    >>> from hopbytes.model.comm_graph import CommGraph
    >>> from hopbytes.partitioners.dispatch import partition_kaminpar
    >>> from hopbytes.partitioners.pool import WorkerPool
    >>> path = CommGraph.from_edges(range(99), range(1, 100)).symmetric()
    >>> with WorkerPool(1) as pool:
    ...     blocks = partition_kaminpar(path, None, np.array([51, 51]), [(1, "eco")], pool)[0]
    >>> np.bincount(blocks).max() <= 51
    np.True_
    """
    return gather([submit(csr, loads, caps, tries, pool, backend)], deadline)[0]


# -------------------------------------------------------------------- before


def scale_loads(loads: Int64 | None, caps: Int64, n: int) -> tuple[Int32 | None, list[int]]:
    """Return positive vertex weights (None: 1 each) and block bounds whose sums fit into 31 bits.

    A partition that keeps the returned bounds keeps `caps` as well, if the slack allows such bounds:
    loads are rounded up and bounds down. Vertices without load weigh 1 and loads are enlarged so that
    this weighs little; they may gather in one block, since KaMinPar knows a single constraint.
    """
    if loads is None:
        return None, _clipped(caps, n)
    room = sum(int(cap) for cap in caps)
    total, idle = kernels.checked_sum(loads), n - int(np.count_nonzero(loads))
    if total == 0:  # no constraint on loads: spread the number of vertices instead
        return None, _clipped([1 + 11 * n * int(cap) // (10 * max(room, 1)) for cap in caps], n)
    if idle == 0 and total <= _LARGEST_LOAD_SUM:
        return loads.astype(np.int32), _clipped(caps, total)
    budget = _LARGEST_LOAD_SUM - n  # rounding up adds less than 1 to each of n
    factor = max(1, min(budget // total, n + 1))
    divisor = max(1, -(-total // budget))
    weights = np.maximum(-(-(loads * factor) // divisor), 1)
    needed = int(weights.sum())
    # Fewer than `factor` idle vertices cannot break the true bound: loads are whole numbers.
    bounds = [(int(cap) * factor + factor - 1) // divisor for cap in caps]
    missing = needed - sum(bounds)
    if missing > 0:  # the rounding needs more than the slack: allow that much, the check decides
        bounds = [bound + 1 + missing * int(cap) // room for bound, cap in zip(bounds, caps, strict=True)]
    return weights.astype(np.int32), _clipped(bounds, needed)


def _clipped(bounds: Sequence[int] | Int64, total: int) -> list[int]:
    """Cut bounds that are no constraint down so that their sum fits into 31 bits."""
    highest = max(min(total, (2**31 - 1) // len(bounds)), 1)
    return [min(int(bound), highest) for bound in bounds]


def _without_zero_arcs(csr: Csr) -> Csr:
    """Leave out arcs of weight 0: they cost nothing, and KaMinPar needs positive weights."""
    if csr.weights is None or len(csr.weights) == 0 or int(csr.weights.min()) > 0:
        return csr
    keep = csr.weights > 0
    before = np.zeros(len(keep) + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    return Csr(before[csr.indptr], csr.targets[keep], csr.weights[keep])


# -------------------------------------------------------------------- after


def _checked(ticket: Ticket, job: Job) -> Int32 | None:
    """Return the answer of a job if it keeps all bounds, else None with the reason left in the job."""
    if job.answer is None:
        return None
    blocks: Int32 = np.frombuffer(job.answer, np.int32).copy()  # the caller may refine it in place
    if len(blocks) != ticket.vertices or int(blocks.min()) < 0 or int(blocks.max()) >= len(ticket.caps):
        job.fail("an answer that is no partition")
        return None
    counts = np.bincount(blocks, minlength=len(ticket.caps))
    sums = counts.astype(np.int64) if ticket.loads is None else _sums(blocks, ticket.loads, len(ticket.caps))
    over = np.flatnonzero(sums > ticket.caps)
    if len(over):
        job.fail(f"block {over[0]} holds {sums[over[0]]}, more than {ticket.caps[over[0]]}")
        return None
    if int(counts.min()) == 0:
        job.fail(f"block {int(np.argmin(counts))} is empty")
        return None
    return blocks


def _sums(blocks: Int32, loads: Int64, count: int) -> Int64:
    """Exact load of every block (`np.bincount` adds in doubles)."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, blocks, loads)
    return sums

"""One interface to all external partitioners: check the input, scale its numbers, check the partition.

A call gets the graph, maximum block weights and a list of repetitions (seeds and settings). It returns one
array of blocks per repetition, or None for a failed one. Inputs that a partitioner does not support
(`unsupported_reason`) are for the built-in partitioner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.records import Csr
from hopbytes_laboratory.partitioners import parhip
from hopbytes_laboratory.partitioners.backends import BACKENDS, available, check_backend
from hopbytes_laboratory.partitioners.pool import Job, WorkerPool

# Vertex weights and maximum block weights are 32-bit integers; the sum of the latter must fit as well, which
# is larger than the sum of the vertex weights.
_LARGEST_LOAD_SUM = 2**30


def kaminpar_available() -> bool:
    """Tell whether KaMinPar is installed and not disabled by ``HOPBYTES_WITHOUT_KAMINPAR=1``."""
    return available("kaminpar")


def unsupported_reason(
    csr: Csr, loads: Int64 | None, max_weights: Int64, backend: str = "kaminpar"
) -> str | None:
    """Return why a partitioner does not support this problem, or None if it does. O(n + blocks).

    The graph must have a vertex, and all vertices must fit into the blocks. The entry of the partitioner in
    :data:`hopbytes_laboratory.partitioners.backends.BACKENDS` has its further restrictions.
    """
    n, needs = len(csr.indptr) - 1, BACKENDS[backend]
    if not available(backend):
        return f"{backend} is not installed"
    if n == 0 or len(max_weights) == 0:
        return f"{n} vertices in {len(max_weights)} blocks"
    if not parhip.fits(n, len(csr.targets)):
        return f"{len(csr.targets)} arcs are more than 32-bit offsets can address"
    total = n if loads is None else kernels.checked_sum(loads)
    room = sum(int(weight) for weight in max_weights)
    if total > room:
        return f"loads of {total} do not fit into blocks of {room} in total"
    heaviest, smallest = 1 if loads is None else int(loads.max()), int(max_weights.min())
    if needs.equal_blocks and smallest * len(max_weights) < total:
        return f"loads of {total} do not fit into {len(max_weights)} blocks of {smallest}, the smallest"
    if needs.heaviest_share * max(heaviest, 1) > smallest:
        return f"a vertex of load {heaviest} is more than a quarter of the smallest block ({smallest})"
    return None


@frozen(eq=False)
class Submission:
    """A submitted problem, which `gather` waits for."""

    vertices: int
    loads: Int64 | None
    max_weights: Int64
    jobs: list[Job]
    file: IO[bytes]
    pool: WorkerPool

    @property
    def failures(self) -> list[str]:
        """Reasons of failed repetitions in their order; complete after `gather`."""
        return [job.reason for job in self.jobs if job.reason]


def submit(
    csr: Csr, loads: Int64 | None, max_weights: Int64, repetitions: Sequence[tuple[int, str]],
    pool: WorkerPool, backend: str = "kaminpar", threads: int = 1,
) -> Submission:
    """Begin partitioning `csr`; the repetitions of all submitted graphs run in parallel.

    The graph is written once, in 4·(n + m) bytes (8·(n + m) with weights), to a file in memory that all
    repetitions share and `gather` closes.
    """
    for _, preset in repetitions:
        check_backend(backend, preset, required=False)
    reason = unsupported_reason(csr, loads, max_weights, backend)
    if reason is not None:
        title = BACKENDS[backend].title
        raise UnsupportedError(
            f"{title} does not support this graph: {reason}; expected the built-in partitioner"
        )
    csr = _without_zero_arcs(csr)
    weights, bounds = scale_loads(loads, max_weights, len(csr.indptr) - 1)
    file = parhip.memory_file()
    try:
        parhip.write_parhip(file, csr, weights)
        size = len(csr.indptr) - 1 + len(csr.targets)
        costs = BACKENDS[backend].settings
        jobs = [
            Job(file, bounds, seed, preset, size * costs[preset], backend=backend, threads=threads)
            for seed, preset in repetitions
        ]
        pool.submit(jobs)
    except BaseException:
        file.close()
        raise
    return Submission(len(csr.indptr) - 1, loads, max_weights, jobs, file, pool)


def gather(submissions: Sequence[Submission], deadline: float | None = None) -> list[list[Int32 | None]]:
    """Wait for submitted problems and return, for each, one array of blocks per repetition.

    None stands for a failed repetition: a block exceeds its maximum weight or is empty, the worker died, or
    there was no answer before `deadline` (a ``time.monotonic()`` value). `Submission.failures` has the
    reasons. On KeyboardInterrupt the workers are killed before the exception continues. The order is that of
    `submissions` and of their repetitions, independent of the order of completion.
    """
    answers: list[list[Int32 | None]] = []
    try:
        for submission in submissions:
            submission.pool.wait(submission.jobs, deadline)
            answers.append([_checked(submission, job) for job in submission.jobs])
            submission.file.close()
    finally:
        for submission in submissions:
            submission.file.close()
    return answers


def partition_with_backend(
    csr: Csr,
    loads: Int64 | None,
    max_weights: Int64,
    repetitions: Sequence[tuple[int, str]],
    pool: WorkerPool,
    deadline: float | None = None,
    backend: str = "kaminpar",
) -> list[Int32 | None]:
    """Partition one graph, once per repetition, by `submit` and `gather`, which describe the parameters.

    >>> import numpy as np
    >>> from hopbytes.model.comm_graph import CommGraph
    >>> from hopbytes_laboratory.partitioners.dispatch import partition_with_backend
    >>> from hopbytes_laboratory.partitioners.pool import WorkerPool
    >>> path = CommGraph.from_edges(range(99), range(1, 100)).symmetric()
    >>> with WorkerPool(1) as pool:
    ...     blocks = partition_with_backend(path, None, np.array([51, 51]), [(1, "eco")], pool)[0]
    >>> np.bincount(blocks).max() <= 51
    np.True_
    """
    return gather([submit(csr, loads, max_weights, repetitions, pool, backend)], deadline)[0]


# -------------------------------------------------------- preparation of the input


def scale_loads(loads: Int64 | None, max_weights: Int64, n: int) -> tuple[Int32 | None, list[int]]:
    """Return positive vertex weights (None: 1 each) and maximum block weights, with sums below 2^31.

    Loads are rounded up and maximum block weights down, so that a partition that keeps the returned bounds
    also keeps `max_weights`, provided that the slack suffices for this rounding. Vertices without load get
    weight 1, and the other loads are scaled up so that these weights hardly matter; vertices without load may
    all be in one block, because the partitioner supports a single balance constraint.
    """
    if loads is None:
        return None, _clipped(max_weights, n)
    room = sum(int(weight) for weight in max_weights)
    total, without_load = kernels.checked_sum(loads), n - int(np.count_nonzero(loads))
    if total == 0:  # loads give no constraint, so the number of vertices is balanced instead
        return None, _clipped([1 + 11 * n * int(weight) // (10 * max(room, 1)) for weight in max_weights], n)
    if without_load == 0 and total <= _LARGEST_LOAD_SUM:
        return loads.astype(np.int32), _clipped(max_weights, total)
    budget = _LARGEST_LOAD_SUM - n  # rounding up adds less than 1 to each of the n weights
    factor = max(1, min(budget // total, n + 1))
    divisor = max(1, -(-total // budget))
    weights = np.maximum(-(-(loads * factor) // divisor), 1)
    needed = int(weights.sum())
    # Because loads are integers, a block may exceed its scaled bound by up to factor - 1 without exceeding
    # its true one.
    bounds = [(int(weight) * factor + factor - 1) // divisor for weight in max_weights]
    missing = needed - sum(bounds)
    if missing > 0:  # the slack is too small for the rounding: enlarge the bounds, the final check decides
        pairs = zip(bounds, max_weights, strict=True)
        bounds = [bound + 1 + missing * int(weight) // room for bound, weight in pairs]
    return weights.astype(np.int32), _clipped(bounds, needed)


def _clipped(bounds: Sequence[int] | Int64, total: int) -> list[int]:
    """Reduce bounds above the total weight, which are no constraint, so that their sum is below 2^31."""
    highest = max(min(total, (2**31 - 1) // len(bounds)), 1)
    return [min(int(bound), highest) for bound in bounds]


def _without_zero_arcs(csr: Csr) -> Csr:
    """Return the graph without arcs of weight 0, because KaMinPar requires positive weights."""
    if csr.weights is None or len(csr.weights) == 0 or int(csr.weights.min()) > 0:
        return csr
    keep = csr.weights > 0
    before = np.zeros(len(keep) + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    return Csr(before[csr.indptr], csr.targets[keep], csr.weights[keep])


# -------------------------------------------------------- checks of the partition


def _checked(submission: Submission, job: Job) -> Int32 | None:
    """Return the partition of a job if it is feasible, else None; the job then gets the reason."""
    if job.answer is None:
        return None
    blocks: Int32 = np.frombuffer(job.answer, np.int32).copy()  # the caller may refine it in place
    count = len(submission.max_weights)
    if len(blocks) != submission.vertices or int(blocks.min()) < 0 or int(blocks.max()) >= count:
        job.fail("the answer is not a partition")
        return None
    counts = np.bincount(blocks, minlength=count)
    sums = counts.astype(np.int64) if submission.loads is None else _sums(blocks, submission.loads, count)
    over = np.flatnonzero(sums > submission.max_weights)
    if len(over):
        job.fail(f"block {over[0]} holds {sums[over[0]]}, more than {submission.max_weights[over[0]]}")
        return None
    if int(counts.min()) == 0:
        job.fail(f"block {int(np.argmin(counts))} is empty")
        return None
    return blocks


def _sums(blocks: Int32, loads: Int64, count: int) -> Int64:
    """Return the exact load of every block; `np.bincount` would add doubles."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, blocks, loads)
    return sums

"""External partitions of the large groups of one level, as alternatives to those of the built-in engine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.engine.problem import SearchProblem, VertexGroups
from hopbytes.kernels.records import Csr
from hopbytes.util.random_numbers import derived_words
from hopbytes_laboratory.partitioners.backends import available, check_backend
from hopbytes_laboratory.partitioners.dispatch import Submission, gather, submit, unsupported_reason
from hopbytes_laboratory.partitioners.pool import WorkerPool


@frozen
class PartitionerSettings:
    """The choice of an external partitioner and the effort of its calls."""

    #: number of repetitions: partitions of each large group, with different seeds; 0 for none
    repetitions: int
    preset: str  # setting of the partitioner, see :data:`hopbytes_laboratory.partitioners.backends.BACKENDS`.
    #: smallest number of vertices of a group for which the partitioner is called, because every call takes
    #: some milliseconds
    smallest: int
    backend: str = "kaminpar"  # name of the partitioner
    threads: int = 1  # number of threads of one call, for a partitioner that uses several

    def __post_init__(self) -> None:
        check_backend(self.backend, self.preset, required=False)


@frozen(eq=False)
class GroupPartitions:
    """The partitions that an external partitioner returned."""

    #: int32[repetitions, n] or None: Block of every vertex within its group, one row per repetition, -1 for
    #: groups without a partition; None if there is no partition at all.
    #: :func:`hopbytes.engine.partition.partition_many` takes this array.
    rows: Int32 | None
    #: number of calls that gave a partition within the maximum block weights, and of calls that did not
    used: int = 0
    failed: int = 0
    #: vertices and arcs passed to the partitioner, times the cost of its setting: a deterministic measure of
    #: work
    work: int = 0


def partition_groups(
    problem: SearchProblem,
    groups: VertexGroups,
    settings: PartitionerSettings,
    pool: WorkerPool,
    deadline: float | None = None,
) -> GroupPartitions:
    """Partition every large group of vertices, with all repetitions in parallel.

    Groups smaller than `settings.smallest`, groups with fewer than two blocks and groups that the partitioner
    does not support (`unsupported_reason`) are left out; failed
    repetitions are ignored. If the package is not installed, the result is empty.

    Seeds derive from the seed of the group and the number of the repetition, not from scheduling. The workers
    read the subgraphs from files in memory; this process holds one subgraph at a time.
    """
    csr, loads, n = problem.csr, problem.loads, problem.csr.n
    seeds, weight_start = groups.seeds, groups.block_start
    if settings.repetitions < 1 or n < max(settings.smallest, 1) or not available(settings.backend):
        return GroupPartitions(None)
    if deadline is not None and time.monotonic() >= deadline:
        return GroupPartitions(None)
    submitted: list[tuple[Int32 | slice, Submission]] = []
    try:
        for number, members, subgraph in _large_groups(csr, groups.group, len(seeds), settings.smallest):
            bounds = groups.max_block_weights[weight_start[number] : weight_start[number + 1]]
            own_loads = None if loads is None else loads[members]
            if len(bounds) < 2 or unsupported_reason(subgraph, own_loads, bounds, settings.backend):
                continue
            drawn = _seeds(int(seeds[number]), settings.repetitions)
            repetitions = [(seed, settings.preset) for seed in drawn]
            submission = submit(
                subgraph, own_loads, bounds, repetitions, pool, settings.backend, settings.threads
            )
            submitted.append((members, submission))
        answers = gather([submission for _, submission in submitted], deadline)
    finally:
        for _, submission in submitted:
            submission.file.close()
    used = sum(blocks is not None for group_answers in answers for blocks in group_answers)
    failed = settings.repetitions * len(submitted) - used
    work = sum(job.work for _, submission in submitted for job in submission.jobs)
    if not used:
        return GroupPartitions(None, 0, failed, work)
    rows = np.full((settings.repetitions, n), -1, np.int32)
    for (members, _), group_answers in zip(submitted, answers, strict=True):
        for row, blocks in zip(rows, group_answers, strict=True):
            if blocks is not None:
                row[members] = blocks
    return GroupPartitions(rows, used, failed, work)


def _large_groups(
    csr: Csr, group: Int32, groups: int, smallest: int
) -> Iterator[tuple[int, Int32 | slice, Csr]]:
    """Yield number, members and subgraph of every group of at least `smallest` vertices, in order."""
    if groups == 1:
        yield 0, slice(None), csr
        return
    sizes = np.bincount(group, minlength=groups)
    end = np.cumsum(sizes)
    order = np.argsort(group, kind="stable").astype(np.int32)
    place = np.full(len(group), -1, np.int32)
    for number in np.flatnonzero(sizes >= max(smallest, 1)):
        members = order[end[number] - sizes[number] : end[number]]
        place[members] = np.arange(len(members), dtype=np.int32)
        yield int(number), members, kernels.induced_csr(csr, members, place)
        place[members] = -1


def _seeds(seed: int, repetitions: int) -> list[int]:
    return [int(word) for word in derived_words((seed,), repetitions)]

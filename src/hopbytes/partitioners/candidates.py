"""Partitions from elsewhere of the large groups of one level, to compete with the built-in engine's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.model.comm_graph import Csr
from hopbytes.partitioners.backends import available, check_backend
from hopbytes.partitioners.dispatch import Ticket, gather, objection, submit
from hopbytes.partitioners.pool import WorkerPool


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """What to ask a partitioner for.

    Parameters
    ----------
    tries : int
        Partitions of each group that is asked about; 0 for none.
    preset : str
        Setting of the partitioner, see :data:`hopbytes.partitioners.backends.BACKENDS`.
    smallest : int
        Vertices from which a group is worth a call: a call costs milliseconds however small it is.
    backend : str
        Name of the partitioner.
    threads : int
        Threads of one call, for a partitioner that uses several.

    Raises
    ------
    UnsupportedError
        An unknown partitioner or setting.
    """

    tries: int
    preset: str
    smallest: int
    backend: str = "kaminpar"
    threads: int = 1

    def __post_init__(self) -> None:
        check_backend(self.backend, self.preset, required=False)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What the partitioner gave.

    Parameters
    ----------
    rows : int32[tries, n] or None
        Block of every vertex within its group, one row per try, -1 where a group has none; None when
        no group has any. As :func:`hopbytes.engine.partition_many` takes them.
    used, failed : int
        Tries that gave a partition within the caps, and tries that did not.
    work : int
        Vertices and arcs given to the partitioner, times the cost of its setting: a measure that does
        not depend on clocks.
    """

    rows: Int32 | None
    used: int = 0
    failed: int = 0
    work: int = 0


def candidates(
    indptr: Int64,
    targets: Int32,
    weights: Int64 | None,
    loads: Int64 | None,
    group: Int32,
    cap_start: Int64,
    caps: Int64,
    seeds: UInt64,
    settings: CandidateSettings,
    pool: WorkerPool,
    deadline: float | None = None,
) -> Candidates:
    """Partition every large group of vertices, all tries side by side.

    Groups below `settings.smallest`, those cut into fewer than two blocks and those that it
    must not see (:func:`hopbytes.partitioners.dispatch.objection`) are left out; failed tries are ignored.
    Without
    the package nothing happens.

    Parameters
    ----------
    indptr, targets, weights, loads, group, cap_start, caps, seeds
        As for :func:`hopbytes.engine.partition_many`.
    settings : CandidateSettings
    pool : WorkerPool
        Where to compute; the answer does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which what is not finished counts as failed.

    Notes
    -----
    Seeds derive from that of the group and the number of the try, never from scheduling. Beside the
    pieces, which the workers read from memory files, one piece at a time is held here.
    """
    csr, n = Csr(indptr, targets, weights), len(indptr) - 1
    if settings.tries < 1 or n < max(settings.smallest, 1) or not available(settings.backend):
        return Candidates(None)
    if deadline is not None and time.monotonic() >= deadline:
        return Candidates(None)
    asked: list[tuple[Int32 | slice, Ticket]] = []
    try:
        for number, members, piece in _large_groups(csr, group, len(seeds), settings.smallest):
            own_caps = caps[cap_start[number] : cap_start[number + 1]]
            own_loads = None if loads is None else loads[members]
            if len(own_caps) < 2 or objection(piece, own_loads, own_caps, settings.backend):
                continue
            tries = [(seed, settings.preset) for seed in _try_seeds(int(seeds[number]), settings.tries)]
            ticket = submit(
                piece, own_loads, own_caps, tries, pool, settings.backend, settings.threads
            )
            asked.append((members, ticket))
        answers = gather([ticket for _, ticket in asked], deadline)
    finally:
        for _, ticket in asked:
            ticket.file.close()
    used = sum(blocks is not None for group_answers in answers for blocks in group_answers)
    failed = settings.tries * len(asked) - used
    work = sum(job.work for _, ticket in asked for job in ticket.jobs)
    if not used:
        return Candidates(None, 0, failed, work)
    rows = np.full((settings.tries, n), -1, np.int32)
    for (members, _), group_answers in zip(asked, answers, strict=True):
        for row, blocks in zip(rows, group_answers, strict=True):
            if blocks is not None:
                row[members] = blocks
    return Candidates(rows, used, failed, work)


def _large_groups(
    csr: Csr, group: Int32, groups: int, smallest: int
) -> Iterator[tuple[int, Int32 | slice, Csr]]:
    """Yield number, members and graph of every group of at least `smallest` vertices, in order."""
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
        yield int(number), members, Csr(*kernels.induced_csr(*csr, members, place))
        place[members] = -1


def _try_seeds(seed: int, tries: int) -> list[int]:
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(tries, np.uint32)]

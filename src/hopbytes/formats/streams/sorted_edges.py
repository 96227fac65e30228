"""Edge lists in blocks: an external sort writes the rows of the graph into temporary files first."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int64, UInt8
from hopbytes.errors import ScaleError
from hopbytes.formats.base import Source
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import check_tasks, parsed, raise_fault
from hopbytes.formats.patterns.tables import fields_of, first_arc
from hopbytes.formats.streams.csr_stream import CsrStream, NumberSection
from hopbytes.kernels.records import Slot, Status
from hopbytes.util.integers import MAX_SUM, MAX_TASKS

#: Arcs that are sorted in memory at once, 24 bytes each and as much for sorting.
RUN_ARCS = 1 << 21
#: An arc as the temporary files hold it: the pair source * 2^32 + target, and its volume.
_WORDS = 2


def sort_edges(path: str, max_bytes: int, folder: str, run_arcs: int = RUN_ARCS) -> CsrStream:
    """Sort an edge list by vertex, both directions of every edge, into files in `folder`.

    Volumes of repeated arcs and of both directions are summed; arcs of tasks to themselves are left out.
    Memory is O(n + `run_arcs`); the files take 32 bytes per arc for a while, then 24.
    """
    runs: list[str] = []
    n = 0
    for pairs, volumes, seen in _sorted_runs(path, max_bytes, run_arcs):
        n = seen
        name = os.path.join(folder, f"run{len(runs)}")
        with open(name, "wb") as file:
            np.stack([pairs, volumes], axis=1).tofile(file)
        runs.append(name)
    degrees = np.zeros(n, np.int64)
    targets_name, weights_name = (os.path.join(folder, part) for part in ("targets", "weights"))
    with open(targets_name, "wb") as targets, open(weights_name, "wb") as weights:
        for pairs, volumes in _merged(runs, run_arcs):
            degrees += np.bincount(pairs >> 32, minlength=n)
            (pairs & 0xFFFFFFFF).astype("<u4").tofile(targets)
            volumes.tofile(weights)
    for name in runs:
        os.unlink(name)
    stored = int(degrees.sum())
    offsets_name = os.path.join(folder, "offsets")
    np.concatenate([[0], np.cumsum(4 * degrees)]).astype("<i8").tofile(offsets_name)
    sections = [
        None if os.path.getsize(name) == 0 else NumberSection(name, 0, kind, 2**62, what)
        for name, kind, what in (
            (offsets_name, "<i8", "offsets of rows"), (targets_name, "<u4", "neighbours"),
            (weights_name, "<i8", "edge weights"),
        )
    ]
    notices = ["the edge list was sorted into temporary files"]
    if stored and not degrees[0]:
        notices.append("task 0 exchanges nothing: tasks count from 0; is the file numbered from 1?")
    return CsrStream(
        path, n, stored, True, False, True, tuple(notices), offsets=sections[0],
        targets=sections[1] or NumberSection(offsets_name, 0, "<u4", 2**62, "neighbours"),
        weight_section=sections[2], first_target=0, width=4,
    )


def _sorted_runs(path: str, max_bytes: int, run_arcs: int) -> Iterator[tuple[Int64, Int64, int]]:
    """Yield sorted pairs with their volumes, and the number of tasks seen so far."""
    with open_source(path, max_bytes=max_bytes) as source:
        line, n, text = first_arc(source)
        columns = len(fields_of(text))
        if columns == 0:
            yield np.empty(0, np.int64), np.empty(0, np.int64), n or 0
            return
        limit = MAX_TASKS - 1 if n is None else n - 1
        seen, arcs, total = 0 if n is None else n, 0, 0
        for table in _tables(source, columns, line, text, limit, max(1, run_arcs // 2)):
            sources, targets = table[:, 0], table[:, 1]
            volumes = table[:, 2] if columns > 2 else np.ones(len(table), np.int64)
            total += int(volumes.astype(np.float64).sum())
            if 2 * total > MAX_SUM // 2:
                factor = 1 + total // 2**60
                raise ScaleError(f"{path}: volumes sum to more than 2^61: divide them by {factor} or more")
            arcs += len(table)
            if n is None:
                seen = max(seen, int(table[:, :2].max()) + 1)
                check_tasks(source, None, seen, arcs)
            other = sources != targets
            pairs = np.concatenate([sources << 32 | targets, targets << 32 | sources])
            yield *_summed(pairs[np.tile(other, 2)], np.tile(volumes, 2)[np.tile(other, 2)]), seen


def _tables(
    source: Source, columns: int, line: int, start: bytes, limit: int, rows: int
) -> Iterator[Int64]:
    """Yield lines of numbers, int64[at most rows, columns]."""
    state = np.zeros(len(Slot), np.int64)
    state[Slot.LINE], state[Slot.COLUMNS] = line, columns
    state[Slot.TASK_COLUMNS], state[Slot.TASK_LIMIT] = 2, limit
    values = np.empty(rows * columns, np.int64)

    def parse(text: UInt8, final: bool, state: Int64) -> int:
        return kernels.parse_table(text, final, state, values)

    for status, token in parsed(source, parse, state, start):
        if status is not Status.ROOM:
            expected = f"0 to {limit}" if status is Status.OUT_OF_RANGE else f"{columns} in each line"
            raise_fault(source, state, status, token, expected)
        yield values.reshape(-1, columns)
        state[Slot.ARCS] = 0
    yield values[: int(state[Slot.ARCS])].reshape(-1, columns)


def _summed(pairs: Int64, volumes: Int64) -> tuple[Int64, Int64]:
    """Return ascending pairs without repetitions, and their sums of volumes."""
    order = np.argsort(pairs, kind="stable")
    pairs, volumes = pairs[order], volumes[order]
    if not len(pairs):
        return pairs, volumes
    starts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    return pairs[starts], np.add.reduceat(volumes, starts)


class _Run:
    """A sorted run on disk, of which some arcs are in memory."""

    def __init__(self, name: str, piece: int) -> None:
        self._name, self._piece, self._begin = name, piece, 0
        self.arcs, self.ended = np.empty((0, _WORDS), np.int64), False
        self.fill()

    def fill(self) -> None:
        """Read further arcs behind those in memory."""
        new = np.fromfile(self._name, np.int64, _WORDS * self._piece, offset=8 * _WORDS * self._begin)
        new = new.reshape(-1, _WORDS)
        self._begin += len(new)
        self.ended = len(new) < self._piece
        self.arcs = np.concatenate([self.arcs, new])

    def take(self, below: int) -> Int64:
        """Return the arcs with a pair below a bound, and forget them."""
        count = int(np.searchsorted(self.arcs[:, 0], below))
        taken, self.arcs = self.arcs[:count], self.arcs[count:]
        return taken


def _merged(names: list[str], run_arcs: int) -> Iterator[tuple[Int64, Int64]]:
    """Yield all arcs in ascending order, those of one pair together; memory O(run_arcs)."""
    runs = [_Run(name, max(16, run_arcs // max(1, len(names)))) for name in names]
    while runs:
        for run in runs:
            if not len(run.arcs) and not run.ended:
                run.fill()
        # All arcs up to the earliest end of what is in memory are known.
        bound = min((int(run.arcs[-1, 0]) for run in runs if not run.ended), default=2**62)
        taken = np.concatenate([run.take(bound) for run in runs])
        if len(taken):
            yield _summed(taken[:, 0], taken[:, 1])
        else:
            for run in runs:
                if not run.ended and int(run.arcs[-1, 0]) == bound:
                    run.fill()
        runs = [run for run in runs if len(run.arcs) or not run.ended]



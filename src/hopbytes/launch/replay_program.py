"""The program that `hopbytes replay` launches: it sends the messages of a pattern and measures the time.

A launcher starts ``python -m hopbytes.launch.replay_program FILE ROUNDS``; rank 0 prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

#: Prefix of the line with the result, so that it can be found in the output of the launcher.
MARK = "hopbytes-replay "
#: The line that rank 0 prints after the first barrier, and the prefix of the line that a process prints if it
#: is alone in MPI_COMM_WORLD although the pattern has several ranks.
UNDER_WAY = "hopbytes-replay-under-way"
LONE = "hopbytes-replay-alone "
#: Prefix of the line that a process prints if it cannot load MPI.
LACKING = "hopbytes-replay-lacks "


def main(arguments: list[str]) -> int:
    """Replay a pattern in this process; return the exit code."""
    # The file is described in ``replay.c``. The time of a round is that of the slowest rank.
    try:
        from mpi4py import MPI
    except (ImportError, OSError, RuntimeError) as error:  # no package, or no library of MPI
        print(LACKING + " ".join(str(error).split())[:200], flush=True)
        return 1
    comm = MPI.COMM_WORLD
    words = np.fromfile(arguments[0], np.int64)
    ranks = int(words[0])
    indptr = words[2 : ranks + 3]
    targets, sizes = words[ranks + 3 :].reshape(-1, 2).T
    rounds = int(arguments[1])
    if comm.Get_size() != len(indptr) - 1:
        if comm.Get_size() == 1:
            print(LONE + MPI.Get_library_version().split(",")[0].splitlines()[0], flush=True)
        elif comm.Get_rank() == 0:
            found = f"{comm.Get_size()} processes, expected {len(indptr) - 1} as in the pattern"
            print(found, file=sys.stderr)
        return 1
    comm.Barrier()
    if comm.Get_rank() == 0:
        print(UNDER_WAY, flush=True)
    seconds = _rounds(comm, indptr, targets, sizes, rounds)
    slowest = np.empty(rounds)
    comm.Reduce(seconds, slowest, op=MPI.MAX, root=0)
    if comm.Get_rank() == 0:
        print(MARK + json.dumps({"seconds": slowest.tolist()}), flush=True)
    return 0


def _rounds(comm: Any, indptr: Any, targets: Any, sizes: Any, rounds: int) -> Any:
    from mpi4py import MPI

    rank = comm.Get_rank()
    mine = slice(int(indptr[rank]), int(indptr[rank + 1]))
    sends = [(int(to), int(size)) for to, size in zip(targets[mine], sizes[mine], strict=True)]
    arcs = np.flatnonzero(targets == rank)
    sources = np.searchsorted(indptr, arcs, side="right") - 1
    receives = [(int(source), int(size)) for source, size in zip(sources, sizes[arcs], strict=True)]
    outgoing = np.zeros(max((size for _, size in sends), default=0), np.uint8)
    incoming = [np.empty(size, np.uint8) for _, size in receives]
    seconds = np.zeros(rounds)
    for number in range(-1, rounds):  # the first round opens connections and is not measured
        posted = [
            comm.Irecv([buffer, MPI.BYTE], source=source)
            for (source, _), buffer in zip(receives, incoming, strict=True)
        ]
        comm.Barrier()
        began = MPI.Wtime()
        posted += [comm.Isend([outgoing[:size], MPI.BYTE], dest=to) for to, size in sends]
        MPI.Request.Waitall(posted)
        if number >= 0:
            seconds[number] = MPI.Wtime() - began
    return seconds


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

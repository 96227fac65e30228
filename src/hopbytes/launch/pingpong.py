"""Ping-pong between pairs of ranks by mpi4py; the same program as ``pingpong.c``.

The program imports nothing from this package, so that ``python pingpong.py`` starts quickly on every rank.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def main(arguments: list[str]) -> None:
    """Run ``where``, or ``run BATCHES SIZE:ROUNDS,… A-B,… SECONDS``."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank = world.Get_rank()
    if arguments[0] == "where":
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        _say(f"where {rank} {MPI.Get_processor_name()} {cpus}")
        return
    batches = int(arguments[1])
    sizes = [tuple(map(int, word.split(":"))) for word in arguments[2].split(",")]
    for word in arguments[3].split(","):
        a, b = map(int, word.split("-"))
        if rank in (a, b):
            partner = b if rank == a else a
            begin, done, per_byte = MPI.Wtime(), 0, 0.0
            for size, most in sizes:
                left = float(arguments[4]) - (MPI.Wtime() - begin)
                # The first rank decides for both how many rounds the time allows; with none the sweep ends.
                round_trip = max(2 * per_byte * size * (batches + 1), 1e-9)
                rounds = int(min(most, left / round_trip)) if done > 1 else most
                if rank == a:
                    world.send(max(rounds, 0), partner, 2)
                else:
                    rounds = world.recv(source=partner, tag=2)
                if rounds < 1:
                    break
                buffer = [bytearray(size), MPI.BYTE]
                _batch(world, rank == a, partner, buffer, 1)
                times = [_batch(world, rank == a, partner, buffer, rounds) for _ in range(batches)]
                done, per_byte = done + 1, times[-1] / max(size, 1)
                if rank == a:
                    for seconds in times:
                        _say(f"time {a} {b} {size} {seconds:.12e}")
            if rank == a:
                _say(f"sizes {a} {b} {done}")
        world.Barrier()  # the other ranks wait, so that only one pair communicates at a time


def _batch(world: Any, first: bool, partner: int, buffer: Any, rounds: int) -> float:
    """Return the seconds of one message in one direction, the mean of a batch of round trips."""
    from mpi4py import MPI

    begin = MPI.Wtime()
    for _ in range(rounds):
        if first:
            world.Send(buffer, partner, 1)
            world.Recv(buffer, partner, 1)
        else:
            world.Recv(buffer, partner, 1)
            world.Send(buffer, partner, 1)
    return float((MPI.Wtime() - begin) / (2 * rounds))


def _say(text: str) -> None:
    sys.stdout.write(f"#hopbytes-measure {text} .\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

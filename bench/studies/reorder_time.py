"""CPU time of the mapping part of hopbytes.mpi.reorder on rank 0: 64 to 1024 ranks of a periodic grid.

    python -m bench.studies.reorder_time
"""

from __future__ import annotations

import time

from hopbytes.mpi.communicators import METHOD, grid_neighbours, new_ranks
from hopbytes.mpi.processes import Spot

GRIDS = ((4, 4, 4), (8, 8, 4), (16, 8, 8))
CORES = 16


def spots(n: int) -> list[Spot]:
    """Ranks dealt round nodes of two packages with 8 cores each, as a cyclic launch does."""
    nodes = n // CORES
    places = [(rank % nodes, rank // nodes) for rank in range(n)]
    return [Spot(f"n{node}", (core,), (core // 8 * 8, -1, -1, core)) for node, core in places]


def main() -> None:
    """Print the least of five measurements per grid; the first call of a process imports and is not one."""
    for grid in GRIDS:
        n = grid[0] * grid[1] * grid[2]
        sends = [grid_neighbours(rank, grid, (True, True, True)) for rank in range(n)]
        seconds = []
        for _ in range(6):
            began = time.process_time()
            new_ranks(spots(n), sends)
            seconds.append(time.process_time() - began)
        print(f"{n} ranks, {METHOD}: {min(seconds[1:]):.4f} s")


if __name__ == "__main__":
    main()

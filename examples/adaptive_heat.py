"""Heat under a moving source on a mesh that is refined around it, run with and without moving its blocks.

    mpirun -n 4 python examples/adaptive_heat.py                 # blocks stay where they are
    mpirun -n 4 python examples/adaptive_heat.py --remap         # hopbytes moves blocks between the processes

The unit square is divided into blocks. A block near the source has cells of half the width, so four times
as many of them and twice as many on its edges, and it is coarsened again when the source has passed. Every
step is an explicit step of the heat equation, for which blocks exchange their edges. Every few steps blocks
are adapted and, with --remap, moved: loads are cells, volumes are the bytes of the edges, and the price of a
migration is the size of a block. The heat that the program prints is the same with and without moving.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from mpi4py import MPI

from hopbytes.mpi import ChangingTasks

COARSE = 16  # cells along the side of a coarse block
NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Mesh:
    """The blocks that this process holds, and the process of every block nearby."""

    def __init__(self, comm, side):
        self.comm, self.side = comm, side
        size, rank = comm.Get_size(), comm.Get_rank()
        blocks = side * side
        self.owner = {block: block * size // blocks for block in range(blocks)}
        self.data = {
            block: np.zeros((COARSE, COARSE)) for block, process in self.owner.items() if process == rank
        }
        self.bytes_sent = 0

    def neighbours(self, block):
        """Yield the direction and the number of every block beside one."""
        row, column = divmod(block, self.side)
        for down, right in NEIGHBOURS:
            if 0 <= row + down < self.side and 0 <= column + right < self.side:
                yield (down, right), block + down * self.side + right

    def edge(self, block, direction):
        """The cells of a block along one of its sides."""
        cells = self.data[block]
        sides = {(-1, 0): cells[0], (1, 0): cells[-1], (0, -1): cells[:, 0], (0, 1): cells[:, -1]}
        return sides[direction].copy()

    def exchange(self):
        """Return the edges beside every block that this process holds."""
        outgoing = [{} for _ in range(self.comm.Get_size())]
        rank, found = self.comm.Get_rank(), {}
        for block in self.data:
            for direction, other in self.neighbours(block):
                edge, process = self.edge(block, direction), self.owner[other]
                opposite = (-direction[0], -direction[1])
                if process == rank:
                    found[other, opposite] = edge
                else:
                    outgoing[process][other, opposite] = edge
                    self.bytes_sent += edge.nbytes
        for message in self.comm.alltoall(outgoing):
            found.update(message)
        return found

    def step(self, source):
        """One explicit step; heat enters at the source, edges of other resolution are fitted."""
        beside = self.exchange()
        for block, cells in list(self.data.items()):
            size = len(cells)
            padded = np.pad(cells, 1, mode="edge")  # no heat leaves the square
            for direction, _ in self.neighbours(block):
                edge = fitted(beside[block, direction], size)
                view = {(-1, 0): np.s_[0, 1:-1], (1, 0): np.s_[-1, 1:-1], (0, -1): np.s_[1:-1, 0],
                        (0, 1): np.s_[1:-1, -1]}[direction]
                padded[view] = edge
            around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
            self.data[block] = cells + 0.2 * (around - 4 * cells)
            if self.distance(block, source) < 0.5:
                self.data[block] += 1.0

    def distance(self, block, source):
        """Distance of the centre of a block from a place, in blocks."""
        row, column = divmod(block, self.side)
        return float(np.hypot(row + 0.5 - source[0] * self.side, column + 0.5 - source[1] * self.side))

    def adapt(self, source):
        """Refine blocks near the source, coarsen others; return the blocks that changed."""
        changed = []
        for block, cells in list(self.data.items()):
            fine, near = len(cells) > COARSE, self.distance(block, source) < self.side / 6
            if near and not fine:
                self.data[block] = np.kron(cells, np.ones((2, 2)))
            elif fine and not near:
                self.data[block] = cells.reshape(COARSE, 2, COARSE, 2).mean(axis=(1, 3))
            if near != fine:
                changed.append(block)
        return changed

    def pattern(self, blocks):
        """Return the loads of some blocks of this process, and their edges with bytes of both directions."""
        loads = {block: self.data[block].size for block in blocks}
        sizes = {}
        for part in self.comm.allgather({block: len(self.data[block]) for block in blocks}):
            sizes.update(part)
        edges = [
            (block, other, 8 * (len(self.data[block]) + sizes.get(other, COARSE)))
            for block in blocks for _, other in self.neighbours(block)
        ]
        return loads, edges

    def move(self, moves):
        """Send blocks away and take others over, and tell everyone who has them."""
        requests = [
            self.comm.isend({block: self.data.pop(block) for block in blocks}, process)
            for process, blocks in moves.send.items()
        ]
        came = []
        for process in moves.receive:
            blocks = self.comm.recv(source=process)
            self.data.update(blocks)
            came += blocks
        MPI.Request.waitall(requests)
        for process, blocks in enumerate(self.comm.allgather(came)):
            self.owner.update(dict.fromkeys(blocks, process))


def fitted(edge, size):
    """Return an edge with another number of cells."""
    if len(edge) < size:
        return np.repeat(edge, size // len(edge))
    return edge.reshape(size, -1).mean(axis=1)


def run(comm, side, rounds, steps, remap):
    """Return the heat, the largest number of cell updates of a process, the bytes sent, moves and seconds."""
    mesh = Mesh(comm, side)
    begin = (0.1, 0.2)
    mesh.adapt(begin)
    loads, edges = mesh.pattern(list(mesh.data))
    price = 8 * COARSE**2 // steps  # the bytes of a block are paid once, those of its edges in every step
    tasks = ChangingTasks(comm, loads, edges, migration_price=price, imbalance="20%") if remap else None
    if tasks is not None:
        mesh.move(tasks.update())
    critical, seconds, moved = 0, {"steps": 0.0, "remap": 0.0, "move": 0.0}, 0
    for turn in range(rounds):
        source = (0.1 + 0.8 * turn / rounds, 0.2 + 0.5 * turn / rounds)
        changed = mesh.adapt(source)
        if tasks is not None:
            began = time.perf_counter()
            loads, edges = mesh.pattern(changed)
            moves = tasks.update(loads=loads, edges=edges)
            middle = time.perf_counter()
            mesh.move(moves)
            moved += sum(map(len, moves.send.values()))
            seconds["remap"] += middle - began
            seconds["move"] += time.perf_counter() - middle
        began = time.perf_counter()
        for _ in range(steps):
            mesh.step(source)
            critical += comm.allreduce(sum(cells.size for cells in mesh.data.values()), MPI.MAX)
        seconds["steps"] += time.perf_counter() - began
    mine = {block: heat(cells) for block, cells in mesh.data.items()}
    parts = sorted(part for each in comm.allgather(mine) for part in each.items())
    total = sum(value for _, value in parts)  # in the order of the blocks, so that it is the same everywhere
    return total, critical, comm.allreduce(mesh.bytes_sent), comm.allreduce(moved), seconds


def heat(cells):
    """Heat of a block: the mean of its cells."""
    return float(cells.mean())


def main():
    """Run once and print what rank 0 knows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--remap", action="store_true", help="move blocks between the processes")
    parser.add_argument("--side", type=int, default=24, help="blocks along a side")
    parser.add_argument("--rounds", type=int, default=20, help="how often the mesh is adapted")
    parser.add_argument("--steps", type=int, default=5, help="time steps between two adaptations")
    given = parser.parse_args()
    comm = MPI.COMM_WORLD
    total, critical, sent, moved, seconds = run(comm, given.side, given.rounds, given.steps, given.remap)
    if comm.Get_rank() == 0:
        print(f"heat {total:.9f}")
        print(f"cell updates of the busiest process {critical}, bytes of edges {sent}, blocks moved {moved}")
        print(", ".join(f"{name} {spent:.3f} s" for name, spent in seconds.items()))


if __name__ == "__main__":
    main()

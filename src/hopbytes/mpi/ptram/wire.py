"""Communication between leaders, with counts of messages and bytes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Array, Int64

Numbers: TypeAlias = Array
Comm: TypeAlias = Any  # mpi4py.MPI.Intracomm; mpi4py has to be optional


class Wire:
    """A communicator that counts what this process sends to others."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.collectives = self.messages = self.bytes = 0

    def broadcast(self, value: Any, size: int = 0) -> Any:
        """Return the value of rank 0 on all leaders; `size` is its size in bytes, for the count."""
        self._book(self.size - 1 if self.rank == 0 else 0, size)
        return self._comm.bcast(value, root=0)

    def gathered(self, value: Any, size: int = 0) -> list[Any]:
        """Return the values of all leaders, by rank."""
        self._book(self.size - 1, size)
        found: list[Any] = self._comm.allgather(value)
        return found

    def offers(self, mine: Numbers) -> Numbers:
        """Return an array [size, n] with the n numbers of every leader (MPI_Allgather)."""
        self._book(self.size - 1, mine.nbytes)
        found = np.empty((self.size, len(mine)), mine.dtype)
        self._comm.Allgather(mine, found)
        return found

    def from_winner(self, mine: Int64 | None, count: int, winner: int) -> Int64:
        """Return int64[count], the numbers of the leader `winner` (MPI_Bcast)."""
        found = np.empty(count, np.int64) if mine is None else mine
        self._book(self.size - 1 if self.rank == winner else 0, found.nbytes)
        self._comm.Bcast(found, root=winner)
        return found

    def exchanged(self, parts: list[Int64]) -> list[Int64]:
        """Send ``parts[i]`` to leader i and return what each leader sent to this one (MPI_Alltoall)."""
        self._book(0, 0)
        for rank, part in enumerate(parts):
            if rank != self.rank and len(part):
                self.messages += 1
                self.bytes += part.nbytes
        found: list[Int64] = self._comm.alltoall(parts)
        return found

    def _book(self, receivers: int, size: int) -> None:
        self.collectives += 1
        self.messages += receivers
        self.bytes += receivers * size

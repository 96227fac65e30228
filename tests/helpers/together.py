"""Communicators of threads: what programs for MPI need of mpi4py, without MPI."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np


class ThreadComm:
    """One member of a group of threads; arrays are copied as if they went through a network."""

    def __init__(self, rank, size, board, barrier, made=None):
        self._made = [] if made is None else made
        self._rank, self._size, self._board, self._barrier = rank, size, board, barrier

    def Get_rank(self):  # noqa: N802 (as in mpi4py)
        return self._rank

    def Get_size(self):  # noqa: N802 (as in mpi4py)
        return self._size

    def allgather(self, value):
        self._board[self._rank] = value
        self._barrier.wait()
        found = list(self._board)
        self._barrier.wait()
        return found

    def bcast(self, value, root=0):
        return self.allgather(value)[root]

    def gather(self, value, root=0):
        found = self.allgather(value)
        return found if self._rank == root else None

    def scatter(self, values, root=0):
        return self.allgather(values)[root][self._rank]

    def alltoall(self, values):
        return [row[self._rank] for row in self.allgather(values)]

    def Allgather(self, mine, found):  # noqa: N802 (as in mpi4py)
        for row, each in zip(found, self.allgather(mine.copy()), strict=True):
            assert each.dtype == found.dtype
            row[:] = each

    def Bcast(self, array, root=0):  # noqa: N802 (as in mpi4py)
        told = self.allgather(array.copy())[root]
        assert np.shape(told) == np.shape(array)
        array[:] = told

    def Allreduce(self, mine, found):  # noqa: N802 (as in mpi4py)
        found[:] = sum(self.allgather(mine.copy()))

    def Exscan(self, mine, found):  # noqa: N802 (as in mpi4py)
        found[:] = sum(self.allgather(mine.copy())[: self._rank], np.zeros_like(mine))

    def Split(self, color, key):  # noqa: N802 (as in mpi4py)
        told = self.allgather((color, key, self._rank))
        group = sorted((key, rank) for each, key, rank in told if each == color)
        ranks = [rank for _, rank in group]
        made = None
        if ranks[0] == self._rank:
            made = ([None] * len(ranks), threading.Barrier(len(ranks), timeout=60))
            self._made.append(made[1])
        board, barrier = self.allgather(made)[ranks[0]]
        return ThreadComm(ranks.index(self._rank), len(ranks), board, barrier, self._made)

    def Free(self):  # noqa: N802 (as in mpi4py)
        self._board = None

    def Alltoall(self, mine, found):  # noqa: N802 (as in mpi4py)
        found[:] = [each[self._rank] for each in self.allgather(mine.copy())]

    def Alltoallv(self, mine, found):  # noqa: N802 (as in mpi4py)
        numbers, counts = mine
        assert len(numbers) == sum(counts)
        parts = self.alltoall(np.split(numbers.copy(), np.cumsum(counts)[:-1]))
        assert [len(part) for part in parts] == found[1].tolist()
        assert all(part.dtype == found[0].dtype for part in parts)
        found[0][:] = np.concatenate(parts)


def together(size, work):
    """Run ``work(comm)`` on every member of a group of threads; return what each returns.

    A member that fails frees the others from their waiting, as ``MPI_Abort`` does.
    """
    board, barrier = [None] * size, threading.Barrier(size, timeout=60)
    barriers = [barrier]

    def one(rank):
        try:
            return work(ThreadComm(rank, size, board, barrier, barriers))
        except BaseException:
            for each in barriers:
                each.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        members = [pool.submit(one, rank) for rank in range(size)]
        faults = [found for found in (member.exception() for member in members) if found is not None]
        faults.sort(key=lambda fault: isinstance(fault.__cause__ or fault, threading.BrokenBarrierError))
        if faults:
            raise faults[0]
        return [member.result() for member in members]

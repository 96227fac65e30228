"""What programs use of ``mpi4py.MPI``, with threads for processes and a clock of its own for each of them."""

import queue
import sys
import threading
import types
from collections import defaultdict

import numpy as np

from helpers.together import together

own = threading.local()


class Requests:
    """Receives that were posted, and sends, which need no waiting."""

    @staticmethod
    def Waitall(posted):  # noqa: N802 (as in mpi4py)
        for receive in filter(None, posted):
            receive()


class World:
    """COMM_WORLD; ``cost(a, b, n)`` are the seconds that a message of n bytes takes from rank a to b."""

    def __init__(self, cost):
        self.cost, self.sent, self.boxes = cost, [], defaultdict(queue.Queue)

    def Get_rank(self):  # noqa: N802
        return own.comm.Get_rank()

    def Get_size(self):  # noqa: N802
        return own.comm.Get_size()

    def Barrier(self):  # noqa: N802
        own.now = max(own.comm.allgather(own.now))

    def send(self, value, to, tag):
        self.boxes[self.Get_rank(), to, tag].put((value, own.now))

    def recv(self, source, tag):
        return self.boxes[source, self.Get_rank(), tag].get(timeout=60)[0]

    def Send(self, buffer, to, tag=0):  # noqa: N802
        size = len(buffer[0])
        self.sent.append((self.Get_rank(), to, size))
        self.boxes[self.Get_rank(), to, tag].put((size, own.now + self.cost(self.Get_rank(), to, size)))

    def Recv(self, buffer, source, tag=0):  # noqa: N802
        size, at = self.boxes[source, self.Get_rank(), tag].get(timeout=60)
        assert size == len(buffer[0])
        own.now = max(own.now, at)

    def Isend(self, buffer, dest):  # noqa: N802
        self.Send(buffer, dest)

    def Irecv(self, buffer, source):  # noqa: N802
        return lambda: self.Recv(buffer, source)

    def Reduce(self, mine, found, op, root):  # noqa: N802
        told = own.comm.gather(mine.copy(), root)
        if told is not None:
            found[:] = op(told)


def started(monkeypatch, size, cost, main):
    """Run ``main()`` in every process of a world; return what each returns, and the world."""
    mpi = types.ModuleType("mpi4py.MPI")
    mpi.COMM_WORLD, mpi.BYTE, mpi.Request = World(cost), None, Requests
    mpi.MAX, mpi.Wtime = (lambda rows: np.max(rows, axis=0)), lambda: own.now
    mpi.Get_processor_name, mpi.Get_library_version = lambda: "here", lambda: "Some MPI 4, of a test\nmore"
    package = types.ModuleType("mpi4py")
    package.MPI = mpi
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)

    def work(comm):
        own.comm, own.now = comm, 0.0
        return main()

    return together(size, work), mpi.COMM_WORLD

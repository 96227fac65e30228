"""One of the processes that map a graph together: its collective calls, with counts of bytes and seconds."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import HopbytesError

Comm: TypeAlias = Any  # mpi4py.MPI.Intracomm; mpi4py has to be optional


class Member:
    """A communicator that counts what this process sends to others, by phase; all methods are collective."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self.sent: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self._phase = "start"
        self._cpu = {"start": time.process_time(), "calls": 0.0}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is sent inside the block under a name."""
        before, began = self._phase, time.perf_counter()
        self._phase = name
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            self._phase = before

    def split(self, color: int) -> Member:
        """Return the member of the group of all with the same color; its counts are those of this one."""
        found = Member(self._call(self.comm.Split, color, self.rank))
        found.sent, found.seconds, found._phase, found._cpu = self.sent, self.seconds, self._phase, self._cpu
        return found

    @property
    def computing(self) -> float:
        """Processor seconds so far outside collective calls."""
        return time.process_time() - self._cpu["start"] - self._cpu["calls"]

    def close(self) -> None:
        """Free the communicator of a group."""
        self.comm.Free()

    def all(self, value: Any) -> list[Any]:
        """Return the values of all members, by rank."""
        if self.size == 1:
            return [value]
        data = pickle.dumps(value)
        self._book((self.size - 1) * len(data))
        return [pickle.loads(each) for each in self._call(self.comm.allgather, data)]

    def total(self, number: int) -> int:
        """Return the exact sum of an integer over all members."""
        return sum(self.all(int(number)))

    def summed(self, array: Int64) -> Int64:
        """Return the sums of the entries of an int64 array (MPI_Allreduce); they have to fit into 63 bits."""
        found = np.empty_like(array)
        self._book(array.nbytes if self.size > 1 else 0)
        self._call(self.comm.Allreduce, np.ascontiguousarray(array), found)
        return found

    def before(self, array: Int64) -> Int64:
        """Return the sums of the entries over the members of lower rank (MPI_Exscan)."""
        found = np.zeros_like(array)
        self._book(array.nbytes if self.size > 1 else 0)
        self._call(self.comm.Exscan, np.ascontiguousarray(array), found)
        if self.rank == 0:  # where MPI leaves the result undefined
            found[:] = 0
        return found

    def counts(self, mine: Int64) -> Int64:
        """Send entry i of int64[size] to member i; return what each member sent (MPI_Alltoall)."""
        found = np.empty(self.size, np.int64)
        self._book(8 * (self.size - 1))
        self._call(self.comm.Alltoall, np.ascontiguousarray(mine, np.int64), found)
        return found

    def exchange(self, mine: Int64, theirs: Int64, *columns: Int64) -> list[Int64]:
        """Send the first ``mine[0]`` entries of every column to member 0, the next to member 1, and so on."""
        received = []
        own = int(mine[self.rank])
        for column in columns:
            found = np.empty(int(theirs.sum()), np.int64)
            self._book(8 * (len(column) - own))
            sending = np.ascontiguousarray(column, np.int64)
            self._call(self.comm.Alltoallv, [sending, mine], [found, theirs])
            received.append(found)
        return received

    def agree(self, fault: BaseException | str | None) -> None:
        """Raise the first fault that any member tells on all of them."""
        if isinstance(fault, BaseException):
            fault = _sentence(fault)
        faults = [text for text in self.all(fault) if text]
        if faults:
            raise HopbytesError(faults[0])

    def same(self, what: str, value: Any) -> None:
        """Raise HopbytesError on all members unless they have the same value."""
        mark = hashlib.sha256(repr(value).encode()).hexdigest()
        told = self.all((mark, repr(value)[:60]))
        for rank, (other, text) in enumerate(told):
            if other != told[0][0]:
                one = f"rank 0 has {told[0][1]}, rank {rank} has {text}"
                raise HopbytesError(f"the {what} differs between ranks: {one}; expected the same on all")

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        began = time.process_time()
        try:
            return call(*arguments)
        finally:
            self._cpu["calls"] += time.process_time() - began

    def _book(self, sent: int) -> None:
        self.sent[self._phase] = self.sent.get(self._phase, 0) + sent


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__

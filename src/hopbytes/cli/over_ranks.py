"""Verbs that all processes of an MPI job run together: one message, one exit code, no endless waiting."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from hopbytes.errors import HopbytesError, UnsupportedError

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation

#: Seconds that a process waits for the others to have the same error.
PATIENCE = 5.0
#: Seconds for the launcher to pass a message on before it ends all processes.
SETTLE = 0.3
Work = Callable[[Any, "Callable[[], Allocation]"], Any]


def world() -> Any:
    """Return the communicator of all processes; UnsupportedError without mpi4py or an MPI library."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        what = f"needs mpi4py and an MPI library (pip install mpi4py): {reason}"
        raise UnsupportedError(what) from None
    return MPI.COMM_WORLD


def run_on_all(work: Work, machine: Callable[[], Allocation]) -> Any:
    """Run `work` on this process; return what it returns on rank 0, and None on others.

    An error that all processes have is told by rank 0. One that a single process has is told by that one, and
    ends all of them (MPI_Abort).
    """
    comm = world()
    rank = comm.Get_rank()
    try:
        found = work(comm, machine)
    except HopbytesError as error:
        _end_together(comm, rank, error)
    except BaseException as error:
        _complain(f"rank {rank}: {_sentence(error)}")
        _abort(comm)
    return found if rank == 0 else None


def _end_together(comm: Any, rank: int, error: HopbytesError) -> NoReturn:
    """Tell an error once and end; a launcher would end rank 0 too early if others ended before."""
    from hopbytes.cli.option_names import for_terminal

    text = for_terminal(" ".join(str(error).splitlines()))
    if rank == 0:
        _complain(text)
    everyone = comm.Ibarrier()
    deadline = time.monotonic() + PATIENCE
    while not everyone.Test():
        if time.monotonic() > deadline:
            if rank:
                _complain(f"rank {rank}: {text}")
            _abort(comm)
        time.sleep(0.01)
    raise SystemExit(1)


def _abort(comm: Any) -> NoReturn:
    sys.stdout.flush()
    time.sleep(SETTLE)
    comm.Abort(1)
    raise SystemExit(1)


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory for this problem"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text} ({os.path.basename(place.filename)}:{place.lineno})"


def _complain(text: str) -> None:
    from hopbytes.cli.app import complain

    complain(text)

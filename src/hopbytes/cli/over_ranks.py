"""Verbs on all processes of an MPI job: one message, one exit code, no endless waiting."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from hopbytes.cli.error_line import complain, sentence
from hopbytes.errors import HopbytesError, UnsupportedError

if TYPE_CHECKING:
    from hopbytes.cli.machine_options import MachineOptions
    from hopbytes.model.allocation import PlaceLike

#: Seconds that a process waits for the others to have the same error.
PATIENCE = 5.0
#: Seconds for the launcher to pass a message on before it ends all processes.
SETTLE = 0.3
Work = Callable[[Any, "Callable[[], PlaceLike]"], Any]


def world() -> Any:
    """Return the communicator of all processes; UnsupportedError without mpi4py or an MPI library."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        what = f"needs mpi4py and an MPI library (pip install mpi4py): {reason}"
        raise UnsupportedError(what) from None
    return MPI.COMM_WORLD


def run_on_all(work: Work, machine: Callable[[], PlaceLike]) -> Any:
    """Run `work` on this process; return what it returns on rank 0, and None on others.

    Rank 0 prints an error that all processes have. A process prints one that it has alone, and ends all of
    them (MPI_Abort).
    """
    comm = world()
    rank = comm.Get_rank()
    try:
        record = work(comm, machine)
    except HopbytesError as error:
        _end_together(comm, rank, error)
    except BaseException as error:
        complain(f"rank {rank}: {_sentence(error)}")
        _abort(comm)
    return record if rank == 0 else None


def eval_distributed(graph: str, mapping: str, machine: MachineOptions, *, json: bool) -> None:
    """Evaluate a mapping on all processes; one of them prints the answer."""
    from hopbytes.cli.output import print_answer
    from hopbytes.mpi.distributed.mapping import evaluate_file, evaluated_sentence

    record = run_on_all(partial(evaluate_file, graph=graph, mapping=mapping), machine.whole_or_part)
    if record is not None:
        print_answer(record, evaluated_sentence(record), json=json)


def _end_together(comm: Any, rank: int, error: HopbytesError) -> NoReturn:
    """Print an error once and end; a launcher would end rank 0 too early if others ended before."""
    text = sentence(error)
    if rank == 0:
        complain(text)
    everyone = comm.Ibarrier()
    deadline = time.monotonic() + PATIENCE
    while not everyone.Test():
        if time.monotonic() > deadline:
            if rank:
                complain(f"rank {rank}: {text}")
            _abort(comm)
        time.sleep(0.01)
    raise SystemExit(1)


def _abort(comm: Any) -> NoReturn:
    sys.stdout.flush()
    time.sleep(SETTLE)
    comm.Abort(1)
    raise SystemExit(1)


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.filename is not None):
        return sentence(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text} ({os.path.basename(frame.filename)}:{frame.lineno})"

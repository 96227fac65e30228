"""Grade ``replay`` of a trace: the recorded messages in their own order, with what each rank waited for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hopbytes.errors import FormatError, HopbytesError
from hopbytes.formats.base import TRACE
from hopbytes.formats.parsing import shown
from hopbytes.formats.patterns.traces import trace_actions
from hopbytes.model.comm_graph import CommGraph

#: Actions that are passed on, and the positions of amounts of computation among their values.
PASSED: dict[bytes, tuple[int, ...]] = {
    **dict.fromkeys(
        (b"init", b"finalize", b"comm_size", b"comm_split", b"comm_dup", b"send", b"isend", b"ssend",
         b"issend", b"recv", b"irecv", b"sendrecv", b"wait", b"waitall", b"test", b"barrier", b"bcast",
         b"alltoall", b"alltoallv", b"gather", b"gatherv", b"scatter", b"scatterv", b"allgather",
         b"allgatherv"),
        (),
    ),
    b"reduce": (1,), b"allreduce": (1,), b"scan": (1,), b"exscan": (1,),
}  # fmt: skip
#: Actions of which every rank may send to every other one.
TO_ALL = frozenset(
    ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "gatherv", "scatter", "scatterv",
     "allgather", "allgatherv", "alltoall", "alltoallv")
)  # fmt: skip
#: Computation, which is no part of the prediction.
LEFT_OUT = (b"compute", b"sleep")
#: Sends and receives, which before SimGrid 3.20 had no tag.
TAGGED = (b"send", b"isend", b"recv", b"irecv")
VALUE = re.compile(rb"-?\d{1,18}(\.\d{1,18})?([eE]\+?\d{1,2})?")
SAID = "the recorded messages follow one another as in the trace; its computation is left out"


def trace_of(graph: CommGraph) -> str | None:
    """Return the path of the trace that a pattern was read from; None where its order is not kept."""
    path = graph.meta.get(TRACE)
    return path if isinstance(path, str) else None


def actions_in_order(path: str, tasks: int) -> Iterator[str]:
    """Yield the actions of a trace as SimGrid 3.20 and later reads them, without computation."""
    begun, ended = set[int](), set[int]()
    for name, place, fields in trace_actions(path):
        action, values = fields[1].lower(), fields[2:]
        if action in LEFT_OUT:
            continue
        if action not in PASSED:
            what = f"{shown(fields[1])}, expected an action that can be replayed ({_known()})"
            raise FormatError(name, place, what)
        for value in (fields[0], *values):
            if not VALUE.fullmatch(value):
                raise FormatError(name, place, f"{shown(value)}, expected a number")
        rank = int(fields[0]) if fields[0].isdigit() else -1
        if not 0 <= rank < tasks:
            raise FormatError(name, place, f"rank {shown(fields[0])}, expected 0 to {tasks - 1}")
        if action == b"init":
            begun.add(rank)
        elif action == b"finalize":
            ended.add(rank)
        elif rank not in begun:
            raise FormatError(name, place, f"rank {rank} begins with {shown(fields[1])}, expected init")
        if action in TAGGED and len(values) == 2:
            values.insert(1, b"0")
        for at in PASSED[action]:
            if at < len(values):
                values[at] = b"0"
        yield b" ".join((str(rank).encode(), action, *values)).decode()
    if len(begun) < tasks:
        raise HopbytesError(f"{path}: {len(begun)} of {tasks} ranks begin, expected all of them")
    for rank in sorted(begun - ended):
        yield f"{rank} finalize"


def _known() -> str:
    return ", ".join(sorted(action.decode() for action in PASSED))

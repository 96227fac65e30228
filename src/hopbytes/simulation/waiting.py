"""Grade ``waiting``: a recorded trace, whose ranks wait for each other's messages, on a machine's links."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from hopbytes._arrays import Bool, Float64, Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.engine.control import RunControl, interruptible
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.formats.patterns.traces import TraceStep, steps_of_trace
from hopbytes.kernels.base import kernel
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import KINDS
from hopbytes.patterns.collective_rounds import rounds
from hopbytes.simulation.bound import Round

#: Kinds of steps and protocols of messages, in the order of core/simulation/waiting.hpp.
SEND, POST, RECEIVED, SENT = range(4)
EAGER, DETACHED, RENDEZVOUS = range(3)
#: Bytes up to which a message is sent before its receive is posted, by a part of what the MPI library calls
#: itself, or of the component by which it sends: the first that occurs. Defaults of Open MPI 4 and 5 (UCX;
#: TCP between nodes), Intel MPI 2021, MVAPICH2 2.3 and MPICH 4.
EAGER_LIMITS = (
    ("ucx", 8192), ("openib", 12288), ("Open MPI", 65536), ("Intel", 262144), ("MVAPICH", 16384),
    ("MPICH", 131072),
)  # fmt: skip
#: The limit where the MPI is not known: that of Open MPI.
USUAL_EAGER = 65536
#: A message has arrived when this share of its bytes is missing, so that equal ones end together.
TOLERANCE = 1e-6


@frozen(eq=False)
class Program:
    """The steps of all ranks, as arrays, and the messages between them."""

    first: Int64  # int64[ranks + 1]: rank r has the steps first[r] to first[r + 1]
    kinds: UInt8  # uint8[steps]
    messages: Int32  # int32[steps]
    sources: Int32  # int32[messages]
    targets: Int32  # int32[messages]
    bytes: Float64  # float64[messages]
    synchronous: Bool  # bool[messages]: MPI_Ssend
    notices: tuple[str, ...]


def program_of(path: str, tasks: int) -> Program:
    """Return the program of a trace; the last two are kept as long as their files do not change."""
    about = os.stat(path)
    return _program(path, tasks, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=2)
def _program(path: str, tasks: int, changed: int, size: int) -> Program:
    return _Builder(steps_of_trace(path, tasks)).program()


def eager_limit(mpi: str, components: dict[str, list[str]] | None = None) -> int:
    """Return the bytes up to which the MPI of a recording sends at once."""
    names = " ".join([*(components or {}).get("pml", ()), *(components or {}).get("btl", ()), mpi])
    return next((limit for part, limit in EAGER_LIMITS if part in names), USUAL_EAGER)


def recorded_eager(graph: CommGraph) -> int:
    """Return the limit of the MPI with which a pattern was recorded."""
    facts = graph.meta.get("recorded")
    facts = facts if isinstance(facts, dict) else {}
    components = facts.get("components")
    return eager_limit(str(facts.get("mpi", "")), components if isinstance(components, dict) else None)


class _Builder:
    """Turns the steps of a trace into arrays: pairs sends with receives, and collectives become rounds."""

    def __init__(self, ranks: list[list[TraceStep]]) -> None:
        self.ranks, self.n = ranks, len(ranks)
        self.messages: list[tuple[int, int, int, bool]] = []
        self.alone: Counter[str] = Counter()
        #: (source, target, tag) -> messages that were sent, in their order
        self.sent: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        self.calls: list[list[list[tuple[int, int]]]] = []

    def program(self) -> Program:
        own_messages = [list(self._sends(own, steps)) for own, steps in enumerate(self.ranks)]
        self.calls = self._collectives()
        paired = [list(self._receives(own, steps)) for own, steps in enumerate(self.ranks)]
        lost = {message for queue in self.sent.values() for message in queue}
        self.alone["sends without a receive"] += len(lost)
        lines = [
            self._steps(own, steps, iter(own_messages[own]), iter(paired[own]), lost)
            for own, steps in enumerate(self.ranks)
        ]
        flat = np.array([step for line in lines for step in line], np.int64).reshape(-1, 2)
        table = np.array(self.messages, np.int64).reshape(-1, 4)
        notices = [f"the trace lacks {count} {what}" for what, count in self.alone.items() if count]
        return Program(
            np.cumsum([0, *map(len, lines)]).astype(np.int64), flat[:, 0].astype(np.uint8),
            flat[:, 1].astype(np.int32), table[:, 0].astype(np.int32), table[:, 1].astype(np.int32),
            table[:, 2].astype(np.float64), table[:, 3].astype(bool), tuple(notices),
        )  # fmt: skip

    def _message(self, source: int, target: int, size: int, *, synchronous: bool = False) -> int:
        self.messages.append((source, target, size, synchronous))
        return len(self.messages) - 1

    def _sends(self, own: int, steps: list[TraceStep]) -> Iterator[int]:
        for step in steps:
            if step.what.endswith("send"):
                if step.peer >= self.n:
                    what = f"a message to rank {step.peer}, expected 0 to {self.n - 1}"
                    raise FormatError("trace", None, what)
                message = self._message(own, step.peer, step.bytes, synchronous="ss" in step.what)
                self.sent[own, step.peer, step.tag].append(message)
                yield message

    def _receives(self, own: int, steps: list[TraceStep]) -> Iterator[int]:
        """Yield the message of every receive of a rank; -1 where no rank sends one."""
        for step in steps:
            if step.what in ("recv", "irecv"):
                waiting = self.sent.get((step.peer, own, step.tag))
                self.alone["receives without a send"] += not waiting
                yield waiting.popleft() if waiting else -1

    def _collectives(self) -> list[list[list[tuple[int, int]]]]:
        """Return the steps of each rank in each call in which all take part."""
        parts = [[step for step in steps if step.what in KINDS] for steps in self.ranks]
        whole = min(map(len, parts), default=0)
        lacking = sum(len(part) - whole for part in parts)
        self.alone["parts of collectives of which not all are known"] += lacking
        return [self._call([part[number] for part in parts]) for number in range(whole)]

    def _call(self, parts: list[TraceStep]) -> list[list[tuple[int, int]]]:
        kind = parts[0].what
        if any(part.what != kind for part in parts):
            what = f"{kind} and other collectives in one call, expected the same of all"
            raise FormatError("trace", None, what)
        if any(part.blocks for part in parts):
            pairs = [
                (own, other, size)
                for own, part in enumerate(parts)
                for other, size in enumerate(part.blocks)
                if own != other
            ]
            together = [pairs]
        else:
            together = rounds(kind, [part.bytes for part in parts], parts[0].peer)
        steps: list[list[tuple[int, int]]] = [[] for _ in parts]
        for each in together:
            ends: list[list[tuple[int, int]]] = [[] for _ in parts]
            for source, target, size in each:
                message = self._message(source, target, size)
                steps[target].append((POST, message))
                ends[source] += [(SEND, message), (SENT, message)]
                ends[target].append((RECEIVED, message))
            for own, mine in enumerate(ends):
                steps[own] += sorted(mine, key=lambda step: step[0] != SEND)
        return steps

    def _steps(
        self, own: int, steps: list[TraceStep], sends: Iterator[int], receives: Iterator[int], lost: set[int]
    ) -> list[tuple[int, int]]:
        """Return the steps of a rank, in which sends and receives without a partner are left out."""
        made: list[tuple[int, int]] = []
        #: requests that have not been waited for, by (source, target, tag)
        pending: dict[tuple[int, int, int], deque[tuple[int, int]]] = defaultdict(deque)
        call = 0
        for step in steps:
            is_send = step.what.endswith("send")
            if is_send or step.what in ("recv", "irecv"):
                message = next(sends if is_send else receives)
                if message < 0 or message in lost:
                    continue
                begin, end = (SEND, SENT) if is_send else (POST, RECEIVED)
                key = (own, step.peer, step.tag) if is_send else (step.peer, own, step.tag)
                made.append((begin, message))
                (pending[key] if step.what.startswith("i") else made).append((end, message))
            elif step.what == "wait":
                requests = pending[step.peer, step.target, step.tag]
                if requests:
                    made.append(requests.popleft())
            elif step.what == "waitall":
                made += sorted(request for requests in pending.values() for request in requests)
                pending.clear()
            elif step.what in KINDS:
                if call < len(self.calls):
                    made += self.calls[call][own]
                call += 1
        return made


def replayed(
    program: Program, load: Round, copy: tuple[float, float], *, eager: int = USUAL_EAGER,
    detached: int | None = None, bytes_scale: float = 1.0, ordered: bool = True, timeout: float = 600.0,
) -> float:
    """Return the seconds of a program; `copy` has bytes per second and seconds of messages inside a unit.

    Messages of up to `eager` bytes travel at once, larger ones when their receive is posted, and their sender
    waits, unless they have up to `detached` bytes. The messages of one rank to another follow each other,
    unless not `ordered`. O(messages x messages under way x links of a route).
    """
    size = program.bytes * bytes_scale
    protocol = np.full(len(size), RENDEZVOUS, np.uint8)
    protocol[size <= (detached or 0)] = DETACHED
    protocol[size <= eager] = EAGER
    protocol[program.synchronous] = RENDEZVOUS
    n = len(program.first) - 1
    pair = program.sources.astype(np.int64) * n + program.targets
    queue = np.unique(pair, return_inverse=True)[1].reshape(-1) if ordered else np.arange(len(size))
    paths = _paths(program, load, copy)
    passed, begun, arrived = np.empty(len(program.kinds)), np.empty(len(size)), np.empty(len(size))
    control = RunControl(deadline=time.monotonic() + timeout)
    flag = control.flag()
    stuck = interruptible(
        lambda: kernel.replay_waiting(
            program.first, program.kinds, program.messages, protocol, queue.astype(np.int32), *paths[:1],
            size, *paths[1:], load.links.capacity.astype(np.float64), TOLERANCE, flag, passed, begun, arrived,
        ),
        flag, control, len(size),
    )  # fmt: skip
    if flag[0]:
        raise HopbytesError(
            f"the replay did not end within {timeout:g} seconds and was stopped (`time_limit` gives it more)"
        )
    if stuck:
        raise HopbytesError(
            f"{stuck} of {n} processes wait for messages that no process sends, expected a complete trace"
        )
    last = program.first[1:] - 1
    ends = passed[last[program.first[1:] > program.first[:-1]]]
    return float(ends.max(initial=0.0))


def both_times(
    program: Program, load: Round, copy: tuple[float, float], eager: int, **options: Any
) -> tuple[float, float]:
    """Replay a program under two protocols; what an MPI library does lies between them.

    First messages of up to the eager limit travel when they are sent. Then all data travel when the receive
    is posted, and senders of eager messages do not wait.
    """
    once = replayed(program, load, copy, eager=eager, **options)
    return once, replayed(program, load, copy, eager=-1, detached=eager, **options)


def _paths(
    program: Program, load: Round, copy: tuple[float, float]
) -> tuple[Int32, Int64, Int64, Float64, Float64, Float64]:
    """Return the path of every message; links of paths, their shares, and latency and rate of each path."""
    ports, links = load.ports, load.links
    source, target = ports.of_task[program.sources], ports.of_task[program.targets]
    inside = ports.unit[source] == ports.unit[target]
    count = max(1, len(ports.node))
    keys, of_message = np.unique(np.where(inside, -1, source * count + target), return_inverse=True)
    first, second = np.divmod(np.maximum(keys, 0), count)
    apart = keys >= 0
    routes = links.routes(ports.endpoint[first], ports.endpoint[second])
    lengths = np.where(apart, np.diff(routes.indptr), 0)
    kept = np.repeat(apart, np.diff(routes.indptr))
    share = routes.shares
    path = np.repeat(np.arange(len(keys)), np.diff(routes.indptr))
    along = np.bincount(path, weights=share * links.latency[routes.links], minlength=len(keys))
    latency = np.where(apart, links.message + along, copy[1])
    return (
        of_message.reshape(-1).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        routes.links[kept].astype(np.int64), share[kept].astype(np.float64), latency.astype(np.float64),
        np.where(apart, np.inf, copy[0]).astype(np.float64),
    )  # fmt: skip

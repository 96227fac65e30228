"""The steps of all ranks, as the interposer wrote them, become a time-independent trace for SimGrid."""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.files import atomic_write
from hopbytes.patterns.collective_messages import KINDS
from hopbytes.patterns.collective_rounds import rounds
from hopbytes.text.lines import Lines, shown

#: Kinds of collectives by their numbers in the interposer.
KIND_NUMBERS = (
    "bcast", "reduce", "gather", "scatter", "allreduce", "allgather", "reduce_scatter", "alltoall", "scan",
    "barrier",
)  # fmt: skip
assert set(KIND_NUMBERS) == set(KINDS)
#: Collectives that SimGrid carries out itself if all ranks take part; {b} stands for bytes, {r} for the root.
NATIVE = {
    "bcast": "bcast {b} {r} 6", "reduce": "reduce {b} 0 {r} 6", "gather": "gather {b} {b} {r} 6 6",
    "scatter": "scatter {b} {b} {r} 6 6", "allreduce": "allreduce {b} 0 6",
    "allgather": "allgather {b} {b} 6 6",
    "alltoall": "alltoall {b} {b} 6 6", "scan": "scan {b} 0 6", "barrier": "barrier",
}  # fmt: skip
#: Most steps of a rank if the caller does not say.
TRACE_STEPS = 1_000_000
#: Most steps of all ranks together that are kept beside a pattern, and the fewest of each of them.
KEPT_STEPS, LEAST_KEPT = 65_536, 64
#: Actions of messages by the steps that send them.
SENDS = {"s": "isend", "S": "send", "y": "issend", "Y": "ssend"}


class Step(NamedTuple):
    """What a rank did."""
    # p posted a receive, w completed it; a blocks follow, b block, c collective. Sent: s by a call that
    # returns at once, S by one that may block, y and Y the same if it waits for the receiver; f waited for a
    # send.

    what: str
    peer: int
    tag: int
    group: int
    amount: int


@dataclass
class Rank:
    """The steps of a rank and the members of its communicators, by their numbers in the rank."""

    steps: list[Step] = field(default_factory=list)
    groups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    between: set[int] = field(default_factory=set)
    one_sided: int = 0
    over: bool = False


#: Source, target, tag of the trace, and bytes.
Message: TypeAlias = tuple[int, int, int, int]
#: The members of a communicator, and the number of the call of a collective among them.
Call: TypeAlias = tuple[tuple[int, ...], int]


def read_order(folder: str, n: int, allowed: int | None) -> tuple[list[list[str]], list[str]]:
    """Return the actions of every rank, and notices about what is not in them; O(steps of all ranks)."""
    # With `allowed` None they are the first steps of each rank, the others are left out.
    ranks = [_read(os.path.join(folder, f"order.{own}.txt")) for own in range(n)]
    over = [own for own, rank in enumerate(ranks) if rank.over]
    if over and allowed is not None:
        what = f"{len(over)} of {n} ranks made more than {allowed} steps (rank {over[0]}), expected fewer"
        raise FormatError("trace", None, f"{what} (`trace_steps` sets it)")
    if allowed is None:
        most = max(LEAST_KEPT, KEPT_STEPS // max(1, n))
        for rank in ranks:
            del rank.steps[most:]
    return _Builder(ranks).trace()


def _read(path: str) -> Rank:
    rank, ended = Rank(), False
    try:
        with open(path, "rb") as stream:
            lines = Lines(stream, path)
            for line in lines:
                try:
                    word, *numbers = line.split()
                    values = list(map(int, numbers))
                    if word == b"g":
                        rank.groups[values[0]] = tuple(values[2:])
                        if values[1]:
                            rank.between.add(values[0])
                    elif word in (b"end", b"over"):
                        rank.one_sided, rank.over, ended = values[0], word == b"over", True
                    else:
                        peer, tag, group, amount = values
                        rank.steps.append(Step(word.decode(), peer, tag, group, amount))
                except (ValueError, IndexError):
                    raise lines.error(f"{shown(line.strip())}, expected a step") from None
    except OSError as error:
        raise FormatError(path, None, f"{error.strerror}, expected the steps of a rank") from None
    if not ended:
        raise FormatError(path, None, "an incomplete file, expected all steps of a rank")
    return rank


def check_folder(folder: str) -> None:
    """Raise UnsupportedError unless a trace can be written into `folder`: a new one, or an empty one."""
    try:
        if os.path.lexists(folder) and os.listdir(folder):
            raise UnsupportedError(f"{folder}: it is not empty, expected a new folder")
    except OSError as error:
        raise UnsupportedError(f"{folder}: {error.strerror}, expected a folder for the trace") from None


def write_trace(actions: list[list[str]], folder: str) -> str:
    """Write the files of a trace, one per rank, and return the path of the first."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UnsupportedError(f"{folder}: {error.strerror}, expected a folder for the trace") from None
    paths = [os.path.join(folder, f"trace{rank}.txt") for rank in range(len(actions))]
    texts = ("".join(f"{action}\n" for action in own) for own in actions)
    atomic_write(dict(zip(paths, texts, strict=True)))
    return paths[0]


class _Builder:
    """Pairs sends with receives and the parts of collectives, and writes what has partners."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.ranks, self.n = ranks, len(ranks)
        self.everyone = tuple(range(self.n))
        #: (source, target, program's tag) → numbers and bytes of its messages, in the order of the sends.
        self.sent: dict[tuple[int, int, int], deque[tuple[int, int]]] = defaultdict(deque)
        #: steps and blocks of the ranks in a call of a collective
        self.calls: dict[Call, dict[int, Step]] = defaultdict(dict)
        self.blocks: dict[Call, list[list[Message]]] = {}
        self.tags = itertools.count(1)
        self.alone: Counter[str] = Counter()

    def trace(self) -> tuple[list[list[str]], list[str]]:
        for own, rank in enumerate(self.ranks):
            self._collect(own, rank)
        pairs = self._pairs()
        lines = [list(self._actions(own, rank, pairs)) for own, rank in enumerate(self.ranks)]
        notices = [f"the trace lacks {count} {what}" for what, count in self.alone.items() if count]
        one_sided = sum(rank.one_sided for rank in self.ranks)
        if one_sided:
            notices.append(f"the trace lacks {one_sided} one-sided transfers")
        return lines, notices

    def _collect(self, own: int, rank: Rank) -> None:
        counts: Counter[tuple[int, ...]] = Counter()
        call: Call | None = None
        for at, step in enumerate(rank.steps):
            if step.what in SENDS:
                self.sent[own, step.peer, step.tag].append((at, step.amount))
            elif step.what in "ac":
                call = _next_call(rank, step, counts)
                self.calls[call][own] = step
            elif step.what == "b" and call is not None:
                block = own, step.peer, next(self.tags), step.amount
                self.blocks.setdefault(call, [[]])[0].append(block)

    def _pairs(self) -> dict[tuple[int, int], Message]:
        """Return the message by (rank, step), for both ends."""
        pairs = {}
        for own, rank in enumerate(self.ranks):
            posts = [at for at, step in enumerate(rank.steps) if step.what == "p"]
            done = {step.amount: step for step in rank.steps if step.what == "w"}
            for number, at in enumerate(posts):
                # Messages of one sender with one tag arrive in the order of the receives that were posted.
                step = done.get(number)
                waiting = self.sent.get((step.peer, own, step.tag)) if step is not None else None
                if step is None or not waiting:
                    self.alone["receives without a send"] += 1
                    continue
                sent, size = waiting.popleft()
                pairs[step.peer, sent] = pairs[own, at] = step.peer, own, next(self.tags), size
        self.alone["sends without a receive"] += sum(map(len, self.sent.values()))
        return pairs

    def _actions(self, own: int, rank: Rank, pairs: dict[tuple[int, int], Message]) -> Iterator[str]:
        counts: Counter[tuple[int, ...]] = Counter()
        posts: list[Message | None] = []
        sends: list[Message | None] = []
        yield f"{own} init"
        yield f"{own} comm_size {self.n}"
        for at, step in enumerate(rank.steps):
            pair = pairs.get((own, at))
            if step.what in SENDS:
                sends.append(pair)
                if pair:
                    yield f"{own} {SENDS[step.what]} {pair[1]} {pair[2]} {pair[3]} 6"
            elif step.what == "p":
                posts.append(pair)
                if pair:
                    yield f"{own} irecv {pair[0]} {pair[2]} {pair[3]} 6"
            elif step.what == "w" and (posted := posts[step.amount]):
                yield f"{own} wait {posted[0]} {own} {posted[2]}"
            elif step.what == "f" and step.amount < len(sends) and (sent := sends[step.amount]):
                yield f"{own} wait {own} {sent[1]} {sent[2]}"
            elif step.what in "ac":
                yield from self._together(own, step, _next_call(rank, step, counts), rank)
        yield f"{own} waitall"
        yield f"{own} finalize"

    def _together(self, own: int, step: Step, call: Call, rank: Rank) -> Iterator[str]:
        members, parts = call[0], self.calls[call]
        if len(parts) < len(members) or step.group in rank.between:
            self.alone["parts of collectives of which not all are known"] += 1
            return
        if step.what == "c" and members == self.everyone:
            native = NATIVE.get(KIND_NUMBERS[step.tag])
            sizes = {part.amount for part in parts.values()} - {0}
            if native and len(sizes) <= 1:
                yield f"{own} {native.format(b=max(sizes, default=0), r=max(step.peer, 0))}"
                return
        if step.what == "c" and call not in self.blocks:
            volumes = [parts[member].amount for member in members]
            self.blocks[call] = [
                [(members[source], members[target], next(self.tags), size) for source, target, size in each]
                for each in rounds(KIND_NUMBERS[step.tag], volumes, max(step.peer, 0))
            ]
        for each in self.blocks.get(call, ()):
            messages = [block for block in each if own in block[:2] and block[0] != block[1]]
            for source, target, tag, size in messages:
                way = f"isend {target}" if source == own else f"irecv {source}"
                yield f"{own} {way} {tag} {size} 6"
            for source, target, tag, _ in messages:
                yield f"{own} wait {source} {target} {tag}"


def _next_call(rank: Rank, step: Step, counts: Counter[tuple[int, ...]]) -> Call:
    """Return the call of a collective that a step belongs to; `counts` are those of the rank so far."""
    members = rank.groups[step.group]
    counts[members] += 1
    return members, counts[members]

"""Collective calls as rounds of messages: a member begins one when its messages of the last one are done.

The algorithms are those that Open MPI's component `tuned` and MPICH choose for most sizes; where they cut
large messages into segments, one message stands for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

#: Source, target, and bytes.
Block: TypeAlias = tuple[int, int, int]
Round: TypeAlias = list[Block]

#: Bytes from which an all-reduce and an allgather use a ring, and below which a gather and a scatter use a
#: tree.
RING_ALLREDUCE, RING_ALLGATHER, TREE_GATHER = 10_000, 50_000, 1024
#: Bytes of a block from which an all-to-all proceeds in pairs.
PAIRWISE = 3000


def rounds(kind: str, volumes: Sequence[int], root: int = 0) -> list[Round]:
    """Return the rounds of a call; `volumes` are the bytes that each member contributes or receives."""
    return [each for each in _KINDS[kind](list(volumes), root) if each] if len(volumes) > 1 else []


def _distances(size: int) -> Iterator[int]:
    """Yield 1, 2, 4, … below `size`."""
    return (1 << bit for bit in range((size - 1).bit_length()))


def _bcast(volumes: list[int], root: int) -> Iterator[Round]:
    size, volume = len(volumes), volumes[root]
    for distance in _distances(size):
        below = range(min(distance, size - distance))
        yield [((own + root) % size, (own + distance + root) % size, volume) for own in below]


def _backwards(rounds: Iterator[Round]) -> Iterator[Round]:
    for each in reversed(list(rounds)):
        yield [(target, source, volume) for source, target, volume in each]


def _reduce(volumes: list[int], root: int) -> Iterator[Round]:
    return _backwards(_bcast([max(volumes)] * len(volumes), root))


def _gather(volumes: list[int], root: int) -> Iterator[Round]:
    return _backwards(_scatter(volumes, root))


def _scatter(volumes: list[int], root: int) -> Iterator[Round]:
    size = len(volumes)
    if max(volumes) >= TREE_GATHER:
        yield [(root, other, volume) for other, volume in enumerate(volumes) if other != root]
        return
    for distance in reversed(list(_distances(size))):
        each: Round = []
        for below in range(distance, size, 2 * distance):  # the first of a subtree, relative to the root
            part = _part(volumes, below + root, min(distance, size - below))
            each.append(((below - distance + root) % size, (below + root) % size, part))
        yield each


def _part(volumes: list[int], first: int, count: int) -> int:
    return sum(volumes[(first + i) % len(volumes)] for i in range(count))


def _allreduce(volumes: list[int], root: int) -> Iterator[Round]:
    size, volume = len(volumes), max(volumes)
    if volume >= RING_ALLREDUCE:
        for _ in range(2 * (size - 1)):
            yield [(own, (own + 1) % size, -(-volume // size)) for own in range(size)]
        return
    whole = 1 << (size.bit_length() - 1)  # the others join one of these at the beginning and at the end
    joined = [(whole + i, i, volume) for i in range(size - whole)]
    yield joined
    for distance in _distances(whole):
        yield [(own, own ^ distance, volume) for own in range(whole)]
    yield [(target, source, volume) for source, target, _ in joined]


def _allgather(volumes: list[int], root: int) -> Iterator[Round]:
    size = len(volumes)
    if sum(volumes) >= RING_ALLGATHER:
        for step in range(size - 1):
            yield [(own, (own + 1) % size, volumes[(own - step) % size]) for own in range(size)]
        return
    for distance in _distances(size):
        many = min(distance, size - distance)
        yield [(own, (own - distance) % size, _part(volumes, own, many)) for own in range(size)]


def _reduce_scatter(volumes: list[int], root: int) -> Iterator[Round]:
    size = len(volumes)
    for step in range(size - 1):
        yield [(own, (own + 1) % size, volumes[(own - step - 1) % size]) for own in range(size)]


def _alltoall(volumes: list[int], root: int) -> Iterator[Round]:
    size = len(volumes)
    if max(volumes) < PAIRWISE:
        yield [(own, other, volumes[own]) for own in range(size) for other in range(size) if own != other]
        return
    for step in range(1, size):
        yield [(own, (own + step) % size, volumes[own]) for own in range(size)]


def _scan(volumes: list[int], root: int) -> Iterator[Round]:
    yield from ([(own, own + 1, volumes[own])] for own in range(len(volumes) - 1))


def _barrier(volumes: list[int], root: int) -> Iterator[Round]:
    size = len(volumes)
    for distance in _distances(size):
        yield [(own, (own + distance) % size, 0) for own in range(size)]


_KINDS: dict[str, Callable[[list[int], int], Iterator[Round]]] = {
    "bcast": _bcast, "reduce": _reduce, "gather": _gather, "scatter": _scatter, "allreduce": _allreduce,
    "allgather": _allgather, "reduce_scatter": _reduce_scatter, "alltoall": _alltoall, "scan": _scan,
    "barrier": _barrier,
}  # fmt: skip

"""Collective calls as point-to-point messages under a named model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hopbytes.errors import UnsupportedError

#: ``ignore`` leaves collectives out, ``pairs`` sends data directly from its source to every destination,
#: ``ring`` sends to the next rank only, ``binomial`` uses binomial trees.
MODELS = ("ignore", "pairs", "ring", "binomial")

ROOTED = ("bcast", "reduce", "gather", "scatter")
KINDS = (*ROOTED, "allreduce", "allgather", "reduce_scatter", "alltoall", "scan", "barrier")


class Message(NamedTuple):
    """`volume` bytes in `messages` messages from one member of a communicator to another."""

    source: int
    target: int
    volume: int
    messages: int


def check_model(model: str) -> str:
    """Return the name of a model; UnsupportedError if it is unknown."""
    if model not in MODELS:
        raise UnsupportedError(f"collectives {model!r}, expected one of {', '.join(MODELS)}")
    return model


def expand(
    kind: str, model: str, volumes: Sequence[int], root: int = 0, calls: int = 1, *, first: int | None = None
) -> Iterator[Message]:
    """Yield the messages of one collective call, or of several calls with the same members and root."""
    # Every model is linear in the volumes, so calls of the same kind may be summed first. O(p) messages for
    # ring and binomial, O(p²) for pairs and alltoall. A ring all-reduce sends 2 (p - 1) / p of the buffer to
    # the next member (reduce-scatter, then allgather), rounded up. With `first` the call is between two
    # groups (an intercommunicator): that many members, and the others.
    check_model(model)
    size = len(volumes)
    if model == "ignore" or size < 2:
        return
    steps = {"pairs": _pairs, "ring": _ring, "binomial": _binomial}[model]
    between = None if first is None else _between(kind, model, volumes, first, root)
    for source, target, volume, messages in between or steps(kind, list(volumes), root, size):
        yield Message(source, target, volume, messages * calls)


def _between(kind: str, model: str, volumes: Sequence[int], first: int, root: int) -> Iterator[Message]:
    # ``pairs`` sends directly between the groups, O(p²) messages. In ``ring`` and ``binomial`` each group
    # collects its data at its first member, the first members exchange it, and each first member distributes
    # it in its group by the same model, O(p). Rooted calls use one direction only; gather, scatter and
    # all-to-all send directly.
    groups = range(first), range(first, len(volumes))
    if not all(groups):
        return
    if kind in ROOTED:
        away = kind in ("bcast", "scatter")  # data moves from the root's group to the other group
        directions = [((root >= first) == away, (root < first) == away)]
    else:
        directions = [(False, True), (True, False)]
    for source, target in directions:
        steps = _directly if model == "pairs" or kind in DIRECT else _by_leaders
        yield from steps(kind, model, volumes, groups[source], groups[target], root)


#: Calls in which every block has one receiver, so that rings and trees would only add messages.
DIRECT = ("gather", "scatter", "alltoall")


def _directly(
    kind: str, model: str, volumes: Sequence[int], senders: range, receivers: range, root: int
) -> Iterator[Message]:
    if kind in ("bcast", "scatter"):
        senders = range(root, root + 1)
    elif kind in ("reduce", "gather"):
        receivers = range(root, root + 1)
    of_receiver = kind in ("scatter", "reduce_scatter")
    for i in senders:
        for j in receivers:
            yield Message(i, j, volumes[j if of_receiver else i], 1)


def _by_leaders(
    kind: str, model: str, volumes: Sequence[int], senders: range, receivers: range, root: int
) -> Iterator[Message]:
    """Yield the messages of one direction: collect from `senders`, exchange, distribute to `receivers`."""
    own = [volumes[i] for i in senders]
    whole = {"allgather": sum(own), "reduce_scatter": sum(volumes[i] for i in receivers)}.get(kind, own[0])
    source, target = senders[0], receivers[0]
    if kind == "bcast":
        source, whole = root, volumes[root]
    else:
        collected = own if kind in ("reduce", "allgather", "allreduce") else [whole] * len(own)
        yield from _within("gather" if kind == "allgather" else "reduce", model, collected, senders)
    if kind == "reduce":
        target = root
    yield Message(source, target, whole, 1)
    if kind == "reduce_scatter":
        yield from _within("scatter", model, [volumes[i] for i in receivers], receivers)
    elif kind != "reduce":
        yield from _within("bcast", model, [whole] * len(receivers), receivers)


def _within(kind: str, model: str, volumes: list[int], members: range) -> Iterator[Message]:
    for source, target, volume, messages in expand(kind, model, volumes):
        yield Message(members[source], members[target], volume, messages)


def _pairs(kind: str, volumes: list[int], root: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    members = range(size)
    if kind in ("bcast", "scatter"):
        whole = volumes[root]
        yield from ((root, i, whole if kind == "bcast" else volumes[i], 1) for i in members if i != root)
    elif kind in ("reduce", "gather"):
        yield from ((i, root, volumes[i], 1) for i in members if i != root)
    elif kind == "scan":
        yield from ((i, j, volumes[i], 1) for i in members for j in range(i + 1, size))
    elif kind == "reduce_scatter":
        yield from ((i, j, volumes[j], 1) for i in members for j in members if i != j)
    else:
        yield from ((i, j, volumes[i], 1) for i in members for j in members if i != j)


def _ring(kind: str, volumes: list[int], root: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    if kind in ("gather", "scatter", "alltoall"):
        yield from _pairs(kind, volumes, root, size)
    elif kind in ("bcast", "reduce"):
        # A bcast moves along the ring from the root, a reduce along the ring to the root.
        first = root if kind == "bcast" else root + 1
        for step in range(size - 1):
            source = (first + step) % size
            yield source, (source + 1) % size, volumes[root if kind == "bcast" else source], 1
    elif kind == "scan":
        yield from ((i, i + 1, volumes[i], 1) for i in range(size - 1))
    else:
        total = sum(volumes)
        for i in range(size):
            following = (i + 1) % size
            if kind == "allreduce":
                yield i, following, -(-2 * (size - 1) * volumes[i] // size), 2 * (size - 1)
            elif kind == "allgather":  # a member forwards every block except that of the next member
                yield i, following, total - volumes[following], size - 1
            elif kind == "reduce_scatter":  # a member forwards every block except its own
                yield i, following, total - volumes[i], size - 1
            else:
                yield i, following, 0, size - 1


def _tree(size: int, root: int) -> Iterator[tuple[int, int, range]]:
    """Yield (parent, child, relative ranks in the child's subtree) of a binomial tree."""
    # The parent of relative rank r is r without its lowest set bit b; its subtree holds r to r + b - 1.
    for child in range(1, size):
        low = child & -child
        below = range(child, min(child + low, size))
        yield (child - low + root) % size, (child + root) % size, below


def _binomial(kind: str, volumes: list[int], root: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    if kind == "alltoall":
        yield from _pairs(kind, volumes, root, size)
    elif kind == "scan":  # recursive doubling
        distance = 1
        while distance < size:
            yield from ((i, i + distance, volumes[i], 1) for i in range(size - distance))
            distance *= 2
    elif kind in ROOTED:
        for parent, child, below in _tree(size, root):
            if kind == "bcast":
                yield parent, child, volumes[root], 1
            elif kind == "reduce":
                yield child, parent, volumes[child], 1
            else:
                block = sum(volumes[(r + root) % size] for r in below)
                yield (parent, child, block, 1) if kind == "scatter" else (child, parent, block, 1)
    elif kind == "allgather":
        yield from _binomial("gather", volumes, 0, size)
        yield from _binomial("bcast", [sum(volumes)] * size, 0, size)
    elif kind == "reduce_scatter":
        yield from _binomial("reduce", [sum(volumes)] * size, 0, size)
        yield from _binomial("scatter", volumes, 0, size)
    else:  # allreduce, barrier
        yield from _binomial("reduce", volumes, 0, size)
        yield from _binomial("bcast", volumes, 0, size)

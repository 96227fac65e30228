"""Checks what each rank sends. A fault is returned as text, since it must be sent to all processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from operator import index
from typing import Any, TypeAlias

Sends: TypeAlias = "Dictionary[int, int] | Sequence[int]"
#: Sources, destinations, and their weights or None.
Neighbours: TypeAlias = "tuple[list[int], list[int], list[int] | None, list[int] | None]"


def checked_sends(sends: Sends, rank: int, size: int) -> tuple[dict[int, int], str]:
    """Return the bytes by rank, and a description of the first fault in them, or "".

    >>> checked_sends([0, 8], 0, 2)
    ({1: 8}, '')
    >>> checked_sends([0, 8], 0, 3)
    ({}, 'rank 0 gives 2 numbers of bytes, expected 3, one for each rank')
    >>> checked_sends({1: 2.5}, 0, 3)
    ({}, 'rank 0 sends 2.5 bytes to rank 1, expected a whole number')
    """
    try:
        items: Iterable[tuple[Any, Any]]
        if isinstance(sends, Dictionary):
            items = sends.items()
        else:
            listed = list(sends)
            if len(listed) != size:
                found = f"{len(listed)} numbers of bytes"
                return {}, f"rank {rank} gives {found}, expected {size}, one for each rank"
            items = enumerate(listed)
    except TypeError:
        return {}, f"rank {rank}: {str(sends)[:40]!r}, expected bytes by rank or a sequence of {size}"
    checked: dict[int, int] = {}
    for target, volume in items:
        if not _is_whole(target) or not 0 <= index(target) < size:
            return {}, f"rank {rank} sends to rank {target}, expected 0..{size - 1}"
        if not _is_whole(volume):
            return {}, f"rank {rank} sends {volume} bytes to rank {target}, expected a whole number"
        if not 0 <= index(volume) < 2**63:
            return {}, f"rank {rank} sends {volume} bytes, expected 0 to 2^63 - 1"
        if index(volume):
            checked[index(target)] = index(volume)
    return checked, ""


def neighbours_sends(mine: Neighbours) -> dict[int, int]:
    """Return the bytes that a rank sends to each neighbour in a graph: 1 each if there are no weights."""
    weights = [1] * len(mine[1]) if mine[3] is None else mine[3]
    sends: dict[int, int] = {}
    for rank, weight in zip(mine[1], weights, strict=True):
        sends[rank] = sends.get(rank, 0) + weight
    return sends


def checked_neighbours(
    sources: Sequence[int], destinations: Sequence[int], source_weights: Any, destination_weights: Any
) -> tuple[Neighbours, str]:
    """Return the neighbours that a rank specified, and a description of the first fault in them, or "".

    The constants ``MPI.UNWEIGHTED`` and ``MPI.WEIGHTS_EMPTY`` are accepted as weights.
    """
    try:
        ends = [[index(rank) for rank in ranks] for ranks in (sources, destinations)]
    except TypeError:
        return ([], [], None, None), "neighbours that are no ranks, expected sequences of whole numbers"
    weights = []
    for name, given, count in (
        ("sourceweights", source_weights, len(ends[0])), ("destweights", destination_weights, len(ends[1]))
    ):  # fmt: skip
        found, fault = _weights(name, given, count)
        if fault:
            return ([], [], None, None), fault
        weights.append(found)
    return (ends[0], ends[1], weights[0], weights[1]), ""


def _weights(name: str, given: Any, count: int) -> tuple[list[int] | None, str]:
    from mpi4py import MPI

    if given is None or (isinstance(given, int) and given == MPI.UNWEIGHTED):
        return None, ""
    if isinstance(given, int) and given == MPI.WEIGHTS_EMPTY:
        fault = f"{name}: WEIGHTS_EMPTY for {count} neighbours, expected {count} numbers" if count else ""
        return [], fault
    try:
        listed = [index(weight) for weight in given]
    except TypeError:
        return [], f"{name}: {str(given)[:40]}, expected whole numbers, one for each neighbour"
    if len(listed) != count:
        return [], f"{name}: {len(listed)} numbers, expected {count}, one for each neighbour"
    return listed, ""


def _is_whole(value: Any) -> bool:
    try:
        index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)

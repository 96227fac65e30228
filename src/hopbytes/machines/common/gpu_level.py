"""A level called gpu in a machine: which GPU of its node a place is, or lies beside."""

from __future__ import annotations

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import Int32, Int64, Machine

#: Names of levels whose units are GPUs.
GPU_NAMES = ("gpu", "gpus")


def gpu_level(machine: Machine) -> int | None:
    """Return the index of the level whose units are GPUs inside nodes; None when there is none.

    A level of that name around nodes is none: a GPU does not hold several hosts. O(places).

    Examples
    --------
    >>> from hopbytes.machines.spec import parse_machine
    >>> gpu_level(parse_machine("node:2 gpu:4 core:8")), gpu_level(parse_machine("node:2 core:8"))
    (1, None)
    """
    names = [level.name.lower() for level in machine.levels]
    index = next((number for number, name in enumerate(names) if name in GPU_NAMES), None)
    if index is None:
        return None
    unit, node = machine.ancestors(index), machine.node_of_core()
    return None if np.any((unit[1:] == unit[:-1]) & (node[1:] != node[:-1])) else index


def leaves_are_gpus(machine: Machine) -> bool:
    """Tell whether the smallest units of a machine are GPUs, so that nothing is said about its cores."""
    level = gpu_level(machine)
    return level is not None and level == len(machine.levels) - 1


def gpu_of_place(machine: Machine) -> Int32 | None:
    """int32[places]: GPU of each place, counted from 0 on its node; None without a level of GPUs.

    Numbers do not depend on what is excluded: they are those of the node's own devices. O(places).

    Examples
    --------
    >>> from hopbytes.machines.spec import parse_machine
    >>> gpu_of_place(parse_machine("node:2 gpu:2 core:2")).tolist()
    [0, 0, 1, 1, 0, 0, 1, 1]
    """
    level = gpu_level(machine)
    if level is None:
        return None
    unit, node = machine.ancestors(level), machine.node_of_core()
    return (unit - unit[np.searchsorted(node, node)]).astype(np.int32)


def gpu_of_slots(gpus: Int32 | None, starts: Int64, places: Int64) -> Int32 | None:
    """int32[slots]: the GPU each slot lies in; None without GPUs, or when some slot lies in several.

    Parameters
    ----------
    gpus : int32[places] or None
        From :func:`gpu_of_place`.
    starts, places : int64[slots + 1], int64[...]
        Places of the machine, a row per slot.
    """
    if gpus is None:
        return None
    own = gpus[places]
    first, last = np.minimum.reduceat(own, starts[:-1]), np.maximum.reduceat(own, starts[:-1])
    return first.astype(np.int32) if np.array_equal(first, last) else None


def asked_of_gpus(machine: Machine, per: str | None, size: int, said: bool) -> tuple[str | None, int]:
    """Return by which level slots are cut, and how many cores each has, on a machine with a level of GPUs.

    A slot is a GPU there unless another level was asked for.

    Parameters
    ----------
    machine : Machine
    per : str or None
        What was asked for.
    size : int
        Cores of a slot; 1 means all beside the GPU.
    said : bool
        Somebody asked for that number, rather than a job.

    Raises
    ------
    UnsupportedError
        Cores were asked for where the GPUs have none.
    """
    level = gpu_level(machine)
    if level is None:
        return per, size
    name = machine.levels[level].name
    if leaves_are_gpus(machine):
        if per in ("core", "pu") or (said and size > 1):
            what = f"--per {per}" if per in ("core", "pu") else f"--cores-per-task {size}"
            raise UnsupportedError(
                f"{what}: the smallest units of '{machine.spec()[:60]}' are GPUs, one for each slot, "
                f"expected cores inside them, like {name}:4 core:16"
            )
        return (None if per in (None, *GPU_NAMES, name) else per), 1
    return (name if per in (None, *GPU_NAMES) else per), size

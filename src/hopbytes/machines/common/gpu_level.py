"""A level called gpu in a machine: which GPU of its node each slot has."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import Machine
from hopbytes.machines.topology import GPU_NAMES


def gpu_of_slots(gpus: Int32 | None, starts: Int64, places: Int64) -> Int32 | None:
    """int32[slots]: the GPU each slot lies in; None without GPUs, or when some slot lies in several."""
    if gpus is None:
        return None
    own = gpus[places]
    first, last = np.minimum.reduceat(own, starts[:-1]), np.maximum.reduceat(own, starts[:-1])
    return first.astype(np.int32) if np.array_equal(first, last) else None


def asked_of_gpus(machine: Machine, per: str | None, size: int, size_given: bool) -> tuple[str | None, int]:
    """Return by which level slots are cut, and how many cores each has, on a machine with a level of GPUs.

    On such a machine a slot is a GPU unless the user requests another level.
    """
    level = machine.gpu_level()
    if level is None:
        return per, size
    name = machine.levels[level].name
    if machine.leaves_are_gpus():
        if per in ("core", "pu") or (size_given and size > 1):
            what = f"`per={per!r}`" if per in ("core", "pu") else f"`cores_per_task={size}`"
            raise UnsupportedError(
                f"{what}: the smallest units of '{machine.spec()[:60]}' are GPUs, one for each slot, "
                f"expected cores inside them, like {name}:4 core:16"
            )
        return (None if per in (None, *GPU_NAMES, name) else per), 1
    return (name if per in (None, *GPU_NAMES) else per), size

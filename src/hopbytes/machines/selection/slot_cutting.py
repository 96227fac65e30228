"""Slots cut out of the cores that a job may use: so many cores each, or one slot per unit of a level."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.machines.selection.units import rank_in_runs, units_of
from hopbytes.machines.topology import NODE_NAMES

#: Values of `per` that make slots of `cores_per_task` places; any other is a level to cut by.
PLACES = (None, "core", "pu")


def place_name(hardware: Machine, per: str | None) -> str | None:
    """Return the level whose units are the places slots are made of; None when that is single leaves."""
    merged = hardware.inventory is not None and "core" in hardware.inventory.same_as
    has_cores = merged or hardware.level_named(("core",)) is not None
    whole_cores = per == "core" or (per != "pu" and hardware.level_named(("pu",)) is not None)
    return "core" if has_cores and whole_cores else None


@frozen
class Slots:
    """Slots as rows of cores, and what to tell about how they were cut."""

    starts: Int64
    cores: Int64
    notices: tuple[str, ...]

    @classmethod
    def cut(cls, hardware: Machine, cores: Int64, size: int, per: str | None) -> Slots:
        """Cut the allowed `cores` (ascending) into slots."""
        name = place_name(hardware, per)
        place = _numbered(cores if name is None else units_of(hardware, name)[cores])
        head = cores[np.flatnonzero(np.diff(place, prepend=-1))]  # one core stands for each place
        straddling = 0
        if per in PLACES:
            levels = _levels_inside_nodes(hardware, head)
            slot = _cut_places(levels, size)
            straddling = _count_straddling(levels[1:-1], slot)
        else:
            unit = _per_unit(hardware, str(per), head)
            slot = unit if size == 1 else np.where(_first_of_full_units(unit, size), unit, -1)
        if int(slot.max(initial=-1)) < 0:
            raise InfeasibleError(f"no node or {per or 'unit'} has the {size} free cores one task asks for")
        slot_of_core = slot[place]
        kept = np.flatnonzero(slot_of_core >= 0)
        # Slots in the order of their first core.
        first = np.unique(slot_of_core[kept], return_index=True)
        number = np.empty(int(first[0].max()) + 1, np.int64)
        number[first[0][np.argsort(first[1])]] = np.arange(len(first[0]))
        owner = number[slot_of_core[kept]]
        counts = np.bincount(owner)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            cores[kept[np.argsort(owner, kind="stable")]],
            notices_of_slots(cores, len(kept), size, per, straddling),
        )


def _numbered(ids: Int64) -> Int64:
    """Number ascending ids 0, 1, 2, … without gaps."""
    return np.cumsum(np.diff(ids, prepend=ids[0]) != 0).astype(np.int64)


def _levels_inside_nodes(hardware: Machine, head: Int64) -> list[Int64]:
    """Per level from single places out to nodes: unit of each place."""
    node = hardware.level_named(NODE_NAMES)
    inner = range(len(hardware.levels) - 1, -1 if node is None else node, -1)
    units = [hardware.ancestors(level)[head].astype(np.int64) for level in inner]
    return [np.arange(len(head), dtype=np.int64), *units, hardware.node_of_core()[head].astype(np.int64)]


def _cut_places(levels: list[Int64], size: int) -> Int64:
    """int64[places]: slot of each place, -1 for left over.

    From the inside out, every unit with room for a slot is cut into as many as fit; what is too small
    for one is joined to its neighbours in the next unit outside.
    """
    slot = np.full(len(levels[0]), -1, np.int64)
    assigned = np.zeros(len(slot), np.bool_)
    slots = 0
    for unit in levels:
        dense = _numbered(unit)
        roomy = np.bincount(dense)[dense] >= size
        pool = np.flatnonzero(roomy & ~assigned)
        if len(pool):
            rank = rank_in_runs(unit[pool])
            group = _numbered(unit[pool])
            full = np.bincount(group) // size  # slots of each unit's pool
            before = np.cumsum(full) - full
            fits = rank < full[group] * size
            slot[pool[fits]] = (slots + before[group] + rank // size)[fits]
            slots += int(full.sum())
        assigned |= roomy
    return slot


def _count_straddling(levels: list[Int64], slot: Int64) -> int:
    """Count slots that take a part, but not all, of one of several units of a level."""
    used = np.flatnonzero(slot >= 0)
    if not len(used):
        return 0
    straddles = np.zeros(int(slot.max()) + 1, np.bool_)
    for unit in levels:
        dense = _numbered(unit)
        pairs, counts = np.unique(slot[used] * (int(dense.max()) + 1) + dense[used], return_counts=True)
        owner, part = np.divmod(pairs, int(dense.max()) + 1)
        several = np.bincount(owner, minlength=len(straddles)) > 1
        straddles[owner[several[owner] & (counts < np.bincount(dense)[part])]] = True
    return int(straddles.sum())


def _per_unit(hardware: Machine, per: str, head: Int64) -> Int64:
    if "=" in per:
        raise FormatError("`per`", None, f"{per[:40]!r}, expected a level (counts are for tasks, not slots)")
    unit = units_of(hardware, per)[head]
    node = hardware.node_of_core()[head]
    if np.any((unit[1:] == unit[:-1]) & (node[1:] != node[:-1])):
        raise InfeasibleError(f"one slot per {per} would span several nodes, expected a level inside nodes")
    return _numbered(unit)


def _first_of_full_units(unit: Int64, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    full: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.bincount(unit)[unit] >= size
    return full & (rank_in_runs(unit) < size)


def notices_of_slots(cores: Int64, used: int, size: int, per: str | None, straddling: int) -> tuple[str, ...]:
    """Sentences about cores that are left over and slots that straddle units."""
    notices = []
    if used < len(cores):
        slot = f"{size} core{'s' * (size > 1)}" + (f" per {per}" if per else "")
        left = f"{len(cores) - used} of {len(cores)} allowed cores"
        notices.append(f"{left} are left over: they make no slot of {slot}")
    if straddling:
        s = "" if straddling == 1 else "s"
        notices.append(f"{straddling} slot{s} of {size} cores straddle units too small for one")
    return tuple(notices)

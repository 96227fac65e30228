"""Parts of a machine as options name them: which units of which level are meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError, unknown_name
from hopbytes.machines.base import MAX_CAPACITY, NODE_NAMES, Machine
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE
from hopbytes.machines.tree import level_name
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.hostlist import expand_hosts, match_hosts
from hopbytes.text.lines import integer_in

SHARE = re.compile(r"([1-9][0-9]{0,8})/([^/]+)", re.ASCII)


def units_of(machine: Machine, name: str) -> Int64:
    """int64[n_cores]: unit of the level called `name` that each core belongs to.

    ``core`` names single places on every machine without cores, ``node`` the one host of a machine
    without nodes, a merged kind the level it became. UnsupportedError with the nearest name for others.
    """
    level = machine.level_named((name,))
    if level is not None:
        return machine.ancestors(level).astype(np.int64)
    name = level_name(name)
    if machine.level_named((name,)) is not None:
        return units_of(machine, name)
    if name in NODE_NAMES:
        return machine.node_of_core().astype(np.int64)
    same_as = {} if machine.inventory is None else machine.inventory.same_as
    if name in same_as:  # also cores: a node may have a single one with several threads
        return units_of(machine, same_as[name])
    if name == "core":
        return np.arange(machine.n_cores, dtype=np.int64)
    known = [level.name for level in machine.levels] or ["core", "node"]
    raise unknown_name("level", name, {*known, *(kind for kind in DEFAULT_DISTANCE if kind in same_as)})


def excluded(machine: Machine, text: str, option: str = "`exclude`", hosts: Sequence[str] = ()) -> Bool:
    """bool[n_cores]: the cores that an exclusion takes away."""
    names, equals, numbers = text.partition("=")
    words = [word.strip() for word in names.split(".")]
    if not equals or len(words) > 2:
        raise FormatError(option, None, f"{text[:40]!r}, expected LEVEL=0-2,5 or OUTER.LEVEL=0")
    counted = all(number_range(word) is not None for word in numbers.split(","))
    if words[0] in NODE_NAMES and len(words) == 1 and not counted:
        return _named_nodes(machine, text, numbers, option, hosts)
    unit = units_of(machine, words[-1])
    outer = units_of(machine, words[0]) if len(words) == 2 else _natural_outer(machine, words[-1])
    number = _numbers_inside(outer, unit)
    wanted = np.zeros(machine.n_cores, np.bool_)
    for word in numbers.split(","):
        run, most = number_range(word), int(number.max())
        if run is None or run.stop > most + 1:
            expected = "N or N-M" if run is None else f"numbers from 0 to {most}"
            raise FormatError(option, None, f"{word.strip()[:40]!r} in {text[:40]!r}, expected {expected}")
        wanted |= (number >= run.start) & (number < run.stop)
    return wanted


def _named_nodes(machine: Machine, text: str, names: str, option: str, hosts: Sequence[str]) -> Bool:
    nodes = int(machine.node_of_core()[-1]) + 1
    if not hosts and machine.network() is not None:
        hosts = [f"n{node}" for node in range(nodes)]
    if not hosts:
        what = "but the nodes have no names, expected numbers like node=0-2,5 (`hosts` gives them names)"
        raise FormatError(option, None, f"{text[:40]!r}, {what}")
    chosen = np.zeros(nodes, np.bool_)
    chosen[match_hosts(expand_hosts(names, option), hosts, where=option)] = True
    found: Bool = chosen[machine.node_of_core()]
    return found


def capacities(machine: Machine, texts: Sequence[str], hosts: Sequence[str] = ()) -> Int64 | None:
    """int64[n_cores]: relative capacity of every core, None when all are alike."""
    sizes = np.ones(machine.n_cores, np.int64)
    for number, level in enumerate(machine.levels):
        if level.capacity:
            unit = machine.ancestors(number).astype(np.int64)
            outer = machine.ancestors(number - 1).astype(np.int64) if number else np.zeros_like(unit)
            sizes = _times(sizes, _of_units(level.name, level.capacity, unit, outer))
    for text in texts:
        units, _, word = text.rpartition(":")
        size = integer_in(word, 1, MAX_CAPACITY)
        if not units or size is None:
            raise FormatError("`capacity`", None, f"{text[:40]!r}, expected LEVEL=NUMBERS:N like node=0-3:2")
        chosen = excluded(machine, units, "`capacity`", hosts)
        sizes = _times(sizes, np.where(chosen, size, 1))
    return None if int(sizes.min()) == int(sizes.max()) else sizes


def _times(sizes: Int64, factors: Int64) -> Int64:
    product: Int64 = sizes * factors
    if int(product.max()) > MAX_CAPACITY:
        raise FormatError("capacity", None, f"{product.max()} in all, expected at most {MAX_CAPACITY}")
    return product


def _of_units(name: str, sizes: tuple[int, ...], unit: Int64, outer: Int64) -> Int64:
    """Capacity of the unit of each core: one for all, one per unit, or one per unit inside each outer one."""
    values: Int64 = np.array(sizes, np.int64)
    units = int(unit[-1]) + 1
    if len(values) == 1:
        return np.full(len(unit), values[0])
    if len(values) == units:
        return values[unit]
    heads = np.flatnonzero(np.diff(outer, prepend=-1))  # first core of every unit outside
    if np.any(np.diff(np.append(unit[heads], units)) != len(values)):
        raise FormatError("machine", None, f"{len(values)} capacities for {units} units of level {name}")
    found: Int64 = values[_numbers_inside(outer, unit)]
    return found


def _numbers_inside(outer: Int64, unit: Int64) -> Int64:
    """Number of the unit of each core inside its outer unit; both ascend with the cores."""
    return unit - unit[np.searchsorted(outer, outer)]


def _natural_outer(machine: Machine, name: str) -> Int64:
    """Return the units within which `name` is counted: nodes for what is inside nodes, else the machine."""
    node, level = machine.level_named(NODE_NAMES), machine.level_named((name,))
    inside = node is not None and (name == "core" if level is None else level > node)
    return machine.node_of_core().astype(np.int64) if inside else np.zeros(machine.n_cores, np.int64)


def reserved(machine: Machine, allowed: Bool, text: str) -> Bool:
    """bool[n_cores]: the first N allowed cores of every unit, for ``N/LEVEL`` (several with commas)."""
    taken = np.zeros(machine.n_cores, np.bool_)
    for word in text.split(","):
        found = SHARE.fullmatch(word.strip())
        if not found:
            raise FormatError("`reserve`", None, f"{word[:40]!r}, expected N/LEVEL like 1/l3")
        free = np.flatnonzero(allowed & ~taken)
        core = units_of(machine, "core")[free]  # several leaves when a core has hardware threads
        unit = units_of(machine, found[2])[free]
        heads = np.flatnonzero(np.diff(core, prepend=-1))
        early = rank_in_runs(unit[heads]) < int(found[1])
        taken[free[np.repeat(early, np.diff(np.append(heads, len(core))))]] = True
    return taken


def rank_in_runs(ids: Int64) -> Int64:
    """int64[...]: position of each entry in its run of equal neighbours."""
    places = np.arange(len(ids), dtype=np.int64)
    heads = np.flatnonzero(np.diff(ids, prepend=-1))
    starts: Int64 = np.repeat(heads, np.diff(np.append(heads, len(ids))))
    return places - starts


def number_of_cores(hardware: Machine, places: Bool) -> str:
    """Say how many cores some places belong to."""
    count = len(np.unique(units_of(hardware, "core")[places]))
    return f"{count} core{'s' * (count != 1)}"


def taken_away(hardware: Machine, of_hosts: Bool, allowed: Bool) -> tuple[str, ...]:
    """Say what was taken away: whole cores, and threads of cores that go on being places with the rest."""
    if not np.any(of_hosts & ~allowed):
        return ()
    core = units_of(hardware, "core")
    gone = np.setdiff1d(core[of_hosts], core[allowed])
    cut = int((of_hosts & ~allowed & ~np.isin(core, gone)).sum())
    found = [f"{len(gone)} of {number_of_cores(hardware, of_hosts)}"] if len(gone) else []
    if cut:
        among = "more" if found else f"of {int(of_hosts.sum())}"
        found.append(f"{cut} {among} hardware thread{'s' * (cut > 1 or among != 'more')}")
    verb = "is" if len(gone) + cut == 1 else "are"
    return (f"{' and '.join(found)} {verb} excluded or reserved",)

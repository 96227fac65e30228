"""allocate(): take cores away from a machine, cut the rest into slots, and say how tasks use them."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError, WrongTypeError
from hopbytes.machines.allocate.hosts import choose_hosts
from hopbytes.machines.allocate.units import (
    capacities,
    excluded,
    number_of_cores,
    rank_in_runs,
    reserved,
    taken_away,
    units_of,
)
from hopbytes.machines.base import GPU_NAMES, NODE_NAMES, Machine
from hopbytes.machines.spec import from_hierarchy, parse_machine, with_distances
from hopbytes.machines.spec_fields import with_options
from hopbytes.machines.tree import assumed, level_name
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.util.checks import check_texts, check_truths, hosts_of, texts_of, whole


def allocate(
    machine: str | os.PathLike[str] | Machine | Allocation | None = None,
    *,
    hierarchy: str | None = None,
    distance: str | None = None,
    hosts: str | os.PathLike[str] | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    reserve: str | None = None,
    cores_per_task: int | None = None,
    per: str | None = None,
    capacity: str | Sequence[str] = (),
    rails: str | None = None,
    adapters: str | None = None,
    node_name_map: str | None = None,
    tasks_per_node: int | None = None,
    tasks_per: str | Dictionary[str, int] | None = None,
    pack: bool = False,
    spread: bool = False,
    equal_nodes: bool = False,
    oversubscribe: bool = False,
) -> Allocation:
    """Return the slots of a machine that a job may use, and how its tasks use them.

    Parameters
    ----------
    machine : str, Machine or Allocation
        ``"node:16@10 core:32@1"``, ``"table:FILE"``: see :func:`hopbytes.machines.spec.parse_machine`. Of an
        Allocation the slots remain; only the last six arguments, about their use, replace its own.
    hierarchy : str, optional
        Instead of `machine` the papers' notation, innermost level first: ``"4:8:4"``.
    distance : str, optional
        With `hierarchy` ``"1:10:100"``, with `machine` distances to replace: ``"node=20,core=2"``.
    hosts : str, path or sequence of str, optional
        ``"n[001-016]"``, a file, ``"-"``: the nodes to use, where the machine knows their names; else new
        names for all of them, in machine order. One described node becomes as many.
    exclude : str or sequence of str
        Cores to leave out: ``"node=3"``, ``"node=n[3-5]"`` (hosts by name), ``"core=0"`` (of every node),
        ``"l3.core=0"`` (of every l3).
    reserve : str, optional
        ``"1/l3"``: leave out the first core still allowed in every l3.
    cores_per_task : int, optional
        Cores of a slot, by default as many as the job asks for, 1 outside jobs. They lie in one node, and in
        one unit of any level that can hold them.
    per : str, optional
        ``"core"`` (default), ``"pu"`` or another level: one slot per unit with all its cores, or with
        the first `cores_per_task` of them when that is more than 1. ``"gpu"``: one slot per GPU with the
        cores nearest to it; the default on machines with a level ``gpu``.
    capacity : str or sequence of str
        PEs that can take more than others: ``"node=0-3:2"`` gives those of nodes 0 to 3 twice the load
        of the others; units as for `exclude`. Beside ``cap=`` of the spec's levels, which multiply.
    rails, adapters, node_name_map : str, optional
        For fabrics (``ib:``): which adapters of a host tasks use, and a file that says whose
        adapters are; the same as ``rails=``, ``adapters=`` and ``names=`` in the spec.
    tasks_per_node, tasks_per : int; str or mapping, optional
        For fewer processes than slots: exact counts for every node in use, or for every unit of a level
        (``"l3=2"`` or ``{"l3": 2, "package": 4}``).
    pack, spread : bool
        For fewer processes than slots: `pack` uses the first ones, like ``mpirun``. `spread` gives every node
        the same number of tasks, like ``srun``, so that each process has more memory bandwidth. Without
        these four, filled nodes, spread tasks and a free choice of slots by the pattern are tried, and the
        best is used (``info["slots"]`` names it). If the job prescribes the number of tasks per node, it is
        kept.
    equal_nodes : bool
        Use by default only nodes with the same number of tasks each, which some launchers require.
    oversubscribe : bool
        Allow more processes than slots; every slot then holds floor(n/k) or ceil(n/k) tasks. Unless
        `partition` is set in :func:`hopbytes.map_tasks`, this selects the processes problem for any n.

    Returns
    -------
    Allocation
        PEs in machine order. Its ``notices`` name cores left out, left over, and of slots that
        had to straddle units.

    Raises
    ------
    FormatError, UnsupportedError
        Options that cannot be read or contradict each other, unknown levels, a number of hosts that is not
        that of the nodes.
    InfeasibleError
        No slot is left.

    Notes
    -----
    O(cores x levels). On a tree whose cores have a level ``pu`` inside, a core is all of its PUs
    unless ``per="pu"``.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2 l3:2 core:4", exclude="l3.core=0", cores_per_task=2)
    >>> where.k, where.cores_of(1).tolist(), where.notices[1]
    (4, [5, 6], '4 of 12 allowed cores are left over: they make no slot of 2 cores')
    """
    use = _use(
        tasks_per_node, tasks_per, pack=pack, spread=spread, equal_nodes=equal_nodes,
        oversubscribe=oversubscribe,
    )
    if isinstance(machine, os.PathLike):
        machine = os.fspath(machine)
    if isinstance(machine, Allocation):
        cutting = (
            hierarchy, distance, hosts, exclude, reserve, cores_per_task, per, capacity, rails, adapters,
            node_name_map,
        )
        if any(value not in (None, ()) for value in cutting):
            raise UnsupportedError(
                "an Allocation has its slots already, expected a machine, or only arguments about their use: "
                "tasks_per_node, tasks_per, pack, spread, equal_nodes, oversubscribe"
            )
        return replace(machine, use=use)
    check_texts(
        hierarchy=hierarchy, distance=distance, reserve=reserve, per=per, rails=rails, adapters=adapters,
        node_name_map=node_name_map,
    )
    hosts = None if hosts is None else hosts_of(hosts)
    spec = with_options(machine, {"rails": rails, "adapters": adapters, "names": node_name_map})
    hardware, names, used, of_selection = choose_hosts(_hardware(spec, hierarchy, distance), hosts)
    size = cores_of_a_task(hardware) if cores_per_task is None else cores_per_task
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise FormatError("`cores_per_task`", None, f"{size}, expected an integer >= 1")
    of_hosts = used[hardware.node_of_core()]
    allowed = of_hosts.copy()
    for text in texts_of("exclude", exclude):
        allowed &= ~excluded(hardware, text, hosts=names)
    if reserve is not None:
        allowed &= ~reserved(hardware, allowed, reserve)
    if not allowed.any():
        what = f"all {number_of_cores(hardware, of_hosts)} are excluded or reserved, expected some left"
        raise InfeasibleError(what)
    per = None if per is None else level_name(per)
    per, size = asked_of_gpus(hardware, per, size, cores_per_task is not None)
    where = cut_slots(hardware, allowed, names, size, per).in_use()
    sizes = capacities(hardware, texts_of("capacity", capacity), names)
    job = hardware.job
    tasks = None if job is None or job.tasks is None or not used.all() else np.array(job.tasks, np.int64)
    of_slots = hardware.network_use.slot_endpoints
    endpoints, of_rails = of_slots(where.node_of_pe, where.gpus, hardware.inventory)
    of_hardware = assumed(hierarchy, distance, hardware.levels) + where.machine.notices(used)
    missing = taken_away(hardware, of_hosts, allowed)
    more = _more_tasks(where, tasks)
    return replace(
        where, capacity=None if sizes is None else sizes[where.first_core],
        notices=(*of_selection, *of_hardware, *of_rails, *missing, *where.notices, *more),
        tasks_of_nodes=tasks, endpoints=where.endpoints if endpoints is None else endpoints, use=use,
    )


def _use(tasks_per_node: int | None, tasks_per: str | Dictionary[str, int] | None, **truths: bool) -> SlotUse:
    check_truths(**truths)
    if truths["pack"] and truths["spread"]:
        raise UnsupportedError("pack and spread exclude each other, give one")
    per_node = None if tasks_per_node is None else whole("tasks_per_node", tasks_per_node, 1)
    return SlotUse(per_node, tasks_per, **truths)


def _more_tasks(where: Allocation, tasks: Int64 | None) -> tuple[str, ...]:
    """Say where the job asks for more tasks on a node than it has slots."""
    if tasks is None or where.machine.job is None:
        return ()
    slots = np.bincount(where.node_of_pe, minlength=len(tasks))
    short = np.flatnonzero(tasks > slots)
    if not len(short):
        return ()
    first, job = short[0], where.machine.job
    system = job.system if "file" in job.system else f"{job.system} job"
    others = f" and {len(short) - 1} more hosts" if len(short) > 1 else ""
    what = f"the {system} asks for {tasks[first]} tasks on {job.hosts[first]}{others}"
    found = f"{slots[first]} slot{'s were' if slots[first] != 1 else ' was'} found there"
    return (f"{what}, but {found}: no slot gets two tasks without `oversubscribe=True`",)


def cores_of_a_task(hardware: Machine) -> int:
    """Cores per task that the machine's job asked for, 1 without a job; threads count as their cores."""
    job = hardware.job
    if job is None or job.cpus_per_task is None:
        return 1
    node = None if hardware.inventory is None else hardware.inventory.tree(0)
    threads = 1
    if node is not None and job.cpus is not None and job.cpus[0] > int(node.cores[-1]) + 1:
        threads = max(1, len(node.os_pus) // (int(node.cores[-1]) + 1))
        threads = min(threads, job.threads_per_core or threads)
    return -(-job.cpus_per_task // threads)


def _hardware(spec: str | Machine | None, hierarchy: str | None, distance: str | None) -> Machine:
    if (spec is None) == (hierarchy is None):
        raise FormatError("machine", None, "a spec and a hierarchy, or neither, expected one of them")
    if hierarchy is not None:
        return from_hierarchy(hierarchy, distance)
    if not isinstance(spec, (str, Machine)):
        raise WrongTypeError(f"the machine is a {type(spec).__name__}, expected a spec, a path or a Machine")
    hardware = spec if isinstance(spec, Machine) else parse_machine(spec)
    return hardware if distance is None else with_distances(hardware, distance)


#: Values of `per` that make slots of `cores_per_task` cores; any other is a level to cut by.
CORES = (None, "core", "pu")


def asked_of_gpus(machine: Machine, per: str | None, size: int, size_given: bool) -> tuple[str | None, int]:
    """Return by which level slots are cut, and how many cores each has, on a machine with a level of GPUs."""
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


def cut_slots(
    hardware: Machine, allowed: Bool, names: tuple[str, ...], size: int, per: str | None
) -> Allocation:
    """Cut the allowed cores into slots."""
    gpus = hardware.gpu_of_core()
    unit_name = _unit_name(hardware, per)
    if per in CORES and size == 1 and unit_name is None and allowed.all():
        return replace(Allocation.whole(hardware, names), gpus=gpus)
    cores = np.flatnonzero(allowed)
    if per == "gpu" and gpus is None:
        starts, kept, near = _slots_of_gpus(hardware, cores, size)
        notices = _notices(cores, len(kept), size, "gpu", 0)
        return Allocation(hardware, starts, kept, names, gpus=near, notices=notices)
    unit = _numbered(cores if unit_name is None else units_of(hardware, unit_name)[cores])
    head = cores[np.flatnonzero(np.diff(unit, prepend=-1))]  # one core stands for each unit
    straddling = 0
    if per in CORES:
        levels = _levels_inside_nodes(hardware, head)
        slot = _cut_units(levels, size)
        straddling = _count_straddling(levels[1:-1], slot)
    else:
        slot = _per_unit(hardware, str(per), head)
        if size > 1:  # the first of full units
            slot = np.where((np.bincount(slot)[slot] >= size) & (rank_in_runs(slot) < size), slot, -1)
    if int(slot.max(initial=-1)) < 0:
        raise InfeasibleError(f"no node or {per or 'unit'} has the {size} free cores one task asks for")
    slot_of_core = slot[unit]
    kept = np.flatnonzero(slot_of_core >= 0)
    # Slots in the order of their first core.
    slots, first = np.unique(slot_of_core[kept], return_index=True)
    number = np.empty(int(slots.max()) + 1, np.int64)
    number[slots[np.argsort(first)]] = np.arange(len(slots))
    owner = number[slot_of_core[kept]]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner))]).astype(np.int64)
    own = cores[kept[np.argsort(owner, kind="stable")]]
    gpu_of_slot: Int32 | None = None
    if gpus is not None:  # none when some slot lies in several
        lowest, highest = (f.reduceat(gpus[own], starts[:-1]) for f in (np.minimum, np.maximum))
        gpu_of_slot = lowest.astype(np.int32) if np.array_equal(lowest, highest) else None
    notices = _notices(cores, len(kept), size, per, straddling)
    return Allocation(hardware, starts, own, names, gpus=gpu_of_slot, notices=notices)


def _unit_name(hardware: Machine, per: str | None) -> str | None:
    """Return the level whose units slots are made of; None when these are single leaves."""
    merged = hardware.inventory is not None and "core" in hardware.inventory.same_as
    has_cores = merged or hardware.level_named(("core",)) is not None
    whole_cores = per == "core" or (per != "pu" and hardware.level_named(("pu",)) is not None)
    return "core" if has_cores and whole_cores else None


def _numbered(ids: Int64) -> Int64:
    """Number ascending ids 0, 1, 2, … without gaps."""
    return np.cumsum(np.diff(ids, prepend=ids[0]) != 0).astype(np.int64)


def _levels_inside_nodes(hardware: Machine, head: Int64) -> list[Int64]:
    """Per level from single units out to nodes: unit of each of them."""
    node = hardware.level_named(NODE_NAMES)
    inner = range(len(hardware.levels) - 1, -1 if node is None else node, -1)
    units = [hardware.ancestors(level)[head].astype(np.int64) for level in inner]
    return [np.arange(len(head), dtype=np.int64), *units, hardware.node_of_core()[head].astype(np.int64)]


def _cut_units(levels: list[Int64], size: int) -> Int64:
    """int64[units]: slot of each unit, -1 for left over.

    From the inside out, every outer unit with room for a slot is cut into as many as fit; what is too small
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


def _notices(cores: Int64, used: int, size: int, per: str | None, straddling: int) -> tuple[str, ...]:
    notices = []
    if used < len(cores):
        slot = f"{size} core{'s' * (size > 1)}" + (f" per {per}" if per else "")
        left = f"{len(cores) - used} of {len(cores)} allowed cores"
        notices.append(f"{left} are left over: they make no slot of {slot}")
    if straddling:
        s = "" if straddling == 1 else "s"
        notices.append(f"{straddling} slot{s} of {size} cores straddle units too small for one")
    return tuple(notices)


def _slots_of_gpus(machine: Machine, allowed: Int64, size: int) -> tuple[Int64, Int64, Int32]:
    """Cut cores into one slot for each GPU: starts of the slots, their cores, the GPU of each on its node.

    From the smallest units outwards, the free cores of a unit are divided in machine order among the GPUs
    that are attached to it, so that their numbers of cores differ by at most one. Nothing is divided beyond
    packages: the cores of a package without a GPU stay free. O(cores x levels).
    """
    nodes, cores, everywhere = machine.node_of_core(), units_of(machine, "core"), _units_inside_out(machine)
    inventory = machine.inventory
    trees = [] if inventory is None else [inventory.tree(node) for node in range(inventory.n_nodes)]
    rows: list[tuple[Int64, int]] = []
    ends = np.searchsorted(nodes, np.arange(int(nodes[-1]) + 2)).tolist()
    known: dict[tuple[int, bytes], list[Int64]] = {}  # equal nodes are divided equally
    for node, (tree, (first, end)) in enumerate(zip(trees, pairwise(ends), strict=False)):
        free = allowed[slice(*np.searchsorted(allowed, [first, end]))] - first
        if not tree.gpus or not len(free):  # without free cores the host is not used
            continue
        units = [(units[first:end], beyond) for units, beyond in everywhere]
        key = id(tree), free.tobytes()
        if key not in known:
            near = [np.flatnonzero(np.isin(tree.os_pus, gpu.pus)) for gpu in tree.gpus]
            near = [places if len(places) else np.arange(end - first) for places in near]
            known[key] = _deal(free, units, near)
        for gpu, dealt in zip(tree.gpus, known[key], strict=True):
            own = dealt + first
            rank = np.cumsum(np.diff(cores[own], prepend=-1) != 0)  # of cores, from 1 on
            if not len(own) or (size > 1 and int(rank[-1]) < size):
                has = len(np.unique(units[0][0][dealt]))
                raise InfeasibleError(
                    f"GPU {gpu.index} of node {node} gets {has} of the free cores near it, "
                    f"expected {size} or more for each of {len(tree.gpus)} GPUs"
                )
            rows.append((own[rank <= size] if size > 1 else own, gpu.index))
    if not rows:
        raise InfeasibleError("no node with a GPU, expected some for slots per gpu (hwloc files list them)")
    rows.sort(key=lambda row: int(row[0][0]))
    starts = np.cumsum([0, *(len(own) for own, _ in rows)]).astype(np.int64)
    return starts, np.concatenate([own for own, _ in rows]), np.array([gpu for _, gpu in rows], np.int32)


def _units_inside_out(machine: Machine) -> list[tuple[Int64, bool]]:
    """Units of every leaf, from cores to the whole node, and whether they lie beyond packages."""
    package, node = machine.level_named(("package",)), machine.level_named(NODE_NAMES)
    found = [(units_of(machine, "core"), False)]
    for level in range(len(machine.levels) - 1, -1 if node is None else node, -1):
        found.append((machine.ancestors(level).astype(np.int64), package is not None and level < package))
    return [*found, (machine.node_of_core().astype(np.int64), package is not None)]


def _deal(free: Int64, levels: list[tuple[Int64, bool]], near: list[Int64]) -> list[Int64]:
    """Leaves of each GPU; all numbers are counted on the node."""
    cores = levels[0][0]
    owner = np.full(len(cores), -1, np.int64)  # GPU of each leaf
    is_free = np.zeros(len(cores), np.bool_)
    is_free[free] = True
    for units, beyond in levels:
        for unit in np.unique(units):
            members = np.flatnonzero(units == unit)
            # GPUs whose surroundings lie inside this unit; one without known surroundings has the node.
            here = [g for g, places in enumerate(near) if np.all(units[places] == unit)]
            if beyond:
                here = [g for g in here if not np.any(owner == g)]
            left = members[is_free[members] & (owner[members] < 0)]
            if here and len(left):
                _deal_evenly(left, cores, here, owner)
    return [np.flatnonzero(owner == g) for g in range(len(near))]


def _deal_evenly(left: Int64, cores: Int64, gpus: list[int], owner: Int64) -> None:
    """Give whole cores, in order, so that the GPUs end with equal numbers as far as these cores allow."""
    rank = np.cumsum(np.diff(cores[left], prepend=-1) != 0) - 1
    has = [len(np.unique(cores[owner == g])) for g in gpus]
    wanted = list(has)
    for _ in range(int(rank[-1]) + 1):  # the next core goes to whoever has fewest
        poorest = min(range(len(gpus)), key=lambda g: (wanted[g], g))
        wanted[poorest] += 1
    shares = np.array(wanted) - np.array(has)
    owner[left] = np.asarray(gpus)[np.searchsorted(np.cumsum(shares), rank, side="right")]

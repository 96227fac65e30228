"""allocate(): take cores away from a machine, cut the rest into slots, and say how tasks use them."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.machines.allocate.hosts import choose_hosts
from hopbytes.machines.allocate.slots import asked_of_gpus, cut_slots
from hopbytes.machines.allocate.units import capacities, excluded, number_of_cores, reserved, taken_away
from hopbytes.machines.base import Machine
from hopbytes.machines.spec import from_hierarchy, parse_machine, with_distances
from hopbytes.machines.spec_fields import with_options
from hopbytes.machines.tree import assumed, level_name
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.util.checks import check_texts, check_truths, texts_of, whole


def allocate(
    machine: str | os.PathLike[str] | Machine | Allocation | None = None,
    *,
    hierarchy: str | None = None,
    distance: str | None = None,
    hosts: str | Sequence[str] | None = None,
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
    hosts : str or sequence of str, optional
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
    if hosts is not None and not isinstance(hosts, str):
        hosts = texts_of("hosts", hosts)
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
    hardware = spec if isinstance(spec, Machine) else parse_machine(str(spec))
    return hardware if distance is None else with_distances(hardware, distance)

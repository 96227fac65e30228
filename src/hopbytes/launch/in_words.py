"""Orders of ranks that a launcher can be told in words, without a file, and the cheapest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import field

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import CommCost, in_scale
from hopbytes.formats.mappings.launchers import PROGRAM
from hopbytes.formats.mappings.numbering import THREAD_NAMES
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.text.hostlist import LONGEST_ARGUMENT, host_argument
from hopbytes.text.lines import natural_key
from hopbytes.util.quantities import percent

#: Share of J within which an order is as good as a mapping, in per cent.
NEAR = 3
#: Arcs of a pattern above which no orders are compared beside a mapping.
MOST_ARCS = 200_000

_SRUN = f"srun -n {{n}} -N {{nodes}}{{nodelist}} --distribution={{how}} --cpu-bind=cores {PROGRAM}"
_CRAY = (
    "MPICH_RANK_REORDER_METHOD={how} srun -n {n} -N {nodes}{nodelist} --ntasks-per-node={share} "
    f"--distribution=block:block --cpu-bind=cores {PROGRAM}"
)
_PALS = "MPICH_RANK_REORDER_METHOD={how} mpiexec -n {n} --ppn {share} --cpu-bind depth --depth 1 " + PROGRAM
_MPIRUN = f"mpirun -n {{n}}{{slots}} {{how}} --bind-to core {PROGRAM}"


@frozen
class InWords:
    """The orders that a launcher can be told in words, where every core of its nodes gets a rank."""

    name: str  # of the launcher, in messages
    command: str
    #: orders (:func:`hopbytes.machines.allocate.launcher_order.launcher_placement`), and the words ``{how}``
    #: for each; ``{size}`` is any divisor of the ranks of a node, ``{level}`` any level inside nodes
    orders: tuple[tuple[str, str], ...]
    levels: Dictionary[str, str] = field(default_factory=dict)  # what it calls levels inside nodes
    by_name: bool = False  # it takes nodes by name and number, not as the machine lists them


_PACKAGE = {"package": "package", "socket": "package"}
#: Sources: mpirun(1) of Open MPI 4.1, ``--map-by``; the maps that mpirun 5.0.11 shows; srun(1), and
#: lllp_distribution in dist_tasks.c of Slurm, where a plane is filled as ``:block``; Hydra's ``-ppn``, tried
#: with 4.0.2; Intel's Developer Reference, ``-ppn``, tried with 2021.19; intro_mpi(3) of Cray MPICH;
#: flux-run(1).
IN_WORDS = {
    "openmpi": InWords("Open MPI 5", _MPIRUN, (
        ("fill", "--map-by core"), ("cyclic", "--map-by node"),
        ("fill:{level}", "--map-by {called} --rank-by slot"),
        ("cyclic:{level}", "--map-by {called} --rank-by node"),
        ("plane={units}:{level}", "--map-by {called}:span"),
    ), _PACKAGE | {"numa": "numa", "l3": "l3cache", "l2": "l2cache"}),
    "openmpi 4": InWords("Open MPI 4", _MPIRUN, (("fill", "--map-by core"), ("cyclic", "--map-by node"))),
    "slurm": InWords("Slurm", _SRUN, (
        ("block", "block:block"), ("cyclic", "cyclic:block"),
        ("block:{level}", "block:cyclic"), ("cyclic:{level}", "cyclic:cyclic"),
        ("plane={size}", "plane={size}"),
    ), _PACKAGE, by_name=True),
    "cray": InWords("Cray MPICH", _CRAY, (("block", "1"), ("cyclic", "0"), ("folded", "2")), by_name=True),
    "hydra": InWords(
        "MPICH", f"mpiexec.hydra -n {{n}} -ppn {{how}}{{hosts}} -bind-to core {PROGRAM}",
        (("plane={size}", "{size}"),),
    ),
    "intel": InWords(
        "Intel MPI",
        f"mpirun -n {{n}} -ppn {{how}}{{hosts}} -genv I_MPI_PIN_PROCESSOR_LIST=allcores {PROGRAM}",
        (("plane={size}", "{size}"),),
    ),
    "pals": InWords("PALS with Cray MPICH", _PALS, (("block", "1"), ("cyclic", "0"), ("folded", "2"))),
    "flux": InWords(
        "Flux",
        "flux run -N {nodes} --tasks-per-node={share}{requires} --taskmap={how} -o cpu-affinity=per-task "
        + PROGRAM,
        (("block", "block"), ("plane={size}", "cyclic:{size}")), by_name=True,
    ),
}  # fmt: skip


def orders_in_words(form: str, where: Allocation, n: int) -> Iterator[tuple[str, str]]:
    """Yield the orders a launcher can be told for `n` ranks, each with the command; simple ones first."""
    # Words leave open which cores of a partly filled node ranks get, so there are none unless every slot is a
    # core, every core of the nodes has a rank, and all nodes have equally many.
    row, machine = IN_WORDS[form], where.machine
    node_of_core = machine.node_of_core()
    counts = np.bincount(where.node_of_pe, minlength=int(node_of_core[-1]) + 1)
    used = np.flatnonzero(counts)
    full = n == where.k == len(where.cores) and where.gpus is None
    full = full and np.array_equal(counts[used], np.bincount(node_of_core)[used])
    threads = bool(machine.levels) and machine.levels[-1].name in THREAD_NAMES
    hosts = [where.hosts[node] for node in used.tolist()] if where.hosts else []
    if not n or not full or threads or len(set(counts[used].tolist())) > 1:
        return
    if row.by_name and hosts != sorted(hosts, key=natural_key):
        return
    share = int(counts[used[0]])
    slots = {} if machine.job is None else machine.job.slots
    if form.startswith("openmpi") and any(share > slots.get(host, share) for host in hosts):
        return  # mpirun has not enough slots
    named = _host_options(where, hosts, share)
    if any(len(text) > LONGEST_ARGUMENT for name, text in named.items() if f"{{{name}}}" in row.command):
        return
    facts = {"n": n, "nodes": len(used), "share": share, **named}
    inside = [(name, units) for name, units in _levels_inside(where, used) if name in row.levels]
    levels = [{"level": name, "units": units, "called": row.levels[name]} for name, units in inside]
    for order, how in row.orders:
        choices: Sequence[Dictionary[str, object]] = [{}]
        if "{level}" in order:
            choices = levels
        elif "{size}" in order:
            choices = [{"size": size} for size in range(share, 0, -1) if share % size == 0]
        for choice in choices:
            words = row.command.format(how=how.format(**choice), **facts)
            yield order.format(**choice), words


def _host_options(where: Allocation, hosts: list[str], share: int) -> dict[str, str]:
    """Return the options that name the hosts in use to launchers that would take others without them."""
    part, elsewhere = len(hosts) < len(where.hosts), bool(hosts) and hosts != ["localhost"]
    slots = " --host " + ",".join(f"{host}:{share}" for host in hosts)
    return {
        "hosts": f" -hosts {','.join(hosts)}" if hosts else "",
        # Outside a job mpirun starts all ranks on its own host unless it is told the hosts.
        "slots": slots if elsewhere and (part or where.machine.job is None) else "",
        "nodelist": f" --nodelist={host_argument(hosts)}" if part else "",
        "requires": f" --requires=hosts:{host_argument(hosts)}" if elsewhere else "",
    }


def _levels_inside(where: Allocation, used: Int64) -> list[tuple[str, int]]:
    """Return name and units per node of the levels inside nodes of which all nodes have equally many, > 1."""
    machine = where.machine
    node_level = machine.level_named(NODE_NAMES)
    found: list[tuple[str, int]] = []
    if node_level is None:
        return found
    node_of_core = machine.node_of_core()
    for index in range(node_level + 1, len(machine.levels) - 1):
        pairs = np.unique(np.stack([node_of_core, machine.ancestors(index)]), axis=1)
        sizes = set(np.bincount(pairs[0])[used].tolist())
        if len(sizes) == 1 and min(sizes) > 1:
            found.append((machine.levels[index].name, sizes.pop()))
    return found


@frozen
class BestOrder:
    """An order, the command that asks for it, and its J."""

    launcher: str
    order: str
    command: str
    comm_cost: int


def best_in_words(graph: CommGraph, where: Allocation, form: str) -> BestOrder | None:
    """Return the order of lowest J that a launcher can be told; None where words leave it open."""
    # Of equal ones the first in the table, which is the simplest; O(m) each.
    best = None
    for order, command in orders_in_words(form, where, graph.n) if in_scale(graph, where) else ():
        value = CommCost().value(graph, where, launcher_placement(where, graph.n, order).pe)
        if best is None or value < best.comm_cost:
            best = BestOrder(IN_WORDS[form].name, order, command, value)
    return best


def near_in_words(graph: CommGraph, mapping: Mapping, *forms: str) -> list[str]:
    """Return a sentence for every launcher whose best order in words is within 3 % of a mapping."""
    if graph.m > MOST_ARCS or mapping.info.get("objective", "comm_cost") != "comm_cost":
        return []
    weighted, where, sentences = graph.with_weights(mapping.info.get("weight", "bytes")), mapping.where, []
    own: int | None = None
    for form in forms:
        best = best_in_words(weighted, where, form) if form in IN_WORDS else None
        if best is None:
            continue
        own = CommCost().value(weighted, where, mapping.pe) if own is None else own
        if 100 * best.comm_cost <= (100 + NEAR) * own:
            more = "the same J" if best.comm_cost == own else "a lower J"
            if best.comm_cost > own:
                more = f"J {percent(best.comm_cost / own - 1)} higher"
            sentences.append(f"{best.launcher} without a file, {more}: `{best.command}`")
    return sentences

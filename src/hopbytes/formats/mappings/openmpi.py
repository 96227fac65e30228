"""openmpi: a rankfile and its hostfile, for Open MPI 5 (PRRTE) and 4; and the reader of rankfiles."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, LaunchLine, Source, Written
from hopbytes.formats.mappings.host_lists import (
    MAX_RANKS,
    allocation_of,
    as_launched,
    check_count,
    hosts_by_rank,
    mapping_by_hosts,
    node_numbers,
    node_of_host,
    rank_hosts,
)
from hopbytes.formats.mappings.launch_files import ANY_MAPPING, ASSUMED_CPUS, Launch, LaunchFormat, prepare
from hopbytes.formats.mappings.launchers import PROGRAM
from hopbytes.formats.mappings.numbering import Counting, Line, Numbers, Slots, numbers_in
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import format_list
from hopbytes.text.hostlist import ADDRESS
from hopbytes.text.lines import some_of

HARDWARE_THREADS = "Open MPI 4 cannot bind to single hardware threads by rankfile; this needs Open MPI 5"
#: Characters of a host and its cores that versions 4 and 5.0 keep; they cut longer ones in silence
#: (``tmp_rank_assignment`` and ``slot_list`` of rmaps_rank_file; tried with 5.0.11).
LONGEST_SLOT = 63
#: Names that the scanner of rankfiles divides at their first dot, unless they are addresses.
DIVIDED = re.compile(r"[0-9][^.]*\..*", re.ASCII)
#: Beginning of the list of hosts that hopbytes writes for ``--map-by seq``.
SEQUENCE = f"# Open MPI hosts in sequence {MARK}"
CHECK = "'hopbytes verify' shows where ranks would run"
BEYOND = (
    "{host} gets more ranks than its job or host file gives it slots: Open MPI 5 is told to accept that "
    "(oversubscribe)"
)


class OpenMpi(LaunchFormat, form="openmpi"):
    """Rankfile: a host and a set of cores for every rank."""
    # Ranks are written in ascending order without gaps, because Open MPI 4 refuses anything else. Cores are
    # logical numbers within the node, counted over the cores the job may use. Slots with GPUs, or with
    # different numbers of cores, need ``.place.sh``, which binds every rank and sets its variables. Without
    # host names the rankfile numbers nodes (``+n0``), so that only the hostfile has to be edited.
    # Source: mpirun(1) of Open MPI 4.1 and the PRRTE 3.0 documentation, section "rankfiles".

    summary = "Open MPI rankfile and hostfile"
    signature = re.compile(rb"(?:\A|\n)rank 0=|\A" + SEQUENCE.encode())
    several_files = True
    forbidden_characters = ":"  # --map-by rankfile:file=F of Open MPI 5
    forbidden_in_folders = ","  # --hostfile F of Open MPI 5, which makes F an absolute path
    capabilities = dataclasses.replace(ANY_MAPPING, launcher="mpirun", tested_with_launcher=True)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        # Options: those of `prepare`; `version`, ``"4"`` or ``"5"``, restricts the commands to that version.
        version = options.get("version")
        if version not in (None, "4", "5"):
            raise UnsupportedError(f"version={version!r} of Open MPI, expected '4' or '5'")
        launch = prepare(mapping, options)
        full = launch.beyond_slots()
        _check_names(launch.used_hosts)
        if not launch.binds:
            return _in_sequence(launch, full)
        slots, threads = _slots(launch)
        longest = max(
            len(f"{launch.host(task)} slot={slots[pe]}") for task, pe in enumerate(mapping.pe.tolist())
        )
        if longest > LONGEST_SLOT:
            reason = f"a host and its cores need {longest} characters, of which Open MPI reads {LONGEST_SLOT}"
            return _in_sequence(launch, full, f"{reason}: {{stem}}.place.sh binds instead")
        names = [host for host in launch.used_hosts if not ADDRESS.fullmatch(host)]
        divided = next(filter(DIVIDED.fullmatch, names), None)
        if divided is not None:
            reason = f"{divided} begins with a digit and has a dot, which rankfiles of Open MPI cannot say"
            return _in_sequence(launch, full, f"{reason}: {{stem}}.place.sh binds instead")
        if threads and version == "4":
            raise UnsupportedError(HARDWARE_THREADS)
        files = {"": _rankfile(launch, slots, threads), ".hosts": _hostfile(launch)}
        widths = {launch.threads_of_pe(pe) for pe in launch.pes}
        scripted, width = len(widths) > 1 or launch.has_gpus, max(widths)
        program = f" {PROGRAM}"
        if scripted:  # the launcher binds, the script sets the GPUs and the number of threads of each rank
            program = f" sh {{stem}}.place.sh {PROGRAM}"
            files[".place.sh"] = place_script(launch)
        elif width > 1:
            program = f" -x OMP_NUM_THREADS={width} -x OMP_PLACES=cores {PROGRAM}"
        lines = _lines(launch, threads, program, full)
        lines = [line for line in lines if version in (None, line.version)]
        notices = [*_notices(launch, threads), *_limits(launch, threads, version)]
        notices += [BEYOND.format(host=full)] if full and version != "4" else []
        if scripted and not launch.numbering.known:
            notices.append(ASSUMED_CPUS)
        scripts = (".place.sh",) if scripted else ()
        return Written(files, lines[0].command, tuple(notices), scripts, lines=tuple(lines))

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rankfile, or of a list of hosts, whose ranks take slots in order."""
        if source.head(200).startswith(SEQUENCE.encode()):
            return mapping_by_hosts(source, rank_hosts(source))
        return read_rankfile(source)


def _check_names(hosts: list[str]) -> None:
    """Refuse names that Open MPI takes for a number, and writes as one again (tried with 5.0.11)."""
    for host in hosts:
        if host.isdecimal() and (host != str(int(host)) or int(host) >= 2**31):
            raise UnsupportedError(
                f"Open MPI reads the host {host} as a number and finds no host of that name, expected names "
                "with a letter (`hosts`), or the format slurm, hydra or newrank"
            )


def in_sequence(full: str) -> str:
    """Return the policy that takes the host of every rank from a list; `full` is a host beyond its slots."""
    # Both versions know the word; without it mpirun 5.0.11 leaves out the ranks that exceed the slots.
    return "--map-by seq" + (":oversubscribe" if full else "") + " --bind-to none"


def _in_sequence(launch: Launch, full: str, reason: str = "") -> Written:
    """Return a list with the host of every rank; both versions of Open MPI take the same command."""
    # Open MPI 4 binds the ranks of a rankfile even with ``--bind-to none``, so slots that are GPUs without
    # known cores need this list, whose ranks are not bound, and ``.place.sh``.
    hosts = hosts_by_rank(launch, f"{SEQUENCE}: host of rank 0, 1, 2, ...")
    # With --map-by seq, Open MPI 4 does not recognise localhost as its own host.
    policy = "--bind-to none" if launch.hosts == ("localhost",) else in_sequence(full)
    command = f"mpirun -n {launch.n} --hostfile {{stem}} {policy}"
    return Written(
        {"": hosts, ".place.sh": place_script(launch)}, f"{command} sh {{stem}}.place.sh {PROGRAM}",
        (*launch.assumptions(), launch.by_script(reason)), (".place.sh",),
    )


def _slots(launch: Launch) -> tuple[dict[int, str], bool]:
    """Return the slot text of every PE in use, and whether it counts hardware threads instead of cores."""
    numbering, cores_of = launch.numbering, launch.mapping.where.cores_of
    cores = {pe: numbering.launcher_cores(cores_of(pe)) for pe in launch.pes}
    # If a slot has only some hardware threads of a core, all slots have to be given in hardware threads.
    threads = None in cores.values()
    return {
        pe: format_list(numbering.launcher_units(cores_of(pe)) if threads or own is None else own)
        for pe, own in cores.items()
    }, threads


def _rankfile(launch: Launch, slots: dict[int, str], threads: bool) -> str:
    what = "hardware threads" if threads else "cores"
    among = " that the job may use" if launch.numbering.restricted else ""
    lines = [f"# rankfile {MARK}: {launch.n} ranks; slot = logical {what} within the node{among}"]
    for rank, pe in enumerate(launch.mapping.pe.tolist()):
        host = f"+n{launch.node[rank]}" if launch.hosts_unknown else launch.host(rank)
        lines.append(f"rank {rank}={host} slot={slots[pe]}")
    return "\n".join(lines) + "\n"


def _hostfile(launch: Launch) -> str:
    tasks = launch.tasks_per_node().tolist()
    slots = np.bincount(launch.mapping.where.node_of_pe, minlength=len(tasks)).tolist()
    lines = [f"# hostfile {MARK}" + (": replace the names, keep the order" if launch.hosts_unknown else "")]
    for host, count, offered in zip(launch.hosts, tasks, slots, strict=True):
        # If nodes are numbered, the hostfile must also contain the nodes without tasks.
        if count or launch.hosts_unknown:
            lines.append(f"{host} slots={max(count, offered, 1)}")
    return "\n".join(lines) + "\n"


def _lines(launch: Launch, threads: bool, program: str, full: str) -> list[LaunchLine]:
    """Return the commands for versions 5 and 4, which have different options for rankfiles."""
    five = f"mpirun -n {launch.n} --hostfile {{stem}}.hosts --map-by rankfile:file={{stem}}"
    five += ":hwtcpus" if threads else ""
    binding = ":overload-allowed" if launch.most_tasks_on_a_slot() > 1 else ""
    if full:  # version 5 refuses more ranks than slots on a host otherwise, and then binds only if told to
        five += ":oversubscribe"
        binding = ("hwthread" if threads else "core") + binding
    five += f" --bind-to {binding}" if binding else ""
    lines = [LaunchLine("Open MPI 5", "openmpi", f"{five}{program}", "5")]
    if not threads:
        # Version 4 refuses +n0 with a hostfile; only nodes of a batch system have numbers (tried with 4.1.4).
        hosts = "" if launch.hosts_unknown else " --hostfile {stem}.hosts"
        four = f"mpirun -n {launch.n}{hosts} -rf {{stem}}{program}"
        lines.append(LaunchLine("Open MPI 4", "openmpi", four, "4"))
    return lines


def _notices(launch: Launch, threads: bool) -> list[str]:
    notices = []
    if launch.hosts_unknown:
        notices.append(
            f"host names are unknown: replace {launch.hosts[0]}, ... in {{stem}}.hosts by the real names, or "
            "give `hosts`; inside a batch job omit '--hostfile {stem}.hosts' instead"
            + ("" if threads else " (Open MPI 4 numbers nodes only there)")
        )
    if threads:
        notices.append(HARDWARE_THREADS)
        if _more_ranks_than_cores(launch):
            notices.append(
                "Open MPI 5.0 refuses a rankfile with more ranks than cores on a node (tried with 5.0.11); "
                "the formats slurm and newrank have no such limit"
            )
    return notices


def _more_ranks_than_cores(launch: Launch) -> bool:
    machine = launch.mapping.where.machine
    if len(machine.levels) < 2:
        return False
    core_of_thread = machine.ancestors(len(machine.levels) - 2)
    _, first_thread = np.unique(core_of_thread, return_index=True)
    cores = np.bincount(machine.node_of_core()[first_thread], minlength=len(launch.hosts))
    return bool(np.any(launch.tasks_per_node() > cores))


def _limits(launch: Launch, threads: bool, version: object) -> list[str]:
    """Return a notice for every fault of Open MPI in reading a rankfile's numbers on the hosts in use."""
    # Tried with 4.1.4 and 5.0.11: version 5 counts hardware threads instead of cores if the job may use a
    # single hardware thread of its first core, whatever the other cores have; version 4 binds on all hosts by
    # the topology of the host that runs mpirun. O(hardware threads of the hosts in use).
    inventory = launch.mapping.where.machine.inventory
    if inventory is None:
        return []
    hosts, notices = launch.used_hosts, []
    trees = [inventory.tree(node) for node in sorted(set(launch.node.tolist()))]
    threads_of = zip(hosts, (np.bincount(tree.cores) for tree in trees), strict=True)  # of every core
    single = [host for host, counts in threads_of if counts[0] == 1 < counts.max()]
    if single and version != "4" and not threads:
        notices.append(
            f"Open MPI 5 counts hardware threads instead of cores on hosts where the job has one hardware "
            f"thread of the first core and more of others ({some_of(single)}): request whole cores, or start "
            f"with srun; {CHECK}"
        )
    other = [  # where a core number stands for other CPUs of the operating system
        host for host, tree in zip(hosts, trees, strict=True)
        if not np.array_equal(trees[0].os_pus, tree.os_pus) or not np.array_equal(trees[0].cores, tree.cores)
    ]
    if other and version != "5":
        notices.append(
            f"Open MPI 4 binds on all hosts by the topology of the host that runs mpirun, but hosts differ "
            f"({some_of(other)} from {hosts[0]}): use Open MPI 5 or srun; {CHECK}"
        )
    return notices


RANK_LINE = re.compile(
    r"rank\s+(?P<rank>[0-9]{1,9})\s*=\s*(?:[\w-]+@)?(?P<host>[^\s@]+)\s+slots?\s*=\s*(?P<slot>\S.*)",
    re.ASCII | re.IGNORECASE,
)
#: Comments as Open MPI's scanner knows them; those between ``/*`` and ``*/`` may have several lines.
COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
PACKAGE_LEVELS = ("package", "socket", "pack")


@frozen
class RankLine:
    """A line of a rankfile: its place in the file, host and slot text."""

    line: Line
    host: str
    slot: str


def read_rankfile(source: Source) -> Mapping:
    """Return the mapping of a rankfile."""
    # Hosts are names of the allocation, or ``+nX`` for its X-th node. Slots are ``0-2,5`` (logical cores of
    # the node), ``1:0-2`` and ``1:*`` (cores of a package), ``S1`` (a package), several of them behind
    # semicolons, or ``p3`` (a CPU of the operating system, as old versions wrote it). Ranks may have any
    # number of cores where the slots of `where` are single cores: the mapping then has slots of its own.
    # Options: `where`, `n`, `threads` (slots count hardware threads).
    # Source: rmaps_rank_file_lex.l and opal_hwloc_base_cpu_list_parse of Open MPI 4.1, the same of PRRTE 3.
    # The comment of hopbytes in the first line says so; rankfiles of other programs do not.
    threads = source.options.get("threads") or b"slot = logical hardware threads" in source.head(200)
    rank_lines = _rank_lines(source)
    where = allocation_of(source, "a rankfile")
    slots, known = Slots(where), node_numbers(where)
    nodes = int(slots.node_of_unit[-1]) + 1
    asked: list[tuple[int, list[int], Counting, Line]] = []
    for rank in rank_lines:
        if rank.host.startswith("+n"):
            text = rank.host[2:]
            node = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else nodes
            if node >= nodes:
                raise FormatError(*rank.line, f"node {rank.host[:40]}, expected +n0 to +n{nodes - 1}")
        else:
            node = node_of_host(where, known, rank.host, rank.line)
        if rank.slot[:1] in "pP" and ":" not in rank.slot:
            asked.append((node, _numbers(rank.slot[1:], rank.slot, rank.line), "cpu", rank.line))
        else:
            cores = _cores(slots, node, rank.slot, rank.line)
            asked.append((node, cores, "thread" if threads else "core", rank.line))
    if where.k == len(where.cores):
        units = [slots.units_of(*wanted) for wanted in asked]
        if any(len(own) > 1 for own in units):
            check_count(source, len(rank_lines))
            return _cut_by_ranks(source, where, rank_lines, units)
    pe = [slots.pe(*wanted) for wanted in asked]
    check_count(source, len(rank_lines))
    return as_launched(source, pe, where)


def _cut_by_ranks(
    source: Source, where: Allocation, rank_lines: list[RankLine], units: list[Numbers]
) -> Mapping:
    """Return the mapping to slots that are the cores of ranks."""
    owner: dict[int, Numbers] = {}
    allowed = set(where.cores.tolist())
    for own, rank in zip(units, rank_lines, strict=True):
        for unit in own:
            if unit not in allowed or owner.setdefault(unit, own) != own:
                what = "is partly that of another rank" if unit in allowed else "is not in the job"
                expected = "expected cores of its own, or the same as another rank"
                raise FormatError(*rank.line, f"slot {rank.slot[:40]} {what}, {expected}")
    distinct = sorted(set(units))
    starts = np.cumsum([0, *map(len, distinct)]).astype(np.int64)
    cores = np.concatenate([np.array(own, np.int64) for own in distinct])
    number = {own: pe for pe, own in enumerate(distinct)}
    return as_launched(
        source, [number[own] for own in units], Allocation(where.machine, starts, cores, where.hosts)
    )


def _rank_lines(source: Source) -> list[RankLine]:
    by_rank: dict[int, RankLine] = {}
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source.text())
    for number, raw in enumerate(text.splitlines(), start=1):
        if not raw.strip():
            continue
        parts = RANK_LINE.fullmatch(raw.strip())
        if parts is None:
            raise source.error(f"{raw.strip()[:60]!r}, expected a line like 'rank 0=n1 slot=0-1'", number)
        rank = int(parts["rank"])
        if rank in by_rank:
            first = by_rank[rank].line[1]
            what = f"rank {rank} is repeated (first in line {first}), expected every rank once"
            raise FormatError(source.name, number, what)
        by_rank[rank] = RankLine((source.name, number), parts["host"], parts["slot"].strip())
        if len(by_rank) > MAX_RANKS:
            raise FormatError(source.name, number, f"more ranks than expected, at most {MAX_RANKS}")
    for rank in range(len(by_rank)):
        if rank not in by_rank:
            raise FormatError(source.name, None, f"rank {rank} is missing, expected 0 to {max(by_rank)}")
    return [by_rank[rank] for rank in range(len(by_rank))]


def _cores(slots: Slots, node: int, text: str, line: Line) -> list[int]:
    cores: set[int] = set()
    for item in text.split(";"):
        runs = item.split(",")
        for part in runs if all(":" in run for run in runs) else [item]:  # 0:0,1:2 is of two packages
            cores.update(_cores_of_part(slots, node, part.strip(), line))
    return sorted(cores)


def _cores_of_part(slots: Slots, node: int, text: str, line: Line) -> list[int]:
    bare = text[1:] if text[:1] in "sSpP" else text
    package, colon, cores = bare.rpartition(":")
    if bare != text and not colon:  # S0,1 are whole packages
        packages = _numbers(bare, text, line)
        return [core for number in packages for core in _in_package(slots, node, str(number), "*", line)]
    if colon:
        return _in_package(slots, node, package, cores, line)
    return sorted(slots.units(node, "core")) if text == "*" else _numbers(text, text, line)


def _in_package(slots: Slots, node: int, package: str, cores: str, line: Line) -> list[int]:
    level = slots.where.machine.level_named(PACKAGE_LEVELS)
    if not re.fullmatch(r"[0-9]{1,9}", package, re.ASCII):
        raise FormatError(*line, f"slot {package[:20]}:{cores[:20]}, expected package:cores like 1:0-2")
    if level is None and int(package) == 0:
        inside = sorted(slots.units(node, "core"))  # without such a level the node is one package
    elif level is None:
        raise FormatError(*line, f"package {package}, expected a machine with a level named package")
    else:
        inside = slots.cores_of_part(node, level, int(package))
    if not inside:
        raise FormatError(*line, f"package {package} of node {node}, expected a package of this node")
    if cores == "*":
        return inside
    wanted = _numbers(cores, cores, line)
    if wanted[-1] >= len(inside):
        raise FormatError(*line, f"core {wanted[-1]} of package {package}, expected 0 to {len(inside) - 1}")
    return [inside[number] for number in wanted]


def _numbers(text: str, shown: str, line: Line) -> list[int]:
    error = FormatError(*line, f"slot {shown[:40]!r}, expected cores like 0-3,6 or 1:0-2")
    return sorted(numbers_in(text, 2**20, error))

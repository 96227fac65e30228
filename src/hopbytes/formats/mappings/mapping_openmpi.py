"""openmpi: a rankfile and its hostfile, for Open MPI 5 (PRRTE) and 4."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Format, LaunchLine, Source, Written, formats
from hopbytes.formats.mappings.host_lists import hosts_by_rank, mapping_by_hosts, rank_hosts
from hopbytes.formats.mappings.launch_files import (
    ASSUMED_CPUS,
    PROGRAM,
    Launch,
    assumptions,
    by_script,
    number_list,
    prepare,
)
from hopbytes.formats.mappings.openmpi_limits import openmpi_limits
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.formats.mappings.rankfile import read_rankfile
from hopbytes.model.mapping import Mapping

HARDWARE_THREADS = "Open MPI 4 cannot bind to single hardware threads by rankfile; this needs Open MPI 5"

#: Characters of a host and its cores that versions 4 and 5.0 keep; they cut longer ones in silence
#: (``tmp_rank_assignment`` and ``slot_list`` of rmaps_rank_file; tried with 5.0.11).
LONGEST_SLOT = 63

#: Beginning of the list of hosts that hopbytes writes for ``--map-by seq``.
SEQUENCE = f"# Open MPI hosts in sequence {MARK}"


class OpenMpi(Format):
    """Rankfile: a host and a set of cores for every rank.

    Ranks are written in ascending order without gaps, because Open MPI 4 refuses anything else. Cores
    are logical numbers within the node, counted over the cores the job may use.

    Source: mpirun(1) of Open MPI 4.1 and the PRRTE 3.0 documentation, section "rankfiles".
    """

    holds = "mapping"
    summary = "Open MPI rankfile and hostfile"
    several_files = True
    forbidden_characters = ":"  # --map-by rankfile:file=F of Open MPI 5
    forbidden_in_folders = ","  # --hostfile F of Open MPI 5, which makes F an absolute path
    capabilities = Capabilities(
        any_host_order=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True, scattered_ranks=True,
        launcher="mpirun", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the rankfile, the hostfile ``.hosts`` and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`;
        `version`, ``"4"`` or ``"5"``, restricts the commands to that version. Slots with GPUs, or with
        different numbers of cores, need ``.place.sh``, which binds every rank and sets its variables.
        Without host names the rankfile numbers nodes (``+n0``), so that only the hostfile has to be edited.
        Open MPI 4 binds the ranks of a rankfile even with ``--bind-to none``, so slots that are GPUs without
        known cores get a list of hosts instead, mapped in sequence without binding, and ``.place.sh``.
        """
        version = options.get("version")
        if version not in (None, "4", "5"):
            raise UnsupportedError(f"version={version!r} of Open MPI, expected '4' or '5'")
        launch = prepare(mapping, options)
        if not launch.binds:
            return _unbound(launch)
        slots, threads = _slots(launch)
        longest = max(
            len(f"{launch.host(task)} slot={slots[pe]}") for task, pe in enumerate(mapping.pe.tolist())
        )
        if longest > LONGEST_SLOT:
            reason = f"a host and its cores need {longest} characters, of which Open MPI reads {LONGEST_SLOT}"
            return _unbound(launch, reason)
        if threads and version == "4":
            raise UnsupportedError(HARDWARE_THREADS)
        files = {"": _rankfile(launch, slots, threads), ".hosts": _hostfile(launch)}
        scripted, openmp = _threads(launch)
        program = f"sh {{stem}}.place.sh {PROGRAM}" if scripted else PROGRAM
        lines = _lines(launch, threads, f"{openmp} {program}")
        lines = tuple(line for line in lines if version in (None, line.version))
        if scripted:  # the launcher binds, the script sets the GPUs and the number of threads of each rank
            files[".place.sh"] = place_script(launch)
        executable = tuple(suffix for suffix in files if suffix == ".place.sh")
        notices = _notices(launch, threads)
        notices += openmpi_limits(launch, threads, version)
        if scripted and not launch.numbering.known:
            notices += (ASSUMED_CPUS,)
        return Written(files, lines[0].command, notices, executable, lines=lines)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rankfile; see :func:`hopbytes.formats.mappings.rankfile.read_rankfile`.

        A list of hosts that hopbytes wrote names no cores, so the ranks of a host take its slots in order.
        """
        if source.head(200).startswith(SEQUENCE.encode()):
            return mapping_by_hosts(source, rank_hosts(source))
        return read_rankfile(source)

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether a line begins with ``rank 0=``, or the first line is that of a list of hosts."""
        return head.startswith((SEQUENCE.encode(), b"rank 0=")) or b"\nrank 0=" in head


formats.register("openmpi")(OpenMpi())


def _unbound(launch: Launch, reason: str = "") -> Written:
    """Return a list with the host of every rank; both versions of Open MPI take the same command."""
    files = {
        "": hosts_by_rank(launch, f"{SEQUENCE}: host of rank 0, 1, 2, ..."), ".place.sh": place_script(launch)
    }
    # With --map-by seq, Open MPI 4 does not recognise localhost as its own host.
    sequence = "" if launch.hosts == ("localhost",) else " --map-by seq"
    command = f"mpirun -n {launch.n} --hostfile {{stem}}{sequence} --bind-to none"
    bound = f"{reason}: {{stem}}.place.sh binds instead" if reason else ""
    notices = (*assumptions(launch), by_script(launch, bound))
    return Written(files, f"{command} sh {{stem}}.place.sh {PROGRAM}", notices, (".place.sh",))


def _slots(launch: Launch) -> tuple[dict[int, str], bool]:
    """Return the slot text of every PE in use, and whether it counts hardware threads instead of cores."""
    numbering, where = launch.numbering, launch.mapping.where
    used = sorted(set(launch.mapping.pe.tolist()))
    cores = {pe: numbering.launcher_cores(where.cores_of(pe)) for pe in used}
    threads = any(own is None for own in cores.values())
    # If a slot has only some hardware threads of a core, all slots have to be given in hardware threads.
    slots = {
        pe: number_list(numbering.launcher_places(where.cores_of(pe)) if threads or own is None else own)
        for pe, own in cores.items()
    }
    return slots, threads


def _rankfile(launch: Launch, slots: dict[int, str], threads: bool) -> str:
    what = "hardware threads" if threads else "cores"
    among = " that the job may use" if launch.numbering.restricted else ""
    lines = [f"# rankfile {MARK}: {launch.n} ranks; slot = logical {what} within the node{among}"]
    for rank, pe in enumerate(launch.mapping.pe.tolist()):
        host = f"+n{launch.node[rank]}" if launch.hosts_unknown else launch.host(rank)
        lines.append(f"rank {rank}={host} slot={slots[pe]}")
    return "\n".join(lines) + "\n"


def _hostfile(launch: Launch) -> str:
    tasks, slots = launch.tasks_per_node().tolist(), launch.slots_per_node().tolist()
    lines = [f"# hostfile {MARK}"]
    if launch.hosts_unknown:
        lines = [f"# hostfile {MARK}: replace the names, keep the order"]
    for host, held, offered in zip(launch.hosts, tasks, slots, strict=True):
        # If nodes are numbered, the hostfile must also contain the nodes without tasks.
        if held or launch.hosts_unknown:
            lines.append(f"{host} slots={max(held, offered, 1)}")
    return "\n".join(lines) + "\n"


def _threads(launch: Launch) -> tuple[bool, str]:
    """Return whether ranks need different variables, which only a script can set, and the OpenMP settings."""
    widths = {launch.threads_of_pe(pe) for pe in set(launch.mapping.pe.tolist())}
    if len(widths) > 1 or any(launch.gpus(task) for task in range(launch.n)):
        return True, ""
    width = max(widths)
    return False, f" -x OMP_NUM_THREADS={width} -x OMP_PLACES=cores" if width > 1 else ""


def _lines(launch: Launch, threads: bool, program: str) -> tuple[LaunchLine, ...]:
    """Return the commands for versions 5 and 4, which have different options for rankfiles."""
    common = f"mpirun -n {launch.n} --hostfile {{stem}}.hosts"
    five = f"{common} --map-by rankfile:file={{stem}}" + (":hwtcpus" if threads else "")
    five += " --bind-to :overload-allowed" if launch.most_tasks_on_a_slot() > 1 else ""
    lines = [LaunchLine("Open MPI 5", "openmpi", f"{five}{program}", "5")]
    if not threads:
        # Version 4 refuses +n0 with a hostfile; only nodes of a batch system have numbers (tried with 4.1.4).
        hosts = "" if launch.hosts_unknown else " --hostfile {stem}.hosts"
        four = f"mpirun -n {launch.n}{hosts} -rf {{stem}}{program}"
        lines.append(LaunchLine("Open MPI 4", "openmpi", four, "4"))
    return tuple(lines)


def _notices(launch: Launch, threads: bool) -> tuple[str, ...]:
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
    return tuple(notices)


def _more_ranks_than_cores(launch: Launch) -> bool:
    machine = launch.mapping.where.machine
    if len(machine.levels) < 2:
        return False
    core_of_thread = machine.ancestors(len(machine.levels) - 2)
    _, first_thread = np.unique(core_of_thread, return_index=True)
    cores = np.bincount(machine.node_of_core()[first_thread], minlength=len(launch.hosts))
    return bool(np.any(launch.tasks_per_node() > cores))

"""openmpi: a rankfile and its hostfile, for Open MPI 5 (PRRTE) and 4."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Can, Format, LaunchLine, Source, Written, formats
from hopbytes.formats.mappings.host_lists import hosts_by_rank, placed_by_hosts, rank_hosts
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

#: How our list of hosts for ``--map-by seq`` begins.
SEQUENCE = f"# Open MPI hosts in sequence {MARK}"


class OpenMpi(Format):
    """Rankfile: a host and a set of cores for every rank.

    Ranks are written in ascending order without gaps, because Open MPI 4 refuses anything else. Cores
    are logical numbers within the node, counted over the cores the job may use.

    Source: mpirun(1) of Open MPI 4.1 and the PRRTE 3.0 documentation, section "rankfiles".
    """

    holds = "placement"
    summary = "Open MPI rankfile and hostfile"
    several_files = True
    misread = ":"  # --map-by rankfile:file=F of Open MPI 5
    misread_in_folders = ","  # --hostfile F of Open MPI 5, which completes F by the current folder
    can = Can(
        any_host_order=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True, scattered_ranks=True,
        launcher="mpirun", tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the rankfile, the hostfile ``.hosts`` and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.mappings.launch_files.prepare`);
        `version`, ``"4"`` or ``"5"`` for the command of that version alone. Slots with GPUs, or of
        different numbers of cores, need ``.place.sh``, which tells every rank its own and binds as well.
        Without host names the rankfile counts nodes (``+n0``), so that only the hostfile has to be edited.
        A rankfile binds whatever it is told beside it (Open MPI 4), so slots that are GPUs without cores get
        a list of hosts instead, mapped in sequence and unbound, and ``.place.sh``.

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        UnsupportedError
            A version that is neither; hardware threads in a rankfile for version 4.
        """
        version = options.get("version")
        if version not in (None, "4", "5"):
            raise UnsupportedError(f"version={version!r} of Open MPI, expected '4' or '5'")
        launch = prepare(mapping, options)
        if not launch.binds:
            return _unbound(launch)
        slots, threads = _slots(launch)
        if threads and version == "4":
            raise UnsupportedError(HARDWARE_THREADS)
        files = {"": _rankfile(launch, slots, threads), ".hosts": _hostfile(launch)}
        scripted, openmp = _threads(launch)
        program = f"sh {{stem}}.place.sh {PROGRAM}" if scripted else PROGRAM
        lines = _lines(launch, threads, f"{openmp} {program}")
        lines = tuple(line for line in lines if version in (None, line.version))
        if scripted:  # the launcher binds, the script tells each rank its GPUs and its number of threads
            files[".place.sh"] = place_script(launch)
        executable = tuple(suffix for suffix in files if suffix == ".place.sh")
        notices = _notices(launch, threads)
        notices += openmpi_limits(launch, threads, version)
        if scripted and not launch.numbering.known:
            notices += (ASSUMED_CPUS,)
        return Written(files, lines[0].command, notices, executable, lines=lines)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rankfile; see :func:`hopbytes.formats.mappings.rankfile.read_rankfile`.

        Of our own list of hosts, the slots of a host go in order.
        """
        if source.head(200).startswith(SEQUENCE.encode()):
            return placed_by_hosts(source, rank_hosts(source))
        return read_rankfile(source)

    def sniff(self, name: str, head: bytes) -> bool:
        """A line that begins with ``rank 0=``, or the first line of our list of hosts."""
        return head.startswith((SEQUENCE.encode(), b"rank 0=")) or b"\nrank 0=" in head


formats.register("openmpi")(OpenMpi())


def _unbound(launch: Launch) -> Written:
    """Return the host of every rank in order; both versions take the same command."""
    files = {
        "": hosts_by_rank(launch, f"{SEQUENCE}: host of rank 0, 1, 2, ..."), ".place.sh": place_script(launch)
    }
    # Open MPI 4 does not find its own host under the name localhost in a sequence.
    sequence = "" if launch.hosts == ("localhost",) else " --map-by seq"
    command = f"mpirun -n {launch.n} --hostfile {{stem}}{sequence} --bind-to none"
    notices = (*assumptions(launch), by_script(launch, ""))
    return Written(files, f"{command} sh {{stem}}.place.sh {PROGRAM}", notices, (".place.sh",))


def _slots(launch: Launch) -> tuple[dict[int, str], bool]:
    """Return what is written for every PE in use, and whether it counts hardware threads."""
    numbering, where = launch.numbering, launch.mapping.where
    used = sorted(set(launch.mapping.pe.tolist()))
    cores = {pe: numbering.launcher_cores(where.cores_of(pe)) for pe in used}
    threads = any(own is None for own in cores.values())
    # A slot of some hardware threads of a core can only be said by counting threads for all.
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
        host = f"+n{launch.node[rank]}" if launch.invented else launch.host(rank)
        lines.append(f"rank {rank}={host} slot={slots[pe]}")
    return "\n".join(lines) + "\n"


def _hostfile(launch: Launch) -> str:
    tasks, slots = launch.tasks_per_node().tolist(), launch.slots_per_node().tolist()
    lines = [f"# hostfile {MARK}"]
    if launch.invented:
        lines = [f"# hostfile {MARK}: replace the names, keep the order"]
    for host, held, offered in zip(launch.hosts, tasks, slots, strict=True):
        # Where nodes are counted, a node without tasks still takes a number.
        if held or launch.invented:
            lines.append(f"{host} slots={max(held, offered, 1)}")
    return "\n".join(lines) + "\n"


def _threads(launch: Launch) -> tuple[bool, str]:
    """Whether ranks differ in what a command can tell all of them alike, and the settings for OpenMP."""
    widths = {launch.threads_of_pe(pe) for pe in set(launch.mapping.pe.tolist())}
    if len(widths) > 1 or any(launch.gpus(task) for task in range(launch.n)):
        return True, ""
    width = max(widths)
    return False, f" -x OMP_NUM_THREADS={width} -x OMP_PLACES=cores" if width > 1 else ""


def _lines(launch: Launch, threads: bool, program: str) -> tuple[LaunchLine, ...]:
    """Return the commands: version 5 dropped an option of version 4, which does not know its successor."""
    common = f"mpirun -n {launch.n} --hostfile {{stem}}.hosts"
    five = f"{common} --map-by rankfile:file={{stem}}" + (":hwtcpus" if threads else "")
    five += " --bind-to :overload-allowed" if launch.most_tasks_on_a_slot() > 1 else ""
    lines = [LaunchLine("Open MPI 5", "openmpi", f"{five}{program}", "5")]
    if not threads:
        # It refuses +n0 beside a hostfile: only a batch system's nodes can be counted (tried with 4.1.4).
        hosts = "" if launch.invented else " --hostfile {stem}.hosts"
        four = f"mpirun -n {launch.n}{hosts} -rf {{stem}}{program}"
        lines.append(LaunchLine("Open MPI 4", "openmpi", four, "4"))
    return tuple(lines)


def _notices(launch: Launch, threads: bool) -> tuple[str, ...]:
    notices = []
    if launch.invented:
        notices.append(
            f"host names are unknown: put the real ones into {{stem}}.hosts for {launch.hosts[0]}, ... or "
            "give `hosts`; inside a batch job leave '--hostfile {stem}.hosts' away instead"
            + ("" if threads else " (Open MPI 4 counts nodes only there)")
        )
    if threads:
        notices.append(HARDWARE_THREADS)
        if _more_ranks_than_cores(launch):
            notices.append(
                "Open MPI 5.0 refuses rankfiles with more ranks than cores on a node (tried with 5.0.11); "
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

"""openmpi: a rankfile and its hostfile, for Open MPI 5 (PRRTE) and 4."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Can, Format, Source, Written, formats
from hopbytes.formats.launching import ASSUMED_CPUS, PROGRAM, Launch, number_list, prepare
from hopbytes.formats.openmpi_limits import openmpi_limits
from hopbytes.formats.place_script import place_script
from hopbytes.formats.rankfile import read_rankfile
from hopbytes.mapping import Mapping

HARDWARE_THREADS = "Open MPI 4 cannot bind to single hardware threads by rankfile; this needs Open MPI 5"


class OpenMpi(Format):
    """Rankfile: a host and a set of cores for every rank.

    Ranks are written in ascending order without gaps, because Open MPI 4 refuses anything else. Cores
    are logical numbers within the node, counted over the cores the job may use.

    Source: mpirun(1) of Open MPI 4.1 and the PRRTE 3.0 documentation, section "rankfiles".
    """

    holds = "placement"
    summary = "Open MPI rankfile and hostfile"
    several_files = True
    can = Can(
        any_host_order=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True, scattered_ranks=True,
        launcher="mpirun", tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the rankfile, the hostfile ``.hosts`` and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.launching.prepare`);
        `version`, ``"4"`` for a command that Open MPI 4 takes. Slots
        with GPUs, or of different numbers of cores, need ``.place.sh``, which tells every rank its own and
        binds as well. Without host
        names the rankfile counts nodes (``+n0``), so that only the hostfile has to be edited.

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.launching.prepare`.
        """
        launch = prepare(mapping, options)
        slots, threads = _slots(launch)
        command = f"mpirun -n {launch.n} --hostfile {{stem}}.hosts"
        if options.get("version") == "4":
            if threads:
                raise UnsupportedError(HARDWARE_THREADS)
            command += " -rf {stem}"
        else:
            command += " --map-by rankfile:file={stem}" + (":hwtcpus" if threads else "")
            command += " --bind-to :overload-allowed" if launch.most_tasks_on_a_slot() > 1 else ""
        files = {"": _rankfile(launch, slots, threads), ".hosts": _hostfile(launch)}
        scripted, openmp = _threads(launch)
        command += openmp
        program = f"sh {{stem}}.place.sh {PROGRAM}" if scripted else PROGRAM
        if scripted:  # the launcher binds, the script tells each rank its GPUs and its number of threads
            files[".place.sh"] = place_script(launch)
        executable = tuple(suffix for suffix in files if suffix == ".place.sh")
        notices = _notices(launch, threads, f"{openmp} {program}")
        notices += openmpi_limits(launch, threads, options.get("version"))
        if scripted and not launch.numbering.known:
            notices += (ASSUMED_CPUS,)
        return Written(files, f"{command} {program}", notices, executable)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rankfile; see :func:`hopbytes.formats.rankfile.read_rankfile`."""
        return read_rankfile(source)

    def sniff(self, name: str, head: bytes) -> bool:
        """A line that begins with ``rank 0=``."""
        return any(line.startswith(b"rank 0=") for line in head.splitlines())


formats.register("openmpi")(OpenMpi())


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


def _notices(launch: Launch, threads: bool, program: str) -> tuple[str, ...]:
    notices = []
    if launch.invented:
        notices.append(
            f"host names are unknown: put the real ones into {{stem}}.hosts for {launch.hosts[0]}, ... or "
            "give --hosts; inside a batch job leave '--hostfile {stem}.hosts' away instead"
        )
    if threads:
        notices.append(HARDWARE_THREADS)
        if _more_ranks_than_cores(launch):
            notices.append(
                "Open MPI 5.0 refuses rankfiles with more ranks than cores on a node (tried with 5.0.11); "
                "the formats slurm and newrank have no such limit"
            )
    elif launch.invented:
        notices.append(f"Open MPI 4, inside a batch job: mpirun -n {launch.n} -rf {{stem}}{program}")
    else:
        command = f"mpirun -n {launch.n} --hostfile {{stem}}.hosts -rf {{stem}}{program}"
        notices.append(f"Open MPI 4: {command}")
    return tuple(notices)


def _more_ranks_than_cores(launch: Launch) -> bool:
    machine = launch.mapping.where.machine
    if len(machine.levels) < 2:
        return False
    core_of_thread = machine.ancestors(len(machine.levels) - 2)
    _, first_thread = np.unique(core_of_thread, return_index=True)
    cores = np.bincount(machine.node_of_core()[first_thread], minlength=len(launch.hosts))
    return bool(np.any(launch.tasks_per_node() > cores))

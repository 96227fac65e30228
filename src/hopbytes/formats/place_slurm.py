"""slurm: a host for every rank (SLURM_HOSTFILE) and the binding, in the command or in place.sh."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import MARK, Can, Format, Written, formats
from hopbytes.formats.launching import PROGRAM, Launch, prepare
from hopbytes.formats.place_script import place_script
from hopbytes.formats.symmetry import renumbered
from hopbytes.mapping import Mapping

Cores = tuple[int, ...]


class Slurm(Format):
    """Hostfile for ``srun --distribution=arbitrary``, with ``--cpu-bind`` or a script for the cores.

    Slurm takes one list of cores for all nodes, applied to the ranks of a node in ascending order. Where
    nodes need different lists, slots are renumbered inside nodes (no metric changes); where that does not
    help, the script ``.place.sh`` binds.

    Source: srun(1), sections --distribution, --cpu-bind and SLURM_HOSTFILE.
    """

    holds = "placement"
    summary = "Slurm hostfile with --cpu-bind, or place.sh where nodes differ"
    can = Can(
        any_host_order=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the hostfile, if need be ``.place.sh``, and the command (one prefix, nothing exported).

        Options: `hosts`, `oversubscribe` (see :func:`hopbytes.formats.launching.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.launching.prepare`.
        """
        launch = prepare(mapping, options)
        notices = _notices(launch)
        files = {"": _hostfile(launch)}
        binding = _one_list(launch)
        if binding is None:
            alike = dataclasses.replace(launch, mapping=dataclasses.replace(mapping, pe=renumbered(mapping)))
            binding = _one_list(alike)
            if binding is not None:
                launch = alike
                notices.append("slots renumbered inside nodes so that one list serves all; no metric changes")
        widest = max(len(launch.cores_of_pe(pe)) for pe in set(launch.mapping.pe.tolist()))
        used = int((launch.tasks_per_node() > 0).sum())
        # No --cpus-per-task: it would shrink the step to as many CPUs as its tasks ask for, and srun then
        # refuses to bind to any other CPU of a node that is not full.
        srun = f"srun -n {launch.n} -N {used} --distribution=arbitrary"
        if launch.most_tasks_on_a_slot() > 1:
            srun += " --overcommit"
        if binding is None:
            files[".place.sh"] = place_script(launch)
            notices.append("nodes need different cores, which srun cannot say: {stem}.place.sh binds instead")
            command = f"SLURM_HOSTFILE={{stem}} {srun} --cpu-bind=none sh {{stem}}.place.sh {PROGRAM}"
        else:
            threads = f"OMP_NUM_THREADS={widest} OMP_PLACES=cores " if widest > 1 else ""
            command = f"SLURM_HOSTFILE={{stem}} {threads}{srun} --cpu-bind={binding} {PROGRAM}"
        return Written(files, command, tuple(notices), tuple(suffix for suffix in files if suffix))

    def sniff(self, name: str, head: bytes) -> bool:
        """Only our own mark tells a list of hosts from any other list of words."""
        return head.startswith(f"# Slurm hostfile {MARK}".encode())


formats.register("slurm")(Slurm())


def _hostfile(launch: Launch) -> str:
    lines = [f"# Slurm hostfile {MARK}: host of rank 0, 1, 2, ..."]
    lines += [launch.host(rank) for rank in range(launch.n)]
    return "\n".join(lines) + "\n"


def _one_list(launch: Launch) -> str | None:
    """Return the ``--cpu-bind`` value that serves every node, None when there is none."""
    position = [0] * len(launch.hosts)
    common: list[Cores] = []
    for rank, node in enumerate(launch.node.tolist()):
        cores, place = launch.cores(rank), position[node]
        position[node] += 1
        if place == len(common):
            common.append(cores)
        elif common[place] != cores:
            return None
    if all(len(cores) == 1 for cores in common):
        return "map_cpu:" + ",".join(str(cores[0]) for cores in common)
    if len({len(cores) for cores in common}) > 1:
        return None  # OMP_NUM_THREADS could not be right for all
    return "mask_cpu:" + ",".join(hex(sum(1 << core for core in cores)) for cores in common)


def _notices(launch: Launch) -> list[str]:
    notices = []
    if launch.invented or launch.hosts == ("localhost",):
        notices.append(
            f"host names are unknown: put the real ones into {{stem}} for {launch.hosts[0]}, ... "
            "or give --hosts"
        )
    notices.append(
        "cores are taken to be CPU numbers of the operating system on whole nodes (sbatch --exclusive); "
        "check with: srun --cpu-bind=verbose"
    )
    return notices

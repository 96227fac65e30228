"""slurm: a host for every rank (SLURM_HOSTFILE) and the binding, in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.formats.base import Can, Written, formats
from hopbytes.formats.mappings.binding import Binding, one_list
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, Launch, by_script, prepare
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping

DIFFERENT = "nodes need different cores, which srun cannot say: {stem}.place.sh binds instead"
PARTIAL = "not all CPUs of the nodes are the job's, srun's lists might count otherwise: {stem}.place.sh binds"


class Slurm(HostList):
    """Hostfile for ``srun --distribution=arbitrary``, with ``--cpu-bind`` or a script for the cores.

    Slurm takes one list of cores for all nodes, applied to the ranks of a node in ascending order. Where
    nodes need different lists, slots are renumbered inside nodes (no metric changes); where that does not
    help, or the job has a part only of its nodes, the script ``.place.sh`` binds. GPUs are told by the
    script as well: ``--gpu-bind`` does nothing, and says nothing, where Slurm counts no GPUs (22.05).

    Source: srun(1), sections --distribution, --cpu-bind, --gpu-bind and SLURM_HOSTFILE.
    """

    title = "Slurm hostfile"
    ranks = staticmethod(rank_hosts)
    summary = "Slurm hostfile with --cpu-bind, or place.sh where nodes differ"
    can = Can(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="srun", usual_order="block", tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the hostfile, if need be ``.place.sh``, and the command (one prefix, nothing exported).

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.mappings.launch_files.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        binding = one_list(launch)
        files = {"": hosts_by_rank(binding.launch, self.head("host of rank 0, 1, 2, ..."))}
        used = int((launch.tasks_per_node() > 0).sum())
        # No --cpus-per-task: it would shrink the step to as many CPUs as its tasks ask for, and srun then
        # refuses to bind to any other CPU of a node that is not full.
        srun = f"srun -n {launch.n} -N {used} --distribution=arbitrary"
        if launch.most_tasks_on_a_slot() > 1:
            srun += " --overcommit"
        used_places = np.concatenate([mapping.where.cores_of(pe) for pe in set(mapping.pe.tolist())])
        whole = launch.numbering.whole_nodes(used_places)
        notices = _notices(launch, whole)
        said = srun_binding(binding) if whole else None
        if said is None:
            files[".place.sh"] = place_script(launch)
            notices.append(by_script(launch, DIFFERENT if whole else PARTIAL))
            command = f"SLURM_HOSTFILE={{stem}} {srun} {unbound(launch)} sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            command = f"SLURM_HOSTFILE={{stem}} {binding.openmp}{srun} {said} {PROGRAM}"
        return binding.written(files, command, notices)


formats.register("slurm")(Slurm())


def srun_binding(binding: Binding) -> str | None:
    """Return the option of srun that binds cores, None where srun cannot say it."""
    if binding.cpus is None:
        return None
    if all(len(own) == 1 for own in binding.cpus):
        return "--cpu-bind=map_cpu:" + ",".join(str(own[0]) for own in binding.cpus)
    return "--cpu-bind=mask_cpu:" + ",".join(cpu_mask(own) for own in binding.cpus)


def unbound(launch: Launch) -> str:
    """Return the options of srun with which a script can bind cores, and GPUs where slots have them."""
    return "--cpu-bind=none" + (" --gpu-bind=none" if launch.carries else "")


def cpu_mask(cpus: tuple[int, ...]) -> str:
    """Return CPUs as a hexadecimal number with one bit each."""
    return hex(sum(1 << cpu for cpu in cpus))


def _notices(launch: Launch, whole: bool) -> list[str]:
    notices = []
    if launch.invented or launch.hosts == ("localhost",):
        notices.append(
            f"host names are unknown: put the real ones into {{stem}} for {launch.hosts[0]}, ... "
            "or give `hosts`"
        )
    if not launch.binds:
        return notices
    if launch.numbering.known and whole:
        notices.append(
            "binding counts on whole nodes (sbatch --exclusive); check with: srun --cpu-bind=verbose"
        )
    elif not launch.numbering.known:
        notices.append(
            "cores are taken to be CPU numbers of the operating system on whole nodes (sbatch --exclusive); "
            "check with: srun --cpu-bind=verbose"
        )
    return notices

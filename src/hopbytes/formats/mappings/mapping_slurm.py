"""slurm: a host for every rank (SLURM_HOSTFILE) and the binding, in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import Binding, common_binding
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, Launch, by_script, prepare
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping

DIFFERENT = "nodes need different cores, which srun cannot express: {stem}.place.sh binds instead"
PARTIAL = (
    "the job has only some CPUs of its nodes, which srun may renumber: {stem}.place.sh binds instead"
)
#: `hopbytes run` and lines for a running job take it out of the environment of srun, to which it is a limit.
UNLIMITED = "without SLURM_CPUS_PER_TASK"


class Slurm(HostList):
    """Hostfile for ``srun --distribution=arbitrary``, with ``--cpu-bind`` or a script for the cores.

    Slurm applies one list of cores to all nodes, in ascending order of the ranks of a node. If nodes need
    different lists, slots are renumbered inside nodes, which changes no metric. If that does not give one
    list, or the job has only a part of its nodes, the script ``.place.sh`` binds. The script also sets GPUs,
    because ``--gpu-bind`` is silently ignored if Slurm does not manage the GPUs (tried with 22.05).

    Source: srun(1), sections --distribution, --cpu-bind, --gpu-bind and SLURM_HOSTFILE.
    """

    title = "Slurm hostfile"
    ranks = staticmethod(rank_hosts)
    summary = "Slurm hostfile with --cpu-bind, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="srun", usual_order="block", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the hostfile, ``.place.sh`` where a script has to bind, and the command.

        The command sets SLURM_HOSTFILE for itself only, so that later job steps are not affected.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        used_places = np.concatenate([mapping.where.cores_of(pe) for pe in set(mapping.pe.tolist())])
        whole = launch.numbering.whole_nodes(used_places)
        binding = common_binding(launch) if whole else Binding(launch, None)
        files = {"": hosts_by_rank(launch, self.head("host of rank 0, 1, 2, ..."))}
        # The option --cpus-per-task must be absent: it would restrict the step to as many CPUs as its tasks
        # request, and srun then refuses to bind to the other CPUs of a partly filled node. So must --nodes,
        # which srun has refused beside an arbitrary distribution since 23.11; the file names the nodes.
        srun = f"srun -n {launch.n} --distribution=arbitrary"
        if launch.most_tasks_on_a_slot() > 1:
            srun += " --overcommit"
        notices = _notices(launch, whole)
        option = srun_binding(binding)
        if option is None:
            files[".place.sh"] = place_script(launch)
            notices.append(by_script(launch, DIFFERENT if whole else PARTIAL))
            command = f"SLURM_HOSTFILE={{stem}} {srun} {unbound(launch)} sh {{stem}}.place.sh {PROGRAM}"
            notices += _managed_gpus(launch, srun)
        else:
            notices += binding.notices
            command = f"SLURM_HOSTFILE={{stem}} {binding.openmp}{srun} {option} {PROGRAM}"
        return binding.written(files, command, notices)


formats.register("slurm")(Slurm())


def srun_binding(binding: Binding) -> str | None:
    """Return the option of srun that binds ranks to cores, or None if srun cannot express the binding."""
    if binding.cpus is None:
        return None
    if all(len(own) == 1 for own in binding.cpus):
        return "--cpu-bind=map_cpu:" + ",".join(str(own[0]) for own in binding.cpus)
    return "--cpu-bind=mask_cpu:" + ",".join(cpu_mask(own) for own in binding.cpus)


def unbound(launch: Launch) -> str:
    """Return the options that stop srun from binding, so that a script can bind cores and set GPUs."""
    return "--cpu-bind=none" + (" --gpu-bind=none" if launch.has_gpus else "")


def cpu_mask(cpus: tuple[int, ...]) -> str:
    """Return a set of CPUs as a hexadecimal mask with one bit per CPU."""
    return hex(sum(1 << cpu for cpu in cpus))


def gpu_binding(launch: Launch) -> str | None:
    """Return the option of srun that shows ranks their GPUs, None where nodes need different lists.

    One list serves all nodes: its items belong to the ranks of a node in ascending order. All versions know
    ``map_gpu:`` and ``mask_gpu:``, later ones than 22.05 also ``map:`` and ``mask:``.
    """
    lists: dict[int, list[tuple[int, ...]]] = {}
    for task, node in enumerate(launch.node.tolist()):
        lists.setdefault(node, []).append(launch.gpus(task))
    longest = max(lists.values(), key=len, default=[])
    if not launch.has_gpus or not all(own == longest[: len(own)] and all(own) for own in lists.values()):
        return None
    if all(len(own) == 1 for own in longest):
        return "--gpu-bind=map_gpu:" + ",".join(str(own[0]) for own in longest)
    return "--gpu-bind=mask_gpu:" + ",".join(hex(sum(1 << gpu for gpu in own)) for own in longest)


def _managed_gpus(launch: Launch, srun: str) -> list[str]:
    """Return a sentence with the command for clusters whose GPUs Slurm itself shows to tasks."""
    option = gpu_binding(launch)
    if option is None:
        return []
    where = launch.mapping.where
    count = 1 + max(gpu for pe in range(where.k) for gpu in where.gpus_of(pe))
    command = f"SLURM_HOSTFILE={{stem}} {srun} --gpus-per-node={count} {option} {PROGRAM}"
    return [
        f"if Slurm manages the GPUs (gres.conf), `{command}` shows them without a script"
    ]


def _notices(launch: Launch, whole: bool) -> list[str]:
    notices = []
    if launch.hosts_unknown or launch.hosts == ("localhost",):
        notices.append(
            f"host names are unknown: replace {launch.hosts[0]}, ... in {{stem}} by the real names, "
            "or give `hosts`"
        )
    if not launch.binds:
        return notices
    if launch.numbering.known and whole:
        notices.append(
            f"the binding assumes that the job has whole nodes (sbatch --exclusive) {UNLIMITED}; "
            "check with: srun --cpu-bind=verbose"
        )
    elif not launch.numbering.known:
        notices.append(
            "the CPU numbers of the operating system are unknown and assumed to be the core numbers of whole "
            f"nodes (sbatch --exclusive) {UNLIMITED}; check with: srun --cpu-bind=verbose"
        )
    return notices

"""intel: a machine file for Intel MPI, with the pinning in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import SCRIPT_BINDS, Binding, common_binding
from hopbytes.formats.mappings.host_lists import HostList, counted_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, assumptions, by_script, prepare
from hopbytes.formats.mappings.mapping_hydra import machine_file
from hopbytes.formats.mappings.mapping_slurm import cpu_mask
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Intel(HostList):
    """Lines ``host:ranks`` in rank order for ``mpirun -machinefile``; environment variables pin processes.

    ``I_MPI_PIN_PROCESSOR_LIST`` names the CPU of the i-th rank of every host, ``I_MPI_PIN_DOMAIN`` its set
    of CPUs. Both apply to all hosts; if hosts need different lists, ``.place.sh`` binds and pinning is off.
    The same holds if a host has fewer ranks than another, because its ranks would not be pinned (2021.19: a
    single rank with a longer list runs on all CPUs; with more domains than ranks a message is printed and
    the domains are ignored).

    Source: Intel MPI Library Developer Reference for Linux 2021.15, sections "Global Hydra Options"
    (-machinefile), "Environment Variables for Process Pinning" (I_MPI_PIN, I_MPI_PIN_PROCESSOR_LIST,
    intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-15/
    environment-variables-for-process-pinning.html) and "Interoperability with OpenMP" (I_MPI_PIN_DOMAIN).
    """

    title = "intel machine file"
    ranks = staticmethod(counted_hosts)
    summary = "Intel MPI machine file with I_MPI_PIN_PROCESSOR_LIST, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, per_rank_cores=True, per_node_cores=True, several_cores_per_rank=True,
        unequal_nodes=True, gpus=True,
        launcher="mpirun of Intel MPI", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the machine file, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": machine_file(launch, "intel", self.head("ranks in order"))}
        binding = common_binding(launch)
        option = _pinning(binding)
        if option is None:
            binding = Binding(launch, None)
        command = f"mpirun -machinefile {{stem}} -n {launch.n}"
        notices = assumptions(launch)
        # Otherwise the batch system's number of processes per node overrides the machine file.
        notices.append("inside a batch job put I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off before the command")
        if option is None:
            files[".place.sh"] = place_script(launch)
            notices.append(by_script(launch, SCRIPT_BINDS))
            command = f"{command} -genv I_MPI_PIN=off sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            threads = binding.widest
            openmp = f" -genv OMP_NUM_THREADS {threads} -genv OMP_PLACES cores" if threads > 1 else ""
            command = f"{command} {option}{openmp} {PROGRAM}"
        return binding.written(files, command, notices)


formats.register("intel")(Intel())


def _pinning(binding: Binding) -> str | None:
    ranks = {run.count for run in binding.launch.runs()}  # the ranks of a host are one run
    if binding.cpus is None or len(ranks) > 1:
        return None
    if all(len(own) == 1 for own in binding.cpus):
        return "-genv I_MPI_PIN_PROCESSOR_LIST=" + ",".join(str(own[0]) for own in binding.cpus)
    return "-genv I_MPI_PIN_DOMAIN='[" + ",".join(cpu_mask(own) for own in binding.cpus) + "]'"

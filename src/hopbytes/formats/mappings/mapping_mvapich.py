"""mvapich: a host for every rank for MVAPICH2's mpirun_rsh, with the cores in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import SCRIPT_BINDS, common_binding
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, assumptions, by_script, number_list, prepare
from hopbytes.formats.mappings.place_script import RANK_VARIABLES, place_script
from hopbytes.model.mapping import Mapping


class Mvapich(HostList):
    """Host of rank i in line i for ``mpirun_rsh -hostfile``; ``MV2_CPU_MAPPING`` names the CPUs.

    The variable lists the CPUs of the first, second, … rank of every host, separated by colons, and applies
    to all hosts; if hosts need different lists, ``.place.sh`` binds and MVAPICH's own affinity is off.

    Source: MVAPICH2 2.3 User Guide, sections 5.2.1 "Run using mpirun_rsh" (host file), 6.5.3 "User defined
    CPU Mapping" (MV2_CPU_MAPPING), 11.22 (MV2_ENABLE_AFFINITY) and 13.3 (MV2_COMM_WORLD_RANK),
    mvapich.cse.ohio-state.edu/userguide.
    """

    title = "MVAPICH host file"
    ranks = staticmethod(rank_hosts)
    summary = "MVAPICH2 host file for mpirun_rsh with MV2_CPU_MAPPING, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="mpirun_rsh",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the list of hosts, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        binding = common_binding(launch)
        files = {"": hosts_by_rank(binding.launch, self.head("host of rank 0, 1, 2, ..."))}
        command = f"mpirun_rsh -np {launch.n} -hostfile {{stem}}"
        notices = assumptions(launch)
        if binding.cpus is None:
            files[".place.sh"] = place_script(launch, variables=("MV2_COMM_WORLD_RANK", *RANK_VARIABLES))
            notices.append(by_script(launch, SCRIPT_BINDS))
            command = f"{command} MV2_ENABLE_AFFINITY=0 sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            listed = ":".join(number_list(own) for own in binding.cpus)
            # mpirun_rsh passes variables to the ranks if they precede the program.
            command = f"{command} MV2_CPU_MAPPING={listed} {binding.openmp}{PROGRAM}"
        return binding.written(files, command, notices)


formats.register("mvapich")(Mvapich())

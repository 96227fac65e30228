"""mvapich: a host for every rank for MVAPICH2's mpirun_rsh, with the cores in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import MARK, Can, Format, Source, Written, formats
from hopbytes.formats.binding import SCRIPT_BINDS, one_list
from hopbytes.formats.host_lists import hosts_by_rank, placed_by_hosts, rank_hosts
from hopbytes.formats.launching import PROGRAM, assumptions, number_list, prepare
from hopbytes.formats.place_script import RANK_VARIABLES, place_script
from hopbytes.mapping import Mapping


class Mvapich(Format):
    """Host of rank i in line i for ``mpirun_rsh -hostfile``; ``MV2_CPU_MAPPING`` names the CPUs.

    The mapping lists the CPUs of the first, second, … rank of every host, separated by colons, and holds
    for all hosts; where they differ, ``.place.sh`` binds and MVAPICH's own affinity is off.

    Source: MVAPICH2 2.3 User Guide, sections 5.2.1 "Run using mpirun_rsh" (host file), 6.5.3 "User defined
    CPU Mapping" (MV2_CPU_MAPPING), 11.22 (MV2_ENABLE_AFFINITY) and 13.3 (MV2_COMM_WORLD_RANK),
    mvapich.cse.ohio-state.edu/userguide.
    """

    holds = "placement"
    summary = "MVAPICH2 host file for mpirun_rsh with MV2_CPU_MAPPING, or place.sh where nodes differ"
    can = Can(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="mpirun_rsh",
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the list of hosts, if need be ``.place.sh``, and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.launching.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.launching.prepare`.
        """
        launch = prepare(mapping, options)
        binding = one_list(launch)
        title = f"MVAPICH host file {MARK}: host of rank 0, 1, 2, ..."
        files = {"": hosts_by_rank(binding.launch, title)}
        command = f"mpirun_rsh -np {launch.n} -hostfile {{stem}}"
        notices = assumptions(launch)
        if binding.cpus is None or binding.gpus:
            files[".place.sh"] = place_script(launch, variables=("MV2_COMM_WORLD_RANK", *RANK_VARIABLES))
            notices.append(SCRIPT_BINDS)
            command = f"{command} MV2_ENABLE_AFFINITY=0 sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            listed = ":".join(number_list(own) for own in binding.cpus)
            # mpirun_rsh hands variables on where they stand before the program.
            command = f"{command} MV2_CPU_MAPPING={listed} {binding.openmp}{PROGRAM}"
        scripts = tuple(suffix for suffix in files if suffix)
        return Written(files, command, tuple(notices), scripts, binding.launch.mapping)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a list with the host of every rank; the slots of a host are taken in order.

        Options: `where` (an Allocation with host names), `n`.

        Raises
        ------
        FormatError, UnsupportedError
            See :func:`hopbytes.formats.host_lists.placed_by_hosts`.
        """
        return placed_by_hosts(source, rank_hosts(source))

    def sniff(self, name: str, head: bytes) -> bool:
        """Only our own mark tells a list of hosts from any other list of words."""
        return head.startswith(f"# MVAPICH host file {MARK}".encode())


formats.register("mvapich")(Mvapich())

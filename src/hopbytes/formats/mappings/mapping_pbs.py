"""pbs: a node file with a host for every rank, for the mpiexec of a PBS job."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, LaunchLine, Written, formats
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, assumptions, prepare
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Pbs(HostList):
    """Host of rank i in line i, like a copy of ``$PBS_NODEFILE`` in another order. place.sh binds.

    The file has no comment, because parsers of node files may not support comments. The option that makes
    mpiexec use the lines in order depends on the MPI: Open MPI by default adds up the lines of a host and
    fills one host after the other (tried with 4.1.4 and 5.0.11), Hydra uses the lines in order.

    Source: PBS Professional user's guide, "The node file" (one line per MPI process); mpirun(1) of Open
    MPI 4.1, "--map-by seq".
    """

    ranks = staticmethod(rank_hosts)
    marked = False
    summary = "host of every rank like a PBS node file, with place.sh for the cores"
    several_files = True
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="mpiexec of PBS",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the node file, ``.place.sh`` and a command for each supported MPI.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": hosts_by_rank(launch), ".place.sh": place_script(launch)}
        lines = rank_by_rank("mpiexec", launch.n, "{stem}")
        return Written(files, lines[0].command, tuple(assumptions(launch)), (".place.sh",), lines=lines)


formats.register("pbs")(Pbs())


def rank_by_rank(launcher: str, n: int, hosts: str, before: str = "") -> tuple[LaunchLine, ...]:
    """Return the commands that start rank i on the host in line i of a file; place.sh binds the rank."""
    start, program = f"{before}{launcher} -n {n}", f"sh {{stem}}.place.sh {PROGRAM}"
    options_of = {
        ("Open MPI", "openmpi"): f"--hostfile {hosts} --map-by seq --bind-to none",
        ("MPICH", "hydra"): f"-f {hosts} -bind-to none",
        ("Intel MPI", "intel"): f"-machinefile {hosts} -genv I_MPI_PIN=off",
    }
    return tuple(
        LaunchLine(mpi, family, f"{start} {options} {program}")
        for (mpi, family), options in options_of.items()
    )

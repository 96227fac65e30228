"""pbs: a node file with a host for every rank, for the mpiexec of a PBS job."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Can, LaunchLine, Written, formats
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import PROGRAM, assumptions, prepare
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Pbs(HostList):
    """Host of rank i in line i, like a copy of ``$PBS_NODEFILE`` in another order. place.sh binds.

    The comment lines of other formats are left out, because parsers of node files may not know them.
    Whose mpiexec runs in the job decides how it is told to take the lines in order: Open MPI would add up
    those of a host and fill host by host (tried with 4.1.4 and 5.0.11), Hydra takes them as they come.

    Source: PBS Professional user's guide, "The node file" (one line per MPI process); mpirun(1) of Open
    MPI 4.1, "--map-by seq".
    """

    ranks = staticmethod(rank_hosts)
    marked = False
    summary = "host of every rank like a PBS node file, with place.sh for the cores"
    several_files = True
    can = Can(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="mpiexec of PBS",
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the node file, ``.place.sh`` and the commands of the MPIs whose mpiexec it may be.

        Options: `hosts`, `oversubscribe`, `allowed` (see
        :func:`hopbytes.formats.mappings.launch_files.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": hosts_by_rank(launch), ".place.sh": place_script(launch)}
        lines = rank_by_rank("mpiexec", launch.n, "{stem}")
        return Written(files, lines[0].command, tuple(assumptions(launch)), (".place.sh",), lines=lines)


formats.register("pbs")(Pbs())


def rank_by_rank(launcher: str, n: int, hosts: str, before: str = "") -> tuple[LaunchLine, ...]:
    """Return the commands that put rank i on the host in line i of a file, where place.sh binds it.

    Parameters
    ----------
    launcher : str
        What they begin with.
    n : int
        Number of ranks.
    hosts : str
        The file.
    before : str
        What stands before the launcher: the command of a batch system.
    """
    start, program = f"{before}{launcher} -n {n}", f"sh {{stem}}.place.sh {PROGRAM}"
    said = {
        ("Open MPI", "openmpi"): f"--hostfile {hosts} --map-by seq --bind-to none",
        ("MPICH", "hydra"): f"-f {hosts} -bind-to none",
        ("Intel MPI", "intel"): f"-machinefile {hosts} -genv I_MPI_PIN=off",
    }
    return tuple(
        LaunchLine(mpi, family, f"{start} {options} {program}") for (mpi, family), options in said.items()
    )

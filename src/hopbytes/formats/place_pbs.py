"""pbs: a node file with a host for every rank, for the mpiexec of a PBS job."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Can, Written, formats
from hopbytes.formats.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.launching import PROGRAM, assumptions, prepare
from hopbytes.formats.place_script import place_script
from hopbytes.mapping import Mapping


class Pbs(HostList):
    """Host of rank i in line i, like a copy of ``$PBS_NODEFILE`` in another order. place.sh binds.

    The comment lines of other formats are left out, because parsers of node files may not know them.

    Source: PBS Professional user's guide, "The node file" (one line per MPI process).
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
        """Return the node file, ``.place.sh`` and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.launching.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.launching.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": hosts_by_rank(launch), ".place.sh": place_script(launch)}
        command = f"mpiexec -machinefile {{stem}} -n {launch.n} sh {{stem}}.place.sh {PROGRAM}"
        notices = [*assumptions(launch), "mpiexec must not bind by itself (Open MPI: --bind-to none)"]
        return Written(files, command, tuple(notices), (".place.sh",))


formats.register("pbs")(Pbs())

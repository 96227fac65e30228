"""pbs: a node file with a host for every rank, for the mpiexec of a PBS job."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import MARK, Can, Format, Source, Written, formats
from hopbytes.formats.host_lists import hosts_by_rank, placed_by_hosts, rank_hosts
from hopbytes.formats.launching import PROGRAM, assumptions, prepare
from hopbytes.formats.place_script import place_script
from hopbytes.mapping import Mapping


class Pbs(Format):
    """Host of rank i in line i, like a copy of ``$PBS_NODEFILE`` in another order. place.sh binds.

    The comment lines of other formats are left out, because parsers of node files may not know them.

    Source: PBS Professional user's guide, "The node file" (one line per MPI process).
    """

    holds = "placement"
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
        files = {"": hosts_by_rank(launch, MARK).split("\n", 1)[1], ".place.sh": place_script(launch)}
        command = f"mpiexec -machinefile {{stem}} -n {launch.n} sh {{stem}}.place.sh {PROGRAM}"
        notices = [*assumptions(launch), "mpiexec must not bind by itself (Open MPI: --bind-to none)"]
        return Written(files, command, tuple(notices), (".place.sh",))

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a node file; the slots of a host are taken in order.

        Options: `where` (an Allocation with host names), `n`.

        Raises
        ------
        FormatError, UnsupportedError
            See :func:`hopbytes.formats.host_lists.placed_by_hosts`.
        """
        return placed_by_hosts(source, rank_hosts(source))

    def sniff(self, name: str, head: bytes) -> bool:
        """Never: a list of hosts alone looks like any list of words."""
        return False


formats.register("pbs")(Pbs())

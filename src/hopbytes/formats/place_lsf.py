"""lsf: a host file for bsub, which places ranks where a job is submitted."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Can, Written, formats
from hopbytes.formats.host_lists import HostList, counted_hosts
from hopbytes.formats.launching import PROGRAM, assumptions, prepare
from hopbytes.formats.place_script import place_script
from hopbytes.mapping import Mapping


class Lsf(HostList):
    """Lines ``host ranks`` in rank order for ``bsub -hostfile``; a host may come again. place.sh binds.

    Source: IBM Spectrum LSF 10.1, bsub -hostfile, "User-specified host file".
    """

    title = "LSF host file"
    ranks = staticmethod(counted_hosts)
    summary = "LSF host file for bsub -hostfile, with place.sh for the cores"
    several_files = True
    can = Can(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="bsub",
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the host file, ``.place.sh`` and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.launching.prepare`).

        Raises
        ------
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.launching.prepare`.
        """
        launch = prepare(mapping, options)
        lines = [self.head("ranks in order")]
        lines += [f"{launch.hosts[run.node]} {run.count}" for run in launch.runs()]
        command = f"bsub -n {launch.n} -hostfile {{stem}} mpirun -n {launch.n} sh {{stem}}.place.sh {PROGRAM}"
        files = {"": "\n".join(lines) + "\n", ".place.sh": place_script(launch)}
        notices = [*assumptions(launch), "mpirun must follow LSF's order of hosts and not bind by itself"]
        return Written(files, command, tuple(notices), (".place.sh",))


formats.register("lsf")(Lsf())

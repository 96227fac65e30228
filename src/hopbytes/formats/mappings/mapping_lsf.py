"""lsf: a host file for bsub, and the host of every rank for the launcher inside the job."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.host_lists import HostList, counted_hosts, hosts_by_rank
from hopbytes.formats.mappings.launch_files import assumptions, prepare
from hopbytes.formats.mappings.mapping_pbs import rank_by_rank
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Lsf(HostList):
    """Lines ``host ranks`` in rank order for ``bsub -hostfile``; a host may be repeated. place.sh binds.

    bsub takes the number of slots from the file and must not get the option ``-n``. Inside the job, Open MPI
    would fill one host after the other whatever the order of the lines, so the launcher gets the host of
    every rank in ``.ranks``.

    Source: IBM Spectrum LSF 10.1, bsub -hostfile, "User-specified host file" ("Do not use with -n").
    """

    title = "LSF host file"
    ranks = staticmethod(counted_hosts)
    summary = "LSF host file for bsub -hostfile, host of every rank, with place.sh for the cores"
    several_files = True
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="bsub",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the host file, ``.ranks``, ``.place.sh`` and a command for each supported MPI.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        lines = [self.head("ranks in order")]
        lines += [f"{launch.hosts[run.node]} {run.count}" for run in launch.runs()]
        files = {
            "": "\n".join(lines) + "\n",
            ".ranks": hosts_by_rank(launch),
            ".place.sh": place_script(launch),
        }
        commands = rank_by_rank("mpiexec", launch.n, "{stem}.ranks", "bsub -hostfile {stem} ")
        notices = tuple(assumptions(launch))
        return Written(files, commands[0].command, notices, (".place.sh",), lines=commands)


formats.register("lsf")(Lsf())

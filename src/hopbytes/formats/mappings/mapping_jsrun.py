"""jsrun: an explicit resource file (ERF) for IBM's Job Step Manager."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Format, Written, formats
from hopbytes.formats.mappings.launch_files import PROGRAM, Launch, number_list, prepare
from hopbytes.formats.mappings.numbering import THREAD_NAMES
from hopbytes.model.mapping import Mapping


class Jsrun(Format):
    """A host, hardware threads and GPUs for every rank, for ``jsrun --erf_input``.

    jsrun counts hardware threads (four per core of POWER9), so the machine needs a level ``pu``. Hosts
    without names are numbered from 1 in the job's order.

    Source: IBM Job Step Manager 10.3, "Explicit Resource File (ERF) format"
    (ibm.com/support/knowledgecenter/en/SSWRJV_10.1.0/jsm/10.3/base/erf_format.html).
    """

    holds = "mapping"
    summary = "explicit resource file for jsrun"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
        launcher="jsrun",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the resource file and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        levels = mapping.where.machine.levels
        if not levels or levels[-1].name not in THREAD_NAMES:
            raise UnsupportedError(
                "jsrun counts hardware threads, expected a machine with a level pu inside its cores, like "
                "core:22 pu:4, or another format, like openmpi or flux"
            )
        lines = [f"# resource file {MARK}: logical hardware threads of {launch.n} ranks"]
        shared = launch.most_tasks_on_a_slot() > 1
        lines += [f"overlapping_rs: {'allow' if shared else 'warn'}", "cpu_index_using: logical"]
        lines += [f"rank: {rank}: {_resources(launch, rank)}" for rank in range(launch.n)]
        notices = []
        if launch.hosts_unknown:
            notices.append("host names are unknown: hosts are numbered in the job's order; or give `hosts`")
        return Written({"": "\n".join(lines) + "\n"}, f"jsrun --erf_input {{stem}} {PROGRAM}", tuple(notices))

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the format cannot be read."""
        return False


formats.register("jsrun")(Jsrun())


def _resources(launch: Launch, rank: int) -> str:
    threads = launch.numbering.launcher_places(launch.mapping.where.cores_of(int(launch.mapping.pe[rank])))
    host = f"host: {launch.node[rank] + 1}" if launch.hosts_unknown else f"hostname: {launch.host(rank)}"
    gpus = launch.gpus(rank)
    more = f"; gpu: {{{number_list(gpus)}}}" if gpus else ""
    return f"{{ {host}; cpu: {{{number_list(threads)}}}{more} }}"

"""flux: a host for every rank, with the binding in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import common_binding
from hopbytes.formats.mappings.host_lists import HostList, hosts_by_rank, rank_hosts
from hopbytes.formats.mappings.launch_files import (
    PROGRAM,
    assumptions,
    by_script,
    equal_count,
    number_list,
    prepare,
)
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping

DIFFERENT = "nodes need different cores, which Flux cannot express: {stem}.place.sh binds instead"


class Flux(HostList):
    """Host of rank i in line i for ``flux run --taskmap=hostfile:F``; one list of CPUs for all nodes.

    ``-o cpu-affinity=map:`` names the sets of the first, second, … rank of a node, separated by semicolons.
    If nodes need different sets, or slots have GPUs, ``.place.sh`` binds, because ``gpu-affinity`` has no
    effect in a job that requested no GPUs. The file has no comments, because the documentation does not say
    that Flux skips them.

    ``--requires=hosts:`` makes Flux allocate the hosts that the task map names.

    Source: flux-run(1) on --taskmap and --requires, flux-shell(1) on cpu-affinity and gpu-affinity, RFC 34.
    """

    ranks = staticmethod(rank_hosts)
    marked = False
    summary = "Flux task map by host with cpu-affinity=map:, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, gpus=True,
        launcher="flux run", usual_order="block",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the list of hosts, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        count = equal_count(launch, "flux")
        binding = common_binding(launch)
        files = {"": hosts_by_rank(binding.launch)}
        command = f"flux run -N {launch.n // count} --tasks-per-node={count}"
        if not launch.hosts_unknown and launch.hosts != ("localhost",):
            used = [launch.hosts[node] for node in sorted(set(launch.node.tolist()))]
            command += f" --requires=hosts:{','.join(used)}"  # else the job dies where a host is missing
        command += " --taskmap=hostfile:{stem}"
        notices = assumptions(launch)
        notices.append(f"older Flux: --taskmap=manual:'{_task_map(binding.launch)}', nodes in machine order")
        if binding.cpus is None:
            files[".place.sh"] = place_script(launch)
            notices.append(by_script(launch, DIFFERENT))
            command += " -o gpu-affinity=off" if launch.has_gpus else ""
            command = f"{command} -o cpu-affinity=off sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            command += f" -o cpu-affinity='map:{_sets(binding.cpus)}'"
            command = f"{binding.openmp}{command} {PROGRAM}"
        return binding.written(files, command, notices)


formats.register("flux")(Flux())


def _sets(sets: tuple[tuple[int, ...], ...]) -> str:
    return ";".join(number_list(own) for own in sets)


def _task_map(launch: Any) -> str:
    """Return blocks [node, nodes, ranks, 1] in rank order; only nodes in use are counted."""
    used = sorted(set(launch.node.tolist()))
    number = {node: place for place, node in enumerate(used)}
    return "[" + ",".join(f"[{number[run.node]},1,{run.count},1]" for run in launch.runs()) + "]"

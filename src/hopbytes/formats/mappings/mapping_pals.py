"""pals: a host file for the mpiexec of HPE's PALS, with the binding in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import SCRIPT_BINDS, common_binding
from hopbytes.formats.mappings.host_lists import HostList, in_blocks
from hopbytes.formats.mappings.launch_files import (
    PROGRAM,
    assumptions,
    by_script,
    contiguous_runs,
    equal_count,
    number_list,
    prepare,
)
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Pals(HostList):
    """One host per line, filled in that order with N ranks each: ``mpiexec --ppn N --hostfile F``.

    PALS accepts neither repeated hosts nor different numbers of ranks per host, so the ranks of a host must
    be consecutive (``map --for pals``). ``--cpu-bind list:`` applies to all hosts, with colons between ranks;
    if hosts need different cores, ``.place.sh`` binds.

    Source: user guides of ALCF's Polaris and Aurora, "Running jobs", on mpiexec, --ppn, --hostfile and
    --cpu-bind.
    """

    marked = False  # no guide says that PALS skips comments
    ranks = staticmethod(in_blocks)
    summary = "PALS host file with --cpu-bind list:, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, per_rank_cores=True, per_node_cores=True, several_cores_per_rank=True, gpus=True,
        launcher="mpiexec of PALS",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the host file, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        runs = contiguous_runs(launch, "pals")
        count = equal_count(launch, "pals")
        lines = [launch.hosts[run.node] for run in runs]
        files = {"": "\n".join(lines) + "\n"}
        binding = common_binding(launch)
        command = f"mpiexec -n {launch.n} --ppn {count} --hostfile {{stem}}"
        notices = assumptions(launch)
        if binding.cpus is None:
            files[".place.sh"] = place_script(launch)
            notices.append(by_script(launch, SCRIPT_BINDS))
            command = f"{command} --cpu-bind none sh {{stem}}.place.sh {PROGRAM}"
        else:
            notices += binding.notices
            listed = ":".join(number_list(own) for own in binding.cpus)
            command = f"{binding.openmp}{command} --cpu-bind list:{listed} {PROGRAM}"
        return binding.written(files, command, notices)


formats.register("pals")(Pals())

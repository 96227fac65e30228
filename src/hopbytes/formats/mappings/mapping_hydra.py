"""hydra: a machine file for MPICH's mpiexec, with the binding in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.binding import SCRIPT_BINDS, Binding, common_binding
from hopbytes.formats.mappings.host_lists import HostList, counted_hosts
from hopbytes.formats.mappings.launch_files import (
    PROGRAM,
    Launch,
    assumptions,
    by_script,
    contiguous_runs,
    prepare,
)
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Hydra(HostList):
    """Lines ``host:ranks`` in rank order for ``mpiexec.hydra -f``, and ``-bind-to user:``.

    Hydra treats a repeated host as another node, whose ranks share no memory with the first ones (tried with
    4.0.2), so the ranks of a host must be consecutive (``map --for hydra``). Hydra applies one list of CPUs
    to all hosts; if hosts need different lists, ``.place.sh`` binds.

    Source: the MPICH wiki, "Using the Hydra process manager", sections on host files and on binding.
    """

    title = "hydra machine file"
    ranks = staticmethod(counted_hosts)
    summary = "MPICH Hydra host file with -bind-to user:, or place.sh where nodes differ"
    capabilities = Capabilities(
        any_host_order=True, per_rank_cores=True, per_node_cores=True, several_cores_per_rank=True,
        unequal_nodes=True, gpus=True, launcher="mpiexec.hydra", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the host file, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": machine_file(launch, "hydra", self.head("ranks in order"))}
        binding = common_binding(launch)
        command = f"mpiexec.hydra -f {{stem}} -n {launch.n}"
        return bound(binding, files, command, _binding(binding))


formats.register("hydra")(Hydra())


def machine_file(launch: Launch, form: str, head: str) -> str:
    """Return ``host:ranks`` lines in rank order; UnsupportedError if a host's ranks are not consecutive."""
    runs = contiguous_runs(launch, form)
    return "\n".join([head, *(f"{launch.hosts[run.node]}:{run.count}" for run in runs)]) + "\n"


def bound(binding: Binding, files: dict[str, str], command: str, option: str | None) -> Written:
    """Return a command that binds by the launcher's `option`, or by place.sh if that is None."""
    launch = binding.launch
    notices = assumptions(launch)
    if option is None:
        files[".place.sh"] = place_script(launch)
        notices.append(by_script(launch, SCRIPT_BINDS))
        command = f"{command} -bind-to none sh {{stem}}.place.sh {PROGRAM}"
    else:
        notices += binding.notices
        command = f"{binding.openmp}{command} {option} {PROGRAM}"
    return binding.written(files, command, notices)


def _binding(binding: Binding) -> str | None:
    if binding.cpus is None:
        return None
    return "-bind-to user:" + ",".join("+".join(map(str, own)) for own in binding.cpus)

"""hydra: a machine file for MPICH's mpiexec, with the binding in the command or in place.sh."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Can, Written, formats
from hopbytes.formats.mappings.binding import SCRIPT_BINDS, Binding, one_list
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

    A host that came up again later would count as a new node, whose ranks share no memory with the first
    ones (tried with 4.0.2), so the ranks of a host must be consecutive (``map --for hydra``). One list of
    CPUs serves all hosts; where they need different ones, ``.place.sh`` binds.

    Source: the MPICH wiki, "Using the Hydra process manager", sections on host files and on binding.
    """

    title = "hydra machine file"
    ranks = staticmethod(counted_hosts)
    summary = "MPICH Hydra host file with -bind-to user:, or place.sh where nodes differ"
    can = Can(
        any_host_order=True, per_rank_cores=True, per_node_cores=True, several_cores_per_rank=True,
        unequal_nodes=True, gpus=True, launcher="mpiexec.hydra", tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the host file, if need be ``.place.sh``, and the command.

        Options: `hosts`, `oversubscribe`, `allowed` (see
        :func:`hopbytes.formats.mappings.launch_files.prepare`).

        Raises
        ------
        UnsupportedError
            A host holds ranks that are not consecutive.
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        files = {"": machine_file(launch, "hydra", self.head("ranks in order"))}
        binding = one_list(launch)
        command = f"mpiexec.hydra -f {{stem}} -n {launch.n}"
        return bound(binding, files, command, _binding(binding))


formats.register("hydra")(Hydra())


def machine_file(launch: Launch, form: str, head: str) -> str:
    """Return ``host:ranks`` lines in rank order; UnsupportedError where a host's ranks are scattered."""
    runs = contiguous_runs(launch, form)
    return "\n".join([head, *(f"{launch.hosts[run.node]}:{run.count}" for run in runs)]) + "\n"


def bound(binding: Binding, files: dict[str, str], command: str, said: str | None) -> Written:
    """Return a command that binds by `said`, or by place.sh where that is None."""
    launch = binding.launch
    notices = assumptions(launch)
    if said is None:
        files[".place.sh"] = place_script(launch)
        notices.append(by_script(launch, SCRIPT_BINDS))
        command = f"{command} -bind-to none sh {{stem}}.place.sh {PROGRAM}"
    else:
        notices += binding.notices
        command = f"{binding.openmp}{command} {said} {PROGRAM}"
    return binding.written(files, command, notices)


def _binding(binding: Binding) -> str | None:
    if binding.cpus is None:
        return None
    return "-bind-to user:" + ",".join("+".join(map(str, own)) for own in binding.cpus)

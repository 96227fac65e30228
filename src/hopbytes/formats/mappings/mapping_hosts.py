"""hosts: the host of node i in line i, for launchers in which only the order of nodes can be chosen."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import Capabilities, Written, formats
from hopbytes.formats.mappings.host_lists import HostList, in_blocks
from hopbytes.formats.mappings.launch_files import Launch, contiguous_runs, equal_count, prepare
from hopbytes.model.mapping import Mapping


class Hosts(HostList):
    """Hosts in the order of their node numbers: rank = node * ranks per node + slot in the node.

    The ranks of a host must be consecutive and in the order of its slots, and every host must hold the same
    number of ranks. ``map --for hosts`` computes such a mapping.
    """

    marked = False  # anything may read them
    ranks = staticmethod(in_blocks)
    summary = "host of node i in line i, if only the order of nodes can be chosen"
    capabilities = Capabilities(any_host_order=True)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return a file with one line per node in use.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        names, count = nodes_in_order(launch, "hosts")
        refuse_gaps(launch, "hosts")
        placeholders = "host names are unknown, the file has placeholders: give `hosts`"
        order = f"{count} ranks on each host: rank = line * {count} + place on the host, from 0"
        notices = (placeholders, order) if launch.hosts_unknown else (order,)
        return Written({"": "\n".join(names) + "\n"}, "", notices)


formats.register("hosts")(Hosts())


def nodes_in_order(launch: Launch, form: str) -> tuple[list[str], int]:
    """Return the hosts in rank order and the number of ranks on each."""
    runs = contiguous_runs(launch, form)
    count = equal_count(launch, form)
    falls = np.flatnonzero((np.diff(launch.mapping.pe) < 0) & (np.diff(launch.node) == 0))
    if len(falls):
        rank = int(falls[0])
        raise UnsupportedError(
            f"rank {rank + 1} has an earlier slot than rank {rank} on host {launch.host(rank)}, but with "
            f"{form} the launcher orders the ranks inside a node: map again with `form={form!r}`"
        )
    return [launch.hosts[run.node] for run in runs], count


def refuse_gaps(launch: Launch, form: str) -> None:
    """Raise UnsupportedError if a node does not use its first GPUs: local rank i gets GPU i."""
    for run in launch.runs() if launch.has_gpus else ():
        used = [launch.shown_gpus(rank) for rank in range(run.first, run.first + run.count)]
        if used != [(str(number),) for number in range(run.count)]:
            numbers = ", ".join(number for own in used for number in own)
            raise UnsupportedError(
                f"host {launch.hosts[run.node]} uses its GPUs {numbers}, but with {form} local rank i "
                "uses GPU i, expected GPUs from 0 on: use all GPUs of a node (`pack=True`), or write "
                "openmpi, slurm or hydra"
            )

"""hosts: the host of node i in line i, for launchers that leave nothing but the order of nodes."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import Can, Written, formats
from hopbytes.formats.mappings.host_lists import HostList, in_blocks
from hopbytes.formats.mappings.launch_files import Launch, contiguous_runs, equal_count, prepare
from hopbytes.model.mapping import Mapping


class Hosts(HostList):
    """Hosts in the order in which they are to be numbered: rank = node * ranks per node + place in node.

    Ranks must be consecutive on a host, as many on each, and in the order of its slots: make such a
    mapping with ``map --for hosts``.
    """

    title = "hosts"
    ranks = staticmethod(in_blocks)
    summary = "host of node i in line i, where only the order of nodes is free"
    can = Can(any_host_order=True)

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one line per node in use.

        Options: `hosts`, `oversubscribe`, `allowed` (see :func:`hopbytes.formats.mappings.launch_files.prepare`).

        Raises
        ------
        UnsupportedError
            Ranks of a host that are not consecutive, not in the order of its slots, or fewer than on another;
            GPUs that are not the first of their host.
        InfeasibleError, FormatError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        names, count = nodes_in_order(launch, "hosts")
        refuse_gaps(launch, "hosts")
        lines = [self.head(f"{count} ranks each, rank = line * {count} + place on the host")]
        notices = ("host names are placeholders: give `hosts`",) if launch.invented else ()
        return Written({"": "\n".join(lines + names) + "\n"}, "", notices)


formats.register("hosts")(Hosts())


def nodes_in_order(launch: Launch, form: str) -> tuple[list[str], int]:
    """Return the hosts in rank order and the ranks of each.

    Raises
    ------
    UnsupportedError
        The placement needs more than an order of nodes.
    """
    runs = contiguous_runs(launch, form)
    count = equal_count(launch, form)
    falls = np.flatnonzero((np.diff(launch.mapping.pe) < 0) & (np.diff(launch.node) == 0))
    if len(falls):
        rank = int(falls[0])
        raise UnsupportedError(
            f"rank {rank + 1} sits before rank {rank} on host {launch.host(rank)}, but {form} leaves the "
            f"order inside a node to the launcher: map again with `form={form!r}`"
        )
    return [launch.hosts[run.node] for run in runs], count


def refuse_gaps(launch: Launch, form: str) -> None:
    """Refuse GPUs that are not the first of their node, since local ranks are taken for their numbers.

    Raises
    ------
    UnsupportedError
        Names formats whose script shows every rank its own.
    """
    for run in launch.runs() if launch.carries else ():
        used = [launch.gpus(rank) for rank in range(run.first, run.first + run.count)]
        if used != [(number,) for number in range(run.count)]:
            said = ", ".join(str(number) for own in used for number in own)
            raise UnsupportedError(
                f"host {launch.hosts[run.node]} uses its GPUs {said}, but {form} leaves them to local ranks, "
                "which count from 0: use all GPUs of a node (`pack=True`), or write openmpi, slurm or hydra"
            )

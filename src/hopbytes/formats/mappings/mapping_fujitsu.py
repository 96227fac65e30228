"""fujitsu: coordinates of the node of every rank, for mpiexec -vcoordfile on K, FX and Fugaku."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import Capabilities, Format, Source, Written, formats
from hopbytes.formats.mappings.host_lists import allocation_of, check_count, mapping_on_nodes
from hopbytes.formats.mappings.launch_files import PROGRAM, prepare, refuse_gpus
from hopbytes.formats.mappings.torus_places import coordinate_lines, node_coordinates, nodes_at
from hopbytes.model.mapping import Mapping

DIMENSIONS = (1, 2, 3)


class Fujitsu(Format):
    """Line i holds the coordinates of rank i in the job's torus, ``(x,y,z)``; every rank has a line.

    The launcher chooses the cores inside a node. The job has to be submitted with the same shape
    (``#PJM --rsc-list "node=4x4x4:torus"``).

    Source: Fujitsu "Job Operation Software End-user's Guide", rank-map-hostfile, and mpiexec -vcoordfile
    in the MPI user's guide, as RIKEN's guide for Fugaku and rankmap4d use them.
    """

    holds = "mapping"
    marked = False
    summary = "coordinates of every rank for Fujitsu's mpiexec -vcoordfile"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, unequal_nodes=True, launcher="mpiexec of Fujitsu MPI"
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one line per rank and the command.

        Options: `oversubscribe` and `allowed`, see :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        refuse_gpus(launch, "fujitsu")
        places = node_coordinates(mapping.where.machine, "fujitsu", DIMENSIONS).tolist()
        lines = [f"({','.join(map(str, places[node]))})" for node in launch.node.tolist()]
        command = f"mpiexec -n {launch.n} -vcoordfile {{stem}} {PROGRAM}"
        notices = ("the launcher chooses the cores inside a node",)
        return Written({"": "\n".join(lines) + "\n"}, command, notices)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a file of coordinates; the slots of a node are taken in order.

        Options: `where`, `n`.
        """
        where = allocation_of(source, "a file of coordinates")
        rows = coordinate_lines(source, r"\([0-9]{1,6}(,[0-9]{1,6}){0,2}\)", "coordinates like (0,1,2)")
        check_count(source, len(rows))
        places = node_coordinates(where.machine, "fujitsu", DIMENSIONS)
        node = nodes_at(source, where, places, rows)
        return mapping_on_nodes(source, where, node, [line for line, _ in rows])

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the first line begins with numbers in parentheses."""
        return head.startswith(b"(") and head[1:2].isdigit() and b")" in head[:40]


formats.register("fujitsu")(Fujitsu())

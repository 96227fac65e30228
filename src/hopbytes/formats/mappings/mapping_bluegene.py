"""bluegene: a map file with the torus coordinates and the slot in the node of every rank."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.formats.base import Capabilities, Format, Source, Written, formats
from hopbytes.formats.mappings.host_lists import allocation_of, check_count
from hopbytes.formats.mappings.launch_files import PROGRAM, prepare, refuse_gpus
from hopbytes.formats.mappings.torus_places import coordinate_lines, node_coordinates, nodes_at
from hopbytes.model.mapping import Mapping

DIMENSIONS = (3, 5)


class BlueGene(Format):
    """Line i holds ``A B C D E T`` of rank i on Blue Gene/Q, ``X Y Z T`` on L and P; T is a slot of the node.

    Source: IBM Redbook SG24-7948, "IBM System Blue Gene Solution: Blue Gene/Q Application Development",
    appendix on mapping (runjob --mapping); UCAR's page "Mapping processes on Blue Gene" for X Y Z T.
    """

    holds = "mapping"
    marked = False
    summary = "Blue Gene map file: torus coordinates and slot in the node"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        unequal_nodes=True, launcher="runjob",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one line per rank and the command.

        Options: `oversubscribe` and `allowed`, see :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        refuse_gpus(launch, "bluegene")
        places = node_coordinates(mapping.where.machine, "bluegene", DIMENSIONS)
        slot = mapping.pe - _first_slot(mapping.where.node_of_pe)[mapping.pe]
        lines = [
            " ".join(map(str, (*place, t)))
            for place, t in zip(places[launch.node].tolist(), slot.tolist(), strict=True)
        ]
        command = f"mpirun -np {launch.n} -mapfile {{stem}} {PROGRAM}"
        if places.shape[1] == 5:
            per_node = int(launch.slots_per_node().max())
            command = f"runjob --np {launch.n} --ranks-per-node {per_node} --mapping {{stem}} : {PROGRAM}"
        return Written({"": "\n".join(lines) + "\n"}, command)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a map file.

        Options: `where`, `n`.
        """
        where = allocation_of(source, "a map file")
        expected = "coordinates and a slot like 0 1 2 0"
        rows = coordinate_lines(source, r"[0-9]{1,6}([ \t]+[0-9]{1,6}){3}(([ \t]+[0-9]{1,6}){2})?", expected)
        check_count(source, len(rows))
        places = node_coordinates(where.machine, "bluegene", DIMENSIONS)
        node = nodes_at(source, where, places, [(line, numbers[:-1]) for line, numbers in rows])
        slots = np.bincount(where.node_of_pe, minlength=len(places))
        first = np.cumsum(slots) - slots
        pe = np.empty(len(rows), np.int64)
        for rank, (line, numbers) in enumerate(rows):
            if numbers[-1] >= slots[node[rank]]:
                what = f"slot {numbers[-1]} of a node with {slots[node[rank]]} slots, expected one of these"
                raise FormatError(source.name, line, what)
            pe[rank] = first[node[rank]] + numbers[-1]
        return Mapping(pe.astype(np.int32), where, {"problem": "processes", "mapper": source.title})

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because lines of numbers could be an edge list as well."""
        return False


formats.register("bluegene")(BlueGene())


def _first_slot(node_of_pe: Any) -> Any:
    """Return the first PE of the node of every PE."""
    return np.searchsorted(node_of_pe, node_of_pe)

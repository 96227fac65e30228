"""Find the PE of a rank from its node and its cores, as launch files and probes name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.formats.mappings.launch_files import number_list
from hopbytes.formats.mappings.numbering import Numbering
from hopbytes.model.allocation import Allocation

Counting = Literal["core", "place", "cpu"]
Place = tuple[str, int | None]

WORDS = {"core": "core", "place": "hardware thread", "cpu": "CPU"}


class Slots:
    """An index of PEs by node and core numbers."""

    def __init__(self, where: Allocation) -> None:
        self.where = where
        self.numbering = Numbering.of(where.machine)
        self.node_of_place = where.machine.node_of_core()
        self._pe_of_place = np.full(where.machine.n_cores, -1, np.int64)
        self._pe_of_place[where.cores] = np.repeat(np.arange(where.k), np.diff(where.core_start))
        self._found: dict[tuple[int, Counting], dict[int, list[int]]] = {}
        self._seen: dict[tuple[int, Counting, tuple[int, ...]], int] = {}

    def places(self, node: int, counting: Counting) -> dict[int, list[int]]:
        """Return the places of a node by their numbers, which count cores, hardware threads or CPUs."""
        if (node, counting) not in self._found:
            first, last = np.searchsorted(self.node_of_place, [node, node + 1]).tolist()
            found: dict[int, list[int]] = {}
            for place in range(first, last):
                for number in self._numbers(place, counting):
                    found.setdefault(number, []).append(place)
            self._found[node, counting] = found
        return self._found[node, counting]

    def cores_of_unit(self, node: int, level: int, unit: int) -> list[int]:
        """Return the cores of the unit-th unit of a level of a node; empty if there is no such unit."""
        first, last = np.searchsorted(self.node_of_place, [node, node + 1]).tolist()
        units = self.where.machine.ancestors(level)[first:last]
        inside = np.flatnonzero(units == units[0] + unit)
        return sorted({int(self.numbering.core_rank[first + place]) for place in inside})

    def pe(self, node: int, numbers: Iterable[int], counting: Counting, place: Place) -> int:
        """Return the PE that contains all these numbers of a node."""
        key = (node, counting, tuple(sorted(set(numbers))))
        if key not in self._seen:
            self._seen[key] = self._look_up(*key, place)
        return self._seen[key]

    def places_of(
        self, node: int, numbers: Iterable[int], counting: Counting, place: Place
    ) -> tuple[int, ...]:
        """Return the places that have these numbers on a node, ascending."""
        known, what, wanted = self.places(node, counting), WORDS[counting], sorted(set(numbers))
        missing = [number for number in wanted if number not in known]
        if missing or not wanted:
            found = f"{what} {missing[0]}" if missing else f"no {what}"
            raise FormatError(*place, f"{found} of node {node}, expected {what}s of 0..{max(known)}")
        return tuple(sorted(p for number in wanted for p in known[number]))

    def possible(self, node: int, cpus: Iterable[int]) -> tuple[int, ...]:
        """Return the PEs of a node that contain any of these CPUs; without CPUs all PEs of the node."""
        known = self.places(node, "cpu")
        numbers = sorted(set(cpus)) or known
        places = np.array([place for number in numbers for place in known.get(number, ())], np.int64)
        pes = np.unique(self._pe_of_place[places]) if len(places) else places
        return tuple(pes[pes >= 0].tolist())

    def _look_up(self, node: int, counting: Counting, numbers: tuple[int, ...], place: Place) -> int:
        what = WORDS[counting]
        places = np.array(self.places_of(node, numbers, counting, place), np.int64)
        pes = np.unique(self._pe_of_place[places])
        if pes[0] < 0 and len(pes) > 1 and counting == "cpu":
            pes = pes[1:]  # ignore CPUs outside every slot if the other CPUs belong to a slot
        if len(pes) == 1 and pes[0] >= 0:
            return int(pes[0])
        listed = f"{what}s {number_list(numbers)} of node {node}"
        if pes[0] < 0:
            raise FormatError(*place, f"{listed}, expected {what}s the job may use")
        what = f"{listed} belong to {len(pes)} slots, expected those of one slot (`cores_per_task`, `per`)"
        raise FormatError(*place, what)

    def _numbers(self, place: int, counting: Counting) -> tuple[int, ...]:
        own: Int64 = np.array([place], np.int64)
        if counting == "core":
            return (int(self.numbering.core_rank[place]),)
        if counting == "place":
            return (int(self.numbering.rank[place]),)
        return self.numbering.os_cpus(own)

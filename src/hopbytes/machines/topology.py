"""Topology: the cores of a machine, its named levels, distances between cores, and how to cut it in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.machines.place_distances import Distance

#: Largest relative capacity: products with loads and counts then stay small.
MAX_CAPACITY = 10**6

#: Names of levels whose units are GPUs.
GPU_NAMES = ("gpu", "gpus")
#: Level names that mean "one host with its own operating system".
NODE_NAMES = ("node", "host", "server")


@frozen
class Level:
    """One level of a tree, named for people.

    Parameters
    ----------
    name : str
        Word such as ``node`` or ``core``, distinct within a machine.
    distance : int
        Distance of two cores that first differ at this level, >= 0, no smaller than further inside.
    bandwidth : float or None
        Bytes per second across this level (``bw=`` in a spec).
    latency : float or None
        Seconds per message across this level (``lat=``).
    capacity : tuple of int
        How much more than others the units of this level can take (``cap=``): one number for all, one
        for each unit inside every unit of the level outside, or one for each unit of the machine.
        Empty: all alike.
    """

    name: str
    distance: int
    bandwidth: float | None = None
    latency: float | None = None
    capacity: tuple[int, ...] = ()


class Topology(ABC):
    """`n_cores` cores numbered from 0 (logical numbers), levels of units that hold them, and distances."""

    __slots__ = ()

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of cores."""

    @property
    @abstractmethod
    def levels(self) -> tuple[Level, ...]:
        """Named levels, outermost first; empty for topologies that have none."""

    @abstractmethod
    def distance(self) -> Distance:
        """Lower the distances between cores to one of the forms that kernels know."""

    @abstractmethod
    def ancestors(self, level: int) -> Int32:
        """int32[n_cores]: number of the unit at ``levels[level]`` that each core belongs to.

        Units are numbered over the whole machine in machine order.
        """

    @abstractmethod
    def split(self, cores: Int64) -> list[Int64]:
        """Cut a set of cores (ascending) into the outermost units that they lie in.

        Returns two or more non-empty ascending parts that together hold `cores`; one part only when
        there is a single core. Multisection descends by this, so that it works on every machine.
        """

    def groups(self, cores: Int64) -> list[Int32]:
        """Cut a set of cores (ascending) all the way down: the group of each, coarsest grouping first.

        Returns
        -------
        list of int32[len(cores)]
            Every grouping numbers its groups 0..g-1, refines the one before, and the parts of one
            group have consecutive numbers. The last has one group per core; groupings that would
            repeat the one before, and the trivial one of a single group, are left out (a single
            core gives ``[[0]]``). Numbers ascend with the cores on a tree, not in general.

        Notes
        -----
        This general version calls :meth:`split` once per group; topologies with a faster way override it.
        """
        level = [np.arange(len(cores), dtype=np.int64)]  # positions within `cores`, one array per group
        found = []
        while len(level) < len(cores):
            finer: list[Int64] = []
            for places in level:
                parts = self.split(cores[places]) if len(places) > 1 else [cores[places]]
                finer.extend(places[np.searchsorted(cores[places], part)] for part in parts)
            level = finer
            grouping = np.empty(len(cores), np.int32)
            grouping[np.concatenate(level)] = np.repeat(
                np.arange(len(level), dtype=np.int32), [len(places) for places in level]
            )
            found.append(grouping)
        return found or [np.zeros(len(cores), np.int32)]

    def node_of_core(self) -> Int32:
        """int32[n_cores]: host of each core; all 0 when no level is a node (one host)."""
        level = self.level_named(NODE_NAMES)
        return np.zeros(self.n_cores, np.int32) if level is None else self.ancestors(level)

    def level_named(self, names: tuple[str, ...]) -> int | None:
        """Index of the first level with one of the names, None when there is none."""
        for index, level in enumerate(self.levels):
            if level.name in names:
                return index
        return None

    def gpu_of_core(self) -> Int32 | None:
        """int32[n_cores]: GPU of its node that each core is or lies beside; None without a level of GPUs."""
        level = self.gpu_level()
        if level is None:
            return None
        unit, node = self.ancestors(level), self.node_of_core()
        return (unit - unit[np.searchsorted(node, node)]).astype(np.int32)

    def gpu_level(self) -> int | None:
        """Index of the level whose units are GPUs inside nodes; None when there is none. O(places).

        A level of that name outside the nodes does not count, since a GPU does not hold several hosts.
        """
        names = [level.name.lower() for level in self.levels]
        index = next((number for number, name in enumerate(names) if name in GPU_NAMES), None)
        if index is None:
            return None
        unit, node = self.ancestors(index), self.node_of_core()
        return None if np.any((unit[1:] == unit[:-1]) & (node[1:] != node[:-1])) else index

    def leaves_are_gpus(self) -> bool:
        """Tell whether the smallest units are GPUs, so that nothing is known about cores."""
        level = self.gpu_level()
        return level is not None and level == len(self.levels) - 1

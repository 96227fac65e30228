"""What a mapper and a refiner are, and what they are told besides graph and machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.graph import CommGraph
from hopbytes.registry import Registry

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]

mappers: Registry[type[Mapper]] = Registry("mapper", "hopbytes.mappers")
refiners: Registry[type[Refiner]] = Registry("refiner", "hopbytes.refiners")


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """Costs of a task on a PE beyond communication, sparse: task t on ``pes[e]`` costs ``costs[e]``.

    Carries fixed and forbidden places, migration prices and diagonals; rows as in a CSR matrix.
    """

    indptr: Int64
    pes: Int32
    costs: Int64


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What each PE may hold.

    Parameters
    ----------
    load : int64[k]
        Largest sum of task loads per PE.
    count : int64[k] or None
        With ``exact`` the number of tasks every PE must hold; loads then play no part.
    exact : bool
        One task per slot (or floor/ceil of n/k): counts are met exactly.
    unary : Unary or None
        Further costs; None for most problems.
    """

    load: Int64
    count: Int64 | None = None
    exact: bool = False
    unary: Unary | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Effort:
    """How to run: seed, threads, when to stop, whom to tell.

    Parameters
    ----------
    seed : int
        All randomness derives from it and from the path of a subproblem, never from scheduling.
    threads : int
        Workers side by side; the answer does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which a mapper returns its best as soon as it can.
    progress : callable or None
        Called with (stage, done, total) from the main thread.
    work : dict
        Counters a mapper adds up (tries, moves, ...); deterministic, reported in ``Mapping.info``.
    """

    seed: int = 0
    threads: int = 1
    deadline: float | None = None
    progress: Callable[[str, int, int], None] | None = None
    work: dict[str, int] = field(default_factory=dict)


class Mapper(ABC):
    """An algorithm that places tasks. Subclasses are frozen dataclasses; fields are hyperparameters."""

    __slots__ = ()
    deterministic: ClassVar[bool] = True

    @abstractmethod
    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task. Need not meet `bounds`: the caller repairs and verifies."""


class Refiner(ABC):
    """An algorithm that improves a placement. Subclasses are frozen dataclasses."""

    __slots__ = ()

    @abstractmethod
    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement no worse than `pe` that keeps `bounds` if `pe` did."""

"""Mapping: which task runs on which PE, and how that was found."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopbytes.errors import FormatError
from hopbytes.model.allocation import Allocation


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """A placement: PE of every task, on a known allocation.

    Parameters
    ----------
    pe : int32[n]
        PE of each task, 0..k-1. The direction is always task → PE.
    where : Allocation
    info : mapping
        mapper, preset, seed, threads, version, problem, balance, comm_cost, seconds, work ...

    Raises
    ------
    FormatError
        A PE outside 0..k-1, an array that is not int32[n], a place that is not an Allocation.
    """

    pe: NDArray[np.int32]
    where: Allocation
    info: Dictionary[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.pe, np.ndarray) or self.pe.dtype != np.int32 or self.pe.ndim != 1:
            raise FormatError("mapping", None, "pe must be a 1-d int32 array")
        if not isinstance(self.where, Allocation):
            kind = type(self.where).__name__
            raise FormatError("mapping", None, f"where is a {kind}, expected an Allocation")
        if len(self.pe) and not 0 <= int(self.pe.min()) <= int(self.pe.max()) < self.where.k:
            task = int(np.flatnonzero((self.pe < 0) | (self.pe >= self.where.k))[0])
            raise FormatError(
                "mapping", None, f"task {task} is on PE {self.pe[task]}, expected 0..{self.where.k - 1}"
            )
        self.pe.setflags(write=False)

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.pe)

    def tasks_per_pe(self) -> NDArray[np.int64]:
        """int64[k]: how many tasks each PE holds."""
        return np.bincount(self.pe, minlength=self.where.k).astype(np.int64)

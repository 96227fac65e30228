"""Types of the arrays that the package passes around, and who may write into them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bool = NDArray[np.bool_]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
UInt16 = NDArray[np.uint16]
UInt64 = NDArray[np.uint64]

Given = TypeVar("Given", bound="Array | None")


class _Memory:
    """The memory of an array that nothing writes into any more; no array over it can be made writable."""

    def __init__(self, array: Array) -> None:
        self.array = array
        facts = array.__array_interface__
        self.__array_interface__ = {**facts, "data": (facts["data"][0], True)}


def own(array: Given) -> Given:
    """Return an array, if it is one, read-only and without a copy; nobody else may keep its memory."""
    if array is None or _is_owned(array):
        return array
    return np.asarray(_Memory(array))  # type: ignore[return-value]


def owned(array: Given) -> Given:
    """Return an array read-only, in memory that nobody else can write into: a copy unless it is there.

    Compiled code relies on what was checked when an object was made. A caller may write into an array later,
    or into another array over the same memory, even while it is checked; so this comes before the check.
    """
    return array if array is None or _is_owned(array) else own(np.array(array))  # type: ignore[return-value]


def _is_owned(array: Array) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, (_Memory, bytes))

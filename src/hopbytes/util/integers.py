"""Conversion of input numbers to the integers used in all computations, and the limits of these."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopbytes._arrays import Array, Int32, Int64
from hopbytes._frozen import own, owned
from hopbytes.errors import FormatError, ScaleError

#: Largest sum of volumes, of messages or of loads, and largest number of tasks.
MAX_SUM = 2**63 - 1
MAX_TASKS = 2**31 - 2


def bad_graph(what: str) -> FormatError:
    """Return the error for arrays that do not form a graph."""
    return FormatError("graph", None, what)


def check_total(name: str, total: int) -> int:
    """Return a sum; ScaleError, with the factor to divide by, if it exceeds 2^63 - 1."""
    check_limit(f"{name} sum to {total}", total, MAX_SUM)
    return total


def check_limit(what: str, value: int, most: int, divided: str = "them") -> None:
    """Raise ScaleError, with the factor to divide by, if a value exceeds a limit near a power of two."""
    if value > most:
        limit = "2^63 - 1" if most == MAX_SUM else f"2^{most.bit_length() - 1}"
        raise ScaleError(f"{what}, more than {limit}: divide {divided} by {-(-value // most)} or more")


def refuse_masked(where: str, values: object) -> None:
    """Raise FormatError for an array of NumPy that hides some entries, whose values mean nothing."""
    masked = sys.modules.get("numpy.ma")  # who has such an array has loaded what makes them
    hidden = 0
    if masked is not None and isinstance(values, masked.MaskedArray):
        hidden = int(np.count_nonzero(masked.getmaskarray(values)))
    if hidden:
        what = f"{hidden} masked entries, expected a number for each (`filled(0)` makes them 0)"
        raise FormatError(where, None, what)


def task_numbers(name: str, values: ArrayLike) -> Int32:
    """Return task numbers as int32; FormatError if they are not integers in 0..MAX_TASKS."""
    array = _array(name, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        found = f"an array of {array.dtype} with {array.ndim} dimensions"
        raise bad_graph(f"{name} is {found}, expected 1-d integers")
    if not array.size:
        return np.empty(0, np.int32)
    if int(array.min()) < 0 or int(array.max()) > MAX_TASKS:
        raise bad_graph(f"{name} must lie in 0..{MAX_TASKS}")
    narrow = owned(array) if array.dtype == np.int32 else own(np.array(array, np.int32))
    if int(narrow.min()) < 0:
        raise bad_graph(f"{name} changed while they were read, expected numbers in 0..{MAX_TASKS}")
    return narrow


def to_integers(name: str, values: ArrayLike | None, length: int) -> tuple[Int64 | None, int]:
    """Return `values` as int64 and the factor by which they were multiplied.

    The factor of integers is 1. Decimals are multiplied by the smallest power of ten that makes all of them
    integers, at most 10^9 and such that the sum stays below 2^53; values that are still fractional are
    rounded half to even. Where that would change a value by more than a thousandth of it, the factor goes on
    to at most 10^18.
    """
    if values is None:
        return None, 1
    array = _array(name, values)
    if array.shape != (length,):
        raise bad_graph(f"{name} has shape {array.shape}, expected ({length},)")
    if not array.size:
        return np.empty(0, np.int64), 1
    if array.dtype == np.bool_:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":  # np.issubdtype would accept time spans as signed integers
        raise bad_graph(f"{name} is an array of {array.dtype}, expected real numbers")
    if not bool(np.all((array >= 0) & (array < np.inf))):
        index = int(np.flatnonzero(~((array >= 0) & (array < np.inf)))[0])
        raise bad_graph(f"{name}[{index}] is {array[index]}, expected a finite number >= 0")
    if int(array.max()) > MAX_SUM:
        factor = int(array.max()) // MAX_SUM + 1
        raise ScaleError(f"{name} holds {array.max()}, more than 2^63 - 1: divide by {factor:.3g} or more")
    if not np.issubdtype(array.dtype, np.floating):
        return np.ascontiguousarray(array, dtype=np.int64), 1
    factor = _factor(array, 1, 10**9)
    rounded = np.rint(array * factor)
    if bool(np.any(np.abs(rounded - array * factor) * 1000 > array * factor)):
        factor = _factor(array, factor, 10**18)
        rounded = np.rint(array * factor)
    return rounded.astype(np.int64), factor


def _factor(array: NDArray[np.floating[Any]], factor: int, most: int) -> int:
    """Return the first power of ten from `factor` on that makes whole numbers, or the largest that fits."""
    total = float(array.sum())
    while factor < most and total * factor * 10 < 2**53 and np.any(np.rint(array * factor) != array * factor):
        factor *= 10
    return factor


def _array(name: str, values: ArrayLike) -> Array:
    refuse_masked(name, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise bad_graph(f"{name} are lists of unequal length, expected one list of numbers") from None

"""Maximum loads: exact sums, the integer cap of every PE, and the caps for a split of the hierarchy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.util.integers import check_limit

Value = TypeVar("Value")


def group_sums(group: Int32, values: Int64 | None, count: int, threads: int = 1) -> Int64:
    """Return the exact sum of values per group."""
    group = np.ascontiguousarray(group, np.int32)
    if len(group) and not 0 <= int(group.min()) <= int(group.max()) < count:
        raise IndexError(f"groups {group.min()} to {group.max()}, expected 0 to {count - 1}")
    return kernels.group_sums(group, None if values is None else np.ascontiguousarray(values), count, threads)


def relative_excess(loads: Int64, total: int, capacity: Int64 | None) -> float:
    """Return by how much the most loaded PE exceeds its share of the total load; 0.03 for 3 % more."""
    if capacity is None:
        fullest, own, whole = int(np.argmax(loads)), 1, len(loads)
    else:
        relative = np.divide(loads, capacity, out=np.zeros(len(loads)), where=capacity > 0)
        fullest = int(np.argmax(relative))
        own, whole = int(capacity[fullest]), int(capacity.sum())
    # A single division follows integer arithmetic: (103 - 100) / 100 is 0.03, whereas 1.03 - 1 rounds above.
    return ratio(int(loads[fullest]) * whole - total * own, total * own)


def ratio(part: int, whole: int) -> float:
    """Return part / whole, or 0 if `whole` is 0."""
    return part / whole if whole else 0.0


def sum_of(values: Int64) -> int:
    """Return the exact sum of int64 values, which may exceed 63 bits; O(n), without a Python loop."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


#: Largest sum of loads; sums of caps, which are a few per cent larger, then fit in 63 bits.
MAX_TOTAL_LOAD = 2**62


def exact_imbalance(imbalance: float | str | Fraction) -> Fraction:
    """Return the imbalance as the decimal fraction that was written: 0.03 is 3/100, not a binary fraction."""
    if isinstance(imbalance, Fraction) and imbalance >= 0:
        return imbalance
    text = str(imbalance).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise UnsupportedError(f"imbalance {text[:40]}, expected a finite number >= 0 such as 0.03 or 3%")
    value = Fraction(str(number))
    if text.endswith("%"):
        return value / 100
    if value >= 1:
        raise UnsupportedError(
            f"imbalance {number:g} allows {1 + number:g} times the mean load; {number:g} % is "
            f"{number / 100:g} or {number:g}% ({100 * number:g}% if that much is meant)"
        )
    return value


@frozen(eq=False)
class LoadBound:
    """The loads that the balance takes into account, and the maximum load of each PE."""

    #: int64[n] or None: Loads in multiples of `unit`, in which that of a heavy task is reduced to a full PE,
    #: so that it fills any PE alone. None means 1 each.
    loads: Int64 | None
    caps: Int64  # int64[k]: Largest sum of these loads per PE
    heavy: int = 0  # number of tasks whose load was reduced
    unit: int = 1  # what 1 stands for in `loads` and `caps`


def load_bound(
    loads: Int64 | None, n: int, capacity: Int64, imbalance: Fraction, unit: int | None = None, *,
    ceil: bool = False,
) -> LoadBound:
    """Return the integer cap of every PE.

    With equal PEs the cap is ``L = max(floor((1 + imbalance) c / k), ceil(c / k))`` for total load c on
    k PEs. All loads are multiples of a unit, and so are sums of them; c and L count units, so that loads of
    7 each have the same mappings as loads of 1 each. Tasks heavier than ``(1 + imbalance) c / k`` take a PE
    each, and L is computed from the rest.
    Unequal PEs get caps in proportion to their capacity. With `ceil` L is ``ceil((1 + imbalance) c / k)`` for
    loads as they are given, as in SharedMap, KaHIP and Mt-KaHyPar.
    """
    if loads is None or len(loads) == 0 or int(loads.max()) == 0 or int(loads.min()) == int(loads.max()) == 1:
        return LoadBound(None, _caps(n, capacity, imbalance, ceil=ceil))
    total = sum_of(loads)
    check_limit(f"loads sum to {total}", total, MAX_TOTAL_LOAD)
    unit = common_divisor(loads) if unit is None else unit
    if unit > 1:
        loads = loads // unit
        if int(loads.min()) == int(loads.max()) == 1:
            return LoadBound(None, _caps(n, capacity, imbalance, unit=unit, ceil=ceil), unit=unit)
    heavy, free = _heavy_tasks(loads, capacity, imbalance, unit, ceil=ceil)
    rest = loads if not len(heavy) else np.delete(loads, heavy)
    caps = np.maximum(_caps(sum_of(rest), capacity, imbalance, free, unit, ceil=ceil), 1)
    if len(heavy):
        loads = np.minimum(loads, int(caps.max()))
    return LoadBound(loads, caps, len(heavy), unit)


def shares_in_order(loads: Int64 | None, n: int, sizes: list[int]) -> Int64:
    """Return int64[k], how many of n tasks with these `loads`, in order, each PE gets.

    The part of a PE in the whole load is proportional to its size. A task is on the PE in whose part its
    middle lies. Middles ascend, so that the tasks of a PE follow one another, and only the ends of parts are
    searched for.
    """
    total, whole = n if loads is None else int(loads.sum()), sum(sizes)
    ends = np.array([total * below // whole for below in accumulate(sizes)], np.int64)
    if loads is None:  # the middle of task i is i
        firsts = np.minimum(ends, n)
    else:
        firsts = np.searchsorted(np.cumsum(loads) - loads + loads // 2, ends)
    firsts[-1] = n
    return np.diff(firsts, prepend=0)


def common_divisor(loads: Int64) -> int:
    """Return the greatest common divisor of loads >= 0; 0 without any load. O(n), mostly O(1).

    >>> common_divisor(np.array([14, 0, 21])), common_divisor(np.array([0, 0]))
    (7, 0)
    """
    divisor = 0
    for begin in range(0, len(loads), 4096):
        divisor = math.gcd(divisor, int(np.gcd.reduce(loads[begin : begin + 4096])))
        if divisor == 1:
            break
    return divisor


def _heavy_tasks(
    loads: Int64, capacity: Int64, imbalance: Fraction, unit: int, *, ceil: bool
) -> tuple[Int64, int]:
    """Tasks that exceed the fair share of the largest PE, and the capacity left for all others.

    Each heavy task occupies one of the largest PEs, which may make further tasks heavy for the rest.
    """
    order = np.argsort(-loads, kind="stable")
    sizes = np.sort(capacity)[::-1]
    total, free, count = sum_of(loads), sum_of(capacity), 0
    while count < min(len(sizes) - 1, len(loads)):
        share = (1 + imbalance) * total * int(sizes[count]) / free
        if int(loads[order[count]]) <= _rounded(share, unit, ceil=ceil):
            break
        total -= int(loads[order[count]])
        free -= int(sizes[count])
        count += 1
    return order[:count], free


def _rounded(share: Fraction, unit: int, *, ceil: bool) -> int:
    """Return a share of the load in multiples of `unit`; with `ceil` it is rounded up as a load first."""
    return math.ceil(share * unit) // unit if ceil else math.floor(share)


def _caps(
    total: int, capacity: Int64, imbalance: Fraction, free: int | None = None, unit: int = 1, *,
    ceil: bool = False,
) -> Int64:
    """Return the cap per PE for a total load on `free` of the capacity (all of it by default)."""
    whole = sum_of(capacity) if free is None else free
    ceiling = (2**63 - 1) // len(capacity)

    def cap(size: int) -> int:
        roomy = _rounded((1 + imbalance) * total * size / whole, unit, ceil=ceil)
        return min(max(roomy, -(-total * size // whole)), max(total, 1), ceiling)

    return _of_each(capacity.tolist(), cap)


def _of_each(values: list[Value], bound: Callable[[Value], int]) -> Int64:
    """int64[values]: the bound of every value, computed once for equal ones."""
    known = {value: bound(value) for value in set(values)}
    return np.array([known[value] for value in values], np.int64)


def count_bounds(tasks: int, capacity: Int64, imbalance: Fraction) -> Int64:
    """Return the largest number of tasks without load per PE: an even share, increased by `imbalance`.

    >>> count_bounds(10, np.ones(4, np.int64), Fraction(3, 100))
    array([3, 3, 3, 3])
    """
    whole = sum_of(capacity)
    return _of_each(capacity.tolist(), lambda size: math.ceil((1 + imbalance) * tasks * size / whole))


def child_bounds(load: int, shares: Int64, leaf_bounds: Int64, levels_left: int) -> Int64:
    """Return caps for one split under which every later split and every leaf can meet its own cap.

    The slack between the load and what the leaves can hold is shared evenly, as a factor, among the
    levels that are still to be cut: with S the sum of leaf caps below, c the load and d levels left,
    a child with share b of B gets ``(S / c) ** (1 / d) * c * b / B``, rounded down, at most what its
    leaves hold, and never below its even part ``ceil(c * b / B)``.
    """
    if load == 0:
        return leaf_bounds.astype(np.int64)
    whole = sum(int(share) for share in shares)
    room = sum(int(cap) for cap in leaf_bounds)

    def cap(pair: tuple[int, int]) -> int:
        share, below = pair
        even = -(-load * share // whole)
        power = room * load ** (levels_left - 1) * share**levels_left // whole**levels_left
        return max(even, min(integer_root(power, levels_left), below))

    return _of_each(list(zip(shares.tolist(), leaf_bounds.tolist(), strict=True)), cap)


def sure_loads(leaves: Int64, leaf_bounds: Int64, heaviest: int) -> Int64:
    """Return loads that fit the leaves of each child, whatever tasks they are made of.

    Put each task on the first PE that has room for it. If a task of load s fits nowhere, every PE holds at
    least its cap - s + 1, so that all of it makes more than the caps together less (p - 1) (s - 1). The
    same holds for every split on the way: what is sure for a child is sure for its children together.
    """
    if heaviest <= 1:
        return leaf_bounds.astype(np.int64)
    pairs = zip(leaves.tolist(), leaf_bounds.tolist(), strict=True)
    return np.array([max(0, cap - (pes - 1) * (heaviest - 1)) for pes, cap in pairs], np.int64)


def integer_root(value: int, degree: int) -> int:
    """Return the largest r with ``r ** degree <= value``, for integers >= 0 of any size."""
    if degree == 1 or value < 2:
        return value
    if degree == 2:
        return math.isqrt(value)
    # Newton from above: the first guess is a power of two that is surely not too small.
    root = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if better >= root:
            return root
        root = better

"""Maximum loads: the integer cap of every PE."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import ScaleError, UnsupportedError
from hopbytes.model.exact_sums import sum_of

#: Largest sum of loads; sums of caps, which are a few per cent larger, then fit in 63 bits.
MAX_TOTAL_LOAD = 2**62


def exact_imbalance(imbalance: float | str | Fraction) -> Fraction:
    """Return the imbalance as the decimal fraction that was written: 0.03 is 3/100, not a binary fraction.

    >>> exact_imbalance(0.03), exact_imbalance("3%"), exact_imbalance("300%")
    (Fraction(3, 100), Fraction(3, 100), Fraction(3, 1))
    """
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
    loads: Int64 | None, n: int, capacity: Int64, imbalance: Fraction, unit: int | None = None
) -> LoadBound:
    """Return the integer cap of every PE.

    With equal PEs the cap is ``L = max(floor((1 + imbalance) c / k), ceil(c / k))`` for total load c on
    k PEs. All loads are multiples of a unit, and so are sums of them; c and L count units, so that loads of
    7 each have the same mappings as loads of 1 each. Tasks heavier than ``(1 + imbalance) c / k`` take a PE
    each, and L is computed from the rest.
    Unequal PEs get caps in proportion to their capacity.

    >>> load_bound(None, 65, np.ones(4, np.int64), Fraction(3, 100)).caps
    array([17, 17, 17, 17])
    >>> bound = load_bound(np.array([100, 1, 1, 1, 1]), 5, np.ones(3, np.int64), Fraction(3, 100))
    >>> bound.caps, bound.loads
    (array([2, 2, 2]), array([2, 1, 1, 1, 1]))
    >>> bound = load_bound(np.array([14, 7, 7]), 3, np.ones(3, np.int64), Fraction(3, 100))
    >>> bound.caps, bound.loads, bound.unit
    (array([1, 1, 1]), array([1, 1, 1]), 7)
    """
    if loads is None or len(loads) == 0 or int(loads.max()) == 0 or int(loads.min()) == int(loads.max()) == 1:
        return LoadBound(None, _caps(n, capacity, imbalance))
    total = sum_of(loads)
    if total > MAX_TOTAL_LOAD:
        factor = -(-total // MAX_TOTAL_LOAD)
        raise ScaleError(f"loads sum to {total}, more than 2^62: divide them by {factor} or more")
    unit = common_divisor(loads) if unit is None else unit
    if unit > 1:
        loads = loads // unit
        if int(loads.min()) == int(loads.max()) == 1:
            return LoadBound(None, _caps(n, capacity, imbalance), unit=unit)
    heavy, free = _heavy_tasks(loads, capacity, imbalance)
    rest = loads if not len(heavy) else np.delete(loads, heavy)
    caps = np.maximum(_caps(sum_of(rest), capacity, imbalance, free), 1)
    if len(heavy):
        loads = np.minimum(loads, int(caps.max()))
    return LoadBound(loads, caps, len(heavy), unit)


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


def _heavy_tasks(loads: Int64, capacity: Int64, imbalance: Fraction) -> tuple[Int64, int]:
    """Tasks that exceed the fair share of the largest PE, and the capacity left for all others.

    Each heavy task occupies one of the largest PEs, which may make further tasks heavy for the rest.
    """
    order = np.argsort(-loads, kind="stable")
    sizes = np.sort(capacity)[::-1]
    total, free, count = sum_of(loads), sum_of(capacity), 0
    while count < min(len(sizes) - 1, len(loads)):
        share = (1 + imbalance) * total * int(sizes[count]) / free
        if int(loads[order[count]]) <= share:
            break
        total -= int(loads[order[count]])
        free -= int(sizes[count])
        count += 1
    return order[:count], free


def _caps(total: int, capacity: Int64, imbalance: Fraction, free: int | None = None) -> Int64:
    """Return the cap per PE for a total load on `free` of the capacity (all of it by default)."""
    whole = sum_of(capacity) if free is None else free
    ceiling = (2**63 - 1) // len(capacity)
    known: dict[int, int] = {}
    for size in set(capacity.tolist()):
        roomy = math.floor((1 + imbalance) * total * size / whole)
        known[size] = min(max(roomy, -(-total * size // whole)), max(total, 1), ceiling)
    return np.array([known[size] for size in capacity.tolist()], np.int64)


def count_bounds(tasks: int, capacity: Int64, imbalance: Fraction) -> Int64:
    """Return the largest number of tasks without load per PE: an even share, increased by `imbalance`.

    >>> count_bounds(10, np.ones(4, np.int64), Fraction(3, 100))
    array([3, 3, 3, 3])
    """
    whole = sum_of(capacity)
    caps = {size: math.ceil((1 + imbalance) * tasks * size / whole) for size in np.unique(capacity).tolist()}
    return np.array([caps[size] for size in capacity.tolist()], np.int64)

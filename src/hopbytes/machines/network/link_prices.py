"""Classes of links of equal capacity, and integer prices that make loads of different links comparable."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64

#: Prices are exact where the slowest link needs none above this; else the best ones up to it are searched.
MOST_PRICE = 2**16
#: Relative error of the ratio of two prices that is negligible.
AS_GOOD_AS_EXACT = 2.0**-24
#: Where small prices cannot express the ratio of capacities, the fastest link gets a price about this large.
LEAST_PRICE, HIGHEST_PRICE = 2**12, 2**32


class CapacityClasses(NamedTuple):
    """Distinct capacities ascending, links sorted by them, and where the links of each begin.

    `values` are integers > 0; the links of capacity ``values[i]`` are ``links[start[i]:start[i + 1]]``,
    ascending. `links` is None where all links are of one class.
    """

    values: tuple[int, ...]
    links: Int64 | None
    start: tuple[int, ...]


def capacity_classes(capacity: Int64) -> CapacityClasses:
    """Group links by capacity, int64[links]; O(links log links), links of capacity 0 are left out."""
    if len(capacity) and int(capacity.min()) == int(capacity.max()) > 0:
        return CapacityClasses((int(capacity[0]),), None, (0, len(capacity)))
    order = np.argsort(capacity, kind="stable")
    order = order[np.searchsorted(capacity[order], 1) :]
    values, first = np.unique(capacity[order], return_index=True)
    return CapacityClasses(tuple(values.tolist()), order, (*first.tolist(), len(order)))


def link_prices(found: CapacityClasses, n_links: int) -> tuple[Int64 | None, int]:
    """Return integers per link for searches, see :meth:`hopbytes.machines.network.network.Network.prices`."""
    if len(found.values) < 2 or found.links is None:
        return None, found.values[0] if found.values else 1
    chosen = prices_of(found.values)
    prices = np.zeros(n_links, np.int64)
    prices[found.links] = np.repeat(np.array(chosen, np.int64), np.diff(found.start))
    prices.setflags(write=False)
    return prices, chosen[0] * found.values[0]


def prices_of(capacities: Sequence[int]) -> tuple[int, ...]:
    """Return integers in the ratio of 1 / capacity, as small as they can be.

    The least common multiple over the capacity is exact; it is taken while the slowest link costs no more
    than 2**16. Rates that were rounded to whole bytes per second have multiples of 2**30 and more although
    they are as 6 to 11. So the smallest price of the slowest link is taken with which all ratios are
    right to 2**-24, or else the best one up to 2**16.

    >>> prices_of([2, 3]), prices_of([6_818_181_818, 12_500_000_000])
    ((3, 2), (11, 6))
    """
    divisor, multiple = gcd(*capacities), 1
    for value in capacities:
        reduced = value // divisor
        multiple = multiple * reduced // gcd(multiple, reduced)
        if multiple * divisor > MOST_PRICE * capacities[0]:
            return _nearly(capacities)
    return tuple(multiple * divisor // value for value in capacities)


def _nearly(capacities: Sequence[int]) -> tuple[int, ...]:
    share = np.array([capacities[0] / value for value in capacities])
    error = np.zeros(MOST_PRICE)
    slowest = np.arange(1, MOST_PRICE + 1, dtype=np.float64)
    for part in share[1:].tolist():
        price = np.maximum(np.rint(slowest * part), 1)
        np.maximum(error, np.abs(price / (slowest * part) - 1), out=error)
    good = np.flatnonzero(error <= AS_GOOD_AS_EXACT)
    best = int(good[0] if len(good) else error.argmin()) + 1
    if error[best - 1] > 1 / LEAST_PRICE:
        best = max(best, min(HIGHEST_PRICE, round(LEAST_PRICE / float(share[-1]))))
    return tuple(max(1, round(best * part)) for part in share.tolist())

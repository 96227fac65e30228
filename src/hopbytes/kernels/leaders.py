"""Kernels for the leader processes of PTRAM (``core/routing/stored_routes.hpp``, ``ptram.hpp``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes.kernels.base import kernel, optional
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import Routes


class LinkChanges(NamedTuple):
    """Batch i changes ``links[e]`` by ``amounts[e]`` for e in ``start[i]:start[i+1]``; all int64."""

    start: Int64
    links: Int64
    amounts: Int64


def placement_order(arcs: Csr, sizes: Int64, capacities: Int64) -> Int32:
    """Return int32[G], the order in which PTRAM assigns groups; it does not depend on their places.

    Groups that need a rare size of place come first. Among the others the next one has the largest volume to
    groups before it, plus 1/(their number + 1) of its volume to the rest; in case of ties the lower number is
    taken. O(G d + m log G) with d different volumes to groups before, at most G.

    >>> ones = np.ones(3, np.int64)
    >>> arcs = Csr(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([2, 9]))
    >>> placement_order(arcs, ones, ones)
    array([1, 2, 0], dtype=int32)
    """
    order = np.empty(len(sizes), np.int32)
    kernel.ptram_order(arcs.indptr, arcs.targets, optional(arcs.weights), sizes, capacities, order)
    return order


def sum_over_routes(
    routes: Routes, shift: int, n_links: int, flow_start: Int64, rows: Int64, volumes: Int64
) -> LinkChanges:
    """Return the contributions of the flows of every batch to the links."""
    room = int((routes.indptr[rows + 1] - routes.indptr[rows]).sum())
    start = np.empty(len(flow_start), np.int64)
    links, amounts = np.empty(room, np.int64), np.empty(room, np.int64)
    entries = int(kernel.sum_over_routes(
        routes.indptr, routes.links, optional(routes.numerators), optional(routes.denominators), shift,
        n_links, flow_start, rows, volumes, start, links, amounts,
    ))
    return LinkChanges(start, links[:entries], amounts[:entries])


def hybrid_after_each(added: LinkChanges, load: Int64, prices: Int64 | None, terms: Float64) -> Float64:
    """Return float64[B], the hybrid metric of PTRAM after adding each batch alone to `load`."""
    value = np.empty(len(added.start) - 1, np.float64)
    kernel.hybrid_after_each(*added, load, optional(prices), terms, value)
    return value


def peak_after_each(changes: LinkChanges, load: Int64, prices: Int64 | None) -> tuple[Int64, Int64]:
    """Return the maximum of load x price after each batch of changes alone, and the number of links with it.

    Both results are int64[B]. Links may occur repeatedly in a batch.

    >>> away = LinkChanges(np.array([0, 1]), np.array([2]), np.array([-5]))
    >>> peak_after_each(away, np.array([1, 3, 7]), None)
    (array([3]), array([1]))
    """
    top, count = (np.empty(len(changes.start) - 1, np.int64) for _ in range(2))
    kernel.peak_after_each(*changes, load, optional(prices), top, count)
    return top, count

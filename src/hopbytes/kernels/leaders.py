"""What PTRAM's leaders compute on their own routes (``core/stored_routes.hpp``, ``core/ptram.hpp``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes.kernels.base import implementation, optional
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import Routes

_kernel = implementation("leaders")


class LinkChanges(NamedTuple):
    """Batch i changes ``links[e]`` by ``amounts[e]`` for e in ``start[i]:start[i+1]``; all int64."""

    start: Int64
    links: Int64
    amounts: Int64


def placement_order(
    arcs: Csr, sizes: Int64, capacities: Int64
) -> Int32:
    """int32[G]: groups in the order in which PTRAM places them, which does not depend on where they go.

    Groups that need a rare size of place come first. Among the others the next one has the largest volume to
    groups placed before it, plus 1/(their number + 1) of its volume to the rest; ties go to the lower
    number. O(G^2 + m).

    Examples
    --------
    >>> ones = np.ones(3, np.int64)
    >>> arcs = Csr(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([2, 9]))
    >>> placement_order(arcs, ones, ones)
    array([1, 2, 0], dtype=int32)
    """
    order = np.empty(len(sizes), np.int32)
    _kernel.ptram_order(arcs.indptr, arcs.targets, optional(arcs.weights), sizes, capacities, order)
    return order


def sum_over_routes(
    routes: Routes, shift: int, n_links: int, flow_start: Int64, rows: Int64, volumes: Int64
) -> LinkChanges:
    """Return the contributions of the flows of every batch to the links.

    Parameters
    ----------
    routes : Routes
        Routes of some flows, one per row.
    shift : int
        Amounts are in units of 2^-shift.
    n_links : int
    flow_start : int64[B+1]
        Flows of batch i are ``flow_start[i]:flow_start[i+1]``.
    rows, volumes : int64[f]
        Row of `routes` that a flow takes, and its volume; a negative volume removes the flow.

    Returns
    -------
    LinkChanges
        Links of a batch in the order of their first use. O(length of all those routes).
    """
    room = int((routes.indptr[rows + 1] - routes.indptr[rows]).sum())
    start = np.empty(len(flow_start), np.int64)
    links, amounts = np.empty(room, np.int64), np.empty(room, np.int64)
    entries = int(_kernel.sum_over_routes(
        routes.indptr, routes.links, optional(routes.numerators), optional(routes.denominators), shift,
        n_links, flow_start, rows, volumes, start, links, amounts,
    ))
    return LinkChanges(start, links[:entries], amounts[:entries])


def hybrid_after_each(added: LinkChanges, load: Int64, prices: Int64 | None, terms: Float64) -> Float64:
    """float64[B]: PTRAM's hybrid metric after each batch of additions to `load`, each batch on its own.

    Parameters
    ----------
    added : LinkChanges
        Every link at most once per batch, amounts >= 0.
    load : int64[links]
    prices : int64[links] or None
        Value of a unit of load on a link; None: 1 each.
    terms : float64[6]
        Weights of hop-bytes, highest, mean and variance of congestion, unit and scale of the integers.
    """
    value = np.empty(len(added.start) - 1, np.float64)
    _kernel.hybrid_after_each(*added, load, optional(prices), terms, value)
    return value


def peak_after_each(changes: LinkChanges, load: Int64, prices: Int64 | None) -> tuple[Int64, Int64]:
    """Return the highest load x price after each batch of changes to `load`, and the number of links with it.

    Links may occur repeatedly in a batch. Both int64[B].

    Examples
    --------
    >>> away = LinkChanges(np.array([0, 1]), np.array([2]), np.array([-5]))
    >>> peak_after_each(away, np.array([1, 3, 7]), None)
    (array([3]), array([1]))
    """
    top, count = (np.empty(len(changes.start) - 1, np.int64) for _ in range(2))
    _kernel.peak_after_each(*changes, load, optional(prices), top, count)
    return top, count

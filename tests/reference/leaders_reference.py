"""Reference implementation of ``routing/stored_routes.hpp`` and of PTRAM's order (``routing/ptram.hpp``)."""

from typing import Any

from hopbytes.kernels.records import Csr
from reference.graph_reference import arcs_of
from reference.groups import Fit


def ptram_order(graph: Csr, sizes: Any, capacities: Any, order: Any) -> None:
    """Fill `order`: by rarity of size, then by volume to earlier groups plus a share of that to others."""
    arcs = arcs_of(graph)
    fit = Fit(sizes.tolist(), capacities.tolist())
    placed: list[int] = []
    for kind in fit.by_rarity():
        while waiting := [g for g in range(len(sizes)) if fit.group_class[g] == kind and g not in placed]:
            volumes = []
            for g in waiting:
                mine = [(b if a == g else a, v) for a, b, v in arcs if a != b and g in (a, b)]
                known = sum(v for other, v in mine if other in placed)
                unknown = sum(v for other, v in mine if other not in placed)
                volumes.append(known * (len(placed) + 1) + unknown)
            placed.append(waiting[volumes.index(max(volumes))])
    order[:] = placed


def sum_over_routes(
    routes: Any, shift: int, links: int, flow_start: Any, rows: Any, volumes: Any,
    start: Any, link: Any, amount: Any,
) -> int:
    """Fill the contributions of every batch to links, in the order of first use; return their number."""
    route_start, route_link, part, parts = routes
    entries = start[0] = 0
    for batch in range(len(flow_start) - 1):
        sums: dict[int, int] = {}
        for flow in range(int(flow_start[batch]), int(flow_start[batch + 1])):
            volume, row = int(volumes[flow]), int(rows[flow])
            for e in range(int(route_start[row]), int(route_start[row + 1])):
                above, below = (1, 1) if part is None else (int(part[e]), int(parts[e]))
                share = (2 * abs(volume) * above * 2**shift + below) // (2 * below)
                found = int(route_link[e])
                assert 0 <= found < links
                sums[found] = sums.get(found, 0) + (share if volume >= 0 else -share)
        link[entries : entries + len(sums)] = list(sums)
        amount[entries : entries + len(sums)] = list(sums.values())
        entries += len(sums)
        start[batch + 1] = entries
    return entries


def hybrid_after_each(added: Any, load: Any, price: Any, terms: Any, value: Any) -> None:
    """Fill the hybrid metric after each batch of additions."""
    start, link, amount = added
    a, b, c, d, unit, scale = (float(term) for term in terms)
    for batch in range(len(start) - 1):
        loads = _changed(load, link, amount, int(start[batch]), int(start[batch + 1]))
        values = _priced(loads, price)
        used = float(sum(each > 0 for each in values)) or 1.0
        mean = float(sum(values)) / used
        variance = float(sum(each * each for each in values)) / used - mean * mean
        top = float(max(values, default=0))
        value[batch] = (
            a * (float(sum(loads)) / scale) + b * (top / unit) + c * (mean / unit)
            + d * (variance / unit / unit)
        )


def peak_after_each(changes: Any, load: Any, price: Any, top: Any, count: Any) -> None:
    """Fill the maximum of load x price after each batch of changes, and the number of links with it."""
    start, link, amount = changes
    for batch in range(len(start) - 1):
        loads = _changed(load, link, amount, int(start[batch]), int(start[batch + 1]))
        values = _priced(loads, price)
        top[batch] = max(values, default=0)
        count[batch] = values.count(top[batch]) if top[batch] else 0


def _changed(load: Any, link: Any, amount: Any, first: int, last: int) -> list[int]:
    loads = [int(each) for each in load]
    for e in range(first, last):
        loads[int(link[e])] += int(amount[e])
    return loads


def _priced(loads: list[int], price: Any) -> list[int]:
    return [each * (int(price[i]) if len(price) else 1) for i, each in enumerate(loads)]

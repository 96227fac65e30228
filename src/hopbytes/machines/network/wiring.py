"""Where links begin and end, and the links between nodes and their routers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int64


class Wiring(NamedTuple):
    """Where links begin and end, as a graph of vertices 0..vertices-1."""

    #: int64[n_links]: Vertex each link leaves and the one it enters; arbitrary for numbers of no link
    #: (capacity 0)
    tail: Int64
    head: Int64  # int64[n_links]
    at: Int64  # int64[n_endpoints]: Vertex of every endpoint: its own, or the router it is part of
    vertices: int


def from_nodes(nodes: int, each: int) -> tuple[Int64, Int64, Int64]:
    """Return tails and heads of the links of nodes, up and down in turn, and the vertices of endpoints.

    Nodes are vertices 0..nodes-1, routers with `each` nodes follow.

    >>> tail, head, at = from_nodes(2, 1)
    >>> tail.tolist(), head.tolist(), at.tolist()
    ([0, 2, 1, 3], [2, 0, 3, 1], [0, 1])
    """
    node = np.arange(nodes, dtype=np.int64)
    ends = np.stack([node, nodes + node // each], axis=1)
    return ends.reshape(-1), ends[:, ::-1].reshape(-1), node


def name_link_of_node(link: int, each: int, name_router: Callable[[int], str]) -> str:
    """Return the name of a link of a node, numbered as :func:`from_nodes` has them.

    >>> [name_link_of_node(link, 2, "r{}".format) for link in (4, 5)]
    ['n2 -> r1', 'r1 -> n2']
    """
    ends = (f"n{link // 2}", name_router(link // 2 // each))
    return " -> ".join(reversed(ends) if link % 2 else ends)

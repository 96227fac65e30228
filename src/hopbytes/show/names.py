"""Names of nodes, cores and files as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from hopbytes.model.allocation import Allocation

#: Letters of a name in a title, and options of patterns that say nothing.
LONGEST_NAME, UNUSED = 56, re.compile(r",\w+=(none|0)(?=,|$)")
SEPARATORS = " ;:/._-"


def node_name(where: Allocation, node: int) -> str:
    """Return the name of a node for people: its host name, else its number."""
    return where.hosts[node] if node < len(where.hosts) else f"node {node}"


def pe_name(where: Allocation, pe: int) -> str:
    """Return the name of a PE for people: its node, and the first of its cores, counted on the node."""
    nodes, core = where.machine.node_of_core(), int(where.first_core[pe])
    name = node_name(where, int(nodes[core]))
    first, end = (int(np.searchsorted(nodes, nodes[core], side=side)) for side in ("left", "right"))
    if end - first == 1:  # the node is the smallest unit known
        return name
    if not where.has_cores and len(where.gpus_of(pe)):
        return f"{name} GPU {where.gpus_of(pe)[0]}"
    return f"{name} core {core - first}"


def short_name(name: str) -> str:
    """Return a name of a file, or a spec, cut for a title; options that are not used are left out.

    >>> short_name("stencil:dims=8x8,points=0,periodic=none,bytes=1000")
    'stencil:dims=8x8,bytes=1000'
    """
    name = UNUSED.sub("", name)
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def without_shared_end(names: Sequence[str]) -> list[str]:
    """Return names without the end that all of them share, from a separator on, such as a domain."""
    return [name[::-1] for name in without_shared_start([name[::-1] for name in names])]


def without_shared_start(names: Sequence[str]) -> list[str]:
    """Return names without the beginning that all of them share, up to a separator."""
    if len(set(names)) < 2:
        return list(names)
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    shared = "".join(letters[0] for letters in same)
    end = max(shared.rfind(separator) for separator in SEPARATORS) + 1
    left = [name[end:] for name in names]
    return left if all(left) else list(names)

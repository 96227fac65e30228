"""Algorithms of other authors and external partitioners beside hopbytes, for comparisons.

``pip install ./bench`` makes hopbytes find them by their entry points; :func:`register` does it for a process
that runs in the source tree.
"""

from __future__ import annotations

#: Names of mappers and their classes, as in the entry points of ``bench/pyproject.toml``.
MAPPERS = {
    "libtopomap_bisection": "hopbytes_laboratory.libtopomap:TopologyBisection",
    "libtopomap_greedy": "hopbytes_laboratory.libtopomap:TopologyGreedy",
    "libtopomap_rcm": "hopbytes_laboratory.libtopomap:TopologyRcm",
    "mpipp": "hopbytes_laboratory.mpipp:Mpipp",
}
#: Ways to sample the hosts of a job, likewise.
SAMPLERS = dict.fromkeys(("first", "scattered", "sfc"), "hopbytes_laboratory.sampled_hosts:sample_nodes")


def register() -> None:
    """Make hopbytes find the mappers, the external partitioners and the samplers in this process."""
    from pkgutil import resolve_name

    from hopbytes.algorithms.base import mappers
    from hopbytes.algorithms.mappers.multisection import partitioners
    from hopbytes.machines.allocate.hosts import samplers

    for name, where in MAPPERS.items():
        mappers.register(name)(resolve_name(where))
    for name, where in SAMPLERS.items():
        samplers.register(name)(resolve_name(where))
    partitioners.register("external")(resolve_name("hopbytes_laboratory.partitioners.choice:ExternalChoice"))

"""Hosts on a torus or mesh by a table of their coordinates."""

from __future__ import annotations

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.fabrics.coordinate_files import Coordinates, read_coordinates, sorted_by_place
from hopbytes.machines.base import machines
from hopbytes.machines.common.attached_hosts import AttachedHosts
from hopbytes.machines.common.file_spec import FileSpec, file_spec
from hopbytes.machines.kinds.torus import Torus

KEYS = {"dims": "8x8x8", "wrap": "1x1x0", "bw": "9375x4680x9375", "hosts": "n[1-8]"}


@machines.register("coordinates")
class HostsByCoordinates(AttachedHosts):
    """Hosts at places of a torus: ``coordinates:FILE``, one host and its coordinates per line.

    This serves BlueGene, Tofu and other systems that tell the coordinates of nodes. ``dims`` are the sizes
    (by default one more than the largest coordinates), ``wrap`` says which dimensions are rings (by default
    all), ``bw`` are capacities as in ``torus:``. Places without a host are routers only. Hosts are in the
    order of their places, first dimension slowest. ``hosts=`` (or ``@n[1-8]``) keeps some hosts.

    Examples
    --------
    >>> from hopbytes.machines.kinds.coordinates import HostsByCoordinates
    >>> machine = HostsByCoordinates.parse("examples/coordinates.txt:dims=4x2")
    >>> machine.known_hosts.names, machine.network().hops(*machine.places[:2]).tolist()
    (('a', 'c', 'b'), 2)
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> AttachedHosts:
        """Read ``FILE[:key=value…][@hosts or @distance per hop]``."""
        spec = file_spec("coordinates", text, KEYS)
        return on_torus("coordinates", spec, read_coordinates(spec.path))


def torus_options(spec: FileSpec) -> list[str]:
    """Return the options of a spec that only a torus understands."""
    return [key for key in ("dims", "wrap", "bw") if key in spec.options]


def on_torus(kind: str, spec: FileSpec, found: Coordinates) -> AttachedHosts:
    """Return the machine of hosts at their places of a torus."""
    if spec.levels:
        key = next(iter(spec.levels))
        what = f"{kind}: {key[:20]!r}=…, expected dims, wrap, bw or hosts on a torus"
        raise FormatError("machine", None, what)
    found = sorted_by_place(found)
    dims = spec.options.get("dims") or "x".join(map(str, found.dims))
    words = [f"{key}={spec.options[key]}" for key in ("wrap", "bw") if key in spec.options]
    places = np.array(found.places, np.int64)
    routers = Torus.parse(dims)
    sizes = routers.sizes
    if len(sizes) != places.shape[1] or np.any(places.max(axis=0) >= sizes):
        what = f"coordinates below {'x'.join(map(str, found.dims))}, expected below dims={dims}"
        raise FormatError(spec.path, None, what)
    router = np.ravel_multi_index(tuple(places.T), sizes)
    count = int(np.bincount(router).max())
    torus = Torus.parse(":".join([dims, *([f"nodes={count}"] if count > 1 else []), *words]))
    rank = np.arange(len(router)) - np.searchsorted(router, router)  # router numbers ascend
    endpoints = router * count + rank
    machine = AttachedHosts(
        spec.text(kind), torus, found.hosts, tuple(endpoints.tolist()), found.notices, spec.per_hop
    )
    return machine.kept(spec.options.get("hosts"))

"""``mesh:SIZES``: a grid of nodes without wrap-around links."""

from __future__ import annotations

from hopbytes.machines.base import machines
from hopbytes.machines.kinds.torus import Torus


@machines.register("mesh")
class Mesh(Torus):
    """Mesh of any dimension: a torus without wrap-around links (see ``torus``)."""

    __slots__ = ()
    kind = "mesh"

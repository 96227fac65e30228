"""``mesh:SIZES``: a grid of nodes without wrap-around links."""

from __future__ import annotations

from hopbytes.machines.base import machines
from hopbytes.machines.kinds.torus import Torus, parse_grid


@machines.register("mesh")
class Mesh(Torus):
    """Mesh of any dimension: a torus without wrap-around links (see ``torus``)."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Torus:
        """Read ``16x12x8[:nodes=2][:bw=N or NxNxN][@perhop]``."""
        return parse_grid("mesh", text, wrapped=False)

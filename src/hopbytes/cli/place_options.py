"""Options about the PEs of single tasks: fixed, forbidden and current ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from hopbytes._frozen import frozen
from hopbytes.cli.common_options import problem

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.solve.constraints import Constraints


@frozen
class PlaceOptions:
    """Fixed and forbidden PEs of tasks, and the current mapping."""

    fixed: Annotated[
        str | None,
        problem(
            "--fixed", metavar="FILE", rare=True, values="files",
            help="File with lines TASKS PE: these tasks must be on that PE.",
        ),
    ] = None
    forbidden: Annotated[
        str | None,
        problem(
            "--forbidden", metavar="FILE", rare=True, values="files",
            help="File with lines TASKS PES: these tasks must not be on those PEs.",
        ),
    ] = None
    initial: Annotated[
        str | None,
        problem(
            "--initial", metavar="FILE", rare=True, values="files",
            help="Current mapping; the result stays close to it.",
        ),
    ] = None
    migration_price: Annotated[
        int,
        problem(
            "--migration-price", metavar="N", least=0, rare=True,
            help="Cost of migrating one task away from --initial, in units of J.",
        ),
    ] = 0

    def constraints(self, graph: CommGraph, where: Allocation, *, strict: bool) -> Constraints:
        """Read the files and return the constraints."""
        import hopbytes as hb

        found: dict[str, Any] = {"migration_price": self.migration_price}
        if self.fixed is not None:
            from hopbytes.formats.task_places import read_fixed

            found["fixed"] = read_fixed(self.fixed, graph.n, where.k)
        if self.forbidden is not None:
            from hopbytes.formats.task_places import read_forbidden

            found["forbidden"] = read_forbidden(self.forbidden, graph.n, where.k)
        if self.initial is not None:
            found["initial"] = hb.read(self.initial, holds="mapping", where=where, n=graph.n, graph=graph)
        return hb.Constraints(**found, strict=strict)

"""Options about launchers that verbs share."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from hopbytes._frozen import frozen
from hopbytes.cli.common_options import Maker
from hopbytes.cli.declare import option

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping

_launching: Maker = partial(option, panel="Launching", rare=True)


@frozen
class LaunchingOptions:
    """What the launcher does by default and which CPUs it may use."""

    launched: Annotated[
        str | None,
        _launching(
            "--launched", metavar="ORDER",
            help="Format newrank: order in which ranks start: block, cyclic or a file with the PE of each.",
        ),
    ] = None
    allowed: Annotated[
        str | None,
        _launching(
            "--allowed", metavar="CPUSET", help="CPUs of each node that the job may use, such as 0-15,32-47."
        ),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return options of writers."""
        given = {"launched": self.launched, "allowed": self.allowed}
        return {name: value for name, value in given.items() if value is not None}


@frozen
class BlockOptions:
    """Constraints under which a launcher can start ranks as the mapping says."""

    for_format: Annotated[
        str | None,
        _launching(
            "--for", metavar="FORMAT", values="mapping formats",
            help="Restrict the mapping to what FORMAT can express; it is also the format of the output, "
            "except for FILE.json.",
        ),
    ] = None
    block: Annotated[
        int | None,
        _launching(
            "--block", metavar="N", least=1, help="Keep blocks of N consecutive ranks on one node together."
        ),
    ] = None

    def made_for(self, form: str) -> BlockOptions:
        """Return these options with a launcher's format if none was given."""
        return self if self.for_format is not None else dataclasses.replace(self, for_format=form)

    def map(self, graph: CommGraph, where: Allocation, **options: Any) -> Mapping:
        """Map under these constraints, if any."""
        import hopbytes as hb

        mapping: Mapping
        if self.for_format is None and self.block is None:
            mapping = hb.map_tasks(graph, where, **options)
        else:
            from hopbytes.launch.consecutive_ranks import map_for

            mapping = map_for(graph, where, self.for_format or "plain", block=self.block, **options)
        return mapping


def given_mapping(
    path: str, form: str | None, where: Allocation | None, n: int | None = None, graph: Any = None
) -> Mapping:
    """Return a stored mapping, or a mapping in any readable format on the machine `where`."""
    import hopbytes as hb
    from hopbytes.errors import UnsupportedError
    from hopbytes.model.mapping import Mapping

    options = {"where": where, "n": n, "graph": graph}
    given = {name: value for name, value in options.items() if value is not None}
    found = hb.read(path, form, holds="mapping", **given)
    if not isinstance(found, Mapping):
        raise UnsupportedError(f"{path}: PEs of an unknown machine, expected --on to say which")
    return found


def given_mappings(
    paths: list[str], form: str | None, where: Allocation | None, graph: CommGraph
) -> dict[str, Mapping]:
    """Return mappings of a pattern by short names of their files; a file that is named twice counts once."""
    from hopbytes.show.page import names_of

    different = list(dict.fromkeys(paths))
    found = (given_mapping(path, form, where, graph.n, graph) for path in different)
    return dict(zip(names_of(different), found, strict=True))

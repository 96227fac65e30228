"""InfiniBand fabrics with their links and routes, from what the InfiniBand tools print."""

from __future__ import annotations

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.folder import read_fabric
from hopbytes.fabrics.hosts import Host, group_hosts, read_node_name_map
from hopbytes.fabrics.shortest import with_shortest_routes
from hopbytes.machines.base import machines
from hopbytes.machines.common.fabric_machine import FabricMachine, names_hint
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.spec_fields import number_of
from hopbytes.text.hostlist import expand_hosts, match_hosts

KEYS = {
    "tables": "dump_fts.txt",
    "rails": "first|same|spread|gpu",
    "adapters": "mlx5_[0-3]",
    "names": "FILE",
    "hosts": "n[1-8]",
    "lid": "0",
    "routes": "shortest|spread",
}
#: Routes that need no tables: one shortest path per destination, or all of them evenly.
ROUTES = ("shortest", "spread")


@machines.register("ib")
class InfiniBand(FabricMachine):
    """Hosts on an InfiniBand fabric: ``ib:DIR``.

    DIR holds the output of ``ibnetdiscover`` (plain or ``-p``) and of ``dump_fts`` or ``ibroute``; files
    are told apart by content and may be compressed. Options, each ``:key=value``:

    - ``tables``: file or pattern of the forwarding tables, when there are several sets
    - ``rails``, ``adapters``: which adapters of a host tasks use, see
      :class:`hopbytes.machines.common.fabric_machine.FabricMachine` and
      :func:`hopbytes.fabrics.hosts.group_hosts`
    - ``names``: a node name map for adapters that do not say whose they are
    - ``hosts`` (or ``@n[1-8]``): the hosts to keep
    - ``lid``: which of the 2**lmc addresses of an adapter messages are sent to
    - ``routes=shortest``: shortest routes instead of tables
    - ``routes=spread``: every flow divides evenly over all shortest paths, which adaptive routing aims at

    Examples
    --------
    >>> from hopbytes.machines.kinds.ib import InfiniBand
    >>> fabric = InfiniBand.parse("examples/fabric")
    >>> fabric.known_hosts.names[:3], fabric.network().hops(0, [1, 4]).tolist()
    (('n1', 'n2', 'n3'), [2, 4])
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> InfiniBand:
        """Read ``DIR[:key=value…][@hosts or @distance per hop]``."""
        spec = file_spec("ib", text, KEYS)
        options = spec.options
        offset = number_of("ib", "lid", options["lid"], 0, 127) if "lid" in options else 0
        wanted = options.get("routes")
        if wanted not in (None, *ROUTES):
            what = f"ib: routes={wanted[:20]!r}, expected routes=shortest or routes=spread"
            raise FormatError("machine", None, what)
        if wanted and "tables" in options:
            what = f"reads no tables, expected tables= or routes={wanted}, not both"
            raise FormatError("machine", None, f"ib: routes={wanted} {what}")
        fabric = read_fabric(spec.path, options.get("tables"), offset, routed=not wanted)
        if wanted:
            fabric = with_shortest_routes(fabric)
        elif fabric.forward is None:
            raise UnsupportedError(
                f"{spec.path}: no forwarding tables, so the routes are not known: add the output of dump_fts "
                f"or ibroute, or assume shortest ones with ib:{spec.path}:routes=shortest"
            )
        names = read_node_name_map(options["names"]) if "names" in options else None
        hosts = group_hosts(fabric.adapters, names, options.get("adapters"))
        return cls(
            spec.text("ib"), fabric, keep_hosts(hosts, options.get("hosts")), options.get("rails", "first"),
            spec.per_hop, spread=wanted == "spread",
        )


def keep_hosts(hosts: tuple[Host, ...], wanted: str | None) -> tuple[Host, ...]:
    """Return the hosts of a list, in machine order; all without one."""
    if wanted is None:
        return hosts
    found = match_hosts(expand_hosts(wanted), [host.name for host in hosts], names_hint(hosts))
    return tuple(hosts[number] for number in sorted(found))

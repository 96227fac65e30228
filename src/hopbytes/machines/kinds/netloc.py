"""Fabrics as netloc 2.x stored them."""

from __future__ import annotations

from hopbytes.errors import UnsupportedError
from hopbytes.fabrics.hosts import group_hosts, read_node_name_map
from hopbytes.fabrics.netloc_file import read_netloc
from hopbytes.machines.base import machines
from hopbytes.machines.common.fabric_machine import FabricMachine
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.kinds.ib import keep_hosts

KEYS = {"rails": "first|same|spread|gpu", "adapters": "mlx5_[0-3]", "names": "FILE", "hosts": "n[1-8]"}


@machines.register("netloc")
class Netloc(FabricMachine):
    """Hosts on a fabric that netloc 2.x stored: ``netloc:IB-SUBNET-nodes.txt``.

    Options as those of ``ib:`` with the same names. Routes are the paths in the file.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Netloc:
        """Read ``FILE[:key=value…][@hosts or @distance per hop]``."""
        spec = file_spec("netloc", text, KEYS)
        fabric = read_netloc(spec.path)
        if fabric.forward is None:
            raise UnsupportedError(f"{spec.path}: no paths in it, so the routes are not known")
        names = read_node_name_map(spec.options["names"]) if "names" in spec.options else None
        hosts = group_hosts(fabric.adapters, names, spec.options.get("adapters"))
        hosts = keep_hosts(hosts, spec.options.get("hosts"))
        return cls(spec.text("netloc"), fabric, hosts, spec.options.get("rails", "first"), spec.per_hop)

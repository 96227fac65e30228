"""Networks as Slurm is configured to know them: trees, blocks, rings and tori of named nodes."""

from __future__ import annotations

from hopbytes.fabrics.slurm import GridOfHosts, is_slurm_yaml, read_slurm_topology, read_slurm_yaml
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.named_tree import TREE_KEYS, NamedTree, level_distances
from hopbytes.machines.network_machine import AttachedHosts
from hopbytes.machines.spec_fields import file_spec
from hopbytes.machines.tree import bad


@machines.register("slurm")
class Slurm(NamedTree):
    """Nodes below switches as Slurm knows them: ``slurm:topology.conf``, ``slurm:topology.yaml``.

    Also what ``scontrol show topology`` prints. Trees and blocks are trees of levels, rings and 3-D tori
    (of a YAML file) are tori. Options: ``topology=NAME`` in a YAML file, ``hosts=n[1-8]`` (or
    ``@n[1-8]``) keeps some nodes, ``leaf=50`` and the like replace distances.

    >>> machine = Slurm.parse("examples/topology.conf")
    >>> machine.spec(), [level.name for level in machine.levels], machine.known_hosts.names[:2]
    ('slurm:examples/topology.conf', ['leaf', 'node'], ('n001', 'n002'))
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Machine:
        spec = file_spec("slurm", text, {"topology": "NAME", **TREE_KEYS})
        level_distances("slurm", spec)
        name = spec.options.get("topology")
        if not is_slurm_yaml(spec.path):
            if name is not None:
                raise bad(f"slurm: topology={name[:20]!r}, expected a .yaml file")
            return cls.from_switches("slurm", spec, read_slurm_topology(spec.path))
        found = read_slurm_yaml(spec.path, name)
        if not isinstance(found, GridOfHosts):
            return cls.from_switches("slurm", spec, found)
        # In the numbering of Slurm x runs fastest, in that of tori here the last dimension.
        torus = Torus(tuple(reversed(found.dims)), (True,) * len(found.dims))
        places = tuple(range(len(found.hosts)))
        machine = AttachedHosts(spec.text("slurm"), torus, found.hosts, places, per_hop=spec.per_hop)
        return machine.kept(spec.options.get("hosts"))

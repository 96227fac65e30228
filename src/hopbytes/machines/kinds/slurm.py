"""Networks as Slurm is configured to know them: trees, blocks, rings and tori of named nodes."""

from __future__ import annotations

from hopbytes.errors import FormatError
from hopbytes.fabrics.slurm import GridOfHosts, read_slurm_topology, read_slurm_yaml
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.named_tree import NamedTree, keep
from hopbytes.machines.network.network_machine import AttachedHosts
from hopbytes.machines.spec_fields import FileSpec, file_spec
from hopbytes.text.open_input import plain_name

KEYS = {"topology": "NAME", "hosts": "n[1-8]", "LEVEL": "60"}


@machines.register("slurm")
class Slurm(NamedTree):
    """Nodes below switches as Slurm knows them: ``slurm:topology.conf``, ``slurm:topology.yaml``.

    Also what ``scontrol show topology`` prints. Trees and blocks are trees of levels, rings and 3-D tori
    (of a YAML file) are tori. Options: ``topology=NAME`` in a YAML file, ``hosts=n[1-8]`` (or
    ``@n[1-8]``) keeps some nodes, ``leaf=50`` and the like replace distances.

    Examples
    --------
    >>> from hopbytes.machines.kinds.slurm import Slurm
    >>> machine = Slurm.parse("examples/topology.conf")
    >>> machine.spec(), [level.name for level in machine.levels], machine.known_hosts.names[:2]
    ('slurm:examples/topology.conf', ['leaf', 'node'], ('n001', 'n002'))
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read ``FILE[:key=value…][@hosts]``."""
        spec = file_spec("slurm", text, KEYS)
        text, distances = tree_options("slurm", spec)
        name, hosts = spec.options.get("topology"), spec.options.get("hosts")
        if not plain_name(spec.path).endswith((".yaml", ".yml")):
            if name is not None:
                raise FormatError("machine", None, f"slurm: topology={name[:20]!r}, expected a .yaml file")
            return cls.from_levels(text, keep(read_slurm_topology(spec.path), hosts).leveled(), distances)
        found = read_slurm_yaml(spec.path, name)
        if isinstance(found, GridOfHosts):
            return _on_grid(text, spec, found)
        return cls.from_levels(text, keep(found, hosts).leveled(), distances)


def _on_grid(text: str, spec: FileSpec, grid: GridOfHosts) -> AttachedHosts:
    # In the numbering of Slurm x runs fastest, in that of tori here the last dimension.
    torus = Torus(tuple(reversed(grid.dims)), (True,) * len(grid.dims))
    machine = AttachedHosts(text, torus, grid.hosts, tuple(range(len(grid.hosts))), (), spec.per_hop)
    return machine.kept(spec.options.get("hosts"))


def tree_options(kind: str, spec: FileSpec) -> tuple[str, dict[str, int]]:
    """Return the spec without distances, and the distances of levels in it."""
    distances: dict[str, int] = {}
    for key, value in spec.levels.items():
        if not (value.isascii() and value.isdigit() and len(value) <= 19):
            raise FormatError("machine", None, f"{kind}: {key}={value[:20]!r}, expected an integer >= 0")
        distances[key] = int(value)
    return spec.text(kind), distances

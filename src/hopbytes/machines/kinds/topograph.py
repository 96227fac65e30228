"""Cluster models of NVIDIA topograph."""

from __future__ import annotations

from hopbytes.fabrics.topograph_file import read_topograph
from hopbytes.machines.base import machines
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.named_tree import NamedTree, keep
from hopbytes.machines.kinds.slurm import tree_options

KEYS = {"hosts": "n[1-8]", "LEVEL": "60"}


@machines.register("topograph")
class Topograph(NamedTree):
    """Switches above blocks of nodes that share an NVLink domain: ``topograph:model.yaml``.

    Options: ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some nodes, ``leaf=50`` and the like replace distances.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> NamedTree:
        """Read ``FILE[:key=value…][@hosts]``."""
        spec = file_spec("topograph", text, KEYS)
        text, distances = tree_options("topograph", spec)
        tree = keep(read_topograph(spec.path), spec.options.get("hosts"))
        return cls.from_levels(text, tree.leveled(), distances)

"""Nodes at places that labels of Kubernetes, addresses of Slurm or a table of switches tell."""

from __future__ import annotations

from hopbytes.fabrics.node_labels import read_node_labels
from hopbytes.machines.base import machines
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.named_tree import NamedTree, keep
from hopbytes.machines.kinds.slurm import tree_options

KEYS = {"hosts": "n[1-8]", "LEVEL": "60"}


@machines.register("labels")
class NodeLabels(NamedTree):
    """Nodes below the units that a cluster manager names for each of them: ``labels:nodes.json``.

    Reads ``kubectl get nodes -o json``, JSON such as ``{"10.0.0.1": "switch1"}``, and lines with a node and
    its ``SLURM_TOPOLOGY_ADDR``. Options: ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some nodes, ``leaf=50``
    and the like replace distances.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> NamedTree:
        """Read ``FILE[:key=value…][@hosts]``."""
        spec = file_spec("labels", text, KEYS)
        text, distances = tree_options("labels", spec)
        tree = keep(read_node_labels(spec.path), spec.options.get("hosts"))
        return cls.from_levels(text, tree.leveled(), distances)

"""``nvidia:FILE[@hosts]``: hosts as ``nvidia-smi topo -m`` or a topology file of NCCL describes them."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import machines
from hopbytes.machines.node.gpu_files import read_gpu_hosts
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine, cut_overrides, file_and_hosts
from hopbytes.text.hostlist import distinct_hosts


@machines.register("nvidia")
@frozen(eq=False)
class Nvidia(NodeMachine):
    """Hosts with GPUs, as NVIDIA's tools describe one of them: ``nvidia:topo.txt@n[1-8]``.

    The file is what ``nvidia-smi topo -m`` prints, what NCCL writes to ``NCCL_TOPO_DUMP_FILE``, or what a
    cloud publishes for ``NCCL_TOPO_FILE``. A slot is a GPU with its share of the CPUs near to it, or without
    CPUs where the file does not have them. Units of GPUs joined by NVLink, PCI switches and memory domains
    are levels where they are neither a single GPU nor the host. Distances may follow: ``:gpu=3``. A file of
    NCCL from hosts that share NVLink (NVL72) is the machine of all of them, and its hosts are as near as
    their GPUs.
    """

    kind: ClassVar[str] = "nvidia"

    @classmethod
    def parse(cls, text: str) -> Nvidia:
        body, replaced = cut_overrides(text)
        path, names = file_and_hosts(cls.kind, body)
        hosts = distinct_hosts(names, "machine")
        trees, nvlink = read_gpu_hosts(path)
        spec = f"{cls.kind}:{body}"
        if len(trees) == 1:
            return cls(spec, NodeInventory.of(trees * max(1, len(hosts))), hosts, replaced)
        if hosts and len(hosts) != len(trees):
            what = f"{len(hosts)} names for the {len(trees)} hosts of the file, expected as many or none"
            raise FormatError(path, None, what)
        inventory = NodeInventory.of(trees)
        if nvlink and "node" not in replaced:
            tiers = cls(spec, inventory, hosts, replaced).topology.tiers
            replaced["node"] = next(tier.distance for tier in tiers if tier.name == "gpu")
        return cls(spec, inventory, hosts, replaced)


@machines.register("amd")
@frozen(eq=False)
class Amd(Nvidia):
    """Hosts with GPUs, as AMD's tools describe one of them: ``amd:topo.txt@n[1-8]``.

    The file is what ``amd-smi topology`` or ``rocm-smi --showtopo`` prints, as text or JSON, or what RCCL
    writes to ``NCCL_TOPO_DUMP_FILE``. A slot is a GPU; the tools do not list the CPUs near to it, but
    RCCL does. GPUs of one device that is partitioned are a unit (``card``), others that XGMI or a memory
    domain join are one where they are neither a single GPU nor the host. Distances may follow: ``:gpu=3``.
    """

    kind = "amd"

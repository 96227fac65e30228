"""``amd:FILE[@hosts]``: hosts as AMD's tools or a topology file of RCCL describe them."""

from __future__ import annotations

from hopbytes._frozen import frozen
from hopbytes.machines.base import machines
from hopbytes.machines.kinds.nvidia import Nvidia


@machines.register("amd")
@frozen(eq=False)
class Amd(Nvidia):
    """Hosts with GPUs, as AMD's tools describe one of them: ``amd:topo.txt@n[1-8]``.

    The file is what ``amd-smi topology`` or ``rocm-smi --showtopo`` prints, as text or JSON, or what RCCL
    writes to ``NCCL_TOPO_DUMP_FILE``. A slot is a GPU; the tools do not tell which CPUs are near to it, but
    RCCL does. GPUs of one device that is partitioned are a unit (``card``), others that XGMI or a memory
    domain join are one where they are neither a single GPU nor the host. Distances may follow: ``:gpu=3``.
    """

    kind = "amd"

"""Readers of what makers' tools tell about the GPUs of a host: which of them a file is for."""

from __future__ import annotations

from hopbytes.machines.node.amd_smi import is_amd, read_amd, read_amd_json
from hopbytes.machines.node.nccl_topology import GpuHosts, read_nccl
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.machines.node.nvidia_smi import read_nvidia_smi
from hopbytes.text.lines import read_bytes, text_lines

MAX_FILE = 2**24
#: Longest row of a table: 1024 GPUs and adapters.
LONGEST_ROW = 2**14


def read_gpu_topology(path: str) -> NodeTree:
    """Return the first host of a file, see :func:`read_gpu_hosts`."""
    return read_gpu_hosts(path).trees[0]


def read_gpu_hosts(path: str) -> GpuHosts:
    """Read the GPUs of a host, or of the hosts that share NVLink."""
    head = read_bytes(path, MAX_FILE)
    if head.lstrip()[:1] == b"<":
        return read_nccl(path, MAX_FILE)
    if head.lstrip()[:1] in (b"[", b"{"):
        return GpuHosts([read_amd_json(path, head)], nvlink=False)
    lines = text_lines(head, path, LONGEST_ROW)
    tree = read_amd(path, lines) if is_amd(lines) else read_nvidia_smi(path, lines)
    return GpuHosts([tree], nvlink=False)

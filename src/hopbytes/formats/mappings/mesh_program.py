"""The text of the Python file of format mesh, which needs no hopbytes where it runs."""

from __future__ import annotations

#: Fields in braces are filled in by :mod:`hopbytes.formats.mappings.mapping_mesh`.
PROGRAM = '''\
"""{mark}: the process of every task of a training job, for PyTorch and JAX.

Processes are numbered as torchrun does: host by host in the order of HOSTS, on each host GPU by GPU.

With this file as mesh.py, ``from mesh import torch_mesh; mesh = torch_mesh()`` takes the place of
init_process_group in PyTorch and returns a DeviceMesh with the axes AXES; ``mesh.jax_mesh()`` returns the
Mesh of JAX, after jax.distributed.initialize where there are several processes.
"""

import os
import socket

#: Axes of the mesh, outermost first, and their sizes; tasks are numbered in this order.
AXES = {axes}
SHAPE = {shape}
#: Hosts in the order of their node ranks; empty where their names were unknown.
HOSTS = {hosts}
PER_HOST = {per_host}
#: RANK_OF_TASK[task] is the number of the process, by torchrun's numbers, that has to be this task.
RANK_OF_TASK = {ranks}


def task_of(rank):
    """Return the task of the process with this number."""
    return RANK_OF_TASK.index(rank)


def torch_mesh(device_type="cuda", backend=None):
    """Start torch.distributed with the task of every process as its rank; return the DeviceMesh.

    PyTorch orders the members of every group by their ranks, whatever their order in a mesh, and may use the
    default group for a mesh of one axis. A mesh of permuted ranks loses its order there. So the ranks are
    renumbered before the first group exists, and the mesh has them in ascending order.
    """
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    if dist.is_initialized():
        raise RuntimeError("torch.distributed is initialized, expected torch_mesh() before that")
    launched, world = _launched("RANK"), _launched("WORLD_SIZE")
    _check(world, launched)
    task = task_of(launched)
    if device_type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", launched % PER_HOST)))
    by_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    host, port = os.environ["MASTER_ADDR"], _launched("MASTER_PORT")
    store = dist.TCPStore(host, port, world, is_master=launched == 0 and not by_agent)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore("mesh/attempt_" + attempt, store)
    os.environ["RANK"] = str(task)
    dist.init_process_group(backend, store=store, rank=task, world_size=world)
    return init_device_mesh(device_type, SHAPE, mesh_dim_names=AXES)


def jax_mesh(devices=None):
    """Return the Mesh of all devices, by default those of jax.devices(), host by host."""
    import jax
    import numpy
    from jax.sharding import Mesh

    if devices is None:
        devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
    _check(len(devices))
    ordered = numpy.empty(len(devices), dtype=object)
    ordered[:] = [devices[rank] for rank in RANK_OF_TASK]
    return Mesh(ordered.reshape(SHAPE), AXES)


def _launched(name):
    if not os.environ.get(name, "").isdigit():
        raise RuntimeError(f"{{name}} is {{os.environ.get(name)!r}}, expected a number as torchrun sets it")
    return int(os.environ[name])


def _check(world, rank=None):
    if world != len(RANK_OF_TASK):
        raise RuntimeError(f"{{world}} processes or devices, expected the {{len(RANK_OF_TASK)}} of this mesh")
    if rank is None or not HOSTS:
        return
    here, expected = socket.gethostname(), HOSTS[rank // PER_HOST]
    if here.split(".")[0] != expected.split(".")[0]:
        raise RuntimeError(
            f"rank {{rank}} runs on host {{here}}, expected {{expected}}: start hosts in the order of HOSTS"
        )
'''

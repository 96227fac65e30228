"""mesh: the process of every task as a device mesh of PyTorch and JAX."""

from __future__ import annotations

import json
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Format, Written, formats
from hopbytes.formats.mappings.launch_files import Launch, equal_count, nodelist, prepare
from hopbytes.formats.mappings.mapping_torchrun import host_script
from hopbytes.formats.mappings.mesh_program import PROGRAM
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.ml import MEGATRON_OPTIONS, MachineLearning, rank_orders, training_of

#: The axis of a mapping whose pattern has no kinds of parallelism.
ONE_AXIS = "task"
VERSION = 1


class Mesh(Format):
    """A Python file with the process of every task, and functions that make the mesh of PyTorch and of JAX.

    Beside it are the same facts as JSON and a script that starts torchrun with the node rank of its host.
    Axes are the kinds of parallelism of an ``ml:`` pattern, outermost first; other patterns have one axis.
    Processes are numbered host by host in machine order, so that every mapping can be expressed.

    Source: documentation of torch.distributed.device_mesh and jax.sharding.Mesh; the order of groups follows
    ``torch.distributed.new_group``, which sorts ranks.
    """

    holds = "mapping"
    summary = "device mesh of PyTorch (DeviceMesh) and JAX (Mesh): Python file, JSON, torchrun script"
    several_files = True
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, gpus=True, launcher="torchrun", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the Python file, ``.json`` and ``.sh``.

        Options: `graph`, the pattern, whose kinds of parallelism are the axes; `hosts` and `oversubscribe`,
        see :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        count = equal_count(launch, "mesh")
        if launch.most_tasks_on_a_slot() > 1:
            raise UnsupportedError("several tasks share a slot, but a mesh has one device per task")
        used = np.sort(mapping.pe)
        _check_gpus(launch, used, count)
        rank = np.searchsorted(used, mapping.pe).astype(np.int64)
        graph = options.get("graph")
        training = training_of(graph) if isinstance(graph, CommGraph) else None
        axes, shape = ((ONE_AXIS,), (mapping.n,)) if training is None else training.grid()
        hosts = [launch.hosts[node] for node in np.unique(launch.node).tolist()]
        known = [] if launch.hosts_unknown or hosts == ["localhost"] else hosts
        facts = {
            "written_by": MARK, "version": VERSION, "axes": list(axes), "shape": list(shape),
            "hosts": known, "processes_per_host": count, "rank_of_task": rank.tolist(),
        }
        program = PROGRAM.format(
            mark=MARK, axes=tuple(axes), shape=tuple(shape), hosts=tuple(known),
            per_host=count, ranks=_lines(rank),
        )
        files = {"": program, ".json": json.dumps(facts) + "\n", ".sh": host_script(hosts, count)}
        command = f"srun -N {len(hosts)} -n {len(hosts)}{nodelist(launch)} sh {{stem}}.sh train.py"
        return Written(files, command, tuple(_notices(launch, training, rank)), (".sh",))

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the format cannot be read."""
        return False


formats.register("mesh")(Mesh())


def _check_gpus(launch: Launch, used: Any, count: int) -> None:
    """Raise UnsupportedError unless local rank i of every host uses GPU i."""
    for first in range(0, len(used), count) if launch.has_gpus else ():
        own = [launch.mapping.where.gpus_of(int(pe)) for pe in used[first : first + count]]
        if own != [(number,) for number in range(count)]:
            host = launch.hosts[int(launch.mapping.where.node_of_pe[used[first]])]
            numbers = ", ".join(str(number) for gpus in own for number in gpus)
            raise UnsupportedError(
                f"host {host} uses its GPUs {numbers}, but with torchrun local rank i uses GPU i, expected "
                "GPUs from 0 on: use all GPUs of a node (`pack=True`), or write openmpi, slurm or hydra"
            )


def _lines(rank: Int64) -> str:
    """Return numbers as a tuple of Python, sixteen in a line."""
    rows = [", ".join(map(str, rank[start : start + 16].tolist())) for start in range(0, len(rank), 16)]
    return "(\n    " + ",\n    ".join(rows) + ",\n)"


def _notices(launch: Launch, training: MachineLearning | None, rank: Int64) -> list[str]:
    notices = []
    if launch.hosts_unknown:
        notices.append("host names are unknown, {stem}.sh has placeholders: give `hosts`")
    if training is None:
        notices.append("the pattern has no kinds of parallelism: the mesh has the one axis 'task'")
        return notices
    orders = rank_orders(training)
    same = next((name for name, order in orders.items() if np.array_equal(order, rank)), None)
    if same is None:
        notices.append("the mapping is no rank order of Megatron-LM or DeepSpeed: use torch_mesh()")
        return notices
    option = MEGATRON_OPTIONS.get(same, f"initialize_model_parallel(order='{same}')")
    axes = same.replace("ep-", "").split("-")[::-1]
    sizes = [getattr(training, axis) for axis in axes]
    notices.append(
        f"the mapping is the rank order {same}: Megatron-LM {option}; "
        f"DeepSpeed ProcessTopology(axes={axes}, dims={sizes})"
    )
    return notices

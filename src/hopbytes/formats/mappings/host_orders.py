"""Programs that number their processes host by host: hosts, torchrun, kubernetes and mesh."""

from __future__ import annotations

import json
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Written
from hopbytes.formats.mappings.host_lists import HostList, hosts_in_blocks
from hopbytes.formats.mappings.launch_files import ANY_MAPPING, PLACEHOLDERS, Launch, LaunchFormat, prepare
from hopbytes.formats.mappings.place_script import template
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.ml import MEGATRON_OPTIONS, MachineLearning, rank_orders, training_of
from hopbytes.text.hostlist import short_name

#: Largest size of a ConfigMap that Kubernetes accepts.
LARGEST = 2**20
#: Largest annotation; kubectl keeps the whole object in one unless it leaves that to the server.
LARGEST_ANNOTATION = 2**18

#: Beginning of a ConfigMap.
_CONFIG_MAP = """\
# {mark}: kubectl apply -f FILE, then mount it into the pods of a JobSet, LeaderWorkerSet or MPIJob.
apiVersion: v1
kind: ConfigMap
metadata:
  name: hopbytes-hosts
data:
"""


class Hosts(HostList, form="hosts"):
    """Hosts in the order of their node numbers: rank = node * ranks per node + slot in the node."""
    # The ranks of a host must be consecutive and in the order of its slots, and every host must hold the same
    # number of ranks. ``map --for hosts`` computes such a mapping.

    ranks = staticmethod(hosts_in_blocks)
    summary = "host of node i in line i, if only the order of nodes can be chosen"
    capabilities = Capabilities(any_host_order=True)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        names, count = _hosts_in_order(launch, self.form)
        order = f"{count} ranks on each host: rank = line * {count} + place on the host, from 0"
        notices = (PLACEHOLDERS, order) if launch.hosts_unknown else (order,)
        return Written({"": "\n".join(names) + "\n"}, "", notices)


class Torchrun(LaunchFormat, form="torchrun"):
    """A script for every node: torchrun with static rendezvous and the node rank of the host it runs on."""
    # RANK = node rank * processes per node + local rank, so only the order of nodes can be chosen (``map
    # --for torchrun``). Elastic rendezvous (``--rdzv-…``) assigns node ranks itself, so the script refuses
    # it. The script cannot be read; ``hosts`` stores the same facts.
    # Source: documentation of torch.distributed.run, options --nnodes, --nproc-per-node, --node-rank,
    # --master-addr and --master-port; with dashes in their names since 2.0 (pytorch pull request 94505).

    summary = "script with torchrun's static rendezvous, node ranks by host name"
    capabilities = Capabilities(any_host_order=True, launcher="torchrun")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        names, count = _hosts_in_order(launch, self.form)
        notice = "the script runs once on every host, here started by srun; train.py is your program"
        notices = (PLACEHOLDERS, notice) if launch.hosts_unknown else (notice,)
        return Written({"": _script(names, count)}, _on_every_host(launch, "{stem}"), notices, ("",))


class Kubernetes(LaunchFormat, form="kubernetes"):
    """A ConfigMap with three files, for pods whose names or nodes are the hosts of the mapping."""
    # Kubernetes numbers pods as it creates them, on any nodes, so a pod looks itself up: by the variable
    # NODE_NAME, which the pod may set to ``spec.nodeName``, or else by its own name.
    # Source: Kubernetes documentation ("ConfigMaps", "Downward API"), JobSet, LeaderWorkerSet and MPI
    # Operator user guides.

    summary = "ConfigMap of Kubernetes: hosts, host file of an MPIJob, torchrun by pod or node name"
    capabilities = Capabilities(any_host_order=True, launcher="kubectl")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        names, count = _hosts_in_order(launch, self.form)
        script = _script(names, count).replace("host=$(hostname)", "host=${NODE_NAME:-$(hostname)}")
        text = _CONFIG_MAP.format(mark=MARK)
        for name, content in {
            "hosts": "".join(f"{name}\n" for name in names),
            "hostfile": "".join(f"{name} slots={count}\n" for name in names),
            "torchrun.sh": script,
        }.items():  # literal blocks of YAML
            lines = "".join(f"    {line}\n" if line else "\n" for line in content.split("\n")[:-1])
            text += f"  {name}: |\n{lines}"
        if len(text) > LARGEST:
            what = f"{len(names)} hosts need {len(text)} bytes, but a ConfigMap holds at most {LARGEST}"
            raise UnsupportedError(f"{what}: write torchrun, or hosts")
        notice = (
            "pods: mount the ConfigMap hopbytes-hosts at /hopbytes and run `sh /hopbytes/torchrun.sh "
            f"train.py`; {names[0]} must resolve to the pod of rank 0 (hostNetwork or a headless service)"
        )
        notices = (PLACEHOLDERS, notice) if launch.hosts_unknown else (notice,)
        large = len(json.dumps(text)) > LARGEST_ANNOTATION
        return Written({"": text}, f"kubectl apply {'--server-side ' if large else ''}-f {{stem}}", notices)


class Mesh(LaunchFormat, form="mesh"):
    """A Python file with the process of every task, and functions that make a mesh of PyTorch or JAX."""
    # Beside it are the same facts as JSON and a script that starts torchrun with the node rank of its host.
    # Axes are the kinds of parallelism of an ``ml:`` pattern, outermost first; other patterns have one axis.
    # Processes are numbered host by host in machine order, so that every mapping can be expressed.
    # Source: documentation of torch.distributed.device_mesh and jax.sharding.Mesh; the order of groups
    # follows ``torch.distributed.new_group``, which sorts ranks.

    summary = "device mesh of PyTorch (DeviceMesh) and JAX (Mesh): Python file, JSON, torchrun script"
    several_files = True
    capabilities = replace(
        ANY_MAPPING, per_rank_cores=False, per_node_cores=False, several_cores_per_rank=False,
        unequal_nodes=False, launcher="torchrun", tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        # Options: `graph`, the pattern, whose kinds of parallelism are the axes; `hosts` and `oversubscribe`.
        launch = prepare(mapping, options)
        count = launch.equal_count(self.form)
        if launch.most_tasks_on_a_slot() > 1:
            raise UnsupportedError("several tasks share a slot, but a mesh has one device per task")
        used, hosts = np.sort(mapping.pe), launch.used_hosts
        gpus = [tuple(map(str, mapping.where.gpus_of(pe))) for pe in used.tolist()]
        _refuse_gaps(launch, "torchrun", hosts, gpus)
        rank = np.searchsorted(used, mapping.pe).astype(np.int64)
        graph = options.get("graph")
        training = training_of(graph) if isinstance(graph, CommGraph) else None
        axes, shape = (("task",), (mapping.n,)) if training is None else training.grid()
        known = [] if launch.hosts_unknown or hosts == ["localhost"] else hosts
        facts = {
            "written_by": MARK, "version": 1, "axes": list(axes), "shape": list(shape),
            "hosts": known, "processes_per_host": count, "rank_of_task": rank.tolist(),
        }  # fmt: skip
        rows = [", ".join(map(str, rank[start : start + 16].tolist())) for start in range(0, len(rank), 16)]
        program = template("mesh.py.in").format(
            mark=MARK, axes=tuple(axes), shape=tuple(shape), hosts=tuple(known), per_host=count,
            ranks="(\n    " + ",\n    ".join(rows) + ",\n)",
        )
        files = {"": program, ".json": json.dumps(facts) + "\n", ".sh": _script(hosts, count)}
        notices = [_meaning(training, rank)]
        if launch.hosts_unknown:
            notices.insert(0, "host names are unknown, {stem}.sh has placeholders: give `hosts`")
        return Written(files, _on_every_host(launch, "{stem}.sh"), tuple(notices), (".sh",))


def _hosts_in_order(launch: Launch, form: str) -> tuple[list[str], int]:
    """Return the hosts in rank order and the number of ranks on each, if that alone says where ranks run."""
    runs = launch.block_runs(form)
    count = launch.equal_count(form)
    falls = np.flatnonzero((np.diff(launch.mapping.pe) < 0) & (np.diff(launch.node) == 0))
    if len(falls):
        rank = int(falls[0])
        raise UnsupportedError(
            f"rank {rank + 1} has an earlier slot than rank {rank} on host {launch.host(rank)}, but with "
            f"{form} the launcher orders the ranks inside a node: map again with `form={form!r}`"
        )
    hosts = [launch.hosts[run.node] for run in runs]
    _refuse_gaps(launch, form, hosts, [*map(launch.shown_gpus, range(launch.n))])
    return hosts, count


def _refuse_gaps(launch: Launch, form: str, hosts: list[str], gpus: list[tuple[str, ...]]) -> None:
    """Raise UnsupportedError if a node does not use its first GPUs: local rank i gets GPU i."""
    count = launch.n // len(hosts)
    for number, host in enumerate(hosts if launch.has_gpus else ()):
        used = gpus[number * count : (number + 1) * count]
        if used != [(str(gpu),) for gpu in range(count)]:
            numbers = ", ".join(gpu for own in used for gpu in own)
            raise UnsupportedError(
                f"host {host} uses its GPUs {numbers}, but with {form} local rank i uses GPU i, expected "
                "GPUs from 0 on: use all GPUs of a node (`pack=True`), or write openmpi, slurm or hydra"
            )


def _script(hosts: list[str], count: int) -> str:
    """Return the script that starts `count` processes on its host; hosts are numbered in this order."""
    cases = "".join(f"{_pattern(host, hosts)}) node={node} ;;\n" for node, host in enumerate(hosts))
    if hosts == ["localhost"]:
        cases = "*) node=0 ;;\n"
    facts = {"nodes": len(hosts), "cases": cases, "count": count, "first": hosts[0]}
    return template("torchrun.sh.in").format(mark=MARK, **facts)


def _pattern(host: str, names: list[str]) -> str:
    """Return the shell pattern of the names that `hostname` may print: with and without the domain."""
    short = short_name(host)
    alone = short != host and sum(short_name(name) == short for name in names) == 1
    return f"{host}|{host}.*" + (f"|{short}" if alone else "")


def _on_every_host(launch: Launch, script: str) -> str:
    nodes = len(launch.used_hosts)
    return f"srun -N {nodes} -n {nodes}{launch.nodelist()} sh {script} train.py"


def _meaning(training: MachineLearning | None, rank: Int64) -> str:
    """Return which rank order of a training program the mapping is, or how the program can have it."""
    if training is None:
        return "the pattern has no kinds of parallelism: the mesh has the one axis 'task'"
    orders = rank_orders(training)
    same = next((name for name, order in orders.items() if np.array_equal(order, rank)), None)
    if same is None:
        return "the mapping is not a rank order of Megatron-LM or DeepSpeed: use torch_mesh()"
    option = MEGATRON_OPTIONS.get(same, f"initialize_model_parallel(order='{same}')")
    axes = same.replace("ep-", "").split("-")[::-1]
    sizes = [getattr(training, axis) for axis in axes]
    return (
        f"the mapping is the rank order {same}: Megatron-LM {option}; "
        f"DeepSpeed ProcessTopology(axes={axes}, dims={sizes})"
    )

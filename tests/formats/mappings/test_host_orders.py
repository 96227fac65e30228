"""Format mesh: PyTorch and JAX put every task where the mapping says."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.frameworks import needs_jax, needs_torch, python_with
from helpers.paths import ROOT, executable, file_with
from helpers.placements import place, write
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.mappings import host_orders

#: Natural ranks tear the tensor groups of this order apart, so that the mapping is a real permutation.
SPEC = "ml:tp=2,pp=2,dp=2,layers=2,hidden=64,seq=64,micro=2,order=pp-dp-cp-ep-tp"

TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=8")


def written(folder, spec=SPEC, machine="rails:4x2", **options):
    graph = hb.read(spec)
    mapping = hb.map_tasks(graph, hb.allocate(machine), "fast", seed=1)
    receipt = hb.write(mapping, folder / "mesh.py", format="mesh", graph=graph, **options)
    return mapping, receipt


def finished(folder, command, **variables):
    """Return what a command printed, which has to succeed."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", **variables}, capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def python(folder, text, package="torch", **variables):
    """Run a program by the Python that has a package."""
    file_with(folder / "worker.py", text)
    return finished(folder, [python_with(package), "worker.py"], **variables)


def free_port():
    """Return the option of torchrun with a port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"--master-port={listener.getsockname()[1]}"


def test_the_files_agree_with_the_mapping(tmp_path):
    mapping, receipt = written(tmp_path, hosts=[f"h{number}" for number in range(4)])
    facts = json.loads((tmp_path / "mesh.py.json").read_text())
    assert facts["rank_of_task"] == mapping.pe.tolist()
    assert facts["axes"] == ["tp", "cp", "dp", "pp"]
    assert facts["shape"] == [2, 1, 2, 2]
    assert facts["processes_per_host"] == 2
    scope = {}
    exec((tmp_path / "mesh.py").read_text(), scope)  # our own text
    assert scope["HOSTS"] == ("h0", "h1", "h2", "h3")
    assert [scope["task_of"](rank) for rank in range(8)] == np.argsort(mapping.pe).tolist()
    assert "--node-rank" in (tmp_path / "mesh.py.sh").read_text()
    assert receipt.launch.startswith("srun -N 4 -n 4 sh ")
    assert (tmp_path / "mesh.py.sh").stat().st_mode & 0o100


def test_hosts_that_nobody_named_are_not_asked_for(tmp_path):
    """Names that were only made up would be compared with those of the real hosts."""
    one = "node:1 gpu:8"
    for machine, hosts, known in (("rails:4x2", None, []), (one, None, []), (one, ["h"], ["h"])):
        written(tmp_path, machine=machine, hosts=hosts, force=True)
        assert json.loads((tmp_path / "mesh.py.json").read_text())["hosts"] == known


def test_published_orders_are_recognised(tmp_path):
    for order, word in (("tp-cp-ep-dp-pp", "the default"), ("tp-cp-ep-pp-dp", "--use-tp-pp-dp-mapping")):
        graph = hb.read(f"ml:tp=2,pp=2,dp=2,layers=2,order={order}")
        in_order = hb.Mapping(np.arange(8, dtype=np.int32), hb.allocate("rails:4x2"))
        notices = formats["mesh"].write_mapping(in_order, {"graph": graph}).notices
        assert any(word in notice and order in notice for notice in notices), notices
    reverse = hb.Mapping(np.arange(8, dtype=np.int32)[::-1].copy(), hb.allocate("rails:4x2"))
    notices = formats["mesh"].write_mapping(reverse, {"graph": graph}).notices
    assert any("not a rank order" in notice for notice in notices)


def test_other_patterns_have_one_axis():
    graph = hb.read("stencil:2x2:bytes=8")
    mapping = hb.map_tasks(graph, "node:2 gpu:2")
    written = formats["mesh"].write_mapping(mapping, {"graph": graph})
    assert json.loads(written.files[".json"])["shape"] == [4]


def test_refusals_are_one_line():
    uneven = hb.map_tasks("alltoall:3", "node:2 gpu:2")
    last = hb.map_tasks("alltoall:2", hb.allocate("node:2 gpu:2"), "identity")
    second = hb.Mapping(np.array([1, 3], np.int32), last.where)
    for mapping, words in ((uneven, "tasks on host"), (second, "uses its GPUs 1")):
        with refused(UnsupportedError, words):
            formats["mesh"].write_mapping(mapping, {})


WRONG = """
import mesh
for call, variables, words in (
    (mesh.torch_mesh, {"RANK": "0", "WORLD_SIZE": "4"}, "4 processes or devices, expected the 8"),
    (mesh.torch_mesh, {"RANK": "x"}, "RANK is 'x'"),
    (mesh.torch_mesh, {"RANK": "3", "WORLD_SIZE": "8"}, "expected h1: start hosts in the order"),
):
    import os
    os.environ.update(variables)
    try:
        call("cpu")
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise SystemExit("nothing was refused")
"""


@needs_torch
def test_another_world_is_refused(tmp_path):
    written(tmp_path, hosts=["h0", "h1", "h2", "h3"])
    python(tmp_path, WRONG)


WORKER = """
import json, os
import torch
import torch.distributed as dist
import mesh

launched = int(os.environ["RANK"])
made = mesh.torch_mesh("cpu", "gloo")
rows = {}
for name in mesh.AXES:
    group = made.get_group(name)
    heard = [torch.zeros(2, dtype=torch.int64) for _ in range(dist.get_world_size(group))]
    dist.all_gather(heard, torch.tensor([launched, dist.get_rank()]), group=group)
    rows[name] = made.get_local_rank(name), [each.tolist() for each in heard]
answer = {"launched": launched, "task": dist.get_rank(), "local": os.environ["LOCAL_RANK"], "rows": rows}
with open(f"answer{launched}.json", "w") as stream:
    json.dump(answer, stream)
dist.barrier()
dist.destroy_process_group()
"""


@needs_torch
@pytest.mark.slow
@pytest.mark.launcher
def test_eight_processes_of_torchrun_are_where_the_mapping_says(tmp_path):
    mapping, _ = written(tmp_path)
    assert not np.array_equal(mapping.pe, np.arange(8))
    (tmp_path / "worker.py").write_text(WORKER)
    finished(tmp_path, [python_with("torch"), *TORCHRUN, free_port(), "worker.py"])
    facts = json.loads((tmp_path / "mesh.py.json").read_text())
    tasks = np.arange(8).reshape(facts["shape"])
    for launched in range(8):
        answer = json.loads((tmp_path / f"answer{launched}.json").read_text())
        task = answer["task"]
        assert mapping.pe[task] == launched == int(answer["local"])
        place = np.argwhere(tasks == task)[0]
        for axis, name in enumerate(facts["axes"]):
            row = tasks[tuple(slice(None) if a == axis else place[a] for a in range(4))]
            number, heard = answer["rows"][name]
            assert number == place[axis]
            assert heard == [[int(mapping.pe[other]), int(other)] for other in row]


JAX = """
import json
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
import mesh

made = mesh.jax_mesh()
array = jax.device_put(np.arange(8), NamedSharding(made, PartitionSpec(mesh.AXES)))
shards = {int(shard.data[0]): shard.device.id for shard in array.addressable_shards}
try:
    mesh.jax_mesh(jax.devices()[:4])
except RuntimeError as error:
    print(json.dumps([list(made.axis_names), list(made.devices.shape), shards, str(error)]))
"""


@needs_jax
@pytest.mark.slow
def test_eight_devices_of_jax_hold_the_shards_of_their_tasks(tmp_path):
    mapping, _ = written(tmp_path)
    output = python(
        tmp_path, JAX, "jax", XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu"
    )
    axes, shape, shards, error = json.loads(output.splitlines()[-1])
    assert (axes, shape) == (["tp", "cp", "dp", "pp"], [2, 1, 2, 2])
    assert {int(task): device for task, device in shards.items()} == dict(enumerate(mapping.pe.tolist()))
    assert "4 processes or devices, expected the 8" in error


def page_example(folder):
    """Run the first command of the page, write its programs, return the commands that run these."""
    page = (ROOT / "docs" / "training.md").read_text().partition("## Without a mesh")[0]
    blocks = re.findall(r"```(sh|python)\n(.*?)```", page, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh", "python", "sh"]
    for name, number in (("train.py", 1), ("train_jax.py", 3)):
        (folder / name).write_text(blocks[number][1])
    words = shlex.split(blocks[0][1])
    assert words[0] == "hopbytes"
    finished(folder, [sys.executable, "-m", "hopbytes", *words[1:]])
    return blocks[2][1], blocks[4][1]


@needs_torch
@pytest.mark.slow
@pytest.mark.launcher
def test_the_page_about_training_runs(tmp_path):
    words = shlex.split(page_example(tmp_path)[0])
    assert words[:2] == ["torchrun", TORCHRUN[-1]]
    output = finished(tmp_path, [python_with("torch"), *TORCHRUN, free_port(), *words[2:]])
    # Two data parallel tasks have the inputs 1 and 2, so that the sum of their gradients is 3.
    # Lines of two processes may end up as one.
    said = re.findall(r"task \d+: gradient \d+?(?=task|\s)", output)
    assert sorted(said) == [f"task {task}: gradient 3" for task in range(8)]


@needs_jax
@pytest.mark.slow
@pytest.mark.launcher
def test_the_part_of_the_page_about_jax_runs(tmp_path):
    command = page_example(tmp_path)[1]
    program = (tmp_path / "train_jax.py").read_text()
    port = free_port().rpartition("=")[2]
    (tmp_path / "train_jax.py").write_text(program.replace("29400", port))
    folder = os.path.dirname(python_with("jax"))
    output = finished(tmp_path, ["sh", "-c", command], PATH=f"{folder}:{os.environ['PATH']}")
    said = re.findall(r"process \d+: gradient \d+?(?=process|\s)", output)
    assert sorted(said) == [f"process {number}: gradient 8" for number in range(8)]


# A ConfigMap whose scripts find the node rank of their pod.


NODES = ("node-b.cluster.local", "node-a.cluster.local", "node-c.cluster.local")


def data(pe, hosts=NODES):
    written = write("kubernetes", place("node:3 gpu:2", pe, hosts=hosts))
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found = yaml.safe_load(written.files[""])
    assert (found["kind"], found["metadata"]["name"]) == ("ConfigMap", "hopbytes-hosts")
    return found["data"], written


def test_hosts_in_the_order_of_node_ranks():
    found, written = data([2, 3, 4, 5, 0, 1])
    order = [NODES[1], NODES[2], NODES[0]]
    assert found["hosts"].split() == order
    assert found["hostfile"] == "".join(f"{name} slots=2\n" for name in order)
    assert written.launch == "kubectl apply -f {stem}"
    assert any(order[0] in notice for notice in written.notices)


def test_what_it_cannot_say(monkeypatch):
    with pytest.raises(UnsupportedError, match=mentions("kubernetes")):
        data([0, 2, 1, 3, 4, 5])
    monkeypatch.setattr(host_orders, "LARGEST", 100)
    with pytest.raises(UnsupportedError, match=mentions("3 hosts", "100")):
        data(range(6))


def test_a_pod_finds_its_node_rank_by_node_or_by_its_own_name(tmp_path):
    found, _ = data([2, 3, 4, 5, 0, 1])
    (tmp_path / "run").write_text(found["torchrun.sh"])
    for name, text in {"hostname": "echo $AM", "torchrun": 'echo "$@"'}.items():
        executable(tmp_path / name, f"#!/bin/sh\n{text}\n")

    def run(**names):
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **names}
        command = ["sh", tmp_path / "run", "train.py"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)

    assert "--node-rank=1 " in run(AM="job-workers-0-7", NODE_NAME=NODES[2]).stdout
    assert "--node-rank=2 " in run(AM="node-b").stdout
    assert run(AM="job-workers-0-7").returncode == 1


@pytest.mark.parametrize(("count", "option"), [(2000, ""), (4500, "--server-side ")])
def test_objects_that_kubectl_cannot_annotate_are_applied_by_the_server(count, option):
    """kubectl keeps what it applies in an annotation, of which the server takes 262144 bytes."""
    hosts = tuple(f"job-workers-0-{number}" for number in range(count))
    written = write("kubernetes", place(f"node:{count} core:1", range(count), hosts=hosts))
    assert written.launch == f"kubectl apply {option}-f {{stem}}"
    assert (len(json.dumps(written.files[""])) > 262144) == bool(option)

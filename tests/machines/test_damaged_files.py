"""Damaged files of every kind never crash a reader; the developers' samples are read."""

import json
from io import BufferedReader, BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from helpers.golden import compare, edited, outcomes
from helpers.machine_files import SIMGRID, SLURM, YAML
from helpers.paths import GPU_SAMPLES, HWLOC_SAMPLES, SHARED_SAMPLES
from hopbytes.errors import HopbytesError
from hopbytes.fabrics.fabric import follow, read_fabric, unrouted
from hopbytes.fabrics.simgrid import read_simgrid
from hopbytes.fabrics.slurm import read_slurm_topology, read_slurm_yaml
from hopbytes.machines.kinds.coordinates import read_coordinates
from hopbytes.machines.kinds.hwloc import read_hwloc
from hopbytes.machines.kinds.links import read_link_file
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.kinds.scotch import read_scotch_target
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.kinds.topograph import read_topograph
from hopbytes.machines.node.gpu_files import read_gpu_hosts
from hopbytes.machines.node.job import read_flux
from hopbytes.machines.spec import parse_machine
from hopbytes.text.documents import parse_xml

SCOTCH = "deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n"
LINKS = "host a b[0-1]\nswitch s\nlink a s 5 x2\narc b0 s\nlink b1 s\nroute a s b1\n"
RULE, GPUS = "=" * 20, "       GPU0         GPU1         \n"
ROCM = f"""{RULE} ROCm System Management Interface {RULE}\n{RULE} Link Type between two GPUs {RULE}\n{GPUS}\
GPU0   0            XGMI\nGPU1   XGMI         0\n{RULE} Numa Nodes {RULE}\n\
GPU[0]\t\t: (Topology) Numa Node: 0\n"""
AMD_JSON = '[{"gpu": 0, "bdf": "0000:0c:00.0", "links": [{"gpu": 0, "link_type": "SELF", "num_hops": 0}]}]'
FLUX = '{"execution": {"R_lite": [{"rank": "0", "children": {"core": "0-3"}}], "nodelist": ["a"]}}'
STORED = machine_text(hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@n[1-2]").machine, "test")
PLACES = json.dumps({"n1": {"topology.k8s.aws/network-node-layer-1": "a"}, "n2": {"x/rack": "b"}})


def of_text(read):
    """Return what reads the text in a file."""
    return lambda path: read(Path(path).read_text(errors="replace"))


def machine(kind):
    return lambda path: parse_machine(f"{kind}:{path}")


#: What reads a file, and its content.
READERS = {
    "slurm": (read_slurm_topology, SLURM), "slurm.yaml": (read_slurm_yaml, YAML),
    "simgrid": (read_simgrid, SIMGRID), "scotch": (read_scotch_target, SCOTCH),
    "links": (read_link_file, LINKS), "coordinates": (read_coordinates, "node,x,y\nn1,0,1\nn2,3,0\n"),
    "topograph": (read_topograph, "blocks:\n- nodes: [a, b]\n"), "labels": (machine("labels"), PLACES),
    "synthetic": (of_text(read_synthetic), "pack:2 [numa] core:2 pu:2(indexes=core:pack)"),
    "stored": (machine("machine"), STORED), "flux": (of_text(read_flux), FLUX),
    "rocm-smi": (read_gpu_hosts, ROCM), "amd-smi": (read_gpu_hosts, AMD_JSON),
    **{path.name: (read_gpu_hosts, path.read_text()) for path in sorted(GPU_SAMPLES.iterdir())},
    **{path.name: (read_hwloc, path.read_text()) for path in sorted(HWLOC_SAMPLES.glob("*.xml"))},
}
CHANGE = st.tuples(st.sampled_from("rcds"), st.integers(0, 10**6), st.binary(max_size=3))
DAMAGE = st.lists(CHANGE, max_size=5)


def damaged(content, changes):
    """Replace some bytes, cut the rest off, write a piece twice, or put a word in the place of another."""
    content = bytearray(content)
    for kind, at, what in changes:
        at, length = at % len(content), at % 7
        words = bytes(content).split()
        if kind == "r":
            content[at : at + length] = what
        elif kind == "c":
            content = content[:at]
        elif kind == "d":
            content[at:at] = content[at : at + 30 * length]
        elif words:
            content = bytearray(bytes(content).replace(words[at % len(words)], words[length % len(words)], 1))
        content = content or bytearray(b"x")
    return bytes(content)


def ends_well(read, path):
    """Read a file and follow what depends on all of it; any exception but one of ours fails the test."""
    try:
        found = read(str(path))
        if hasattr(found, "leveled"):
            found.leveled()
    except HopbytesError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are fine, no raise is required


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None)
@given(changes=DAMAGE)
def test_damaged_files_never_crash(tmp_path_factory, name, changes):
    read, text = READERS[name]
    path = tmp_path_factory.getbasetemp() / f"damaged-{name}"
    path.write_bytes(damaged(text.encode(), changes))
    ends_well(read, path)


def shown(machine):
    """Return what is read of a file: hosts, units, distances and links."""
    network, inventory = machine.network(), machine.inventory
    links = [] if network is None else [
        (network.name_link(link), size) for link, size in enumerate(network.capacity.tolist()) if size
    ]
    facts = machine.known_hosts.names, [repr(level) for level in machine.levels]
    nodes = () if inventory is None else [inventory.tree(i).identity() for i in range(inventory.n_nodes)]
    return *facts, machine.distance().matrix().tolist(), links, nodes


#: Names of READERS whose kind has another name.
KINDS = {
    "slurm.yaml": "slurm", "stored": "machine",
    "rocm-smi": "amd", "amd-smi": "amd", "amd_topology.txt": "amd",
    **{path.name: "nvidia" for path in GPU_SAMPLES.iterdir() if "amd" not in path.name},
    **{path.name: "hwloc" for path in HWLOC_SAMPLES.glob("*.xml")},
}


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("flux", "synthetic")])
def test_changed_files_make_the_machines_that_they_made(tmp_path, name):
    """Why golden: each of many damages has its answer, or its line, that no other test asks for."""
    path = tmp_path / ("file.yaml" if name == "slurm.yaml" else "file")

    def read(text):
        path.write_text(text)
        return shown(parse_machine(f"{KINDS.get(name, name)}:{path}"))

    compare("changed_files.txt", {f"machine {name}": outcomes(edited(READERS[name][1], 150), read)})


@settings(max_examples=60, deadline=None)
@given(st.booleans(), st.integers(0, 9), DAMAGE)
def test_damaged_fabrics_never_crash(tmp_path_factory, ports, number, changes):
    folder = Path(two_level_fabric(hosts=2).write(tmp_path_factory.mktemp("damaged"), ports=ports))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[number % len(files)]
    path.write_bytes(damaged(path.read_bytes(), changes))

    def read(folder):
        fabric = read_fabric(folder)
        return fabric if fabric.forward is None else unrouted(fabric, follow(fabric))

    ends_well(read, folder)


@pytest.mark.shared
def test_other_samples():
    # A mesh of 4 x 3 as amk_m2 4 3 wrote it: distances are those of the grid.
    x, y = np.divmod(np.arange(12), 4)[::-1]
    grid = np.abs(np.subtract.outer(x, x)) + np.abs(np.subtract.outer(y, y))
    assert np.array_equal(read_scotch_target(str(SHARED_SAMPLES / "scotch/m4x3.tgt")).table, grid)
    assert read_scotch_target(str(SHARED_SAMPLES / "netloc/subarch.scotch")).n_terminals == 4 * 24 * 2 * 2 * 6
    found = read_coordinates(str(SHARED_SAMPLES / "torus/bgpc_nodes.yaml.gz"))
    assert np.max(list(found.values()), axis=0).tolist() == [7, 7, 7]


def test_elements_may_be_nested_200_deep():
    for depth in (200, 201):
        text = BufferedReader(BytesIO(b"<a>" * depth + b"</a>" * depth))
        if depth == 200:
            assert len(parse_xml(text, "file", root="a").children) == 1
        else:
            with pytest.raises(HopbytesError, match="nested more than 200 deep"):
                parse_xml(text, "file", root="a")

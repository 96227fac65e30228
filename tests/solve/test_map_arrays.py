"""map_arrays(): graphs as arrays of any library, mapped where they are."""

import re
import subprocess
import sys

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from helpers.paths import ROOT
from helpers.stand_in_cupy import OnGpu, StandIn
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.device import chosen

MACHINE = "node:4@10 core:4@1"


class ByDlpack:
    """An array of a library that speaks DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.copy().__dlpack__()  # a read-only array speaks only newer DLPack

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    module = StandIn(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def cost(graph, where, pe):
    return CommCost().value(graph, hb.allocate(where) if isinstance(where, str) else where, pe)


def arrays(graph):
    return graph.indptr, graph.targets


@pytest.mark.parametrize("machine", [MACHINE, "torus:4x4 / core:1", "node:2@9 core:[2,6]@1"])
@pytest.mark.parametrize("preset", ["turbo", "fast"])
def test_mappings_keep_their_bounds_and_j_is_that_of_evaluate(machine, preset):
    rng = np.random.default_rng(1)
    graph = hb.CommGraph.from_edges(*rng.integers(0, 900, (2, 3000)), rng.integers(0, 9, 3000), n=900)
    loads = rng.integers(0, 3, 900)
    found = hb.map_arrays(
        *arrays(graph), machine, volumes=graph.volumes, loads=loads, preset=preset, seed=5, threads=2
    )
    where = hb.allocate(machine)
    assert found.comm_cost == cost(graph, where, found.pe)
    held = np.bincount(found.pe, loads, where.k)
    assert found.largest_load == held.max() <= found.bound == 103 * int(loads.sum()) // (100 * where.k)
    again = hb.map_arrays(
        *arrays(graph), machine, volumes=graph.volumes, loads=loads, preset=preset, seed=5, threads=1
    )
    assert np.array_equal(found.pe, again.pe)


def test_a_table_with_two_directions_counts_each(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("0 1 5\n2 0 9\n4 3 0\n")
    where, graph = hb.allocate(f"table:{path}"), grid(12)
    found = hb.map_arrays(*arrays(graph), where, volumes=graph.volumes)
    assert found.comm_cost == cost(graph, where, found.pe)


def test_a_current_mapping_is_improved_and_most_tasks_stay():
    graph = grid(60)
    first = hb.map_arrays(*arrays(graph), MACHINE)
    volumes = np.where(graph.targets < 900, 3, 1)
    before = hb.map_arrays(*arrays(graph), MACHINE, volumes=volumes, initial=first.pe)
    assert np.count_nonzero(before.pe != first.pe) < graph.n / 2
    assert before.comm_cost <= 1.5 * hb.map_arrays(*arrays(graph), MACHINE, volumes=volumes).comm_cost
    worst = (np.arange(graph.n) % 16).astype(np.int32)
    assert hb.map_arrays(*arrays(graph), MACHINE, initial=worst).comm_cost < cost(graph, MACHINE, worst) / 5


def test_arrays_of_other_libraries_are_taken_as_they_are(stand_in, monkeypatch):
    """The memory of the graph is what kernels read, and the mapping has the library of the row pointers."""
    graph = grid(60)
    expected = hb.map_arrays(*arrays(graph), MACHINE).pe
    assert np.array_equal(hb.map_arrays(*map(ByDlpack, arrays(graph)), MACHINE).pe, expected)
    seen = []
    monkeypatch.setattr(
        "hopbytes.solve.map_arrays.symmetric_graph",
        lambda device, *given: seen.extend(given) or symmetric(device, *given),
    )
    from hopbytes.engine.device_rounds import symmetric_graph as symmetric

    found = hb.map_arrays(*map(OnGpu, arrays(graph)), MACHINE)
    assert found.device == "cuda"
    assert np.array_equal(found.pe, expected)
    assert np.shares_memory(seen[0], graph.indptr)
    assert np.shares_memory(seen[1], graph.targets)


def test_tensors_of_torch_come_back_as_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    device = "cpu" if chosen("auto")[1] else "cuda"
    graph = grid(60)
    given = [torch.from_numpy(np.array(array)).to(device) for array in arrays(graph)]
    found = hb.map_arrays(*given, MACHINE)
    assert found.device == device
    assert isinstance(found.pe, torch.Tensor)
    assert np.array_equal(found.pe.cpu().numpy(), hb.map_arrays(*arrays(graph), MACHINE).pe)


RING = ([0, 2, 4, 6, 8], [1, 3, 0, 2, 1, 3, 0, 2])


@pytest.mark.parametrize(("arguments", "options", "error", "text"), [
    (([0, 2, 1, 6, 8], RING[1]), {}, hb.FormatError, "`indptr`.*ascend from 0 to the 8 targets"),
    (([], RING[1]), {}, hb.FormatError, "`indptr`: 0 row pointers"),
    ((RING[0], [1, 3, 0, 2, 1, 3, 0, 4]), {}, hb.FormatError, "`targets`: 0 to 4, expected 0 to 3"),
    ((RING[0], [3, 1, 0, 2, 1, 3, 0, 2]), {}, hb.FormatError, "row 0, expected ascending"),
    ((RING[0], np.array(RING[1]) * 2.0), {}, hb.WrongTypeError, "float64"),
    ((RING[0], [RING[1]]), {}, hb.WrongTypeError, "expected a row of integers"),
    (RING, {"volumes": [1, 2]}, hb.FormatError, "`volumes`: 2 numbers, expected 8"),
    (RING, {"volumes": [-1] * 8}, hb.FormatError, "`volumes`: -1, expected integers >= 0"),
    (RING, {"volumes": [2**62] * 8}, hb.ScaleError, "volumes sum to .* divide them by 8"),
    (RING, {"volumes": [2**57] * 8}, hb.ScaleError, "times distances"),
    (RING, {"loads": [2**61] * 4}, hb.ScaleError, "loads sum"),
    (RING, {"initial": [0, 1, 2, 4]}, hb.FormatError, "`initial`: 0 to 4, expected 0 to 3"),
    (RING, {"preset": "eco"}, hb.UnsupportedError, "expected turbo or fast"),
    (([0, 1, 2], [1, 0]), {}, hb.UnsupportedError, "2 tasks on 4 PEs"),
    (RING, {"device": "gpu"}, hb.UnsupportedError, "expected one of cpu, cuda, auto"),
])  # fmt: skip
def test_malformed_arguments_are_one_line(arguments, options, error, text):
    with pytest.raises(error, match=text) as caught:
        hb.map_arrays(*arguments, "node:2@10 core:2@1", **options)
    assert "\n" not in str(caught.value)


def test_devices_are_chosen_by_the_caller(monkeypatch, stand_in):
    with pytest.raises(hb.UnsupportedError, match="arrays on a GPU with device cpu"):
        hb.map_arrays(*map(OnGpu, map(np.array, RING)), "core:2", device="cpu")
    assert hb.map_arrays(*RING, "core:2", device="cuda").device == "cuda"
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.warns(hb.HopbytesWarning, match="mapped by the CPU: .*cupy"):
        assert hb.map_arrays(*RING, "core:2", device="auto").device == "cpu"


def test_heavy_tasks_are_told():
    with pytest.warns(hb.HopbytesWarning, match="a PE holds 7 more than its bound"):
        hb.map_arrays(*RING, "core:2", loads=[20, 2, 2, 2])


def test_graphs_with_hubs_are_mapped_by_the_cpu():
    star = hb.CommGraph.from_edges(np.zeros(2000, int), np.arange(1, 2001), undirected=True)
    with pytest.warns(hb.HopbytesWarning, match="mapped by the CPU: a task has 2,000 neighbours"):
        found = hb.map_arrays(*arrays(star), MACHINE)
    assert found.largest_load <= found.bound
    told = hb.map_tasks(star, MACHINE, "device_rounds:fewest=100,per_pe=10", partition=True)
    assert any("2,000 neighbours" in notice for notice in told.info["notices"])


def test_presets_run_on_a_device(stand_in, monkeypatch):
    graph = grid(40)
    cpu = hb.map_tasks(graph, MACHINE, "device_rounds:fewest=100,per_pe=10", seed=2)
    assert cpu.info["balance"] == "met"
    for maker in (hb.presets.turbo, hb.presets.fast):
        found = hb.map_tasks(graph, MACHINE, maker(device="cuda"), seed=2)
        assert found.info["balance"] == "met"
        assert found.comm_cost < 1.3 * hb.map_tasks(graph, MACHINE, "turbo", seed=2).comm_cost
    with pytest.raises(hb.UnsupportedError, match="device cuda: one task per PE and fixed"):
        hb.map_tasks(graph, MACHINE, hb.presets.turbo("cuda"), constraints=hb.Constraints(fixed={0: 1}))
    monkeypatch.setitem(sys.modules, "cupy", None)
    told = hb.map_tasks(graph, MACHINE, hb.presets.turbo("auto"), seed=2)
    assert any("mapped by the CPU: device cuda needs" in notice for notice in told.info["notices"])
    assert np.array_equal(told.pe, hb.map_tasks(graph, MACHINE, "turbo", seed=2).pe)


def test_the_command_line_names_a_device(hopbytes):
    words = ["map", "stencil:40x40", "--on", MACHINE, "--preset", "turbo", "--json", "--device"]
    if chosen("auto")[1]:
        run = hopbytes(*words, "cuda", code=1)
        assert run.stderr.count("\n") == 1
        assert "device cuda" in run.stderr
    hopbytes(*words, "auto", code=0)
    run = hopbytes("map", "stencil:40x40", "--on", MACHINE, "--device", "cuda", code=1)
    assert "--preset eco, expected --preset turbo or fast" in run.stderr


def test_the_example_keeps_its_cells_balanced():
    words = [sys.executable, "examples/repartition_on_device.py", "--side", "60", "--steps", "10"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    *steps, last = done.stdout.splitlines()
    assert len(steps) == 2
    assert all(float(re.findall(r"imbalance (\S+),", step)[0]) <= 0.03 for step in steps)
    assert last == "the mapping is a numpy.ndarray on cpu"
